import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Files with tests that repeat themselves; `npm run test:long` runs these alone, with many rounds. */
const repeating = () =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts') && readFileSync(path, 'utf8').includes("/support/rounds.js'"))

export default defineConfig({
  test: {
    include: process.env['ROOST_TEST_ROUNDS'] === 'many' ? repeating() : ['test/**/*.test.ts'],
    pool: 'forks',
    // Modules are shared by the files of a worker: keep no state of an application or a pool at module level.
    isolate: false,
    maxWorkers: 3,
    setupFiles: ['./test/support/end-with-run.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['default', './test/support/count-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
