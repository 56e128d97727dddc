import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { compiled, compiledSource } from './test/support/run/compiled-source.js'
import { LongestFirst } from './test/support/run/longest-first.js'

/**
 * Files that start the service as a program, kill it, need programs besides Node and git, which `.ci/run` installs, or
 * take long: random data, imports, clients, comparisons of everything with everything.
 */
const LONG = '.long.test.ts'

/** Whether this is `npm run test:long`. */
const long = process.env['ROOST_TEST_ROUNDS'] === 'many'

/** Where its tests are: in those files, and beside others where a test repeats itself. They have the tag. */
const longFiles = () =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith(LONG) || (path.endsWith('.test.ts') && readFileSync(path, 'utf8').includes("/support/rounds.js'")))

export default defineConfig({
  plugins: [compiledSource()],
  test: {
    server: { deps: { external: [compiled] } },
    include: long ? longFiles() : ['test/**/*.test.ts'],
    exclude: long ? [] : [`test/**/*${LONG}`],
    tags: [{ name: 'long', description: 'runs in `npm run test:long`: with more rounds, or only there' }],
    ...(long && { tagsFilter: ['long'] }),
    pool: 'forks',
    // Modules are shared by the files of a worker: keep no state of an application or a pool at module level.
    isolate: false,
    // more than two cores, because tests wait for Postgres, for git and for time to pass
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // threads that collect garbage would take the cores from other workers; files of the long run leave much of it
    execArgv: long ? ['--max-semi-space-size=64'] : ['--max-semi-space-size=16', '--single-threaded-gc'],
    setupFiles: ['./test/support/run/end-with-run.ts'],
    globalSetup: ['./test/support/run/global-setup.ts'],
    // the line of a failure says what was there
    chaiConfig: { truncateThreshold: 400 },
    reporters: ['default', './test/support/run/count-reporter.ts'],
    // many rounds take minutes on a busy machine; what is waited for there takes longer than the second of the default
    testTimeout: long ? 300_000 : 120_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
  },
})
