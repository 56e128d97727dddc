import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser } from '../../support/factories.js'
import { receiver } from '../../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver()

const FLAGS = [
  'tag_push_events',
  'merge_requests_events',
  'issues_events',
  'confidential_issues_events',
  'note_events',
  'confidential_note_events',
  'pipeline_events',
  'wiki_page_events',
  'job_events',
  'releases_events',
  'deployment_events',
  'feature_flag_events',
  'repository_update_events',
]

async function setting() {
  const maintainer = await aUser(t.ctx)
  const developer = await aUser(t.ctx)
  const project = await aProject(t.ctx, { maintainer, developer, files: { 'readme.md': 'one\n' } })
  return { maintainer, developer, project, path: `/projects/${project.id}/hooks` }
}

describe('hooks of a project', () => {
  it('are created with only a URL, which listens to pushes (HK-2)', async () => {
    const { maintainer, project, path } = await setting()
    const { body } = await t
      .api('post', path, maintainer)
      .send({ url: `${r.url}/ci` })
      .expect(201)
    expect(body).toMatchObject({
      id: expect.any(Number),
      url: `${r.url}/ci`,
      name: null,
      description: null,
      project_id: project.id,
      push_events: true,
      enable_ssl_verification: true,
      push_events_branch_filter: null,
      alert_status: 'executable',
      disabled_until: null,
    })
    for (const flag of FLAGS) expect(body[flag], flag).toBe(false)
    expect((await t.api('get', `${path}/${body.id}`, maintainer).expect(200)).body).toEqual(body)
    expect((await t.api('get', path, maintainer).expect(200)).body).toEqual([body])
  })

  it('take every attribute, and are changed and deleted (HK-2 to HK-4)', async () => {
    const { maintainer, path } = await setting()
    const given = {
      url: `${r.url}/all`,
      name: 'all',
      description: 'of them',
      push_events: false,
      push_events_branch_filter: 'release/*',
      enable_ssl_verification: false,
      ...Object.fromEntries(FLAGS.map((flag) => [flag, true])),
    }
    const { body } = await t
      .api('post', path, maintainer)
      .send({ ...given, token: 'secret' })
      .expect(201)
    expect(body).toMatchObject(given)
    const changed = await t
      .api('put', `${path}/${body.id}`, maintainer)
      .send({ push_events: true, issues_events: false, push_events_branch_filter: '' })
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ ...given, push_events: true, issues_events: false, push_events_branch_filter: '' })
    await t.api('delete', `${path}/${body.id}`, maintainer).expect(204)
    await t.api('get', `${path}/${body.id}`, maintainer).expect(404)
    await t.api('delete', `${path}/${body.id}`, maintainer).expect(404)
    await t.api('put', `${path}/${body.id}`, maintainer).send({ push_events: true }).expect(404)
  })

  it('a page beyond any table is empty (SEC-53)', async () => {
    const creator = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator })
    const { body } = await t.api('post', `${project.path}/hooks`, creator).send({ url: 'https://example.com/hook' }).expect(201)
    for (const path of ['hooks', `hooks/${body.id}/events`])
      await t.api('get', `${project.path}/${path}?page=576460752303423489&per_page=42`, creator).expect(200, [])
  })

  it('are for maintainers (HK-1)', async () => {
    const { developer, path } = await setting()
    await t.api('get', path, developer).expect(403)
    await t.api('post', path, developer).send({ url: r.url }).expect(403)
    await t.api('get', path).expect(401)
    await t.api('get', path, await aUser(t.ctx)).expect(404)
  })

  it('refuse invalid URLs, and invalid branch filters (HK-2)', async () => {
    const { maintainer, path } = await setting()
    expect((await t.api('post', path, maintainer).send({}).expect(400)).body).toEqual({ error: 'url is missing' })
    for (const url of [
      '',
      'ftp://example.com',
      'javascript:alert(1)',
      '//example.com',
      'http://',
      'http://exa mple.com',
      `http://example.com/${'x'.repeat(2_048)}`,
    ])
      expect((await t.api('post', path, maintainer).send({ url }).expect(422)).body, url).toEqual({ error: 'Invalid url given' })
    for (const push_events_branch_filter of ['a b', '..', 'x~1', 'y'.repeat(1_001)])
      expect((await t.api('post', path, maintainer).send({ url: r.url, push_events_branch_filter }).expect(422)).body).toEqual({
        error: 'Invalid branch filter given',
      })
    expect((await t.api('get', path, maintainer).expect(200)).body).toEqual([])
  })

  it('never show the token, nor the user and password of the address, which are encrypted (HK-2, SEC-139, SEC-141)', async () => {
    const { maintainer, path } = await setting()
    const url = `${r.url.replace('://', '://robot:hunter2@')}/private`
    const { body, text } = await t.api('post', path, maintainer).send({ url, token: 'top-secret' }).expect(201)
    expect(body.url).toBe(`${r.url.replace('://', '://*****:*****@')}/private`)
    const { rows } = await t.ctx.db.write.execute(sql`select to_jsonb(h)::text as row from web_hooks h where id = ${body.id}`)
    for (const shown of [text, JSON.stringify(rows), t.logged.join('')]) expect(shown).not.toMatch(/hunter2|top-secret/)
    // what is shown given back changes nothing
    await t.api('put', `${path}/${body.id}`, maintainer).send({ url: body.url }).expect(200)
    await t.api('post', `${path}/${body.id}/test/push_events`, maintainer).expect(201)
    const [got] = r.at('/private')
    expect(got?.headers.authorization).toBe(`Basic ${Buffer.from('robot:hunter2').toString('base64')}`)
    expect(got?.headers['x-gitlab-token']).toBe('top-secret')
    const { body: events } = await t.api('get', `${path}/${body.id}/events`, maintainer).expect(200)
    expect(events).toHaveLength(1)
    expect(JSON.stringify(events)).not.toMatch(/hunter2|top-secret/)
  })

  it('lose the token with the address that it was made for (HK-27)', async () => {
    const { maintainer, path } = await setting()
    const { body } = await t
      .api('post', path, maintainer)
      .send({ url: `${r.url}/one`, token: 'top-secret' })
      .expect(201)
    await t
      .api('put', `${path}/${body.id}`, maintainer)
      .send({ url: `${r.url}/another` })
      .expect(200)
    await t.api('post', `${path}/${body.id}/test/push_events`, maintainer).expect(201)
    expect(r.at('/another')[0]?.headers).not.toHaveProperty('x-gitlab-token')
  })

  it('refuse tokens that would break a header (SEC-141)', async () => {
    const { maintainer, path } = await setting()
    await t.api('post', path, maintainer).send({ url: r.url, token: 'a\r\nX-Evil: 1' }).expect(400)
  })

  it('are a hundred at most (HK-25)', async () => {
    const { maintainer, project, path } = await setting()
    await t.ctx.db.write.execute(
      sql`insert into web_hooks (project_id, url, events) select ${project.id}, 'http://example.com', '{push}' from generate_series(1, 99)`,
    )
    await t.api('post', path, maintainer).send({ url: r.url }).expect(201)
    await t.api('post', path, maintainer).send({ url: r.url }).expect(400)
  })
})

describe('hooks of a group (HK-24)', () => {
  it('are for owners, and have the attributes of those of a project', async () => {
    const owner = await aUser(t.ctx)
    const maintainer = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { owner, maintainer })
    const path = `/groups/${group.id}/hooks`
    await t.api('post', path, maintainer).send({ url: r.url }).expect(403)
    const { body } = await t.api('post', path, owner).send({ url: r.url, subgroup_events: true, issues_events: true }).expect(201)
    expect(body).toMatchObject({ group_id: group.id, push_events: true, subgroup_events: true, issues_events: true, wiki_page_events: false })
    expect(body).not.toHaveProperty('project_id')
    await t.api('put', `${path}/${body.id}`, owner).send({ subgroup_events: false }).expect(200)
    expect((await t.api('get', path, owner).expect(200)).body).toMatchObject([{ id: body.id, subgroup_events: false }])
    await t.api('delete', `${path}/${body.id}`, owner).expect(204)
  })
})

describe('hooks of the system', () => {
  it('are for administrators (HK-8)', async () => {
    const admin = await anAdmin(t.ctx)
    await t.api('get', '/hooks', await aUser(t.ctx)).expect(403)
    const { body } = await t
      .api('post', '/hooks', admin)
      .send({ url: `${r.url}/system`, token: 'x' })
      .expect(201)
    expect(body).toMatchObject({
      url: `${r.url}/system`,
      push_events: false,
      tag_push_events: false,
      merge_requests_events: false,
      repository_update_events: true,
      enable_ssl_verification: true,
    })
    expect(body).not.toHaveProperty('issues_events')
    expect((await t.api('put', `/hooks/${body.id}`, admin).send({ push_events: true }).expect(200)).body.push_events).toBe(true)
    expect((await t.api('get', '/hooks', admin).expect(200)).body).toHaveLength(1)
    expect((await t.api('get', '/hooks/0', admin).expect(404)).body).toEqual({ message: '404 System hook Not Found' })
    expect((await t.api('post', '/hooks', admin).send({ url: 'nonsense' }).expect(400)).body).toEqual({ message: { url: ['is not a valid URL'] } })
    // a GET only reads; the test is a POST (HK-9)
    const sample = await t.api('post', `/hooks/${body.id}`, admin).expect(201)
    expect(sample.body).toMatchObject({ event_name: 'project_create' })
    expect(r.at('/system')).toMatchObject([{ headers: { 'x-gitlab-event': 'System Hook' }, body: sample.body }])
    await t.api('delete', `/hooks/${body.id}`, admin).expect(204)
  })
})
