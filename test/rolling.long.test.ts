// @module-tag long
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Service, startService, TOKEN } from '../bench/kill.mjs'
import { build } from '../scripts/build.mjs'
import { rounds } from './support/rounds.js'
import { createTestDatabase } from './support/template-database.js'

/** How often the proxy asks an instance whether it is ready, in milliseconds. */
const READINESS_INTERVAL_MS = 200
const CLIENTS = 8

const folder = mkdtempSync(join(tmpdir(), 'rolling-'))
chmodSync(folder, 0o711)
beforeAll(async () => {
  await build()
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** A proxy that keeps connections to instances, asks each whether it is ready, and sends no request twice. */
class ReadinessProxy {
  readonly #upstreams = new Map<string, { agent: http.Agent; ready: boolean }>()
  readonly #ended = new AbortController()
  #turn = 0
  // its own idle connections stay open: only the instances close any
  readonly server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const ready = [...this.#upstreams].filter(([, { ready }]) => ready)
    const [url, { agent } = { agent: undefined }] = ready[this.#turn++ % ready.length] ?? []
    if (url === undefined) return void response.writeHead(502).end('no instance is ready')
    const { method, url: path, headers } = request
    const forwarded = http.request(`${url}${path}`, { agent, method, headers }, (answer) => {
      const { connection: _, ...kept } = answer.headers
      response.writeHead(answer.statusCode ?? 502, kept)
      answer.pipe(response)
    })
    forwarded.once('error', (error) => response.writeHead(502).end(String(error)))
    request.pipe(forwarded)
  })

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Sends requests to an instance too, while it is ready; resolves when it is. */
  async add(url: string): Promise<void> {
    const upstream = { agent: new http.Agent({ keepAlive: true }), ready: false }
    this.#upstreams.set(url, upstream)
    const check = async () => {
      upstream.ready = await fetch(`${url}/-/readiness`).then(
        ({ ok }) => ok,
        () => false,
      )
    }
    await check()
    void (async () => {
      for (; this.#upstreams.get(url) === upstream && !this.#ended.signal.aborted; await check()) await sleep(READINESS_INTERVAL_MS)
      upstream.agent.destroy()
    })()
  }

  remove(url: string): void {
    this.#upstreams.delete(url)
  }

  close(): void {
    this.#ended.abort()
    this.server.close()
    this.server.closeAllConnections()
  }
}

it('loses no call while two instances behind a proxy are restarted in turn, with clients that never try again (SEC-160)', async () => {
  const database = await createTestDatabase()
  const environment = { DATABASE_URL: database.url, ROOST_SECRET_KEY: 'rolling-secret-key-0123456789-0123456789' }
  const start = () => startService(join(folder, 'data'), environment)
  const proxy = new ReadinessProxy()
  const url = await proxy.listen()
  const services: Service[] = [await start(), await start()]
  for (const service of services) await proxy.add(service.url)
  const ended = new AbortController()
  const failures: string[] = []
  let calls = 0
  const agent = new http.Agent({ keepAlive: true })
  const call = (method: string, path: string, body?: object) =>
    new Promise<void>((resolve) => {
      calls++
      const failed = (reason: unknown) => {
        failures.push(`${method} ${path}: ${reason}`)
        resolve()
      }
      const headers = { 'private-token': TOKEN, ...(body && { 'content-type': 'application/json' }) }
      const request = http.request(`${url}/api/v4${path}`, { agent, method, headers }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.once('error', failed)
        response.once('end', () => ((response.statusCode ?? 0) < 300 ? resolve() : failed(`${response.statusCode} ${text}`)))
      })
      request.once('error', failed).end(body && JSON.stringify(body))
    })
  await call('POST', '/projects', { path: 'one', initialize_with_readme: true })
  const client = async (number: number) => {
    for (let n = 0; !ended.signal.aborted; n++) {
      await call('GET', '/projects/root%2Fone/repository/tree')
      await call('POST', '/projects/root%2Fone/issues', { title: `issue ${number}.${n}` })
      // clients that pause send their next call on a connection that has been idle
      await sleep(10 + number * 40)
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
  try {
    for (let round = 0; round < rounds(2, 20); round++) {
      const old = services.shift() as Service
      expect(await old.end('SIGTERM')).toBe(0)
      proxy.remove(old.url)
      const service = await start()
      services.push(service)
      await proxy.add(service.url)
    }
  } finally {
    ended.abort()
    await Promise.all(clients)
    agent.destroy()
    proxy.close()
    for (const service of services) await service.end()
    await database.drop()
  }
  expect({ failures, made: calls > 0 }).toEqual({ failures: [], made: true })
}, 900_000)
