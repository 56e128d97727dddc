import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Modules are shared by the files of a worker: keep no state of an application or a pool at module level.
    isolate: false,
    maxWorkers: 2,
    setupFiles: ['./test/support/end-with-run.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['default', './test/support/count-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
