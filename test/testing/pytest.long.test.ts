import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const plugin = join(root, 'testing/pytest')

it('the tests of roost-pytest pass (apt-get install python3-pytest)', async () => {
  await build()
  const cache = mkdtempSync(join(tmpdir(), 'pytest-'))
  const run = promisify(execFile)
  const args = [
    ...['-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'roost_pytest.plugin', '--rootdir', join(plugin, 'tests')],
    ...['--roost-program', `${process.execPath} ${join(root, 'scripts/start.mjs')}`, '--roost-seed', 'seed.yaml'],
    ...['--roost-clock', '2030-01-01T00:00:00Z', join(plugin, 'tests')],
  ]
  try {
    const { stdout } = await run('python3', args, { cwd: cache, env: { ...process.env, PYTHONPATH: plugin, XDG_CACHE_HOME: cache } })
    expect(stdout).toMatch(/^9 passed/m)
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
})
