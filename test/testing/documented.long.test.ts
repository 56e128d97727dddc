// @module-tag long
import { execFile, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { startEnvironment } from '../support/servers/started-roost.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'documented-'))
const { NODE_TEST_CONTEXT: _, VITEST: __, VITEST_POOL_ID: ___, VITEST_WORKER_ID: ____, ...inherited } = process.env
const env = { ...inherited, ...startEnvironment(), PATH: [join(folder, 'bin'), process.env['PATH']].join(delimiter) }

beforeAll(async () => {
  await build()
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/roost'), `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'scripts/start.mjs')}' "$@"\n`)
  chmodSync(join(folder, 'bin/roost'), 0o755)
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const run = async (cwd: string, program: string, ...args: string[]) => (await promisify(execFile)(program, args, { cwd, env })).stdout

/** A folder in which `roost-server/test` and vitest are installed. */
function project(name: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, 'node_modules'), { recursive: true })
  symlinkSync(root, join(path, 'node_modules/roost-server'))
  symlinkSync(join(root, 'node_modules/vitest'), join(path, 'node_modules/vitest'))
  return path
}

async function passesInNode(path: string, count: number) {
  const out = await run(path, process.execPath, '--test', '--test-reporter=tap')
  expect(out).toMatch(/^# fail 0$/m)
  expect(out).toMatch(new RegExp(`^# pass ${count}$`, 'm'))
}

async function passesInVitest(path: string, count: number) {
  const out = await run(path, process.execPath, join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--reporter=json')
  expect(JSON.parse(out.slice(out.indexOf('{')))).toMatchObject({ success: true, numPassedTests: count })
}

/** How the blocks of the page are run, by the first word of their names: each gets a folder with its blocks as files. */
const RUNNERS: Record<string, (path: string) => Promise<void>> = {
  async command(path) {
    const server = spawn('/bin/sh', [join(path, 'start')], { cwd: path, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const line = JSON.parse(await new Promise<string>((resolve) => server.stdout.once('data', (text) => resolve(String(text)))))
    expect(Object.keys(line)).toEqual(Object.keys(JSON.parse(readFileSync(join(path, 'line'), 'utf8'))))
    const ended = new Promise((resolve) => server.once('exit', resolve))
    process.kill(line.pid, 'SIGTERM')
    await ended
  },
  node: (path) => passesInNode(path, 1),
  async vitest(path) {
    const config = "export default { test: { include: ['*.test.mjs'], globalSetup: './global-setup.mjs' } }\n"
    writeFileSync(join(path, 'vitest.config.mjs'), config)
    await passesInVitest(path, 1)
  },
  seed: (path) => passesInNode(path, 3),
  git: (path) => passesInNode(path, 1),
  jobs: (path) => passesInNode(path, 1),
  async python(path) {
    expect(await run(path, 'python3', 'example.py')).toMatch(/^http:\/\/127\.0\.0\.1:\d+ roost-test-\w+$/m)
  },
}

const page = readFileSync(join(root, 'docs/testing.md'), 'utf8')
const blocks = [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(([, words = '', text = '']) => {
  const [, runner = '', file = ''] = /^\w+ (\w+)\/(\S+)$/.exec(words) ?? []
  return { words, runner, file, text }
})

/** Run by pytest.long.test.ts. */
const ELSEWHERE = ['pytest']

it('every block of docs/testing.md has a name and a way to run it', () => {
  const runners = [...Object.keys(RUNNERS), ...ELSEWHERE]
  expect(blocks.filter(({ runner }) => !runners.includes(runner)).map(({ words }) => words)).toEqual([])
  expect(runners.filter((runner) => !blocks.some((block) => block.runner === runner))).toEqual([])
})

it.each(Object.entries(RUNNERS))('the blocks of docs/testing.md pass: %s', async (runner, passes) => {
  const path = project(`page-${runner}`)
  for (const { file, text } of blocks.filter((block) => block.runner === runner)) writeFileSync(join(path, file), text)
  await passes(path)
})

const example = (name: string) => {
  const path = project(`example-${name}`)
  cpSync(join(root, 'testing/examples', name), path, { recursive: true })
  return path
}

it('the example for node:test passes', () => passesInNode(example('node'), 3))

it('the example for vitest passes, with two workers in their own worlds', () => passesInVitest(example('vitest'), 6))

it('the example for jest passes', async () => {
  const out = await run(root, process.execPath, join(root, 'test/support/jest-globals.cjs'), example('jest'), 'merge-request.test.cjs')
  expect(out).toBe('passed: a merge request is made\npassed: and is gone in the next test\n')
})
