import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aProject, aUser, type TestProject } from '../support/factories.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()
const SMALL = Buffer.from(Array.from({ length: 1_000 }, (_, i) => `line ${i}\n`).join(''))
/** More than JSON may hold: Git streams it. */
const LARGE = Buffer.alloc(10 * 1024 * 1024 + 12_345, createHash('sha512').update('x').digest())
let project: TestProject
/** What is sent as it is: its address below the base URL, its bytes, its ETag, and its type. */
const things: { what: string; path: string; content: Buffer; etag: string; type: string }[] = []

const oidOf = (content: Buffer) => createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')

beforeAll(async () => {
  project = await aProject(t.ctx)
  bareOf(t, project).commits({ files: { 'small.txt': SMALL, 'large.bin': LARGE, empty: '' } })
  for (const [name, content, type] of [
    ['small.txt', SMALL, 'text/plain'],
    ['large.bin', LARGE, 'application/octet-stream'],
  ] as const) {
    const of = { content, type, etag: `"${oidOf(content)}"` }
    things.push({ what: `file ${name}`, path: `/api/v4${project.path}/repository/files/${name}/raw`, ...of })
    things.push({ what: `blob ${name}`, path: `/api/v4${project.path}/repository/blobs/${oidOf(content)}/raw`, ...of })
  }
  const { body } = await t.api('post', `${project.path}/uploads`, project.creator).attach('file', SMALL, 'notes.txt').expect(201)
  const etag = `"${body.url.split('/')[2]}"`
  things.push({ what: 'upload', path: body.full_path, content: SMALL, etag, type: 'application/octet-stream' })
})

const read = async (path: string, headers: Record<string, string> = {}, method = 'GET', token: string | null = project.creator.token) => {
  const response = await fetch(`${t.url}${path}`, { method, headers: { ...(token && { 'private-token': token }), ...headers } })
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) }
}

describe('bytes of files, blobs and uploads', () => {
  it('have the object id as ETag, and are not sent again to clients that have them (W-44)', async () => {
    for (const { what, path, content, etag, type } of things) {
      const whole = await read(path)
      expect([what, whole.status, whole.headers.get('etag'), whole.headers.get('accept-ranges'), whole.headers.get('content-type')]).toEqual([
        what,
        200,
        etag,
        'bytes',
        type,
      ])
      expect(whole.body.equals(content)).toBe(true)
      for (const known of [etag, `W/${etag}`, `"other" , ${etag}`, '*']) {
        const { status, headers, body } = await read(path, { 'if-none-match': known, range: 'bytes=0-0' })
        expect([what, known, status, headers.get('etag'), body.length]).toEqual([what, known, 304, etag, 0])
      }
      expect((await read(path, { 'if-none-match': '"other"' })).status).toBe(200)
      if (what === 'upload') continue
      const head = await read(path, { range: 'bytes=0-0' }, 'HEAD')
      expect([what, head.status, head.headers.get('etag'), head.headers.get('content-length')]).toEqual([what, 200, etag, String(content.length)])
      expect((await read(path, { 'if-none-match': etag }, 'HEAD')).status).toBe(304)
    }
  })

  it('a 304 is for those who may read them (SEC-47)', async () => {
    const stranger = await aUser(t.ctx)
    for (const { what, path, etag } of things)
      for (const token of [null, stranger.token])
        expect([what, (await read(path, { 'if-none-match': etag }, 'GET', token)).status]).toEqual([what, 404])
  })

  it('a part of them is 206 (W-45)', async () => {
    for (const { what, path, content } of things) {
      const { length } = content
      for (const [range, start, end] of [
        ['bytes=0-0', 0, 0],
        ['bytes=5-9', 5, 9],
        ['Bytes= 5-9 ', 5, 9],
        [`bytes=${length - 3}-`, length - 3, length - 1],
        ['bytes=-4', length - 4, length - 1],
        [`bytes=-${length + 1}`, 0, length - 1],
        [`bytes=7000-${'9'.repeat(30)}`, 7_000, length - 1],
      ] as const) {
        const { status, headers, body } = await read(path, { range })
        expect([what, range, status, headers.get('content-range'), headers.get('content-length')]).toEqual([
          what,
          range,
          206,
          `bytes ${start}-${end}/${length}`,
          String(end - start + 1),
        ])
        expect(body.equals(content.subarray(start, end + 1))).toBe(true)
      }
    }
  })

  it('a part beyond the end is 416, and what makes no sense is ignored (W-45)', async () => {
    for (const { what, path, content } of things) {
      for (const range of [`bytes=${content.length}-`, `bytes=${content.length}-${content.length + 5}`, 'bytes=-0', `bytes=${'9'.repeat(30)}-`]) {
        const { status, headers, body } = await read(path, { range })
        expect([what, range, status, headers.get('content-range')]).toEqual([what, range, 416, `bytes */${content.length}`])
        expect(JSON.parse(String(body))).toEqual({ message: '416 Range Not Satisfiable' })
      }
      if (content === LARGE) continue
      for (const range of ['bytes=', 'bytes=-', 'bytes=9-5', 'bytes=a-b', 'bytes=0-1,3-4', 'items=0-1', '0-1', 'bytes 0-1']) {
        const { status, headers } = await read(path, { range })
        expect([what, range, status, headers.get('content-length')]).toEqual([what, range, 200, String(content.length)])
      }
    }
    const empty = `/api/v4${project.path}/repository/files/empty/raw`
    expect((await read(empty, { range: 'bytes=0-' })).status).toBe(416)
    expect((await read(empty, { range: 'bytes=-1' })).status).toBe(200)
  })

  it('If-Range requires the same bytes (W-45)', async () => {
    for (const { what, path, etag } of things.filter(({ content }) => content === SMALL))
      for (const [wanted, status] of [
        [etag, 206],
        ['"other"', 200],
        [`W/${etag}`, 200],
        ['Mon, 01 Jan 2035 00:00:00 GMT', 200],
      ] as const)
        expect([what, wanted, (await read(path, { range: 'bytes=1-2', 'if-range': wanted })).status]).toEqual([what, wanted, status])
  })
})
