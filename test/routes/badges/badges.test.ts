import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()

interface Place {
  path: string
  creator: TestUser
}
const call = (method: 'get' | 'post' | 'put' | 'delete', place: Place, at = '', caller: TestUser | null = place.creator) =>
  t.api(method, `${place.path}/badges${at}`, caller)
const URLS = { link_url: 'https://ci.example.com/a', image_url: 'https://ci.example.com/a.svg' }
const aBadge = async (place: Place, given: object = {}) =>
  (
    await call('post', place)
      .send({ ...URLS, ...given })
      .expect(201)
  ).body

async function places(): Promise<[string, Place][]> {
  const creator = await aUser(t.ctx)
  return [
    ['project', await aProject(t.ctx, { creator })],
    ['group', await aGroup(t.ctx, { creator })],
  ]
}

describe('badges of projects and of groups', () => {
  it('are made, listed, changed and deleted (BD-1, BD-2)', async () => {
    for (const [kind, place] of await places()) {
      await call('get', place).expect(200, [])
      const badge = await aBadge(place)
      expect(badge).toEqual({
        id: expect.any(Number),
        name: null,
        ...URLS,
        rendered_link_url: URLS.link_url,
        rendered_image_url: URLS.image_url,
        kind,
      })
      const other = await aBadge(place, { name: 'Coverage' })
      const listed = await call('get', place, '?per_page=1').expect(200, [badge])
      expect(listed.headers['x-total']).toBe('2')
      await call('get', place, '?name=Coverage').expect(200, [other])
      await call('get', place, '?name=coverage').expect(200, [])
      await call('get', place, `/${other.id}`).expect(200, other)
      const { body } = await call('put', place, `/${other.id}`).send({ image_url: ' http://example.com/x.png ' }).expect(200)
      expect(body).toEqual({ ...other, image_url: 'http://example.com/x.png', rendered_image_url: 'http://example.com/x.png' })
      await call('put', place, `/${other.id}`).send({}).expect(200, body)
      await call('delete', place, `/${other.id}`).expect(204)
      for (const method of ['get', 'put', 'delete'] as const)
        await call(method, place, `/${other.id}`).expect(404, { message: '404 Badge Not Found' })
    }
    const log = await t.api('get', '/audit_events?per_page=6', await anAdmin(t.ctx)).expect(200)
    expect(
      log.body.map(({ details }: { details: { action: string } }) => details.action).filter((action: string) => action.startsWith('badge')),
    ).toEqual(expect.arrayContaining(['badge_removed', 'badge_updated', 'badge_added']))
  })

  it('have URLs of the web, and short names (BD-2)', async () => {
    for (const [, place] of await places()) {
      await call('post', place).send({}).expect(400, { error: 'link_url is missing, image_url is missing' })
      const { id } = await aBadge(place)
      for (const [url, message] of [
        ['', 'must be a valid URL'],
        ['javascript:alert(1)//', 'is blocked: Only allowed schemes are http, https'],
        ['whatever', 'is blocked: Only allowed schemes are http, https'],
        ['http://', 'is blocked: URI is invalid'],
        ['%{project_name}://example.com', 'is blocked: Only allowed schemes are http, https'],
        [`https://example.com/${'x'.repeat(2048)}`, 'is too long (maximum is 2048 characters)'],
      ]) {
        await call('post', place)
          .send({ link_url: url, image_url: URLS.image_url })
          .expect(400, { message: { link_url: [message] } })
        await call('put', place, `/${id}`)
          .send({ image_url: url })
          .expect(400, { message: { image_url: [message] } })
        await call('get', place, '/render')
          .query({ link_url: url, image_url: URLS.image_url })
          .expect(400, { message: { link_url: [message] } })
      }
      await call('post', place)
        .send({ ...URLS, name: 'x'.repeat(256) })
        .expect(400, { message: { name: ['is too long (maximum is 255 characters)'] } })
    }
  })

  it('are at most 50 (BD-2)', async () => {
    for (const [, place] of await places()) {
      for (let n = 0; n < 50; n++) await aBadge(place)
      await call('post', place)
        .send(URLS)
        .expect(400, { message: { base: ['there are already 50 badges'] } })
    }
  })

  it('have placeholders that become what the project has (BD-3)', async () => {
    const creator = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator })
    const names = ['project_path', 'project_id', 'project_title', 'project_name', 'default_branch', 'commit_sha', 'constructor']
    const link_url = `https://%{project_name}.example.com/${names.map((name) => `%{${name}}`).join('/')}`
    const badge = await aBadge(group, { link_url })
    // a group without projects has nothing to put there
    expect(badge.rendered_link_url).toBe(link_url)
    const project = await aProject(t.ctx, { creator, namespace_id: group.id, name: 'My title', path: 'named', files: { a: 'a' } })
    const [head] = (await t.api('get', `${project.path}/repository/commits`, creator).expect(200)).body
    const rendered = (sha: string) => `https://named.example.com/${project.fullPath}/${project.id}/My title/named/main/${sha}/%{constructor}`
    for (const path of [`${group.path}/badges/${badge.id}`, `${project.path}/badges`]) {
      const { body } = await t.api('get', path, creator).expect(200)
      expect([body].flat()[0]).toMatchObject({ link_url, rendered_link_url: rendered(head.id), kind: 'group' })
    }
    // who does not read the code does not learn its commit
    const guest = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, creator).send({ user_id: guest.id, access_level: 10 }).expect(201)
    const { body } = await call('get', project, '', guest).expect(200)
    expect(body[0].rendered_link_url).toBe(rendered('%{commit_sha}'))
    // nor a group's readers what a project has that they do not see
    await t.api('put', group.path, creator).send({ visibility: 'public' }).expect(200)
    const seen = await call('get', group, `/${badge.id}`, null).expect(200)
    expect(seen.body.rendered_link_url).toBe(link_url)
    // an empty repository has no commit
    const empty = await aProject(t.ctx, { creator })
    const { body: own } = await call('get', empty, '/render').query({ link_url, image_url: 'https://example.com/%{project_id}' }).expect(200)
    expect(own).toEqual({
      name: null,
      link_url,
      image_url: 'https://example.com/%{project_id}',
      rendered_link_url: expect.stringContaining('/%{commit_sha}/'),
      rendered_image_url: `https://example.com/${empty.id}`,
    })
  })

  it('of a project are its own and those of the groups above it, which only the groups change (BD-4)', async () => {
    const creator = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator })
    const sub = await aGroup(t.ctx, { creator, parent_id: top.id })
    const project = await aProject(t.ctx, { creator, namespace_id: sub.id })
    const own = await aBadge(project, { name: 'own' })
    const inherited = await aBadge(top, { name: 'top' })
    const near = await aBadge(sub, { name: 'sub' })
    const names = async (place: Place, query = '') => (await call('get', place, query).expect(200)).body.map((b: { name: string }) => b.name)
    expect(await names(project)).toEqual(['own', 'top', 'sub'])
    expect(await names(project, '?name=top')).toEqual(['top'])
    expect(await names(sub)).toEqual(['top', 'sub'])
    expect(await names(top)).toEqual(['top'])
    for (const method of ['get', 'put', 'delete'] as const) {
      await call(method, project, `/${near.id}`).expect(404)
      await call(method, top, `/${own.id}`).expect(404)
      await call(method, sub, `/${inherited.id}`).expect(404)
    }
    await t.api('delete', project.path, creator).expect(202)
    expect(await names(sub)).toEqual(['top', 'sub'])
  })

  it('are read by all who see the place, and changed by maintainers of projects and owners of groups (BD-5)', async () => {
    const [maintainer, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const roles = { maintainer, developer }
    const project = await aProject(t.ctx, { ...roles, visibility: 'public' })
    const group = await aGroup(t.ctx, { ...roles, visibility: 'public' })
    for (const [place, refusedTo] of [
      [project, [developer]],
      [group, [developer, maintainer]],
    ] as const) {
      const { id } = await aBadge(place)
      await call('get', place, '', null).expect(200)
      await call('get', place, `/${id}`, null).expect(200)
      for (const caller of refusedTo) {
        await call('post', place, '', caller).send(URLS).expect(403)
        await call('put', place, `/${id}`, caller).send({ name: 'x' }).expect(403)
        await call('delete', place, `/${id}`, caller).expect(403)
        await call('get', place, '/render', caller).query(URLS).expect(403)
      }
      await call('get', place, '/render', null).query(URLS).expect(401)
    }
    await call('post', project, '', maintainer).send(URLS).expect(201)
  })
})
