// Loaded before every test file: if the run is interrupted, its workers exit at once, with what their tests started.
if (process.env['ROOST_TESTS_END'] === undefined) {
  process.env['ROOST_TESTS_END'] = 'set'
  process.once('disconnect', () => process.exit(1))
}
