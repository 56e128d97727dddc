module.exports = {
  testMatch: ['**/*.test.cjs'],
  globalSetup: './global-setup.cjs',
  globalTeardown: './global-teardown.cjs',
}
