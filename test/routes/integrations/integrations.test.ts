import { and, eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { integrations, webHooks } from '../../../src/db/schema/index.js'
import { SERVICES } from '../../../src/services/integrations/catalogue.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, type TestProject } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'

const t = testApp()

const at = (project: TestProject, method: 'get' | 'put' | 'delete', slug = '', under = 'integrations') =>
  t.api(method, `${project.path}/${under}${slug && `/${slug}`}`, project.creator)
const WEBHOOK = 'https://hooks.slack.com/services/T0/B0/secret'

describe('integrations of a project', () => {
  it('are set up, read, listed and switched off under both addresses (SV-1, SV-3, SV-5)', async () => {
    const project = await aProject(t.ctx)
    await at(project, 'get').expect(200, [])
    await at(project, 'get', 'slack').expect(404, { message: '404 Integration Not Found' })
    await at(project, 'get', 'slack', 'services').expect(404, { message: '404 Service Not Found' })
    const given = { webhook: WEBHOOK, username: 'bot', push_channel: '', pipeline_events: 'false', job_events: true, unknown: 1 }
    const { body: slack } = await at(project, 'put', 'slack', 'services').send(given).expect(200)
    expect(slack).toMatchObject({
      ...{ title: 'Slack notifications', slug: 'slack', active: true, push_events: true, pipeline_events: false },
      // what it does not know is off
      ...{ job_events: false, commit_events: false, comment_on_event_enabled: false },
      properties: { webhook: WEBHOOK, username: 'bot', push_channel: '', channel: null, notify_only_broken_pipelines: true },
    })
    expect(slack.properties.branches_to_be_notified).toBe('default')
    await at(project, 'get', 'slack').expect(200, slack)
    const { properties: _, ...basic } = slack
    await at(project, 'get', '', 'services').expect(200, [basic])
    // what is not given stays
    const { body: changed } = await at(project, 'put', 'slack').send({ webhook: WEBHOOK, notify_only_default_branch: false }).expect(200)
    expect(changed).toMatchObject({ id: slack.id, pipeline_events: false, properties: { username: 'bot', branches_to_be_notified: 'all' } })

    await at(project, 'delete', 'slack').expect(204)
    await at(project, 'get').expect(200, [])
    const { body: off } = await at(project, 'get', 'slack').expect(200)
    expect(off).toMatchObject({ id: slack.id, active: false, properties: { webhook: null, username: null } })
    await at(project, 'delete', 'slack').expect(204)
    await at(project, 'delete', 'asana').expect(204)
    await at(project, 'get', 'asana').expect(404)
    expect(await t.ctx.db.write.$count(webHooks, eq(webHooks.project_id, project.id))).toBe(0)

    const log = await t.api('get', '/audit_events?per_page=10', await anAdmin(t.ctx)).expect(200)
    const actions = log.body.map(({ details }: { details: { action: string } }) => details.action)
    expect(actions.filter((action: string) => action.startsWith('integration'))).toEqual([
      'integration_removed',
      'integration_updated',
      'integration_added',
    ])
  })

  it('are those of the list, for maintainers, and refuse what they cannot do (SV-2, SV-3)', async () => {
    const developer = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer })
    for (const method of ['get', 'put', 'delete'] as const) {
      await at(project, method, 'harbor').expect(404, { message: '404 Integration Not Found' })
      await t.api(method, `${project.path}/integrations/slack`, developer).expect(403)
    }
    const refusals: [string, object, object][] = [
      ['slack', {}, { error: 'webhook is missing' }],
      ['slack', { webhook: '' }, { message: { webhook: ["can't be blank"] } }],
      ['slack', { webhook: 'ftp://x.example.com' }, { message: { webhook: ['is not a URL of http, https'] } }],
      ['slack', { webhook: 'https://u:p@x.example.com' }, { message: { webhook: ['must not have a user or a password'] } }],
      ['slack', { webhook: 'http://127.0.0.1/x' }, { message: { webhook: [expect.stringContaining('is blocked')] } }],
      ['slack', { webhook: WEBHOOK, branches_to_be_notified: 'some' }, { message: { branches_to_be_notified: ['is not included in the list'] } }],
      ['slack', { webhook: WEBHOOK, username: 'x'.repeat(3_000) }, { message: { username: ['is too long (maximum is 2048 characters)'] } }],
      ['emails-on-push', { recipients: 'somewhere' }, { message: { recipients: ['is not a list of mail addresses'] } }],
      ['emails-on-push', { recipients: 'a@x.org', send_from_committer_email: true }, { error: 'send_from_committer_email is not supported' }],
      ['jira', { url: 'https://jira.example.com', password: 'x' }, { message: { username: ["can't be blank"] } }],
      ['external-wiki', { external_wiki_url: 'javascript:alert(1)' }, { message: { external_wiki_url: ['must be a valid URL'] } }],
      [
        'bugzilla',
        { project_url: 'https://b.org', issues_url: 'https://b.org', new_issue_url: 'https://b.org' },
        { message: { issues_url: ['must contain :id'] } },
      ],
    ]
    for (const [slug, given, error] of refusals) {
      const { body } = await at(project, 'put', slug).send(given).expect(400)
      expect([slug, body]).toEqual([slug, error])
    }
    expect(await t.ctx.db.write.$count(integrations, eq(integrations.project_id, project.id))).toBe(0)
  })

  it('keep secrets encrypted, show none, and send them to no other address (SV-4)', async () => {
    const project = await aProject(t.ctx)
    const given = { jenkins_url: 'https://ci.example.com', project_name: 'a b', username: 'u', password: 'hush hush' }
    const { body } = await at(project, 'put', 'jenkins').send(given).expect(200)
    expect(body.properties).toEqual({ jenkins_url: 'https://ci.example.com', project_name: 'a b', username: 'u', enable_ssl_verification: true })
    expect(body).toMatchObject({ push_events: true, merge_requests_events: false, tag_push_events: false })
    const stored = async () => {
      const [row] = await t.ctx.db.write.select().from(integrations).where(eq(integrations.id, body.id))
      const [hook] = await t.ctx.db.write
        .select()
        .from(webHooks)
        .where(and(eq(webHooks.project_id, project.id)))
      return { row, hook, address: t.ctx.encryption.open(hook?.sealed_url as string, `project ${project.id} hook url`) }
    }
    const { row, hook, address } = await stored()
    expect(JSON.stringify([row, hook])).not.toMatch(/hush/)
    expect([hook?.url, address]).toEqual(['https://ci.example.com/…', 'https://u:hush%20hush@ci.example.com/project/a%20b'])
    // no webhook of the project
    await t.api('get', `${project.path}/hooks`, project.creator).expect(200, [])
    await t.api('get', `${project.path}/hooks/${hook?.id}`, project.creator).expect(404)
    await at(project, 'put', 'jenkins').send({ project_name: 'c' }).expect(200)
    expect((await stored()).address).toBe('https://u:hush%20hush@ci.example.com/project/c')
    await at(project, 'put', 'jenkins').send({ jenkins_url: 'https://other.example.com' }).expect(200)
    expect((await stored()).address).toBe('https://u@other.example.com/project/c')
    await at(project, 'put', 'asana').send({ api_key: 'hush' }).expect(200)
    await at(project, 'put', 'teamcity').send({ teamcity_url: 'https://a.org', build_type: 'b', username: 'u', password: 'p' }).expect(200)
    await at(project, 'put', 'teamcity').send({ teamcity_url: 'https://b.org' }).expect(400, { error: 'password is missing' })
  })

  it('may all be set up with what they require (SV-2)', async () => {
    const project = await aProject(t.ctx)
    const values = { recipients: 'a@x.org, b@x.org', issues_url: 'https://x.org/:id', username: 'u', token: 'a:b' }
    for (const [slug, { properties }] of SERVICES) {
      const given = Object.fromEntries(
        Object.entries(properties)
          .filter(([name, { required }]) => required || name === 'username')
          .map(([name, { kind }]) => [name, { ...values }[name] ?? (kind === 'url' || kind === 'address' ? 'https://x.org' : 'x')]),
      )
      const { body } = await at(project, 'put', slug).send(given).expect(200)
      expect([slug, body.active, JSON.stringify(body.properties)]).toEqual([slug, true, expect.not.stringContaining('password')])
      await at(project, 'delete', slug).expect(204)
    }
  })
})

describe('an issue tracker elsewhere', () => {
  const URLS = { project_url: 'https://t.example.com/p', issues_url: 'https://t.example.com/i/:id', new_issue_url: 'https://t.example.com/new' }
  const html = async (project: TestProject, text: string) =>
    (await t.api('post', '/markdown', project.creator).send({ text, gfm: true, project: project.fullPath }).expect(201)).body.html as string

  it('has the issues that texts name, one tracker at a time (SV-20)', async () => {
    const project = await aProject(t.ctx)
    expect(await html(project, 'PROJ-12')).not.toContain('href')
    await at(project, 'put', 'custom-issue-tracker').send(URLS).expect(200)
    const shown = await html(project, 'PROJ-12. (A_B-3) xPROJ-1 proj-2 PROJ-4x `PROJ-5` a/PROJ-6 #7')
    expect([...shown.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      'https://t.example.com/i/PROJ-12',
      'https://t.example.com/i/A_B-3',
    ])
    await t.api('put', project.path, project.creator).send({ issues_access_level: 'disabled' }).expect(200)
    expect(await html(project, 'see #7')).toContain('href="https://t.example.com/i/7"')
    await at(project, 'put', 'redmine')
      .send(URLS)
      .expect(400, { message: 'Another issue tracker is already in use. Only one issue tracker service can be active at a time' })
    await at(project, 'delete', 'custom-issue-tracker').expect(204)
    expect(await html(project, 'PROJ-12')).not.toContain('href')
  })

  it('has the issues that a merge request closes, beside those of the project (SV-21)', async () => {
    const request = await aMergeRequest(t, { title: 'Work' })
    const { project } = request
    const { body: own } = await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'Own' }).expect(201)
    await at(project, 'put', 'jira').send({ url: 'https://jira.example.com/', username: 'u', password: 'p' }).expect(200)
    await t
      .api('put', `${project.path}/merge_requests/${request.iid}`, project.creator)
      .send({ description: `Fixes PROJ-12 and PROJ-13, see PROJ-14. Closes #${own.iid}` })
      .expect(200)
    const { body } = await t.api('get', `${project.path}/merge_requests/${request.iid}/closes_issues`, project.creator).expect(200)
    expect(body).toEqual([
      expect.objectContaining({ iid: own.iid }),
      { id: 'PROJ-12', title: 'External Issue PROJ-12' },
      { id: 'PROJ-13', title: 'External Issue PROJ-13' },
    ])
    expect(await html(project, 'PROJ-12')).toContain('href="https://jira.example.com/browse/PROJ-12"')
  })
})
