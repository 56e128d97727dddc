import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Files that need programs which are not asked of a developer: `npm run test:long` runs them, and `.ci/run` installs what they need. */
const DEMANDING = '.long.test.ts'

/** Files with tests that repeat themselves; `npm run test:long` runs these and the demanding ones alone, with many rounds. */
const repeating = () =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith(DEMANDING) || (path.endsWith('.test.ts') && readFileSync(path, 'utf8').includes("/support/rounds.js'")))

export default defineConfig({
  test: {
    include: process.env['ROOST_TEST_ROUNDS'] === 'many' ? repeating() : ['test/**/*.test.ts'],
    exclude: process.env['ROOST_TEST_ROUNDS'] === 'many' ? [] : [`test/**/*${DEMANDING}`],
    pool: 'forks',
    // Modules are shared by the files of a worker: keep no state of an application or a pool at module level.
    isolate: false,
    maxWorkers: 3,
    setupFiles: ['./test/support/run/end-with-run.ts'],
    globalSetup: ['./test/support/run/global-setup.ts'],
    reporters: ['default', './test/support/run/count-reporter.ts'],
    // many rounds take minutes on a busy machine
    testTimeout: process.env['ROOST_TEST_ROUNDS'] === 'many' ? 300_000 : 60_000,
    hookTimeout: 60_000,
  },
})
