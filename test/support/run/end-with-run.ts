// Run before every file: a worker whose run was interrupted ends at once, and with it what its tests started.
if (process.env['ROOST_TESTS_END'] === undefined) {
  process.env['ROOST_TESTS_END'] = 'set'
  process.once('disconnect', () => process.exit(1))
}
