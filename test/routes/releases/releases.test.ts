import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { commitIn, gitClient, gitRun } from '../../support/clients/git-client.js'
import { aGroup, aProject, aUser, drawnOf, type TestProject, type TestUser } from '../../support/factories.js'
import { bareOf, stateOf } from '../../support/repositories.js'

const t = testApp()
const client = gitClient(t)

const tagged = async (...tags: string[]) => {
  const project = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
  const bare = bareOf(t, project)
  for (const tag of tags) bare.git('tag', tag, 'main')
  return project
}
const head = (project: TestProject) => bareOf(t, project).git('rev-parse', 'main').trim()

const release = (project: TestProject, sent: object, caller: TestUser | null = project.creator) =>
  t.api('post', `${project.path}/releases`, caller).send(sent)
const noteOf = (project: TestProject, tag: string) => `${project.path}/repository/tags/${encodeURIComponent(tag)}/release`
const releaseOf = (project: TestProject, tag: string) => `${project.path}/releases/${encodeURIComponent(tag)}`
const linksOf = (project: TestProject, tag: string) => `${releaseOf(project, tag)}/assets/links`
const tagNames = (list: { tag_name: string }[]) => list.map(({ tag_name }) => tag_name)
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

describe('release notes of tags', () => {
  it('are written once, changed after that, and shown with the tag and as a release (TG-5, TG-6)', async () => {
    const project = await tagged('v1/a')
    const { creator } = project
    const note = noteOf(project, 'v1/a')
    await t.api('put', note, creator).send({ description: 'x' }).expect(404, { message: 'Release does not exist' })
    await t.api('post', note, creator).send({ description: 'First *one*' }).expect(201, { tag_name: 'v1/a', description: 'First *one*' })
    await t.api('post', note, creator).send({ description: 'again' }).expect(409, { message: 'Release already exists' })
    const tag = () => t.api('get', `${project.path}/repository/tags/v1%2Fa`, creator).expect(200)
    expect((await tag()).body.release).toEqual({ tag_name: 'v1/a', description: 'First *one*' })
    await t.api('put', note, creator).send({ description: 'Second' }).expect(200, { tag_name: 'v1/a', description: 'Second' })
    expect((await tag()).body.release).toEqual({ tag_name: 'v1/a', description: 'Second' })
    const listed = await t.api('get', `${project.path}/repository/tags`, creator).expect(200)
    expect(listed.body[0].release).toEqual({ tag_name: 'v1/a', description: 'Second' })
    const { body } = await t.api('get', releaseOf(project, 'v1/a'), creator).expect(200)
    expect(body).toMatchObject({ tag_name: 'v1/a', name: 'v1/a', description: 'Second', description_html: '<p>Second</p>' })
  })

  it('refuse a tag that is not there, and no description (TG-5, TG-6)', async () => {
    const project = await tagged('v1')
    for (const method of ['post', 'put'] as const) {
      for (const tag of ['none', 'main', 'HEAD', '--x', '__proto__', 'a..b'])
        await t.api(method, noteOf(project, tag), project.creator).send({ description: 'x' }).expect(404, { message: 'Tag does not exist' })
      await t.api(method, noteOf(project, 'v1'), project.creator).send({}).expect(400, { error: 'description is missing' })
      await t
        .api(method, noteOf(project, 'v1'), project.creator)
        .send({ description: ' ' })
        .expect(400, { message: { description: ["can't be blank"] } })
    }
    await t.api('get', `${project.path}/releases`, project.creator).expect(200, [])
  })

  it('release_description describes the new tag at once (TG-3)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const tags = `${project.path}/repository/tags`
    const { body } = await t.api('post', tags, project.creator).send({ tag_name: 'v1', ref: 'main', release_description: 'Notes' }).expect(201)
    expect(body.release).toEqual({ tag_name: 'v1', description: 'Notes' })
    expect((await t.api('get', `${tags}/v1`, project.creator).expect(200)).body).toEqual(body)
    const plain = await t.api('post', tags, project.creator).send({ tag_name: 'v2', ref: 'main', release_description: '' }).expect(201)
    expect(plain.body.release).toBe(null)
    await t.api('post', tags, project.creator).send({ tag_name: 'v1', ref: 'main', release_description: 'x' }).expect(400)
  })

  it('a deleted tag loses its release, by the API and by a push; its next life has none (TG-4, PU-8)', async () => {
    const project = await tagged('v1', 'v2', 'v3')
    const { creator } = project
    for (const tag of ['v1', 'v2', 'v3']) await release(project, { tag_name: tag, description: tag }).expect(201)
    await t.api('delete', `${project.path}/repository/tags/v1`, creator).expect(204)
    const work = await client.cloned(client.url(project.fullPath, creator))
    expect((await gitRun(work, 'push', '-q', 'origin', ':refs/tags/v2')).code).toBe(0)
    expect(tagNames((await t.api('get', `${project.path}/releases`, creator).expect(200)).body)).toEqual(['v3'])
    await t.api('get', releaseOf(project, 'v1'), creator).expect(404, { message: '404 Release Not Found' })
    const { body } = await t.api('post', `${project.path}/repository/tags`, creator).send({ tag_name: 'v1', ref: 'main' }).expect(201)
    expect(body.release).toBe(null)
    // a tag that moves keeps it
    await commitIn(work, 'b')
    expect((await gitRun(work, 'push', '-qf', 'origin', 'HEAD:refs/tags/v3')).code).toBe(0)
    const kept = await t.api('get', releaseOf(project, 'v3'), creator).expect(200)
    expect(kept.body.commit.title).toBe('b')
  })

  it('asks the database as often for many tags with notes as for one', async () => {
    const project = await tagged('v0')
    await release(project, { tag_name: 'v0' }).expect(201)
    const list = (path: string) => () => t.api('get', `${project.path}/${path}?per_page=100`, project.creator).expect(200)
    const counts = async () => {
      await t.ctx.jobs.drain()
      const both: number[] = []
      for (const path of ['repository/tags', 'releases']) {
        await list(path)()
        both.push((await t.queriesOf(list(path))).length)
      }
      return both
    }
    const before = await counts()
    for (let n = 1; n < 8; n++) {
      await release(project, { tag_name: `v${n}`, ref: 'main', assets: { links: [{ name: 'a', url: 'https://a.example/b' }] } }).expect(201)
    }
    expect(await counts()).toEqual(before)
    expect((await list('releases')()).body.length).toBe(8)
  })
})

describe('POST /projects/:id/releases', () => {
  it('a release with all that it may have (RL-3)', async () => {
    const project = await tagged('v1.0')
    const { creator } = project
    const web = `http://roost.test/${project.fullPath}`
    const links = [
      { name: 'linux', url: 'https://files.example.com/a?b=c', filepath: '/bin/linux', link_type: 'package' },
      { name: 'docs', url: 'http://example.com' },
    ]
    const sent = {
      tag_name: 'v1.0',
      name: 'Awesome',
      description: '## New\n\n- <b>x</b>',
      milestones: [],
      released_at: '2020-01-02T03:04:05Z',
      assets: { links },
    }
    const { body } = await release(project, sent).expect(201)
    expect(body).toEqual({
      tag_name: 'v1.0',
      name: 'Awesome',
      description: '## New\n\n- <b>x</b>',
      description_html: '<h2 id="user-content-new">New</h2>\n<ul>\n<li><b>x</b></li>\n</ul>',
      created_at: moment,
      released_at: '2020-01-02T03:04:05.000Z',
      upcoming_release: false,
      author: {
        id: creator.id,
        name: creator.name,
        username: creator.username,
        state: 'active',
        avatar_url: drawnOf(creator),
        web_url: `http://roost.test/${creator.username}`,
      },
      commit: expect.objectContaining({ id: head(project), title: 'Add files' }),
      milestones: [],
      commit_path: `/${project.fullPath}/commit/${head(project)}`,
      tag_path: `/${project.fullPath}/-/tags/v1.0`,
      assets: {
        count: 5,
        sources: ['zip', 'tar.gz', 'tar'].map((format) => ({
          format,
          url: `http://roost.test/api/v4/projects/${project.id}/repository/archive.${format}?sha=v1.0`,
        })),
        links: [
          {
            id: expect.any(Number),
            name: 'linux',
            url: links[0]?.url,
            direct_asset_url: `${t.ctx.links.project(project.fullPath)}/-/releases/v1.0/downloads/bin/linux`,
            link_type: 'package',
          },
          { id: expect.any(Number), name: 'docs', url: 'http://example.com', direct_asset_url: 'http://example.com', link_type: 'other' },
        ],
      },
      _links: { self: `${web}/-/releases/v1.0`, edit_url: `${web}/-/releases/v1.0/edit` },
    })
    expect((await t.api('get', releaseOf(project, 'v1.0'), creator).expect(200)).body).toEqual(body)
    expect((await t.api('get', `${project.path}/releases`, creator).expect(200)).body).toEqual([body])
  })

  it('has the address of its form for those who may change it (WB-394)', async () => {
    const [developer, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { visibility: 'public', developer, reporter, files: { 'a.txt': 'a' } })
    await release(project, { tag_name: 'v1', ref: 'main' }, project.creator).expect(201)
    const page = `${t.ctx.links.project(project.fullPath)}/-/releases/v1`
    for (const path of [releaseOf(project, 'v1'), `${project.path}/releases`])
      for (const who of [developer, reporter, null]) {
        const { body } = await t.api('get', path, who).expect(200)
        expect([body].flat()[0]._links).toEqual({ self: page, ...(who === developer && { edit_url: `${page}/edit` }) })
      }
  })

  it('the sources of a release can be downloaded, without an account where the project is public (RL-3, RE-6)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' } })
    await t.api('post', `${project.path}/repository/tags`, project.creator).send({ tag_name: 'v/1+2', ref: 'main' }).expect(201)
    const { body } = await release(project, { tag_name: 'v/1+2' }, project.creator).expect(201)
    for (const { format, url } of body.assets.sources as { format: string; url: string }[]) {
      const answer = await fetch(url.replace('http://roost.test', t.url))
      expect([answer.status, answer.headers.get('content-disposition')]).toEqual([200, expect.stringMatching(`-v-1\\+2-[0-9a-f]{40}\\.${format}"$`)])
    }
  })

  it('of a tag name alone: named by it, described by nothing, released now (RL-3)', async () => {
    const project = await tagged('v1')
    const { body } = await release(project, { tag_name: 'v1', name: null, description: null }).expect(201)
    expect(body).toMatchObject({ name: 'v1', description: '', description_html: '', released_at: body.created_at, upcoming_release: false })
    expect(body.assets).toMatchObject({ count: 3, links: [] })
  })

  it('makes a missing tag out of ref, annotated when it has a message (RL-3)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const tags = `${project.path}/repository/tags`
    await release(project, { tag_name: 'v1', ref: 'main' }).expect(201)
    expect((await t.api('get', `${tags}/v1`, project.creator).expect(200)).body).toMatchObject({ message: null, target: head(project) })
    await release(project, { tag_name: 'v2', ref: head(project).slice(0, 10), tag_message: 'Two' }).expect(201)
    expect((await t.api('get', `${tags}/v2`, project.creator).expect(200)).body).toMatchObject({ message: 'Two', commit: { id: head(project) } })
    // an existing tag stays where it is
    const [other] = bareOf(t, project).commits({ branch: 'other', parents: [], files: { b: 'b' } }) as [string]
    bareOf(t, project).git('tag', 'v3', 'main')
    const { body } = await release(project, { tag_name: 'v3', ref: 'other' }).expect(201)
    expect([body.commit.id, body.commit.id === other]).toEqual([head(project), false])
  })

  const whole = { name: 'a', url: 'https://a.example/b' }
  const refused: [string, object, number, object][] = [
    ['no tag', {}, 400, { error: 'tag_name is missing' }],
    ['a tag that is not there, without ref', { tag_name: 'v9' }, 422, { message: 'Ref is not specified' }],
    ['a ref that is none', { tag_name: 'v9', ref: 'nowhere' }, 400, { message: 'Target nowhere is invalid' }],
    ['a bad name', { tag_name: 'a..b', ref: 'main' }, 400, { message: 'Tag name invalid' }],
    ['an option as a name', { tag_name: '--x', ref: 'main' }, 400, { message: 'Tag name invalid' }],
    ['an unknown milestone', { tag_name: 'v9', ref: 'main', milestones: ['one', 'two'] }, 400, { message: 'Milestone(s) not found: one, two' }],
    ['a bad time', { tag_name: 'v1', released_at: 'soon' }, 400, { error: 'released_at is invalid' }],
    ['a long name', { tag_name: 'v1', name: 'x'.repeat(256) }, 400, { message: { name: ['is too long (maximum is 255 characters)'] } }],
    [
      'a long text',
      { tag_name: 'v1', description: 'x'.repeat(1_000_001) },
      400,
      { message: { description: ['is too long (maximum is 1000000 characters)'] } },
    ],
    ['assets that are none', { tag_name: 'v1', assets: 'x' }, 400, { error: 'assets is invalid' }],
    ['links that are none', { tag_name: 'v1', assets: { links: ['x'] } }, 400, { error: 'assets is invalid' }],
    [
      'a link without name',
      { tag_name: 'v9', ref: 'main', assets: { links: [{ url: 'https://a.example' }] } },
      400,
      { message: { name: ["can't be blank"] } },
    ],
    ['a link without url', { tag_name: 'v9', ref: 'main', assets: { links: [{ name: 'a' }] } }, 400, { message: { url: ["can't be blank"] } }],
    [
      'twins',
      { tag_name: 'v9', ref: 'main', assets: { links: [whole, whole] } },
      400,
      { message: { name: ['has already been taken'], url: ['has already been taken'] } },
    ],
    [
      '101 links',
      { tag_name: 'v9', ref: 'main', assets: { links: Array.from({ length: 101 }, (_, n) => ({ name: `${n}`, url: `https://a.example/${n}` })) } },
      400,
      { error: 'assets is invalid' },
    ],
  ]
  it.each(refused)('refuses %s and changes nothing (RL-3, SEC-2)', async (_, sent, status, body) => {
    const project = await tagged('v1')
    const before = await stateOf(t, project)
    await release(project, sent).expect(status, body)
    expect(await stateOf(t, project)).toEqual(before)
    await t.api('get', `${project.path}/releases`, project.creator).expect(200, [])
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ftp://example.com/a',
    '//example.com',
    'https://user@example.com/',
    'https://a.example/b c',
    'https://a.example/\r\nx',
    'https://',
    'x',
    `https://a.example/${'x'.repeat(2_031)}`,
  ])('refuses the address %j (SEC-64, SEC-63)', async (url) => {
    const project = await tagged('v1')
    const { body } = await release(project, { tag_name: 'v1', assets: { links: [{ name: 'a', url }] } }).expect(400)
    expect(Object.keys(body.message)).toEqual(['url'])
  })

  it('an address of 2,048 characters is good (SEC-63)', async () => {
    const project = await tagged('v1')
    await release(project, { tag_name: 'v1', assets: { links: [{ name: 'a', url: `https://a.example/${'é'.repeat(2_030)}` }] } }).expect(201)
  })

  it('a tag has one release, also when many make it at once (RL-3)', async () => {
    const project = await tagged('v1')
    const answers = await Promise.all(Array.from({ length: 6 }, () => release(project, { tag_name: 'v1' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    expect(answers.find(({ status }) => status === 409)?.body).toEqual({ message: 'Release already exists' })
  })

  it('creates a protected tag for callers who may create it (RL-3, SEC-104)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    await t.api('post', `${project.path}/protected_tags`, as.maintainer).send({ name: 'v*', create_access_level: 40 }).expect(201)
    const message = 'You are not allowed to create this tag as it is protected.'
    await release(project, { tag_name: 'v1', ref: 'main' }, as.developer).expect(400, { message })
    await release(project, { tag_name: 'v1', ref: 'main' }, as.maintainer).expect(201)
  })

  it('takes what a publisher of packages sends: JSON with links whose type and path are left out', async () => {
    const project = await tagged('v1.0.0')
    const links = [
      { name: 'dist/a.js', url: `${t.url}/uploads/0123/a.js`, link_type: 'other', filepath: '/a.js' },
      { name: 'b', url: 'https://example.com/b', link_type: null, filepath: null },
      { name: 'c', url: 'https://example.com/c', link_type: '' },
    ]
    const { body } = await release(project, { tag_name: 'v1.0.0', description: '# 1.0.0', milestones: null, assets: { links } }).expect(201)
    expect(body.assets.links.map(({ name, link_type }: { name: string; link_type: string }) => [name, link_type])).toEqual([
      ['dist/a.js', 'other'],
      ['b', 'other'],
      ['c', 'other'],
    ])
  })

  it('takes a form as well, links in brackets, and the later name of a path (W-1, W-3)', async () => {
    const project = await tagged('v1')
    const form = 'tag_name=v1&assets[links][][name]=a&assets[links][][url]=https://a.example&assets[links][][direct_asset_path]=/x/y.zip'
    const { body } = await t.api('post', `${project.path}/releases`, project.creator).type('form').send(form).expect(201)
    expect(body.assets.links[0].direct_asset_url).toBe(`${t.ctx.links.project(project.fullPath)}/-/releases/v1/downloads/x/y.zip`)
    const again = { name: 'b', url: 'https://b.example', filepath: '/x/y.zip' }
    await t
      .api('post', linksOf(project, 'v1'), project.creator)
      .send(again)
      .expect(400, { message: { filepath: ['has already been taken'] } })
  })
})

describe('GET /projects/:id/releases', () => {
  it('orders by either time, either way; later ones are upcoming; pages (RL-1)', async () => {
    const project = await tagged('a', 'b', 'c')
    const soon = new Date(Date.now() + 86_400_000).toISOString()
    await release(project, { tag_name: 'a', released_at: '2020-01-02' }).expect(201)
    await release(project, { tag_name: 'b', released_at: soon }).expect(201)
    await release(project, { tag_name: 'c', released_at: '2020-01-01' }).expect(201)
    const list = (query: string) => t.api('get', `${project.path}/releases?${query}`, project.creator).expect(200)
    const order = async (query: string) => tagNames((await list(query)).body)
    expect(await order('')).toEqual(['b', 'a', 'c'])
    expect(await order('sort=asc')).toEqual(['c', 'a', 'b'])
    expect(await order('order_by=created_at')).toEqual(['c', 'b', 'a'])
    expect(await order('order_by=created_at&sort=asc')).toEqual(['a', 'b', 'c'])
    expect((await list('')).body.map(({ upcoming_release }: { upcoming_release: boolean }) => upcoming_release)).toEqual([true, false, false])
    const { body, headers } = await list('per_page=2&page=2')
    expect([tagNames(body), headers['x-total']]).toEqual([['c'], '3'])
    await t.api('get', `${project.path}/releases?order_by=name`, project.creator).expect(400, { error: 'order_by does not have a valid value' })
  })

  it('odd names of tags are one parameter, and their addresses are escaped (RL-2)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    for (const tag of ['a/b c'.replace(' ', '#'), '0', '-1'.replace('-', 'x-'), '1e3', 'null', 'constructor', '__proto__', 'ü%41']) {
      await release(project, { tag_name: tag, ref: 'main' }).expect(201)
      const { body } = await t.api('get', releaseOf(project, tag), project.creator).expect(200)
      expect([body.tag_name, decodeURIComponent(new URL(body._links.self).pathname.split('/').pop() ?? '')]).toEqual([tag, tag])
    }
    await t.api('get', releaseOf(project, 'none'), project.creator).expect(404, { message: '404 Release Not Found' })
  })

  it('a release whose tag names no commit is shown without one (SEC-154)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    bareOf(t, project).git('tag', 'tree', 'main^{tree}')
    const { body } = await release(project, { tag_name: 'tree' }).expect(201)
    expect([body.commit, body.commit_path]).toEqual([null, null])
    await t.api('get', `${project.path}/releases`, project.creator).expect(200)
  })
})

describe('descriptions as HTML', () => {
  it.each([
    ['<script>alert(1)</script>', ''],
    ['<img src=x onerror=alert(1)>', '<img src="x" alt="">'],
    ['[a](javascript:alert(1))', '<p>[a](javascript:alert(1))</p>'],
    ['[a](JaVaScRiPt&#58;alert(1))', '<p>[a](JaVaScRiPt:alert(1))</p>'],
    ['[a](data:text/html;base64,AAAA)', '<p>[a](data:text/html;base64,AAAA)</p>'],
    ['![a](data:image/png;base64,AAAA)', '<p>![a](data:image/png;base64,AAAA)</p>'],
    ['[a](vbscript:x)', '<p>[a](vbscript:x)</p>'],
    ['[a](/b "\\"c")', '<p><a href="/b" title="&quot;c">a</a></p>'],
    ['`<b>` **c**', '<p><code>&lt;b&gt;</code> <strong>c</strong></p>'],
    ['https://a.example/b', '<p><a href="https://a.example/b">https://a.example/b</a></p>'],
  ])('hold no markup but that of the list: %s', async (description, html) => {
    const project = await tagged('v1')
    expect((await release(project, { tag_name: 'v1', description }).expect(201)).body.description_html).toBe(html)
  })

  it('are shown as they are when they are very long', async () => {
    const project = await tagged('v1')
    const description = '<b>*x*\n'.repeat(10_000)
    const { body } = await release(project, { tag_name: 'v1', description }).expect(201)
    expect(body.description_html).toBe(`<pre>${'&lt;b&gt;*x*\n'.repeat(10_000)}</pre>`)
  })
})

describe('PUT and DELETE /projects/:id/releases/:tag_name', () => {
  it('changes the given fields and nothing else (RL-4)', async () => {
    const project = await tagged('v1')
    const { body: made } = await release(project, { tag_name: 'v1', name: 'One', description: 'd', released_at: '2020-01-01' }).expect(201)
    const put = (sent: object) => t.api('put', releaseOf(project, 'v1'), project.creator).send(sent)
    expect((await put({}).expect(200)).body).toEqual(made)
    expect((await put({ name: 'Two', milestones: [] }).expect(200)).body).toEqual({ ...made, name: 'Two' })
    const text = { description: '*e*', description_html: '<p><em>e</em></p>' }
    expect((await put({ description: '*e*' }).expect(200)).body).toEqual({ ...made, name: 'Two', ...text })
    const later = { released_at: '2021-01-01T00:00:00.000Z', name: 'v1' }
    expect((await put({ released_at: '2021-01-01', name: '' }).expect(200)).body).toEqual({ ...made, ...text, ...later })
    await put({ milestones: ['x'] }).expect(400, { message: 'Milestone(s) not found: x' })
    await put({ name: 'x'.repeat(256) }).expect(400)
    await put({ tag_name: 'v2', id: 7, author_id: 1, description: '*e*' }).expect(200)
    expect((await t.api('get', releaseOf(project, 'v1'), project.creator).expect(200)).body).toEqual({ ...made, ...text, ...later })
    await t.api('put', releaseOf(project, 'v2'), project.creator).send({ name: 'x' }).expect(404)
  })

  it('milestones by their titles, of the project or the group it is in (RL-3, RL-4, MI-8)', async () => {
    const group = await aGroup(t.ctx)
    const other = await aProject(t.ctx, { creator: group.creator })
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id, files: { 'a.txt': 'a' } })
    const milestone = async (at: string, title: string) =>
      (await t.api('post', `${at}/milestones`, group.creator).send({ title, due_date: '2020-01-02' }).expect(201)).body
    const [one, two] = [await milestone(project.path, 'one'), await milestone(group.path, 'two')]
    await milestone(other.path, 'foreign')
    const sent = { tag_name: 'v1', ref: 'main', milestones: ['two', 'one', 'two', ' '] }
    await release(project, { ...sent, milestones: ['one', 'foreign', 'none'] }).expect(400, { message: 'Milestone(s) not found: foreign, none' })
    await t.api('get', `${project.path}/repository/tags/v1`, group.creator).expect(404)
    const { body: made } = await release(project, sent).expect(201)
    expect(made.milestones).toEqual([one, two])
    await release(project, { ...sent, tag_name: 'v2', milestones: ['one'] }).expect(201)
    await release(project, { ...sent, tag_name: 'v3', milestones: [] }).expect(201)
    const listed = async () => (await t.api('get', `${project.path}/releases`, group.creator).expect(200)).body
    expect((await listed()).map(({ milestones }: { milestones: object[] }) => milestones)).toEqual([[], [one], [one, two]])

    const put = (given: object) => t.api('put', releaseOf(project, 'v1'), group.creator).send(given)
    expect((await put({ name: 'First' }).expect(200)).body.milestones).toEqual([one, two])
    await put({ name: 'Other', milestones: ['foreign'] }).expect(400)
    expect((await put({ milestones: ['two'] }).expect(200)).body).toMatchObject({ name: 'First', milestones: [two] })
    expect((await put({ milestones: [] }).expect(200)).body.milestones).toEqual([])
    await t.api('delete', `${project.path}/milestones/${one.id}`, group.creator).expect(204)
    expect((await listed()).map(({ milestones }: { milestones: object[] }) => milestones)).toEqual([[], [], []])
  })

  it('gives the release back, and the tag stays (RL-5)', async () => {
    const project = await tagged('v1')
    const { body: made } = await release(project, { tag_name: 'v1', assets: { links: [{ name: 'a', url: 'https://a.example' }] } }).expect(201)
    expect((await t.api('delete', releaseOf(project, 'v1'), project.creator).expect(200)).body).toEqual(made)
    await t.api('delete', releaseOf(project, 'v1'), project.creator).expect(404)
    expect((await t.api('get', `${project.path}/repository/tags/v1`, project.creator).expect(200)).body.release).toBe(null)
    await release(project, { tag_name: 'v1' }).expect(201)
  })
})

describe('links of a release', () => {
  it('are added, listed, shown, changed and taken away (RL-6)', async () => {
    const project = await tagged('v1')
    const { creator } = project
    await release(project, { tag_name: 'v1' }).expect(201)
    const links = linksOf(project, 'v1')
    const add = (sent: object) => t.api('post', links, creator).send(sent)
    const one = (await add({ name: 'one', url: 'https://a.example/1', filepath: '/one.zip', link_type: 'image' }).expect(201)).body
    expect(one).toEqual({
      id: expect.any(Number),
      name: 'one',
      url: 'https://a.example/1',
      direct_asset_url: `${t.ctx.links.project(project.fullPath)}/-/releases/v1/downloads/one.zip`,
      link_type: 'image',
    })
    const two = (await add({ name: 'two', url: 'https://a.example/2', link_type: '' }).expect(201)).body
    const { body, headers } = await t.api('get', links, creator).expect(200)
    expect([body, headers['x-total']]).toEqual([[one, two], '2'])
    expect((await t.api('get', `${links}?per_page=1&page=2`, creator).expect(200)).body).toEqual([two])
    expect((await t.api('get', `${links}/${two.id}`, creator).expect(200)).body).toEqual(two)
    const changed = { ...two, name: 'new', url: 'http://b.example', direct_asset_url: 'http://b.example', link_type: 'runbook' }
    const sent = { name: 'new', url: 'http://b.example', link_type: 'runbook' }
    expect((await t.api('put', `${links}/${two.id}`, creator).send(sent).expect(200)).body).toEqual(changed)
    expect((await t.api('put', `${links}/${one.id}`, creator).send({}).expect(200)).body).toEqual(one)
    expect((await t.api('delete', `${links}/${one.id}`, creator).expect(200)).body).toEqual(one)
    await t.api('get', links, creator).expect(200, [changed])
    for (const method of ['get', 'put', 'delete'] as const) {
      for (const id of [one.id, 0, -1, 99_999_999_999]) await t.api(method, `${links}/${id}`, creator).expect(404, { message: '404 Not found' })
      await t.api(method, `${links}/x`, creator).expect(400, { error: 'link_id is invalid' })
    }
  })

  it('refuses twins and what cannot be (RL-6)', async () => {
    const project = await tagged('v1', 'v2')
    const { creator } = project
    for (const tag_name of ['v1', 'v2']) await release(project, { tag_name }).expect(201)
    const links = linksOf(project, 'v1')
    const add = (sent: object) => t.api('post', links, creator).send(sent)
    const whole = { name: 'a', url: 'https://a.example/1', filepath: '/a' }
    await add(whole).expect(201)
    await add({ url: 'https://a.example/2' }).expect(400, { error: 'name is missing' })
    await add({}).expect(400, { error: 'name is missing, url is missing' })
    await add({ name: '', url: '' }).expect(400, { message: { name: ["can't be blank"], url: ["can't be blank"] } })
    const taken = { message: { name: ['has already been taken'] } }
    await add({ name: 'a', url: 'https://a.example/2' }).expect(400, taken)
    await add({ name: 'b', url: 'https://a.example/1' }).expect(400, { message: { url: ['has already been taken'] } })
    await add({ name: 'b', url: 'https://a.example/2', filepath: '/a' }).expect(400, { message: { filepath: ['has already been taken'] } })
    for (const filepath of ['a', '/', '//a', '/../x', '/a b', '/a/', `/${'x'.repeat(255)}`])
      await add({ name: 'c', url: 'https://a.example/3', filepath }).expect(400, { message: { filepath: ['is invalid'] } })
    await add({ name: 'c', url: 'https://a.example/3', link_type: 'x' }).expect(400, { error: 'link_type does not have a valid value' })
    await add({ name: 'x'.repeat(256), url: 'https://a.example/3' }).expect(400, { message: { name: ['is too long (maximum is 255 characters)'] } })
    const other = (await add({ name: 'other', url: 'https://a.example/9' }).expect(201)).body
    await t.api('put', `${links}/${other.id}`, creator).send({ name: 'a' }).expect(400, taken)
    expect((await t.api('get', links, creator).expect(200)).body.length).toBe(2)
    // SEC-31: a link of another release is none of this one's; the same name there is no twin
    await t.api('get', `${linksOf(project, 'v2')}/${other.id}`, creator).expect(404)
    await t.api('post', linksOf(project, 'v2'), creator).send(whole).expect(201)
    await t.api('get', linksOf(project, 'v3'), creator).expect(404, { message: '404 Release Not Found' })
    await t.api('post', linksOf(project, 'v3'), creator).send(whole).expect(404)
  })

  it('at most a hundred (RL-6)', async () => {
    const project = await tagged('v1')
    const links = Array.from({ length: 100 }, (_, n) => ({ name: `${n}`, url: `https://a.example/${n}` }))
    await release(project, { tag_name: 'v1', assets: { links } }).expect(201)
    await t.api('post', linksOf(project, 'v1'), project.creator).send({ name: 'x', url: 'https://a.example' }).expect(400)
  })
})

describe('permissions', () => {
  let open: Cast
  let closed: Cast
  let link: number[]

  beforeAll(async () => {
    open = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    closed = await aCast(t.ctx, { files: { a: 'a' } })
    link = []
    for (const { project } of [open, closed]) {
      for (const tag of ['v1', 'v2']) bareOf(t, project).git('tag', tag, 'main')
      const { body } = await release(project, { tag_name: 'v1', assets: { links: [{ name: 'a', url: 'https://a.example' }] } }).expect(201)
      link.push(body.assets.links[0].id)
    }
  })

  const check = async (
    cast: Cast,
    expected: readonly (readonly [Role, number])[],
    call: (caller: TestUser | null) => Promise<{ status: number }>,
  ) => {
    for (const [role, status] of expected) expect([role, (await call(cast.as[role])).status]).toEqual([role, status])
  }

  it('reads as the repository is read (RL-1, RL-2, RL-6)', async () => {
    for (const [i, [cast, expected]] of (
      [
        [open, statuses(200)],
        [closed, statuses(200, { anonymous: 404, stranger: 404, guest: 403 })],
      ] as const
    ).entries()) {
      for (const path of ['releases', 'releases/v1', 'releases/v1/assets/links', `releases/v1/assets/links/${link[i]}`])
        await check(cast, expected, async (caller) => t.api('get', `${cast.project.path}/${path}`, caller))
    }
  })

  it('to RL-6, TG-5, TG-6: writes from developer on (RL-3)', async () => {
    const writes: ['post' | 'put' | 'delete', string, object, number][] = [
      ['post', 'releases', { tag_name: 'v1' }, 409],
      ['put', 'releases/v1', {}, 200],
      ['delete', 'releases/v3', {}, 404],
      ['post', 'releases/v1/assets/links', { name: 'a', url: 'https://a.example' }, 400],
      ['put', 'releases/v1/assets/links/0', {}, 404],
      ['delete', 'releases/v1/assets/links/0', {}, 404],
      ['post', 'repository/tags/v1/release', { description: 'x' }, 409],
      ['put', 'repository/tags/v1/release', { description: 'x' }, 200],
    ]
    for (const cast of [open, closed]) {
      const below = { anonymous: 401, stranger: cast === open ? 403 : 404, guest: 403, reporter: 403 }
      for (const [method, path, sent, status] of writes)
        await check(cast, statuses(status, below), async (caller) => t.api(method, `${cast.project.path}/${path}`, caller).send(sent))
    }
  })

  it('no one in an archived project (AC-11)', async () => {
    const project = await tagged('v1', 'v2')
    await release(project, { tag_name: 'v1' }).expect(201)
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, project.id))
    await release(project, { tag_name: 'v2' }).expect(403)
    await t.api('put', releaseOf(project, 'v1'), project.creator).send({ name: 'x' }).expect(403)
    await t.api('delete', releaseOf(project, 'v1'), project.creator).expect(403)
    await t.api('post', noteOf(project, 'v2'), project.creator).send({ description: 'x' }).expect(403)
    await t.api('get', releaseOf(project, 'v1'), project.creator).expect(200)
  })
})

describe('addresses of files of releases (RL-7)', () => {
  const at = (project: TestProject, rest: string, caller: TestUser | null = project.creator) =>
    fetch(`${t.url}/${project.fullPath}/-/releases/${rest}`, { redirect: 'manual', headers: caller ? { 'private-token': caller.token } : {} })
  const leadsTo = async (project: TestProject, rest: string) => {
    const answer = await at(project, rest)
    return [answer.status, answer.headers.get('location')]
  }

  it('lead to where the file is, now and after the link has changed', async () => {
    const project = await tagged('v1/a')
    const { creator } = project
    await release(project, { tag_name: 'v1/a' }).expect(201)
    const links = linksOf(project, 'v1/a')
    const { body } = await t.api('post', links, creator).send({ name: 'a', url: 'https://a.example/é', filepath: '/bin/a.zip' }).expect(201)
    const base = `${t.ctx.links.project(project.fullPath)}/-/releases/`
    expect(body.direct_asset_url).toBe(`${base}v1%2Fa/downloads/bin/a.zip`)
    for (const tag of ['v1%2Fa', 'v1/a']) expect(await leadsTo(project, `${tag}/downloads/bin/a.zip`)).toEqual([302, 'https://a.example/%C3%A9'])
    await t.api('put', `${links}/${body.id}`, creator).send({ url: 'https://b.example' }).expect(200)
    expect(await leadsTo(project, 'v1%2Fa/downloads/bin/a.zip')).toEqual([302, 'https://b.example/'])
    for (const rest of ['v1%2Fa/downloads/bin/b.zip', 'v1/downloads/bin/a.zip', 'v1%2Fa/downloads/', 'v1%2Fa'])
      expect((await at(project, rest)).status).toBe(404)
  })

  it('of a tag and a path that have `downloads` in them', async () => {
    const project = await tagged('v/downloads/1')
    await release(project, {
      tag_name: 'v/downloads/1',
      assets: { links: [{ name: 'a', url: 'https://a.example/1', filepath: '/downloads/a' }] },
    }).expect(201)
    expect(await leadsTo(project, 'v/downloads/1/downloads/downloads/a')).toEqual([302, 'https://a.example/1'])
  })

  it('of the latest release', async () => {
    const project = await tagged('v1', 'v2')
    expect((await at(project, 'permalink/latest/downloads/a')).status).toBe(404)
    for (const [tag_name, released_at] of [
      ['v2', '2020-01-02T00:00:00Z'],
      ['v1', '2020-01-01T00:00:00Z'],
    ])
      await release(project, { tag_name, released_at }).expect(201)
    const base = `${t.ctx.links.project(project.fullPath)}/-/releases/`
    expect(await leadsTo(project, 'permalink/latest/downloads/bin/a')).toEqual([302, `${base}v2/downloads/bin/a`])
  })

  it('for those who may read releases', async () => {
    const [guest, reporter, stranger] = await Promise.all([aUser(t.ctx), aUser(t.ctx), aUser(t.ctx)])
    const project = await aProject(t.ctx, { guest, reporter, files: { a: 'a' } })
    bareOf(t, project).git('tag', 'v1', 'main')
    await release(project, { tag_name: 'v1', assets: { links: [{ name: 'a', url: 'https://a.example/1', filepath: '/a' }] } }).expect(201)
    for (const rest of ['v1/downloads/a', 'permalink/latest/downloads/a']) {
      const seen = await Promise.all([reporter, guest, stranger, null].map((caller) => at(project, rest, caller)))
      expect(seen.map(({ status }) => status)).toEqual([302, 403, 404, 404])
    }
  })
})

it('the newest release has a permanent address (PT-36)', async () => {
  const project = await tagged('v1', 'v2')
  const path = `${project.path}/releases/permalink/latest`
  await t.api('get', path, project.creator).expect(404)
  await release(project, { tag_name: 'v2', name: 'second' }).expect(201)
  await release(project, { tag_name: 'v1', name: 'first', released_at: '2001-01-01T00:00:00Z' }).expect(201)
  expect((await t.api('get', path, project.creator).expect(200)).body).toEqual((await t.api('get', releaseOf(project, 'v2'), project.creator)).body)
})
