// @module-tag long
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'roost-load-'))
const cache = join(folder, 'dist/cache')
const running = new Set<ChildProcess>()

beforeAll(async () => {
  await build()
  // its own program: other tests use that of the checkout at the same time
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
  rmSync(cache, { recursive: true, force: true })
  for (const name of ['node_modules', 'migrations', 'package.json']) symlinkSync(join(root, name), join(folder, name))
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a service for tests; `end` resolves with what it has written on standard error. */
async function start(flags: string[] = []) {
  const child = spawn(process.execPath, [...flags, join(folder, 'dist/main.js'), 'test'], { stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let log = ''
  child.stderr.on('data', (text) => {
    log += text
  })
  const ended = once(child, 'exit').then(() => running.delete(child))
  await Promise.race([once(child.stdout, 'data'), ended])
  return async () => {
    child.kill('SIGTERM')
    await ended
    return log
  }
}

/** The kept code, by its file; when it was written. */
const kept = () => (existsSync(cache) ? readdirSync(cache) : []).map((name) => ({ file: join(cache, name), at: statSync(join(cache, name)).mtimeMs }))

it('caches the compiled program for the next start, and compiles it again if it is damaged or has other flags', async () => {
  await (await start())()
  const [first] = kept()
  expect(kept()).toHaveLength(1)
  await (await start())()
  expect(kept()).toEqual([first])
  const code = readFileSync(first?.file as string)
  code.fill(7, code.length / 2, code.length / 2 + 1_000)
  writeFileSync(first?.file as string, code)
  await (await start())()
  expect(kept()).toHaveLength(1)
  expect(readFileSync(first?.file as string).equals(code)).toBe(false)
  await (await start(['--max-semi-space-size=2']))()
  expect(kept()).toHaveLength(2)
})

it('names places in the sources in its traces', async () => {
  const breaking = 'data:text/javascript,process.getuid=()=>{throw new Error("broken")}'
  const log = await (await start(['--import', breaking]))()
  expect(log).toMatch(/Error: broken\\n .*src\/[a-z/-]+\.ts:\d+:\d+/)
})
