import { randomBytes } from 'node:crypto'
import { type ClientRequest, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { directoryOf, gitClient, gitOut, gitProcessesIn, packet } from '../support/clients/git-client.js'
import { aCommit, aProject, type TestProject } from '../support/factories.js'

const t = testApp({ ROOST_TRUSTED_PROXIES: '127.0.0.1' })
const client = gitClient(t)

let project: TestProject
let directory: string
let head: string
beforeAll(async () => {
  project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
  head = await aCommit(t.ctx, project, { 'folder/b': 'b'.repeat(5_000) })
  directory = directoryOf(t, project.id)
})

/** Lines that say a client has objects that do not exist. */
const haves = (bytes: number) => {
  const line = () => packet(`have ${randomBytes(20).toString('hex')}\n`)
  const some = Buffer.concat(Array.from({ length: 1_000 }, line))
  return Buffer.concat([packet(`want ${head}\n`), Buffer.from('0000'), ...Array(Math.ceil(bytes / some.length)).fill(some)])
}
const DONE = packet('done\n')

/** A fetch as no client would make it; `answer` is the status, or null where the connection broke. */
function ask(from: string, headers: Record<string, string> = {}) {
  const { hostname, port } = new URL(t.url)
  const path = `/${project.fullPath}.git/git-upload-pack`
  const asked: ClientRequest = request({ hostname, port, path, method: 'POST', agent: false, headers: { 'x-forwarded-for': from, ...headers } })
  const answer = new Promise<number | null>((resolve) => {
    asked.on('error', () => resolve(null))
    asked.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
  })
  return { asked, answer }
}
const gone = (within = 5_000) => expect.poll(() => gitProcessesIn(directory), { timeout: within, interval: 20 }).toEqual([])

describe('the body of a fetch', () => {
  it.each([
    ['gzipped', true],
    ['as it is', false],
  ])('of more than 16 MiB, %s, is 413 and leaves no process (SEC-143)', async (_, zipped) => {
    const body = Buffer.concat([haves(17 * 2 ** 20), DONE])
    const { asked, answer } = ask('10.0.0.1', zipped ? { 'content-encoding': 'gzip' } : {})
    asked.end(zipped ? gzipSync(body, { level: 1 }) : body)
    expect(await answer).toBe(413)
    await gone()
  })

  it('of less is read', async () => {
    const { asked, answer } = ask('10.0.0.2', { 'content-encoding': 'gzip' })
    asked.end(gzipSync(Buffer.concat([haves(2 ** 20), DONE])))
    expect(await answer).toBe(200)
    await gone()
  })

  it('a client that left is noticed while git does not read what it had sent (SEC-143)', async () => {
    const { asked, answer } = ask('10.0.0.3', { 'content-encoding': 'gzip' })
    asked.write(gzipSync(haves(12 * 2 ** 20), { level: 1 }))
    await expect.poll(() => gitProcessesIn(directory).length, { timeout: 5_000, interval: 10 }).toBeGreaterThan(0)
    for (const id of gitProcessesIn(directory)) process.kill(Number(id), 'SIGSTOP')
    asked.destroy()
    expect(await answer).toBeNull()
    await gone()
  })
})

describe('the turns of the wire', () => {
  it('one address has a quarter of them at once, and waits for more (SEC-143)', async () => {
    // half a request each: git waits for the rest
    const begun = ['10.1.0.1', '10.1.0.1', '10.1.0.1', '10.1.0.1'].map((from) => ask(from))
    for (const { asked } of begun) asked.write(packet(`want ${head}\n`))
    await expect.poll(() => gitProcessesIn(directory).length, { timeout: 5_000, interval: 10 }).toBe(4)
    const fifth = ask('10.1.0.1')
    fifth.asked.end(Buffer.concat([packet(`want ${head}\n`), Buffer.from('0000'), DONE]))
    const other = ask('10.1.0.2')
    other.asked.end(Buffer.concat([packet(`want ${head}\n`), Buffer.from('0000'), DONE]))
    expect(await other.answer).toBe(200)
    expect(await Promise.race([fifth.answer, 'waits'])).toBe('waits')
    begun[0]?.asked.destroy()
    expect(await fifth.answer).toBe(200)
    for (const { asked } of begun) asked.destroy()
    await gone()
  })

  it('of an IPv6 network too, whatever its addresses', async () => {
    const begun = [1, 2, 3, 4].map((n) => ask(`2001:db8:1:1::${n}`))
    for (const { asked } of begun) asked.write(packet(`want ${head}\n`))
    await expect.poll(() => gitProcessesIn(directory).length, { timeout: 5_000, interval: 10 }).toBe(4)
    const fifth = ask('2001:db8:1:1:ffff::5')
    fifth.asked.end(Buffer.concat([packet(`want ${head}\n`), Buffer.from('0000'), DONE]))
    const other = ask('2001:db8:1:2::1')
    other.asked.end(Buffer.concat([packet(`want ${head}\n`), Buffer.from('0000'), DONE]))
    expect(await other.answer).toBe(200)
    expect(await Promise.race([fifth.answer, 'waits'])).toBe('waits')
    for (const { asked } of begun) asked.destroy()
    expect(await fifth.answer).toBe(200)
    await gone()
  })
})

describe('partial clones', () => {
  it.each(['blob:none', 'blob:limit=1k', 'tree:0'])('--filter=%s is served (SEC-143)', async (filter) => {
    const { code, work } = await client.clone(client.url(project.fullPath), '--no-checkout', `--filter=${filter}`)
    expect(code).toBe(0)
    expect(await gitOut(work, 'rev-parse', 'HEAD')).toBe(head)
  })

  it.each(['tree:1', 'sparse:oid=main:a', 'object:type=commit', 'combine:blob:none+tree:0'])('and --filter=%s is not', async (filter) => {
    const { code, err } = await client.clone(client.url(project.fullPath), '--no-checkout', `--filter=${filter}`)
    expect(code).not.toBe(0)
    expect(err).toMatch(/filter .* not supported|tree filter allows max depth 0/)
  })
})
