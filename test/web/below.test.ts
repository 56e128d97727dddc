import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aProject, type TestProject } from '../support/factories.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()
const SECRET = '0123456789abcdef0123456789abcdef'
let project: TestProject
/** What a browser and a program get at an address below the project. */
const get = async (path: string, accept = '*/*') => {
  const answer = await fetch(`${t.url}/${project.fullPath}${path}`, { headers: { accept }, redirect: 'manual' })
  return {
    status: answer.status,
    type: answer.headers.get('content-type')?.split(';')[0],
    to: answer.headers.get('location'),
    text: await answer.text(),
  }
}
const page = (path: string) => get(path, 'text/html')
let upload: string

beforeAll(async () => {
  project = await aProject(t.ctx, { visibility: 'public' })
  const files = {
    'a.txt': 'a file',
    'feed.atom': 'a file, not a feed',
    'raw/x/a.txt': 'a file',
    'commit/abcdef1.diff': 'a file',
    [`uploads/${SECRET}/a.png`]: 'a file',
    '-/releases/v1/downloads/x': 'a file',
  }
  bareOf(t, project).commits({ branch: 'main', files }, { branch: 'raw/x', files })
  const link = { name: 'A file', url: 'https://a.example/b', filepath: '/raw/a.bin' }
  await t
    .api('post', `${project.path}/releases`, project.creator)
    .send({ tag_name: 'v1', ref: 'main', assets: { links: [link] } })
    .expect(201)
  const made = await t.api('post', `${project.path}/uploads`, project.creator).attach('file', Buffer.from('an upload'), 'a.atom').expect(201)
  upload = made.body.url
})

describe('what is below a path is asked for in a fixed order (WB-440)', () => {
  it('Git comes before `go-get=1`', async () => {
    expect(await get('.git/info/refs?service=git-upload-pack&go-get=1')).toMatchObject({ type: 'application/x-git-upload-pack-advertisement' })
  })

  it('`go-get=1` comes before files, feeds and pages', async () => {
    for (const path of ['', '/-/issues', '/-/issues.atom', '/-/raw/main/a.txt', '/-/releases/v1/downloads/raw/a.bin', upload])
      expect([path, (await page(`${path}?go-get=1`)).text]).toEqual([path, expect.stringContaining('<meta name="go-import"')])
  })

  it('a file of a release comes before raw files', async () => {
    expect(await get('/-/releases/v1/downloads/raw/a.bin')).toMatchObject({ status: 302, to: 'https://a.example/b' })
  })

  it('a file comes before a feed and before a page, at both forms of its address', async () => {
    for (const path of ['/-/raw/main/feed.atom', '/raw/main/feed.atom'])
      for (const answer of [await get(path), await page(path)]) expect(answer).toMatchObject({ status: 200, text: 'a file, not a feed' })
    expect(await page(`/raw/main/uploads/${SECRET}/a.png`)).toMatchObject({ status: 200, text: 'a file' })
  })

  it('a feed comes before an upload and a page; what is no feed is left to them', async () => {
    expect(await page('/-/commits/main.atom')).toMatchObject({ status: 200, type: 'application/atom+xml' })
    expect(await get(upload)).toMatchObject({ status: 200, text: 'an upload' })
    expect(await page('/-/blob/main/feed.atom')).toMatchObject({ status: 200, type: 'text/html' })
  })

  it('an upload comes before a page, and what is nothing is 404 for programs', async () => {
    expect(await page(upload)).toMatchObject({ status: 200, text: 'an upload' })
    expect(await get('/-/issues', 'application/json')).toMatchObject({ status: 404, type: 'application/json' })
    expect(await page('/-/issues')).toMatchObject({ status: 200, type: 'text/html' })
  })

  it.each([
    '/-/blob/main/raw/x/a.txt',
    '/-/tree/raw/x',
    '/-/blob/main/commit/abcdef1.diff',
    `/-/blob/main/uploads/${SECRET}/a.png`,
    '/-/blob/main/-/releases/v1/downloads/x',
  ])('%s is a page: `/-/` says where the path ends (WB-2)', async (path) => {
    expect(await page(path)).toMatchObject({ status: 200, type: 'text/html' })
  })

  it('/-/commits/raw/x.atom is a feed', async () => {
    expect(await get('/-/commits/raw/x.atom')).toMatchObject({ status: 200, type: 'application/atom+xml' })
  })
})
