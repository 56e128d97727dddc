import { request } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let who: TestUser
let open: TestProject
let hidden: TestProject

beforeAll(async () => {
  who = await aUser(t.ctx)
  open = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'a.txt': 'a' } })
  hidden = await aProject(t.ctx, { creator: who, files: { 'a.txt': 'a' } })
})

/** What a client gets that sends these headers and no others. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<{ status: number | undefined; type: string | undefined; to: string | undefined }>((resolve, reject) => {
    request(t.url + path, { method, headers }, (answer) => {
      answer.resume()
      answer.once('end', () =>
        resolve({ status: answer.statusCode, type: answer.headers['content-type']?.split(';')[0], to: answer.headers.location }),
      )
    })
      .once('error', reject)
      .end()
  })

/** For everybody but those who prefer JSON. */
const PAGE = [
  undefined,
  '*/*',
  'text/*',
  'text/html',
  'text/html,application/xhtml+xml,*/*;q=0.8',
  'application/json, text/html',
  'application/json;q=0.9, */*',
  '*/*;q=0.5, text/plain',
  ' ',
]
const JSON_TYPES = [
  'application/json',
  'application/json, text/plain, */*',
  'application/*',
  'image/avif,image/*',
  'application/vnd.git-lfs+json',
  '*/*;q=0',
]

describe('a page answers its address', () => {
  const headersOf = (accept: string | undefined): Record<string, string> => (accept === undefined ? {} : { accept })

  it('to all who do not prefer JSON, with HEAD as well (WB-1)', async () => {
    for (const accept of PAGE)
      for (const path of ['/explore', `/${open.fullPath}`, `/${open.fullPath}/-/blob/main/a.txt`, `/${who.username}`])
        for (const method of ['GET', 'HEAD'])
          expect([accept, path, (await get(path, headersOf(accept), method)).type]).toEqual([accept, path, 'text/html'])
    for (const accept of JSON_TYPES)
      for (const path of ['/', `/${open.fullPath}`, `/${open.fullPath}/-/issues`])
        expect([accept, path, await get(path, headersOf(accept))]).toMatchObject([accept, path, { status: 404, type: 'application/json' }])
  })

  it('by the way to sign-in where it may help, and by an error as a page (WB-1, WB-3)', async () => {
    for (const accept of PAGE) {
      for (const path of [`/${hidden.fullPath}`, `/${hidden.fullPath}/-/issues`, '/no/such', '/-/profile'])
        expect([accept, path, await get(path, headersOf(accept))]).toMatchObject([
          accept,
          path,
          { status: 302, to: `/users/sign_in?return_to=${encodeURIComponent(path)}` },
        ])
    }
    for (const accept of JSON_TYPES)
      for (const path of [`/${hidden.fullPath}`, '/no/such']) expect((await get(path, headersOf(accept))).type).toBe('application/json')
  })

  it('and not to clients of the API and of Git, whose answers are as before', async () => {
    for (const credential of <Record<string, string>[]>[{ 'private-token': who.token }, { authorization: `Bearer ${who.token}` }])
      expect(await get(`/${open.fullPath}`, { ...credential, accept: '*/*' })).toMatchObject({ status: 404, type: 'application/json' })
    for (const accept of [undefined, '*/*']) {
      const headers = headersOf(accept)
      expect(await get('/api/v4/projects/0', headers)).toMatchObject({ status: 404, type: 'application/json' })
      expect(await get('/api/v4/no/such', headers)).toMatchObject({ status: 404, type: 'application/json' })
      expect((await get(`/${open.fullPath}.git/info/refs?service=git-upload-pack`, headers)).type).toBe('application/x-git-upload-pack-advertisement')
      expect((await get(`/${hidden.fullPath}.git/info/refs?service=git-upload-pack`, headers)).status).toBe(401)
      for (const path of ['.git/HEAD', '.git', '.git/objects/info/packs']) {
        const answer = await get(`/${open.fullPath}${path}`, headers)
        expect([path, answer.type === 'text/html', answer.to]).toEqual([path, false, undefined])
      }
      for (const path of [
        `/${hidden.fullPath}/-/raw/main/a.txt`,
        `/${open.fullPath}/-/raw/main/none`,
        `/${hidden.fullPath}/-/archive/main/a.zip`,
        '/assets/none',
      ])
        expect([path, await get(path, headers)]).toMatchObject([path, { status: 404, type: 'application/json' }])
    }
  })
})
