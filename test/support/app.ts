import { Agent } from 'node:http'
import { sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import supertest from 'supertest'
import { afterAll, beforeAll, expect } from 'vitest'
import type { z } from 'zod'
import type { Context } from '../../src/context.js'
import type { Endpoint } from '../../src/http/endpoint.js'
import { refusalsOf, successOf } from '../../src/http/openapi/responses.js'
import { families } from '../../src/routes/index.js'
import type { SshLimits } from '../../src/transport/ssh/limits.js'
import { recordAnswer } from './answers.js'
import type { Credentialed } from './factories.js'
import { giveBack, type Service, takeService } from './service.js'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head'

/** A whole service of one test file: its own database, repositories and port. */
export interface TestApp {
  ctx: Context
  app: FastifyInstance
  /** Scheme, host and port it listens on. */
  url: string
  /** A call of the API as somebody, or as nobody. A success is checked against the shape its endpoint declares. */
  api(method: Method, path: string, caller?: Credentialed | null): supertest.Test
  /**
   * The texts of all SQL statements sent while `work` ran, without what is asked or written once in a while: the settings, and when a token was used.
   * Jobs are not run meanwhile, or with `jobs` all that come of it.
   */
  queriesOf(work: () => PromiseLike<unknown>, options?: { jobs?: boolean }): Promise<string[]>
  /** Log lines so far. */
  logged: string[]
  dataDir: string
  databaseUrl: string
}

/**
 * Gives the file a service before its tests and takes it back after them; see `takeService`. `environment` adds to the configuration; SSH is off
 * unless it names a port.
 */
export function testApp(environment: Record<string, string> = {}, sshOptions: { limits?: SshLimits } = {}): TestApp {
  const t = { logged: [] as string[] } as TestApp
  let seen: string[] | undefined
  let service: Service
  const options = { environment, limits: sshOptions.limits }

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
    await t.ctx.jobs.drain() // what calls before left to be done asks, too
    if (jobs) return recorded(async () => [await work(), await t.ctx.jobs.drain()])
    return t.ctx.db.transaction(async (tx) => {
      // else no job is taken meanwhile: its statements would be counted when it is quick
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('roost jobs', 0))`)
      // read now, so that they are not read anew meanwhile
      await t.ctx.settings()
      return recorded(work)
    })
  }
  return t
}

/** Keeps the connections of calls, as most clients do; each would have one of its own else. */
const agent = new Agent({ keepAlive: true })

/** Calls of a service, whose successes are checked against the shapes that are declared. */
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
