// @module-tag long
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { startEnvironment } from '../support/servers/started-roost.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const plugin = join(root, 'testing/pytest')
const folder = mkdtempSync(join(tmpdir(), 'pytest-'))

beforeAll(async () => {
  await build()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs tests with the plugin, without leaving compiled files beside them (apt-get install python3-pytest). */
async function pytest(...args: string[]): Promise<string> {
  const usual = ['-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'roost_pytest.plugin']
  const program = ['--roost-program', `${process.execPath} ${join(root, 'scripts/start.mjs')}`]
  const env = { ...process.env, ...startEnvironment(), PYTHONPATH: plugin }
  return (await promisify(execFile)('python3', [...usual, ...program, ...args], { cwd: folder, env })).stdout
}

it('the tests of roost-pytest pass', async () => {
  const tests = join(plugin, 'tests')
  const out = await pytest('--rootdir', tests, '--roost-seed', 'seed.yaml', '--roost-clock', '2030-01-01T00:00:00Z', tests)
  expect(out).toMatch(/^10 passed/m)
})

it('the block of docs/testing.md passes', async () => {
  const page = readFileSync(join(root, 'docs/testing.md'), 'utf8')
  const [, name = '', text = ''] = /^```python pytest\/(\S+)\n([\s\S]*?)^```$/m.exec(page) ?? []
  writeFileSync(join(folder, name), text)
  expect(await pytest(name)).toMatch(/^1 passed/m)
})
