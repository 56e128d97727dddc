import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, utimes } from 'node:fs/promises'
import { createServer } from 'node:net'
import { getPriority, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directSpawner, type GitProcess, kill, type Spawner, type SpawnOptions } from '../../src/git/process/spawner.js'
import { SpawnerProcess } from '../../src/git/process/spawner-process.js'
import { Unavailable } from '../../src/lib/unavailable.js'

let folder: string
let entry: string
const ENTRY = fileURLToPath(new URL('../../src/git/process/spawner-entry.ts', import.meta.url))

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spawner-'))
  entry = join(folder, 'spawner.mjs')
  await build({ entryPoints: [ENTRY], outfile: entry, bundle: true, platform: 'node', format: 'esm' })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const open = () => new SpawnerProcess(entry)
const places = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('roost-git-socket-'))

const OPTIONS: SpawnOptions = { cwd: '/', env: { PATH: process.env['PATH'] }, stdio: ['pipe', 'pipe', 'pipe'], niceness: undefined }
const sh = (spawner: Spawner, script: string, options: Partial<SpawnOptions> = {}) =>
  spawner.spawn('/bin/sh', ['-c', script], { ...OPTIONS, ...options })

/** Its exit code and all it writes. */
async function outcome(child: GitProcess, input?: string | Buffer) {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk))
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const code = await child.closed
  return { code, out: Buffer.concat(out), err: Buffer.concat(err).toString() }
}

const lives = (pid: number) =>
  readFile(`/proc/${pid}/stat`, 'utf8').then(
    (text) => !text.includes(') Z '),
    () => false,
  )
const sameGroup = async (pid: number) => Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[2])

describe.each<[string, () => Spawner]>([
  ['this process', () => directSpawner],
  ['a spawner process', () => open()],
])('processes started by %s', (_, make) => {
  let spawner: Spawner
  beforeAll(() => {
    spawner = make()
  })
  afterAll(() => spawner.close())

  it('get input and give output, errors and an exit code', async () => {
    const child = await sh(spawner, 'cat; echo gone wrong >&2; exit 7')
    expect(await outcome(child, 'some input')).toEqual({ code: 7, out: Buffer.from('some input'), err: 'gone wrong\n' })
    expect(child.running).toBe(false)
  })

  it('give all of a large output, read slowly, and take all of a large input', async () => {
    const input = Buffer.alloc(30_000_000, 'abcdefghij')
    const child = await sh(spawner, 'cat')
    child.stdin?.end(input)
    let size = 0
    for await (const chunk of child.stdout ?? []) {
      size += (chunk as Buffer).length
      if (size % 7 === 0) await new Promise(setImmediate)
    }
    expect(size).toBe(input.length)
    expect(await child.closed).toBe(0)
  })

  it('give the output they wrote before they ended without reading their input', async () => {
    const child = await sh(spawner, 'head -c 3000000 /dev/zero; exit 3')
    const { code, out } = await outcome(child, Buffer.alloc(5_000_000))
    expect([code, out.length]).toEqual([3, 3_000_000])
  })

  it('lead a process group, which a signal ends', async () => {
    const child = await sh(spawner, 'sleep 600 & echo $!; wait')
    const other = await new Promise<number>((resolve) => child.stdout?.once('data', (chunk: Buffer) => resolve(Number(chunk))))
    expect(await sameGroup(other)).toBe(child.pid)
    kill(child)
    expect(await child.exited).toBeNull()
    await expect.poll(() => lives(other)).toBe(false)
  })

  it('have their folder, environment and priority', async () => {
    const child = await sh(spawner, 'pwd; echo $WHAT; read -r x; nice', { cwd: folder, env: { ...OPTIONS.env, WHAT: 'this' }, niceness: 7 })
    const { out } = await outcome(child, 'go\n')
    expect(out.toString()).toBe(`${folder}\nthis\n${getPriority() + 7}\n`)
  })

  it('have a priority relative to that of the service, which may have been lowered itself (SEC-180)', () => {
    const script = `
      import { spawn } from 'node:child_process'
      import { getPriority } from 'node:os'
      import { lowerPriority } from './src/git/process/spawner.ts'
      const child = spawn('sleep', ['600'])
      lowerPriority(child.pid, 7)
      console.log(getPriority(child.pid) - getPriority())
      child.kill()`
    const node = [process.execPath, '--import', 'tsx', '--input-type=module', '-e', script]
    expect(execFileSync('nice', ['-n', '5', ...node], { encoding: 'utf8' })).toBe('7\n')
  })

  it('talk over further descriptors, in both directions', async () => {
    const child = await sh(spawner, 'echo question >&3; read -r answer <&4; echo "$answer"', { stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] })
    const [questions, answers] = child.stdio.slice(3) as unknown as [Readable, Writable]
    const asked = await new Promise<string>((resolve) => questions.once('data', (chunk: Buffer) => resolve(chunk.toString())))
    answers.write('an answer\n')
    expect([asked, await outcome(child)]).toEqual(['question\n', { code: 0, out: Buffer.from('an answer\n'), err: '' }])
  })

  it('write to an outlet with another reader, after its greeting', async () => {
    const place = await mkdtemp(join(folder, 'outlet-'))
    const server = createServer().listen(join(place, 'socket'))
    const connected = once(server, 'connection') as Promise<[Readable]>
    const outlet = { path: join(place, 'socket'), greeting: 'a secret\n' }
    const child = await sh(spawner, 'cat; echo wrong >&2; exit 4', { stdio: ['pipe', outlet, 'pipe'] })
    expect(child.stdout).toBeNull()
    const [reader] = await connected
    const read = reader.toArray()
    expect(await outcome(child, 'some input')).toEqual({ code: 4, out: Buffer.of(), err: 'wrong\n' })
    expect(Buffer.concat(await read).toString()).toBe('a secret\nsome input')
    server.close()
    await expect(sh(spawner, 'true', { stdio: ['ignore', { path: join(place, 'none'), greeting: '' }, 'ignore'] })).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })

  it('that cannot be started say why', async () => {
    await expect(spawner.spawn('/nowhere/git', [], OPTIONS)).rejects.toMatchObject({ code: 'ENOENT', syscall: 'spawn /nowhere/git' })
    await expect(sh(spawner, 'true', { cwd: '/nowhere' })).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('run fifty at a time', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => sh(spawner, `read -r x; echo ${i} $x`)))
    const outcomes = await Promise.all(all.map((child, i) => outcome(child, `in ${i}\n`)))
    expect(outcomes.map(({ out }) => out.toString())).toEqual(all.map((_, i) => `${i} in ${i}\n`))
    const silent = await Promise.all(Array.from({ length: 50 }, () => sh(spawner, ':')))
    expect(await Promise.all(silent.map((child) => outcome(child)))).toEqual(silent.map(() => ({ code: 0, out: Buffer.of(), err: '' })))
  })
})

describe('the spawner process', () => {
  const pidOf = async (spawner: Spawner) => {
    const child = await sh(spawner, 'echo $PPID')
    return Number((await outcome(child)).out)
  }

  const placeOf = async (pid: number) => /\/(roost-git-socket-[^/]+)\/spawner\0$/.exec(await readFile(`/proc/${pid}/cmdline`, 'utf8'))?.[1]

  it('is restarted when it was killed; its children are ended', async () => {
    const spawner = open()
    const child = await sh(spawner, 'sleep 600')
    const pid = await pidOf(spawner)
    const place = await placeOf(pid)
    expect(await places()).toContain(place)
    process.kill(pid, 'SIGKILL')
    expect(await child.closed).toBeNull()
    await expect.poll(() => lives(child.pid)).toBe(false)
    expect(await pidOf(spawner)).not.toBe(pid)
    await expect.poll(places).not.toContain(place)
    await spawner.close()
  })

  it('ends when it is closed, leaves nothing, and starts nothing any more', async () => {
    const spawner = open()
    const pid = await pidOf(spawner)
    const place = await placeOf(pid)
    expect(await places()).toContain(place)
    await spawner.close()
    expect(await lives(pid)).toBe(false)
    expect(await places()).not.toContain(place)
    await expect(sh(spawner, 'true')).rejects.toThrow(Unavailable)
  })

  it('continues, with its children, after its socket was removed (SEC-230)', async () => {
    const spawner = open()
    const child = await sh(spawner, 'read -r x; echo $x')
    const pid = await pidOf(spawner)
    await rm(join(tmpdir(), (await placeOf(pid)) ?? ''), { recursive: true })
    const pids = await Promise.all(Array.from({ length: 5 }, () => pidOf(spawner)))
    expect(new Set(pids)).toEqual(new Set([pid]))
    await rm(join(tmpdir(), (await placeOf(pid)) ?? '', 'spawner'))
    expect(await pidOf(spawner)).toBe(pid)
    expect((await outcome(child, 'still here\n')).out.toString()).toBe('still here\n')
    await spawner.close()
  })

  it('removes what a service that was killed has left, and leaves that of others alone (SEC-230)', async () => {
    const folders = await Promise.all(Array.from({ length: 5 }, () => mkdtemp(join(tmpdir(), 'roost-git-socket-'))))
    const [left, starting, empty, young, other] = folders as [string, string, string, string, string]
    // a socket that is bound and not listening refuses connections, like that of a killed service
    for (const folder of [left, starting]) {
      const script = `require('node:net').createServer().listen('${folder}/spawner', () => process.kill(process.pid, 'SIGKILL'))`
      await once(spawn(process.execPath, ['-e', script]), 'exit')
    }
    for (const folder of [left, empty]) await utimes(folder, 1, 1)
    const server = createServer().listen(join(other, 'spawner'))
    const spawner = open()
    await pidOf(spawner)
    const after = await places()
    for (const gone of [left, empty]) expect(after).not.toContain(basename(gone))
    for (const kept of [starting, young, other]) expect(after).toContain(basename(kept))
    await spawner.close()
    server.close()
    for (const path of [starting, young, other]) await rm(path, { recursive: true, force: true })
  })
})
