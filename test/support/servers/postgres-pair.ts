import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { accountForPostgres, chownTree } from '../../../src/db/postgres/account.js'
import { initialise } from '../../../src/db/postgres/initialise.js'
import { launch } from '../../../src/db/postgres/processes.js'
import { chooseServer, serverEnvironment } from '../../../src/db/postgres/server.js'

const PASSWORD = 'a password of the pair'
const HBA = 'host all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256\n'

/** One of the two Postgres servers. */
export interface PairServer {
  port: number
  url: string
  query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>
  /** Kills all its processes, as if its machine were lost. */
  kill(): Promise<void>
}

export interface PostgresPair {
  primary: PairServer
  /** Replicates the primary, whose commits wait for it. */
  standby: PairServer
  /** The URL with both hosts, the standby first. */
  url: string
  close(): Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a primary and a standby with synchronous streaming replication, in a temporary folder. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const folder = mkdtempSync(join(tmpdir(), 'roost-pair-'))
  chmodSync(folder, 0o755)
  const account = await accountForPostgres()
  const programs = await chooseServer(join(folder), account, undefined)
  const [homes, ports] = [[join(folder, 'a'), join(folder, 'b')] as const, [await freePort(), await freePort()] as const]
  for (const home of homes) {
    mkdirSync(home)
    if (account) await chownTree(home, account)
  }
  await initialise(programs, homes[0], account, false, PASSWORD)
  writeFileSync(join(homes[0], 'data', 'pg_hba.conf'), HBA)
  cpSync(join(homes[0], 'data'), join(homes[1], 'data'), { recursive: true })
  const follows = `host=127.0.0.1 port=${ports[0]} user=roost password='${PASSWORD}' application_name=standby`
  writeFileSync(join(homes[1], 'data', 'standby.signal'), '')
  writeFileSync(join(homes[1], 'data', 'postgresql.auto.conf'), `primary_conninfo = '${follows.replaceAll("'", "''")}'\n`)
  chmodSync(join(homes[1], 'data'), 0o700)
  if (account) await chownTree(join(homes[1], 'data'), account)

  const started: ChildProcess[] = []
  const start = async (at: 0 | 1): Promise<PairServer> => {
    const data = join(homes[at], 'data')
    const values = {
      listen_addresses: '127.0.0.1',
      port: ports[at],
      unix_socket_directories: '',
      wal_level: 'replica',
      fsync: 'off',
      // in files of the data folder: a server that is killed leaves nothing elsewhere
      dynamic_shared_memory_type: 'mmap',
      shared_buffers: '16MB',
    }
    const args = ['-D', data, ...Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    const child = launch(join(programs.bin, 'postgres'), args, account, serverEnvironment(programs))
    child.stderr?.resume()
    started.push(child)
    const url = `postgresql://roost:${encodeURIComponent(PASSWORD)}@127.0.0.1:${ports[at]}/postgres`
    const query = async <Row extends pg.QueryResultRow>(text: string) => {
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
      client.on('error', () => undefined)
      await client.connect()
      return client
        .query<Row>(text)
        .then(({ rows }) => rows)
        .finally(() => client.end())
    }
    const answers = () =>
      query('select 1').then(
        () => true,
        () => false,
      )
    for (const until = Date.now() + 30_000; !(await answers()); await sleep(50))
      if (Date.now() > until) throw new Error('a server of the pair does not start')
    const kill = async () => {
      const ended = once(child, 'close')
      process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0]), 'SIGKILL')
      await ended
    }
    return { port: ports[at], url, query, kill }
  }
  const close = async () => {
    const running = started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    await Promise.all(
      running.map((child) => {
        const ended = once(child, 'close')
        child.stdin?.end()
        return ended
      }),
    )
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const [primary, standby] = [await start(0), await start(1)]
    await primary.query(`alter system set synchronous_standby_names = 'standby'`)
    await primary.query('select pg_reload_conf()')
    const isFollowed = async () =>
      (await primary.query<{ state: string }>('select sync_state as state from pg_stat_replication'))[0]?.state === 'sync'
    for (const until = Date.now() + 30_000; !(await isFollowed()); await sleep(50))
      if (Date.now() > until) throw new Error('the standby does not follow')
    const user = `roost:${encodeURIComponent(PASSWORD)}`
    return { primary, standby, url: `postgresql://${user}@127.0.0.1:${ports[1]},127.0.0.1:${ports[0]}/postgres`, close }
  } catch (error) {
    await close()
    throw error
  }
}
