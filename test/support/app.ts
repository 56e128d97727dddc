import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import supertest from 'supertest'
import { afterAll, beforeAll, expect } from 'vitest'
import type { z } from 'zod'
import { build } from '../../scripts/build.mjs'
import { buildApp } from '../../src/app.js'
import { createContext } from '../../src/cli/create-context.js'
import { settleSsh } from '../../src/cli/host.js'
import { readConfig } from '../../src/config.js'
import type { Context } from '../../src/context.js'
import { openDatabase } from '../../src/db/client.js'
import type { Endpoint } from '../../src/http/endpoint.js'
import { refusalsOf, successOf } from '../../src/http/openapi/responses.js'
import { families } from '../../src/routes/index.js'
import { announceMail } from '../../src/services/mail/switch.js'
import type { SshLimits } from '../../src/transport/ssh/limits.js'
import { startSsh } from '../../src/transport/ssh/server.js'
import { recordAnswer } from './answers.js'
import type { Credentialed } from './factories.js'
import { testSpawner } from './spawner.js'
import { createTestDatabase } from './template-database.js'

/** The first request of each second asks for the settings, and the job queue asks by itself. */
const IN_BETWEEN = /^(select "values" from "application_settings"|\/\* (jobs|storages) \*\/)/

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head'

/** A whole service of one test file: its own database, repositories and port. */
export interface TestApp {
  ctx: Context
  app: FastifyInstance
  /** Scheme, host and port it listens on. */
  url: string
  /** A call of the API as somebody, or as nobody. A success is checked against the shape its endpoint declares. */
  api(method: Method, path: string, caller?: Credentialed | null): supertest.Test
  /** The texts of all SQL statements sent while `work` ran, but for the settings, which hold for a second. */
  queriesOf(work: () => Promise<unknown>): Promise<string[]>
  /** Log lines so far. */
  logged: string[]
  dataDir: string
  databaseUrl: string
}

/**
 * Starts the service before the file's tests and takes it away after them. Refused credentials are not counted, because all tests come from one
 * address, and hashing a password costs as little as argon2 allows. `environment` adds to the configuration; SSH is off unless it names a port.
 */
export function testApp(environment: Record<string, string> = {}, sshOptions: { limits?: SshLimits } = {}): TestApp {
  const t = { logged: [] as string[] } as TestApp
  let seen: string[] | undefined
  let close: () => Promise<void>

  beforeAll(async () => {
    const database = await createTestDatabase()
    t.databaseUrl = database.url
    t.dataDir = await mkdtemp(join(tmpdir(), 'roost-app-'))
    const base = readConfig({
      DATA_DIR: t.dataDir,
      PORT: '0',
      SSH_PORT: '',
      LOG_LEVEL: 'info',
      BASE_URL: 'http://roost.test',
      ROOST_FAILED_CREDENTIALS: '0',
      ROOST_FAILED_CREDENTIALS_DELAY: '0',
      ROOST_ARGON2_MEMORY: '8',
      ROOST_ARGON2_PASSES: '1',
      ...environment,
    })
    const log = pino({ level: base.logLevel }, { write: (line: string) => void t.logged.push(line) })
    const db = await openDatabase(database.url, { log, poolSize: 4, onQuery: (text) => IN_BETWEEN.test(text) || seen?.push(text) })
    const config = await settleSsh(base, (fault) => expect.fail(fault.message))
    t.ctx = await createContext({ ...config, baseUrl: base.baseUrl ?? '' }, db, log, testSpawner)
    await announceMail(t.ctx)
    await t.ctx.jobs.start({ schedules: false })
    t.app = await buildApp(t.ctx)
    await t.app.listen({ host: '127.0.0.1', port: 0 })
    t.url = `http://127.0.0.1:${(t.app.server.address() as AddressInfo).port}`
    const ssh = config.ssh.port === null ? null : await startSsh(t.ctx, { program: new URL('ssh.js', pathToFileURL(await build())), ...sshOptions })
    close = async () => {
      await Promise.all([ssh?.close(5_000), t.app.close()])
      await t.ctx.close()
      await db.close()
      await database.drop()
      await rm(t.dataDir, { recursive: true, force: true, maxRetries: 5 })
    }
  })
  afterAll(() => close())

  t.api = apiOf(t)
  t.queriesOf = async (work) => {
    await t.ctx.jobs.drain() // what calls before left to be done asks, too
    seen = []
    await work()
    const texts = seen
    seen = undefined
    return texts
  }
  return t
}

/** Calls of a service, whose successes are checked against the shapes that are declared. */
export const apiOf =
  (service: { url: string }): TestApp['api'] =>
  (method, path, caller) => {
    const call = supertest(service.url)[method](`/api/v4${path}`)
    if (caller) call.set('PRIVATE-TOKEN', caller.token)
    return call.expect((response) => checkShape(method, path, response))
  }

const declared = families.flat().map((endpoint) => ({
  ...endpoint,
  pattern: new RegExp(`^${endpoint.path.replace(/\/:[a-z_]+(\([^/]*\))?/g, '/[^/]+')}$`),
  fixed: endpoint.path.split('/').filter((part) => part !== '' && !part.startsWith(':')).length,
}))

/** The endpoint that serves a call: of several patterns that fit, the one with more fixed parts. */
function endpointOf(method: Method, path: string) {
  const bare = path.split('?', 1)[0] ?? ''
  return declared.filter((endpoint) => endpoint.method === method.toUpperCase() && endpoint.pattern.test(bare)).sort((a, b) => b.fixed - a.fixed)[0]
}

/** Statuses of requests that no endpoint has seen: too slow a body, too large a URL, or a fault of ours. */
const ELSEWHERE = new Set([408, 414, 500])

/** Every status is one that the reference has for the endpoint. */
function checkStatus(endpoint: Endpoint, { status, text }: supertest.Response) {
  const { method, path } = endpoint
  if (status !== successOf(endpoint) && !ELSEWHERE.has(status) && !refusalsOf(endpoint).includes(status))
    expect.fail(`${method} ${path} answers ${status}, which its declaration does not have: ${text?.slice(0, 500)}`)
}

/** Every JSON success is exactly what its endpoint declares, a field too many included (SEC-8). */
function checkShape(method: Method, path: string, response: supertest.Response) {
  const endpoint = endpointOf(method, path)
  if (endpoint) {
    recordAnswer(endpoint, response)
    checkStatus(endpoint, response)
  }
  if (response.status >= 300 || response.status === 204 || method === 'head') return
  const output = endpoint?.output as z.ZodType | undefined
  if (!output || !response.headers['content-type']?.startsWith('application/json')) return
  const parsed = output.safeParse(response.body)
  if (!parsed.success)
    expect.fail(`${method.toUpperCase()} ${path} answers another shape than it declares: ${parsed.error.message}\n${response.text.slice(0, 2000)}`)
}
