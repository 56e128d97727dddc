import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { projectUploads } from '../../../src/db/schema/index.js'
import { inlineType, safeName } from '../../../src/services/projects/uploads.js'
import { testApp } from '../../support/app.js'
import { bytes } from '../../support/bytes.js'
import { aCast, statuses } from '../../support/cast.js'
import { aProject, setSettings, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
const upload = (project: TestProject, caller: TestUser | null, data: Buffer | string = 'text', filename = 'a.txt') =>
  t.api('post', `${project.path}/uploads`, caller).attach('file', Buffer.from(data), filename)
const get = (path: string, token?: string) => {
  const call = supertest(t.url).get(path).buffer(true).parse(bytes)
  return token ? call.set('PRIVATE-TOKEN', token) : call
}

describe('POST /projects/:id/uploads (UP-1)', () => {
  it('answers the address of a file, and its Markdown (UP-1)', async () => {
    const project = await aProject(t.ctx)
    const { body } = await upload(project, project.creator, 'x', 'My notes.txt').expect(201)
    expect(body).toEqual({
      id: expect.any(Number),
      alt: 'My_notes.txt',
      url: expect.stringMatching(/^\/uploads\/[0-9a-f]{32}\/My_notes\.txt$/),
      full_path: `/${project.fullPath}${body.url}`,
      markdown: `[My_notes.txt](${body.url})`,
    })
    for (const name of ['shot.png', 'film.mp4']) {
      const shown = (await upload(project, project.creator, 'x', name).expect(201)).body
      const alt = name.split('.')[0]
      expect(shown).toMatchObject({ alt, markdown: `![${alt}](${shown.url})` })
    }
    const secrets = (await t.ctx.db.write.select().from(projectUploads).where(eq(projectUploads.project_id, project.id))).map(({ secret }) => secret)
    expect(new Set(secrets).size).toBe(3)
  })

  it('section 5.1 row 7, AC-11: who sees the project may, while it is not archived', async () => {
    const { project, as } = await aCast(t.ctx)
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 404 }))
      expect([role, (await upload(project, as[role])).status]).toEqual([role, status])
    const open = await aCast(t.ctx, { visibility: 'public' })
    await upload(open.project, open.as.stranger).expect(201)
    await t.api('post', `${open.project.path}/archive`, open.as.owner).expect(201)
    await upload(open.project, open.as.owner).expect(403)
  })

  it('400 without a file, 413 above the limit (UP-1, W-33)', async () => {
    const project = await aProject(t.ctx)
    await t.api('post', `${project.path}/uploads`, project.creator).field('other', 'x').expect(400, { error: 'file is missing' })
    await t.api('post', `${project.path}/uploads`, project.creator).send({ file: 'text' }).expect(400, { error: 'file is invalid' })
    const large = Buffer.alloc(11 * 1024 * 1024)
    await upload(project, project.creator, large).expect(413, { message: '413 Request Entity Too Large' })
    await setSettings(t.ctx, { max_attachment_size: 12 })
    try {
      await upload(project, project.creator, large).expect(201)
      await setSettings(t.ctx, { max_attachment_size: 1 })
      await upload(project, project.creator, large.subarray(0, 1024 * 1024 + 1)).expect(413)
    } finally {
      await setSettings(t.ctx, {})
    }
    expect(await t.ctx.db.write.select().from(projectUploads).where(eq(projectUploads.project_id, project.id))).toHaveLength(1)
  })
})

describe('GET of an upload (UP-2, UP-7)', () => {
  it('images for everybody with the address, inline (UP-2)', async () => {
    const project = await aProject(t.ctx)
    const { full_path } = (await upload(project, project.creator, 'image', 'a.PNG').expect(201)).body
    const { body, headers } = await get(full_path).expect(200)
    expect(body).toEqual(Buffer.from('image'))
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'inline',
      'content-length': '5',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    })
  })

  it.each(['a.txt', 'a.svg', 'a.html', 'a.png.html', 'noextension'])(
    '%s is sent to callers who see the project, as an attachment (UP-2, UP-7)',
    async (name) => {
      const { project, as } = await aCast(t.ctx)
      const { full_path } = (await upload(project, as.guest, '<script>', name).expect(201)).body
      const { headers } = await get(full_path, as.reporter.token).expect(200)
      expect(headers).toMatchObject({ 'content-type': 'application/octet-stream', 'content-disposition': `attachment; filename="${name}"` })
      for (const token of [undefined, as.stranger.token]) await get(full_path, token).expect(404)
    },
  )

  it('a name in another script is kept, and sent encoded (UP-7)', async () => {
    const project = await aProject(t.ctx)
    const { full_path, alt } = (await upload(project, project.creator, 'x', '日本語+1.txt').expect(201)).body
    expect(alt).toBe('日本語+1.txt')
    const { headers } = await get(encodeURI(full_path), project.creator.token).expect(200)
    expect(headers['content-disposition']).toBe(`attachment; filename="___+1.txt"; filename*=UTF-8''${encodeURIComponent('日本語+1.txt')}`)
  })

  it('404 for another name, secret or project; 404 of a route for all else', async () => {
    const [project, other] = [await aProject(t.ctx), await aProject(t.ctx)]
    const { full_path, url } = (await upload(project, project.creator, 'x', 'a.png').expect(201)).body
    for (const path of [
      full_path.replace('a.png', 'b.png'),
      full_path.replace(/[0-9a-f]{32}/, '0'.repeat(32)),
      `/${other.fullPath}${url}`,
      `/${project.fullPath}/uploads/${'0'.repeat(32)}/..%2F..%2Fsecret.key`,
      `/${project.fullPath}/uploads/x/a.png`,
      url,
    ])
      await get(path, project.creator.token).expect(404)
    await get(`/${project.fullPath}/nothing`).set('accept', 'application/json').expect(404)
  })

  it('stay with a project that is renamed (PR-18); are deleted with the project (SEC-134)', async () => {
    const project = await aProject(t.ctx)
    const { full_path, url } = (await upload(project, project.creator, 'x', 'a.png').expect(201)).body
    const folder = join(t.dataDir, 'uploads/files', String(project.id))
    expect(readFileSync(join(folder, readdirSync(folder)[0] as string), 'utf8')).toBe('x')
    const renamed = (await t.api('put', project.path, project.creator).send({ path: 'renamed' }).expect(200)).body.path_with_namespace
    await get(full_path).expect(404)
    await get(`/${renamed}${url}`).expect(200)
    await t.api('delete', `${project.path}?permanently_remove=true`, project.creator).expect(202)
    await get(`/${renamed}${url}`).expect(404)
    await t.ctx.jobs.drain()
    expect(existsSync(folder)).toBe(false)
  })
})

it.each([
  ['a b.txt', 'a_b.txt'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\dir\\x.png', 'x.png'],
  ['zwölf.png', 'zwölf.png'],
  ['日本語+1.txt', '日本語+1.txt'],
  ['\u202eexe.png', '_exe.png'],
  ['zwo\u0308lf.png', 'zwölf.png'],
  ['..', 'file'],
  ['', 'file'],
  ['.hidden', '.hidden'],
  ['-x', '-x'],
  ['](javascript:1).png', '_javascript_1_.png'],
  [`${'a'.repeat(300)}.png`, `${'a'.repeat(251)}.png`],
])('%j becomes %j (UP-7)', (given, name) => {
  expect(safeName(given)).toBe(name)
  expect(inlineType('a.constructor')).toBeNull()
})
