import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projects } from '../../../src/db/schema/index.js'
import { repositoryDirectory } from '../../../src/git/storage/create.js'
import { testApp } from '../../support/app.js'
import { gitClient, gitOut } from '../../support/clients/git-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
const client = gitClient(t)
let people: Record<'guest' | 'reporter' | 'developer' | 'maintainer' | 'stranger', TestUser>
let project: TestProject
let path: string

beforeAll(async () => {
  const [guest, reporter, developer, maintainer, stranger] = (await Promise.all(Array.from({ length: 5 }, () => aUser(t.ctx)))) as [
    TestUser,
    TestUser,
    TestUser,
    TestUser,
    TestUser,
  ]
  people = { guest, reporter, developer, maintainer, stranger }
  project = await aProject(t.ctx, { guest, reporter, developer, maintainer })
  path = `${project.path}/wikis`
})

const create = (given: object, caller = people.developer) => t.api('post', path, caller).send(given)
const slug = (text: string) => `${path}/${encodeURIComponent(text)}`
const storedAt = (id: number) => repositoryDirectory(t.ctx.config.storages['default'] as string, { storage: 'default', id, kind: 'wiki' })

describe('wiki pages (WK-1 to WK-5, WK-7)', () => {
  it('are written, listed, read, changed and deleted (WK-1, WK-2, WK-3, WK-4, WK-5, WK-7)', async () => {
    expect((await t.api('get', path, people.guest).expect(200)).body).toEqual([])
    const home = { slug: 'Home-page', title: 'Home page', format: 'markdown', content: '# Hello\n', encoding: 'UTF-8' }
    expect((await create({ title: 'Home page', content: '# Hello\n' }).expect(201)).body).toEqual(home)
    await create({ title: 'docs/First steps', content: '= Steps', format: 'asciidoc' }).expect(201)
    const list = await t.api('get', path, people.guest).expect(200)
    expect(list.body).toEqual([
      { slug: 'Home-page', title: 'Home page', format: 'markdown' },
      { slug: 'docs/First-steps', title: 'First steps', format: 'asciidoc' },
    ])
    expect(list.headers['x-total']).toBe('2')
    expect((await t.api('get', `${path}?with_content=true&per_page=1`, people.guest).expect(200)).body).toEqual([home])
    expect((await t.api('get', slug('docs/First-steps'), people.guest).expect(200)).body).toMatchObject({ content: '= Steps', title: 'First steps' })
    expect((await t.api('put', slug('Home-page'), people.developer).send({ content: 'new' }).expect(200)).body).toMatchObject({
      content: 'new',
      slug: 'Home-page',
    })
    // a new title is a new slug, with the content; a new format a new ending
    const moved = await t.api('put', slug('Home-page'), people.developer).send({ title: 'Start' }).expect(200)
    expect(moved.body).toMatchObject({ slug: 'Start', content: 'new', format: 'markdown' })
    await t.api('get', slug('Home-page'), people.guest).expect(404, { message: '404 Wiki Page Not Found' })
    expect((await t.api('put', slug('Start'), people.developer).send({ format: 'rdoc' }).expect(200)).body).toMatchObject({
      format: 'rdoc',
      content: 'new',
    })
    await t.api('delete', slug('Start'), people.maintainer).expect(204)
    await t.api('delete', slug('Start'), people.maintainer).expect(404, { message: '404 Wiki Page Not Found' })
    expect((await t.api('get', path, people.guest).expect(200)).body).toHaveLength(1)
  })

  it('a wiki without content has no pages, and listing them logs no error (WK-1, WK-2)', async () => {
    const own = await aProject(t.ctx)
    const wikis = `${own.path}/wikis`
    const before = t.logged.length
    await t.api('get', wikis, own.creator).expect(200, [])
    await t.api('get', `${wikis}?with_content=true`, own.creator).expect(200, [])
    await t.api('get', `${wikis}/home`, own.creator).expect(404, { message: '404 Wiki Page Not Found' })
    await t.api('get', `${wikis}/home?version=main`, own.creator).expect(404, { message: '404 Wiki Page Not Found' })
    await t.api('put', `${wikis}/home`, own.creator).send({ content: 'x' }).expect(404, { message: '404 Wiki Page Not Found' })
    await t.api('delete', `${wikis}/home`, own.creator).expect(404, { message: '404 Wiki Page Not Found' })
    expect(t.logged.slice(before).filter((line) => (JSON.parse(line) as { level: number }).level >= 40)).toEqual([])
  })

  it('every write is one commit by the caller, whose message names action and title', async () => {
    const own = await aProject(t.ctx, { developer: people.developer })
    await t.api('post', `${own.path}/wikis`, people.developer).send({ title: 'A b', content: '1' }).expect(201)
    await t.api('put', `${own.path}/wikis/A-b`, people.developer).send({ content: '2', message: 'my words' }).expect(200)
    await t.api('put', `${own.path}/wikis/A-b`, people.developer).send({ title: 'C' }).expect(200)
    await t.api('delete', `${own.path}/wikis/C`, own.creator).expect(204)
    const log = await gitOut(storedAt(own.id), 'log', '--format=%s|%an|%ae')
    const { username, name, email } = people.developer
    expect(log.split('\n')).toEqual([
      `${own.creator.username} deleted page: C|${own.creator.name}|${own.creator.email}`,
      `${username} updated page: C|${name}|${email}`,
      `my words|${name}|${email}`,
      `${username} created page: A b|${name}|${email}`,
    ])
    await gitOut(storedAt(own.id), 'fsck', '--strict')
  })

  it('reads what a page was in a commit (WK-2)', async () => {
    await create({ title: 'Versions', content: 'one' }).expect(201)
    const first = await gitOut(storedAt(project.id), 'rev-parse', 'HEAD')
    await t.api('put', slug('Versions'), people.developer).send({ content: 'two' }).expect(200)
    expect((await t.api('get', `${slug('Versions')}?version=${first}`, people.guest).expect(200)).body).toMatchObject({ content: 'one' })
    expect((await t.api('get', slug('Versions'), people.guest).expect(200)).body).toMatchObject({ content: 'two' })
    for (const version of ['f'.repeat(40), 'HEAD~1', '--all', 'nowhere'])
      await t.api('get', `${slug('Versions')}?version=${version}`, people.guest).expect(404, { message: '404 Wiki Page Not Found' })
  })

  it.each([
    [{}, { error: 'title is missing, content is missing' }],
    [{ title: 'x' }, { error: 'content is missing' }],
    [{ title: 'x', content: 'x', format: 'html' }, { error: 'format does not have a valid value' }],
    [{ title: ' ', content: 'x' }, { message: { title: ["can't be blank"] } }],
    [{ title: '../x', content: 'x' }, { message: { title: ['is invalid'] } }],
    [{ title: '.git/hooks/x', content: 'x' }, { message: { title: ['is invalid'] } }],
    [{ title: 'a//b', content: 'x' }, { message: { title: ['is invalid'] } }],
    [{ title: 'x\ny', content: 'x' }, { message: { title: ['is invalid'] } }],
    [{ title: 'x'.repeat(256), content: 'x' }, { message: { title: ['is too long (maximum is 255 characters)'] } }],
  ])('refuses %o', async (given, body) => {
    const before = ((await t.api('get', `${path}?per_page=100`, people.guest).expect(200)).body as object[]).length
    await create(given).expect(400, body)
    expect((await t.api('get', `${path}?per_page=100`, people.guest).expect(200)).body).toHaveLength(before)
  })

  it('one title is one page, in whatever format; a page below a page is a folder beside it (WK-3, WK-4)', async () => {
    await create({ title: 'Twice', content: 'x' }).expect(201)
    await create({ title: 'Twice', content: 'y', format: 'rdoc' }).expect(400, { message: { title: ['has already been taken'] } })
    await create({ title: 'Other', content: 'x' }).expect(201)
    await t
      .api('put', slug('Other'), people.developer)
      .send({ title: 'Twice' })
      .expect(400, { message: { title: ['has already been taken'] } })
    await create({ title: 'Twice/Below', content: 'x' }).expect(201)
    await create({ title: 'Twice.md/Below', content: 'x' }).expect(400, { message: { title: ['is invalid'] } })
    await t.api('put', slug('Other'), people.developer).send({ message: 'nothing' }).expect(400, {
      error: 'title, content, format are missing, at least one parameter must be provided',
    })
    await t.api('put', slug('Nowhere'), people.developer).send({ content: 'x' }).expect(404, { message: '404 Wiki Page Not Found' })
  })

  it('of twenty writers at once each page is there', async () => {
    const own = await aProject(t.ctx, { developer: people.developer })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        t.api('post', `${own.path}/wikis`, people.developer).send({ title: `Page ${i % 10}`, content: String(i) }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(201), ...Array(10).fill(400)])
    expect((await t.api('get', `${own.path}/wikis`, own.creator).expect(200)).body).toHaveLength(10)
  })

  it.each(['__proto__', 'constructor', 'null', '0', '-1', '#hash?x=1', 'ünïcödé 日本', '*', '--output=x'])(
    'a page called %j (SEC-155)',
    async (title) => {
      const made = (await create({ title, content: title }).expect(201)).body as { slug: string }
      expect((await t.api('get', slug(made.slug), people.guest).expect(200)).body).toMatchObject({ content: title })
    },
  )
})

describe('permissions (5.1 rows 1, 33, 34)', () => {
  it.each([
    ['guest', 403, 403, 403],
    ['reporter', 403, 403, 403],
    ['developer', 201, 200, 403],
    ['maintainer', 201, 200, 204],
  ] as const)('%s: create %i, change %i, delete %i', async (role, made, changed, deleted) => {
    const caller = people[role]
    await create({ title: `By ${role}`, content: 'x' }, caller).expect(made)
    await create({ title: `For ${role}`, content: 'x' }).expect(201)
    await t.api('get', slug(`For-${role}`), caller).expect(200)
    await t
      .api('put', slug(`For-${role}`), caller)
      .send({ content: 'y' })
      .expect(changed)
    await t.api('delete', slug(`For-${role}`), caller).expect(deleted)
  })

  it('anonymous callers and strangers: only what is public, and no writing', async () => {
    await t.api('get', path).expect(404, { message: '404 Project Not Found' })
    await t.api('get', path, people.stranger).expect(404, { message: '404 Project Not Found' })
    const open = await aProject(t.ctx, { visibility: 'public', developer: people.developer })
    await t.api('post', `${open.path}/wikis`, people.developer).send({ title: 'x', content: 'x' }).expect(201)
    await t.api('get', `${open.path}/wikis`).expect(200)
    await t.api('get', `${open.path}/wikis/x`).expect(200)
    await t.api('post', `${open.path}/wikis`).send({ title: 'y', content: 'x' }).expect(401)
    await t.api('post', `${open.path}/wikis`, people.stranger).send({ title: 'y', content: 'x' }).expect(403, { message: '403 Forbidden' })
  })

  it('switched off, for members only, archived (AC-10, AC-11, G-68)', async () => {
    const own = await aProject(t.ctx, { visibility: 'public', developer: people.developer })
    const set = (values: Partial<typeof projects.$inferInsert>) => t.ctx.db.write.update(projects).set(values).where(eq(projects.id, own.id))
    await t.api('post', `${own.path}/wikis`, people.developer).send({ title: 'x', content: 'x' }).expect(201)
    await set({ wiki_access_level: 10 })
    await t.api('get', `${own.path}/wikis`, people.stranger).expect(403)
    await t.api('get', `${own.path}/wikis`, people.developer).expect(200)
    await set({ wiki_access_level: 0 })
    await t.api('get', `${own.path}/wikis`, own.creator).expect(403)
    await set({ wiki_access_level: 20, archived: true })
    await t.api('get', `${own.path}/wikis/x`, people.stranger).expect(200)
    await t.api('post', `${own.path}/wikis`, people.developer).send({ title: 'y', content: 'x' }).expect(403)
    await t.api('delete', `${own.path}/wikis/x`, own.creator).expect(403)
  })
})

describe('pages and Git (WK-8, GH-3)', () => {
  it('pushed pages are shown at once, and pages from the API can be cloned', async () => {
    const own = await aProject(t.ctx, { developer: people.developer })
    await t.api('post', `${own.path}/wikis`, people.developer).send({ title: 'Home', content: 'first\n' }).expect(201)
    const work = client.folder()
    const url = `${t.url.replace('://', `://x:${people.developer.token}@`)}/${own.fullPath}.wiki.git`
    await gitOut(work, 'clone', '-q', url, 'wiki')
    const at = join(work, 'wiki')
    expect(await gitOut(at, 'show', 'HEAD:Home.md')).toBe('first')
    for (const [name, content] of Object.entries({
      'a/Deep-page.markdown': 'deep',
      'notes.rdoc': 'r',
      'image.png': 'p',
      '.hidden.md': 'h',
      README: 'none',
    })) {
      await mkdir(dirname(join(at, name)), { recursive: true })
      await writeFile(join(at, name), content)
    }
    await gitOut(at, 'add', '-A')
    await gitOut(at, 'commit', '-qm', 'pages')
    await gitOut(at, 'push', '-q')
    expect((await t.api('get', `${own.path}/wikis`, people.developer).expect(200)).body).toEqual([
      { slug: '.hidden', title: '.hidden', format: 'markdown' },
      { slug: 'Home', title: 'Home', format: 'markdown' },
      { slug: 'a/Deep-page', title: 'Deep page', format: 'markdown' },
      { slug: 'notes', title: 'notes', format: 'rdoc' },
    ])
    // a page keeps the ending it was pushed with
    await t
      .api('put', `${own.path}/wikis/${encodeURIComponent('a/Deep-page')}`, people.developer)
      .send({ content: 'deeper' })
      .expect(200)
    await gitOut(at, 'pull', '-q')
    expect(await gitOut(at, 'show', 'HEAD:a/Deep-page.markdown')).toBe('deeper')
  })

  it('a wiki whose first branch has another name than ours shows its pages', async () => {
    const own = await aProject(t.ctx, { developer: people.developer })
    const work = client.folder()
    await gitOut(work, 'init', '-q', '-b', 'trunk', '.')
    await writeFile(join(work, 'Home.md'), 'pushed')
    await gitOut(work, 'add', '.')
    await gitOut(work, 'commit', '-qm', 'first')
    await gitOut(work, 'push', '-q', `${t.url.replace('://', `://x:${people.developer.token}@`)}/${own.fullPath}.wiki.git`, 'trunk')
    expect((await t.api('get', `${own.path}/wikis/Home`, people.developer).expect(200)).body).toMatchObject({ content: 'pushed' })
    await t.api('post', `${own.path}/wikis`, people.developer).send({ title: 'Second', content: 'x' }).expect(201)
    expect((await t.api('get', `${own.path}/wikis`, people.developer).expect(200)).body).toHaveLength(2)
  })

  it('get files, each in another folder, and the Markdown that shows them (WK-6)', async () => {
    const own = await aProject(t.ctx, { developer: people.developer, reporter: people.reporter })
    const attach = (name: string, branch?: string, caller = people.developer) => {
      const call = t.api('post', `${own.path}/wikis/attachments`, caller).attach('file', Buffer.from(name), name)
      return branch === undefined ? call : call.field('branch', branch)
    }
    const { body } = await attach('a b.png').expect(201)
    expect(body).toEqual({
      file_name: 'a_b.png',
      file_path: expect.stringMatching(/^uploads\/[0-9a-f]{32}\/a_b\.png$/),
      branch: 'main',
      link: { url: body.file_path, markdown: `![a_b](${body.file_path})` },
    })
    expect((await attach('notes.txt', 'main').expect(201)).body.link.markdown).toMatch(/^\[notes\.txt\]\(uploads\//)
    await attach('x.png', 'nowhere').expect(400, { message: 'You can only create or edit files when you are on a branch' })
    await attach('x.png', undefined, people.reporter).expect(403)
    await t.api('post', `${own.path}/wikis/attachments`, people.developer).expect(400, { error: 'file is missing' })
    // files are no pages, and pages show them
    await t.api('post', `${own.path}/wikis`, people.developer).send({ title: 'home', content: body.link.markdown }).expect(201)
    expect((await t.api('get', `${own.path}/wikis`, people.developer).expect(200)).body).toMatchObject([{ slug: 'home' }])
    expect(await gitOut(storedAt(own.id), 'show', `main:${body.file_path}`)).toBe('a b.png')
  })
})
