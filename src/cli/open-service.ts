import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import type { Database } from '../db/client.js'
import { SpawnerProcess } from '../git/process/spawner-process.js'
import type { ContextOptions, OpenContext } from './create-context.js'
import { cannotListen, connectionBudget } from './host.js'
import { type Lifecycle, OUTDATED } from './lifecycle.js'

/** The program of the spawner process; the build puts it beside this one. */
const SPAWNER = fileURLToPath(new URL('./spawner.js', import.meta.url))

/** Loads most of the program, lazily, while Postgres starts. */
export async function loadProgram() {
  const [
    { openMigrated },
    { createContext },
    { buildApp },
    { startSsh },
    { serveSocket },
    { bootstrapAdministrator },
    { startContinuousRecovery, recover, recoverKilledProcess },
    { recordMailEnabled },
  ] = await Promise.all([
    import('./database.js'),
    import('./create-context.js'),
    import('../app.js'),
    import('../transport/ssh/server.js'),
    import('../transport/ssh/socket.js'),
    import('../services/operations/bootstrap.js'),
    import('../services/operations/recovery.js'),
    import('../services/mail/enabled.js'),
  ])
  return {
    openMigrated,
    createContext,
    buildApp,
    startSsh,
    serveSocket,
    bootstrapAdministrator,
    startContinuousRecovery,
    recover,
    recoverKilledProcess,
    recordMailEnabled,
  }
}

export interface Opening {
  program: Awaited<ReturnType<typeof loadProgram>>
  contextOptions?: ContextOptions | undefined
  /**
   * True for the first process of the service: it creates the first administrator and runs recovery. Otherwise the ids
   * of processes that were killed since.
   */
  first: true | { killed: string[] }
  /** Called with the context and with the preparation, before which nothing is served. */
  onContext?: (ctx: Context, prepared: Promise<void>) => void
}

/** Opens a serving process; the application does not listen yet. */
export async function openService(
  config: Config & { baseUrl: string },
  database: Database,
  lifecycle: Lifecycle,
  { program, contextOptions, first, onContext }: Opening,
): Promise<{ ctx: Context; app: FastifyInstance }> {
  const spawner = new SpawnerProcess(SPAWNER)
  lifecycle.onClose(() => spawner.close())
  spawner.prepare()
  const own = contextOptions ?? { workers: 1, onOutdated: () => lifecycle.end(OUTDATED) }
  const ctx = await program.createContext(config, database, lifecycle.log, spawner, own)
  lifecycle.onClose(() => ctx.close())
  const prepared = prepare(ctx, program, first)
  onContext?.(ctx, prepared)
  // one waits for the database, the other uses the CPU
  const [app, { http }] = await Promise.all([program.buildApp(ctx), connectionBudget(), prepared])
  app.server.maxConnections = Math.min(app.server.maxConnections, http)
  return { ctx, app }
}

async function prepare(ctx: OpenContext, program: Opening['program'], first: Opening['first']): Promise<void> {
  if (first === true) {
    await program.bootstrapAdministrator(ctx)
    await program.recover(ctx)
    await program.recordMailEnabled(ctx)
    await ctx.jobs.start({ exclusive: ctx.config.databaseUrl === undefined })
  } else {
    await ctx.jobs.start({ endedProcesses: first.killed })
    if (first.killed.length > 0) await program.recoverKilledProcess(ctx)
  }
  ctx.storages.start()
  ctx.samples.startSampling()
  program.startContinuousRecovery(ctx)
}

/** Starts to listen; resolves with the address. */
export const listen = (app: FastifyInstance, { host, port }: Config): Promise<string> =>
  app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(host, port, error)
  })

/**
 * How long a service that stops still takes requests, in milliseconds: a proxy learns from the readiness check that it
 * has to send them elsewhere, and a client from `Connection: close` (SEC-160).
 */
const LAST_REQUESTS_MS = 2_000

/** Takes the last requests, then stops listening, after running ones have ended or after `wait` milliseconds in all. */
export async function stopServing(app: FastifyInstance, wait: number): Promise<void> {
  app.drain.begin()
  await sleep(LAST_REQUESTS_MS)
  await stopListening(app, wait - LAST_REQUESTS_MS)
}

/** Stops listening, after running requests have ended or after `wait` milliseconds. */
export async function stopListening(app: FastifyInstance, wait: number): Promise<void> {
  const late = setTimeout(() => app.server.closeAllConnections(), wait)
  await app.close().finally(() => clearTimeout(late))
}
