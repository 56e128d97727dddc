import { rename } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp()

describe('a storage that is away', () => {
  it('gives pages with 503 that say so, and heals when it is back (WB-238)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a' } })
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'An issue' }).expect(201)
    const [{ id: sha }] = (await t.api('get', `${project.path}/repository/commits`, owner).expect(200)).body
    const browser = new TestBrowser(t.url)
    await browser.signIn(owner)
    const pages = [
      '',
      '/-/tree/main',
      '/-/blob/main/a.txt',
      '/-/blame/main/a.txt',
      '/-/commits/main',
      `/-/commit/${sha}`,
      '/-/branches',
      '/-/tags',
      '/-/compare/main...main',
      '/-/find_file/main',
      '/-/graphs/main',
      '/-/network/main',
      '/-/search?search=a&scope=blobs',
    ]
    const storage = t.ctx.config.storages['default'] as string
    const open = async (path: string) => {
      const { status, text, headers } = await browser.open(`/${project.fullPath}${path}`)
      return { path, status, says: text.includes('repository') && text.includes('cannot be read'), type: headers.get('content-type') }
    }
    await rename(storage, `${storage}-away`)
    try {
      for (const path of pages) expect(await open(path)).toEqual({ path, status: 503, says: true, type: 'text/html; charset=utf-8' })
      // what stands in the database is there
      expect((await open('/-/issues/1')).status).toBe(200)
      expect((await browser.open('/dashboard')).status).toBe(200)
    } finally {
      await rename(`${storage}-away`, storage)
    }
    for (const path of pages) expect([path, (await open(path)).status]).toEqual([path, 200])
  })
})
