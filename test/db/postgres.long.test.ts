// @module-tag long
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/postgres/index.js'
import { StartFault } from '../../src/lib/start-fault.js'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const holder = fileURLToPath(new URL('../support/hold-postgres.ts', import.meta.url))

/** Of several that are killed one may already have ended with another. */
function killIfAlive(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

describe('startEmbeddedPostgres', () => {
  let parent: string
  let directory: string
  const running: EmbeddedPostgres[] = []
  const children: ChildProcess[] = []

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'embedded-'))
    await chmod(parent, 0o711)
    directory = join(parent, 'postgres')
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    for (const postgres of running.splice(0)) await postgres.stop()
    await rm(parent, { recursive: true, force: true })
  })

  async function start(durable = true) {
    const postgres = await startEmbeddedPostgres({ directory, log, durable })
    running.push(postgres)
    return postgres
  }
  async function ask(url: string, text: string) {
    const client = new pg.Client(url)
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  const postmaster = async () => Number((await readFile(join(directory, 'data/postmaster.pid'), 'utf8')).split('\n')[0])
  /** Another process, leader of a process group, that starts Postgres and stays. */
  async function startElsewhere() {
    const child = spawn(process.execPath, ['--import', 'tsx', holder, directory], { detached: true, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
    children.push(child)
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.once('data', (data: Buffer) => resolve(data.toString().trim()))
      child.once('exit', () => reject(new Error('it ended')))
    })
    return { child, url, ended: new Promise((resolve) => child.once('exit', resolve)) }
  }

  it('starts in an empty folder, keeps its data and leaves nothing running', async () => {
    const first = await start()
    await ask(first.url, 'create table kept as select 7 as value')
    const [settings] = await ask(
      first.url,
      `select current_setting('fsync') fsync, current_setting('synchronous_commit') sync, current_setting('listen_addresses') listen, datcollate, datlocale
       from pg_database where datname = current_database()`,
    )
    expect(settings).toMatchObject({ fsync: 'on', sync: 'on', listen: '', datlocale: 'C.UTF-8' })
    const pid = await postmaster()
    const sockets = decodeURIComponent(new URL(first.url).searchParams.get('host') ?? '')
    await first.stop()
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    expect(existsSync(sockets)).toBe(false)
    expect((await readdir(directory)).sort()).toEqual(['data', 'password', 'server.json'])

    const second = await start()
    expect(await ask(second.url, 'select value from kept')).toEqual([{ value: 7 }])
  })

  it('refuses connections without the password, whose file only its owner can read; a database made without a password gets one (SEC-174)', async () => {
    const stranger = (url: string) => {
      const without = new URL(url)
      without.password = ''
      return ask(without.href, 'select 1')
    }
    const first = await start(false)
    await expect(stranger(first.url)).rejects.toThrow(/password/)
    await ask(first.url, 'create table kept as select 1 as value')
    expect((await stat(join(directory, 'password'))).mode & 0o777).toBe(0o600)
    await first.stop()
    await writeFile(join(directory, 'data/pg_hba.conf'), 'local all all trust\n')
    await rm(join(directory, 'password'))
    const second = await start(false)
    expect(await ask(second.url, 'select value from kept')).toEqual([{ value: 1 }])
    await expect(stranger(second.url)).rejects.toThrow(/password/)
  })

  it('refuses a folder that is in use, and a command finds the running one', async () => {
    expect(await findEmbeddedPostgres(directory)).toBeUndefined()
    const { url } = await start(false)
    await expect(start(false)).rejects.toThrow(/is in use by process \d+/)
    expect(await findEmbeddedPostgres(directory)).toBe(url)
  })

  it('lets one of two starts at once win', async () => {
    const results = await Promise.allSettled([start(false), start(false), start(false)])
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StartFault)
  })

  it('starts again after a start that was killed while it created the database', async () => {
    await mkdir(join(directory, 'data.new', 'base'), { recursive: true })
    await writeFile(join(directory, 'data.new', 'PG_VERSION'), '18\n')
    const { url } = await start(false)
    expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it.each([
    ['the process', (pid: number) => process.kill(pid, 'SIGKILL')],
    ['its whole group', (pid: number) => process.kill(-pid, 'SIGKILL')],
  ])('starts at once after kill -9 of %s, with every acknowledged row', async (_, end) => {
    const { child, url, ended } = await startElsewhere()
    await ask(url, 'create table kept as select generate_series(1, 100) as value')
    end(child.pid as number)
    await ended
    const { url: next } = await start()
    expect(await ask(next, 'select count(*)::int as rows from kept')).toEqual([{ rows: 100 }])
  })

  it('starts after kill -9 of Postgres and its watchdog as well', async () => {
    const { child, url, ended } = await startElsewhere()
    await ask(url, 'create table kept as select 1 as value')
    const pid = await postmaster()
    const watchdog = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[1])
    for (const each of [watchdog, pid, child.pid as number]) killIfAlive(each)
    await ended
    const { url: next } = await start()
    expect(await ask(next, 'select value from kept')).toEqual([{ value: 1 }])
  })

  it('ends a Postgres that outlived its watchdog', async () => {
    const { child, url, ended } = await startElsewhere()
    await ask(url, 'create table kept as select 1 as value')
    const pid = await postmaster()
    const watchdog = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[1])
    // The child of the watchdog ends with it; it would have signalled Postgres.
    for (const each of await readdir('/proc')) {
      const line = /^\d+$/.test(each) ? await readFile(`/proc/${each}/stat`, 'utf8').catch(() => '') : ''
      if (line.split(') ')[1]?.split(' ')[1] === String(watchdog) && Number(each) !== pid) process.kill(Number(each), 'SIGKILL')
    }
    process.kill(watchdog, 'SIGKILL')
    child.kill('SIGKILL')
    await ended
    await sleep(200)
    process.kill(pid, 0)
    const { url: next } = await start()
    expect(await postmaster()).not.toBe(pid)
    expect(await ask(next, 'select value from kept')).toEqual([{ value: 1 }])
  })

  it('does not trust a postmaster.pid that names another program', async () => {
    await (await start(false)).stop()
    running.pop()
    await writeFile(join(directory, 'data/postmaster.pid'), `${process.pid}\n${join(directory, 'data')}\n1\n5432\n\n\n\nready\n`)
    await writeFile(join(directory, 'lock'), '1 0')
    const { url } = await start(false)
    expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('starts Postgres again when it is killed under a running service', async () => {
    const { url } = await start()
    process.kill(await postmaster(), 'SIGKILL')
    await expect.poll(() => ask(url, 'select 1 as one').catch(() => undefined), { timeout: 10_000, interval: 50 }).toEqual([{ one: 1 }])
  })

  it('says in one line that the database needs another version', async () => {
    await mkdir(join(directory, 'data'), { recursive: true })
    await writeFile(join(directory, 'data', 'PG_VERSION'), '9\n')
    await expect(start()).rejects.toThrow(/needs Postgres 9, which was not found[^\n]*$/)
  })
})
