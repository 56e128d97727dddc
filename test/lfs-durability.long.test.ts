// @module-tag long
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFauxqs } from 'fauxqs'
import { beforeAll, expect, it } from 'vitest'
import { call, type Service, startService, withToken } from '../bench/kill.mjs'
import { build } from '../scripts/build.mjs'
import { anObject, basic, send, type TestObject } from './support/clients/lfs-client.js'
import { rounds } from './support/rounds.js'

beforeAll(async () => {
  await build()
})

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const UPLOADS = 6

/** Sends an object in pieces, some of them late, the last one after `last`; its status, or null where it was cut. */
function upload(url: string, headers: Record<string, string>, { bytes }: TestObject, last?: Promise<unknown>): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request(url, { method: 'PUT', agent: false, headers: { ...headers, 'content-length': bytes.length } }, (answer) => {
      answer.on('error', () => resolve(null)).on('end', () => resolve(answer.statusCode ?? null))
      answer.resume()
    })
    asked.on('error', () => resolve(null))
    const piece = Math.ceil(bytes.length / 20)
    const write = async () => {
      for (let at = 0; at < bytes.length && !asked.destroyed; at += piece) {
        if (at + piece >= bytes.length) await last
        asked.write(bytes.subarray(at, at + piece))
        await sleep(Math.random() * 20)
      }
      asked.end()
    }
    void write()
  })
}

/** Files of the store that are not what their names say, and what is left of uploads. */
function faultsIn(store: string): string[] {
  if (!existsSync(store)) return []
  const files = readdirSync(store, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(store, path)).isFile())
  return files.filter((path) => path.startsWith('incoming') || digest(readFileSync(join(store, path))) !== path.replaceAll('/', ''))
}

/** Kills the service again and again while objects are sent; each is served whole or not at all, and can be sent again. */
async function killUploads(amount: number, size: () => number, environment: Record<string, string>): Promise<{ acknowledged: number; cut: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  let service: Service = await startService(dataDir, environment)
  const counts = { acknowledged: 0, cut: 0 }
  try {
    const made = await call(service.url, 'POST', '/projects', { name: 'large' })
    expect(made?.status).toBe(201)
    const headers = basic(new URL(withToken(service.url)).password)
    const at = ({ oid }: TestObject) => `${service.url}/${made?.body.path_with_namespace}.git/info/lfs/objects/${oid}`
    for (let round = 0; round < amount; round++) {
      const objects = Array.from({ length: UPLOADS }, () => anObject(randomBytes(size())))
      let over = () => {}
      const killed = new Promise<void>((resolve) => {
        over = resolve
      })
      const sent = objects.map((object, n) => upload(at(object), headers, object, n === 0 ? killed : undefined))
      await sleep(50 + Math.random() * 400)
      await service.end('SIGKILL')
      over()
      const statuses = await Promise.all(sent)
      service = await startService(dataDir, environment)
      expect(faultsIn(join(dataDir, 'lfs'))).toEqual([])
      for (const [n, object] of objects.entries()) {
        const answer = await send(at(object), { headers })
        expect([200, ...(statuses[n] === 200 ? [] : [404])]).toContain(answer.status)
        if (answer.status === 200) expect(answer.bytes.equals(object.bytes)).toBe(true)
        expect(await upload(at(object), headers, object)).toBe(200)
        counts[statuses[n] === 200 ? 'acknowledged' : 'cut']++
      }
    }
    expect(faultsIn(join(dataDir, 'lfs'))).toEqual([])
    expect(await service.end('SIGTERM')).toBe(0)
  } finally {
    await service.end()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return counts
}

it(
  'after kill -9 during uploads nothing half is served, nothing is left, and what was acknowledged is there (LF-7)',
  async () => {
    const { cut } = await killUploads(rounds(1, 4), () => 1 + Math.floor(Math.random() * 4_000_000), {})
    expect(cut).toBeGreaterThan(0)
  },
  rounds(120_000, 900_000),
)

it(
  'the same for a bucket (LF-13)',
  async () => {
    const server = await startFauxqs({ port: 0, logger: false, init: { buckets: ['objects'] } })
    try {
      const { cut } = await killUploads(rounds(1, 2), () => 1 + Math.floor(Math.random() * 24_000_000), {
        LFS_STORAGE: 's3://objects/lfs',
        AWS_ENDPOINT_URL: `http://127.0.0.1:${server.port}`,
        AWS_ACCESS_KEY_ID: 'key',
        AWS_SECRET_ACCESS_KEY: 'secret',
      })
      expect(cut).toBeGreaterThan(0)
    } finally {
      await server.stop()
    }
  },
  rounds(120_000, 900_000),
)
