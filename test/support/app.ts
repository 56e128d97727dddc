import { Agent } from 'node:http'
import { sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import supertest from 'supertest'
import { afterAll, beforeAll, expect } from 'vitest'
import type { z } from 'zod'
import type { OpenContext } from '../../src/cli/create-context.js'
import type { Endpoint } from '../../src/http/endpoint.js'
import { refusalsOf, successOf } from '../../src/http/openapi/responses.js'
import { families } from '../../src/routes/index.js'
import { recordAnswer } from './answers.js'
import type { Credentialed } from './factories.js'
import { giveBack, type Service, type ServiceOptions, takeService } from './service.js'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head'

/** The service of a test file, with its own database, repositories and port. */
export interface TestApp {
  ctx: OpenContext
  app: FastifyInstance
  /** The scheme, host and port that the service listens on. */
  url: string
  /** Calls the API, anonymously without a caller. Checks successful responses against the schema of the endpoint. */
  api(method: Method, path: string, caller?: Credentialed | null): supertest.Test
  /**
   * The texts of all SQL statements sent while `work` runs, except periodic ones: reading the settings, and recording
   * the use of a token. Jobs do not run in the meantime; with `jobs`, those that `work` enqueues run to the end and are
   * included.
   */
  queriesOf(work: () => PromiseLike<unknown>, options?: { jobs?: boolean }): Promise<string[]>
  /** The log lines so far. */
  logged: string[]
  dataDir: string
  databaseUrl: string
}

/**
 * Provides a service for the tests of a file, see `takeService`. `environment` is added to the configuration; SSH is
 * off unless it sets a port.
 */
export function testApp(environment: Record<string, string> = {}, more: Omit<ServiceOptions, 'environment'> = {}): TestApp {
  const t = { logged: [] as string[] } as TestApp
  let seen: string[] | undefined
  let service: Service
  const options = { environment, ...more }

  beforeAll(async () => {
    service = await takeService(options, { onLog: (line) => void t.logged.push(line), onQuery: (text) => void seen?.push(text) })
    const { ctx, app, url, dataDir, databaseUrl } = service
    Object.assign(t, { ctx, app, url, dataDir, databaseUrl })
  })
  afterAll(() => giveBack(service, options))

  t.api = apiOf(t)
  const recorded = async (work: () => PromiseLike<unknown>) => {
    const texts: string[] = []
    seen = texts
    try {
      await work()
    } finally {
      seen = undefined
    }
    return texts
  }
  t.queriesOf = async (work, { jobs = false } = {}) => {
    await t.ctx.jobs.drain() // pending jobs of earlier calls send statements, too
    if (jobs) return recorded(async () => [await work(), await t.ctx.jobs.drain()])
    return t.ctx.db.transaction(async (tx) => {
      // while this lock is held, no job is claimed, so none of their statements are recorded
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('roost jobs', 0))`)
      // read the settings now, so that `work` does not
      await t.ctx.caches.settings.read()
      return recorded(work)
    })
  }
  return t
}

/** Reuses connections, as most clients do. */
const agent = new Agent({ keepAlive: true })

/** Calls a service, and checks successful responses against the declared schemas. */
export const apiOf =
  (service: { url: string }): TestApp['api'] =>
  (method, path, caller) => {
    const call = supertest(service.url)[method](`/api/v4${path}`).agent(agent)
    if (caller) call.set('PRIVATE-TOKEN', caller.token)
    return call.expect((response) => checkShape(method, path, response))
  }

const declared = families.flat().map((endpoint) => ({
  ...endpoint,
  pattern: new RegExp(`^${endpoint.path.replace(/\/:[a-z_]+(\([^/]*\))?/g, '/[^/]+')}$`),
  fixed: endpoint.path.split('/').filter((part) => part !== '' && !part.startsWith(':')).length,
}))

/** The endpoint that serves a call: of the matching patterns, the one with the most fixed segments. */
function endpointOf(method: Method, path: string) {
  const bare = path.split('?', 1)[0] ?? ''
  return declared.filter((endpoint) => endpoint.method === method.toUpperCase() && endpoint.pattern.test(bare)).sort((a, b) => b.fixed - a.fixed)[0]
}

/** Statuses that do not come from endpoints: request timeout, URI too long, internal error. */
const ELSEWHERE = new Set([408, 414, 500])

/** Checks that the API reference lists the status for the endpoint. */
function checkStatus(endpoint: Endpoint, { status, text }: supertest.Response) {
  const { method, path } = endpoint
  if (status !== successOf(endpoint) && !ELSEWHERE.has(status) && !refusalsOf(endpoint).includes(status))
    expect.fail(`${method} ${path} answers ${status}, which its declaration does not have: ${text?.slice(0, 500)}`)
}

/** Checks that a successful JSON response is exactly what the endpoint declares, without additional fields (SEC-8). */
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
