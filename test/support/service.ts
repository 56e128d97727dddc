import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { expect } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { buildApp } from '../../src/app.js'
import { createContext, type OpenContext } from '../../src/cli/create-context.js'
import { resolveAddress, resolveSshPort } from '../../src/cli/host.js'
import { type Config, readConfig } from '../../src/config.js'
import { openDatabase } from '../../src/db/client.js'
import { DatabaseSnapshots, readCatalog } from '../../src/db/snapshots.js'
import { Argon2 } from '../../src/lib/crypto/argon2.js'
import { recordMailEnabled } from '../../src/services/mail/enabled.js'
import { Gate } from '../../src/testing/gate.js'
import { WorldDatabase } from '../../src/testing/world-database.js'
import type { SshLimits } from '../../src/transport/ssh/limits.js'
import { startSsh } from '../../src/transport/ssh/server.js'
import { testSpawner } from './spawner.js'
import { createTestDatabase } from './template-database.js'

/** Statements that are not caused by a call: reading the settings, recording the use of a token, polling for jobs. */
const IN_BETWEEN =
  /^(select ("\w+", )*"\w+" from "(application_settings"|request_limits"|broadcast_messages" where)|update "tokens" set "last_used_at"|\/\* (jobs|storages) \*\/)/
const START = 'start'
/** How long calls may still run after the tests of a file, in milliseconds. */
const PATIENCE = 1_000

export interface ServiceOptions {
  /** Added to the configuration. SSH is off unless it sets a port. */
  environment: Record<string, string>
  limits?: SshLimits | undefined
  /** Keep repositories up when a test drains the queue; for tests of what that does. */
  upkeep?: boolean | undefined
}

interface ServiceUser {
  onLog(line: string): void
  /** Called with the text of each statement, except those that match `IN_BETWEEN`. */
  onQuery(text: string): void
}

/** A complete service, with its own database, repositories and port. */
export interface Service {
  ctx: OpenContext
  app: FastifyInstance
  /** The scheme, host and port that the service listens on. */
  url: string
  dataDir: string
  databaseUrl: string
  /** The test file that currently uses the service. */
  user: ServiceUser
  /** Ends running calls and jobs, before another test file uses the service. */
  rest(): Promise<void>
  /** Restores the initial state. */
  renew(): Promise<void>
  close(): Promise<void>
}

/**
 * Upkeep of a repository starts several git processes after each change of it, a tenth of the time of a test run,
 * although few tests are about what it does: it waits until they drain the queue, and is left out for all others.
 */
const upkeepOf = (isKept: boolean) => `create schema tests;
  create function tests.upkeep() returns trigger language plpgsql as $$
    begin ${isKept ? "new.run_at = new.run_at + interval '1 hour'; return new;" : 'return null;'} end $$;
  create trigger upkeep before insert on jobs for each row when (new.kind = 'repository upkeep') execute function tests.upkeep()`

/** Services of this worker with the default configuration that no test file uses now. */
const resting: Service[] = []

/**
 * A service for exclusive use; return it with `giveBack`. With the default configuration, it may be the service of an
 * earlier test file: its application and connections are kept, and its state is reset as for a world of `roost test`. A
 * test that changes the database schema must pass its own configuration.
 */
export async function takeService(options: ServiceOptions, user: ServiceUser): Promise<Service> {
  const kept = isUsual(options) ? resting.pop() : undefined
  if (!kept) return openService(options, user)
  kept.user = user
  await kept.renew()
  return kept
}

export async function giveBack(service: Service, options: ServiceOptions): Promise<void> {
  if (!isUsual(options)) return service.close()
  await service.rest()
  resting.push(service)
}

const isUsual = ({ environment, limits, upkeep }: ServiceOptions) => Object.keys(environment).length === 0 && limits === undefined && !upkeep

/**
 * Failed credentials are not counted, because all calls of tests come from one address, and password hashing uses the
 * lowest cost that argon2 allows.
 */
const configurationOf = (dataDir: string, environment: Record<string, string>): Config =>
  readConfig({
    DATA_DIR: dataDir,
    PORT: '0',
    SSH_PORT: '',
    // clone addresses of SSH, as of another server at the usual port
    ...(environment['SSH_PORT'] === undefined && { SSH_PUBLIC_PORT: '22' }),
    LOG_LEVEL: 'info',
    BASE_URL: 'http://roost.test',
    ROOST_FAILED_CREDENTIALS: '0',
    ROOST_FAILED_CREDENTIALS_DELAY: '0',
    ROOST_ARGON2_MEMORY: '8',
    ROOST_ARGON2_PASSES: '1',
    ...environment,
  })

/** Shared by all services of this worker, because its threads take long to start. */
let argon2: Argon2 | undefined

async function openService({ environment, limits, upkeep = false }: ServiceOptions, user: ServiceUser): Promise<Service> {
  const database = await createTestDatabase({ statements: [upkeepOf(upkeep)] })
  const dataDir = await mkdtemp(join(tmpdir(), 'roost-app-'))
  const service = { databaseUrl: database.url, dataDir, user } as Service
  const base = configurationOf(dataDir, environment)
  const config = await resolveAddress(await resolveSshPort(base, (fault) => expect.fail(fault.message)))
  const log = pino({ level: base.logLevel }, { write: (line: string) => service.user.onLog(line) })
  const onQuery = (text: string) => IN_BETWEEN.test(text) || service.user.onQuery(text)
  const db = new WorldDatabase(await openDatabase(database.url, { log, poolSize: 4, onQuery }))
  const snapshots = new DatabaseSnapshots(db.facade, await readCatalog(db.facade))
  const gate = new Gate()
  argon2 ??= new Argon2(base.argon2)
  const programs = new URL('./', pathToFileURL(await build()))
  const among = { workers: 1, programs, ...(argon2.cost.memory === base.argon2.memory && argon2.cost.passes === base.argon2.passes && { argon2 }) }
  const begin = async () => {
    const ctx = await createContext({ ...config }, db.facade, log, testSpawner, among)
    await recordMailEnabled(ctx)
    await ctx.jobs.start({ schedules: false })
    return ctx
  }

  await snapshots.take(START)
  service.ctx = await begin()
  service.app = await buildApp(service.ctx, { prepare: (app) => gate.watch(app) })
  await service.app.listen({ host: '127.0.0.1', port: config.port })
  service.url = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`
  const ssh =
    config.ssh.port === null
      ? null
      : await startSsh(service.ctx, { program: new URL('ssh.js', pathToFileURL(await build())), ...(limits && { limits }) })
  service.rest = () =>
    gate.runWhenIdle(PATIENCE, async () => {
      await service.ctx.close()
      await service.ctx.jobs.untilEnded()
      db.forgetListeners()
      service.app.server.closeAllConnections()
    })
  service.renew = async () => {
    await snapshots.restore(START)
    // rows of processes that a test has killed
    await db.facade.write.execute(sql`delete from processes`)
    for (const name of await readdir(dataDir)) await rm(join(dataDir, name), { recursive: true, force: true })
    Object.assign(service.ctx, await begin())
  }
  service.close = async () => {
    await Promise.all([ssh?.close(5_000), service.app.close()])
    await service.ctx.close()
    await snapshots.close()
    await db.close()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
  return service
}
