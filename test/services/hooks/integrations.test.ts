import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { projects, webHooks } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { aCommit, aProject, type TestProject } from '../../support/factories.js'
import { textReceiver } from '../../support/servers/text-receiver.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true', SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })
const r = textReceiver()
const ci = ciOf(t)
let counter = 0

const set = async (project: TestProject, slug: string, given: object) =>
  (await t.api('put', `${project.path}/integrations/${slug}`, project.creator).send(given).expect(200)).body
const post = async (project: TestProject, path: string, body: object) =>
  (
    await t
      .api('post', project.path + path, project.creator)
      .send(body)
      .expect(201)
  ).body
// biome-ignore lint/suspicious/noExplicitAny: tests look into payloads
type Sent = any[]
/** What came to a path, as JSON, once all jobs have run. */
async function sentTo(path: string): Promise<Sent> {
  await t.ctx.jobs.drain()
  return r.got.filter((sent) => sent.path === path).map(({ text }) => JSON.parse(text))
}
const aRepository = () => aProject(t.ctx, { files: { 'readme.md': 'one\n' } })

describe('a chat', () => {
  it('gets pushes, issues, notes, wiki pages and merge requests, each in its own way (SV-6, SV-8)', async () => {
    const project = await aRepository()
    const paths = ['slack', 'mattermost', 'discord', 'microsoft-teams', 'hangouts-chat', 'webex-teams', 'unify-circuit', 'pumble'].map((slug) => {
      return [slug, `/${++counter}/${slug}`] as const
    })
    for (const [slug, path] of paths) await set(project, slug, { webhook: r.url + path })
    const bot = `/${++counter}`
    await set(project, 'telegram', { hostname: r.url + bot, token: '12:ab', room: '@room' })
    await post(project, '/issues', { title: '<b> [x](y) & @channel *a*', description: '@everyone <@all>' })
    const sent = Object.fromEntries(await Promise.all(paths.map(async ([slug, path]) => [slug, await sentTo(path)] as const))) as {
      [slug: string]: Sent
    }
    const first = (slug: string) => sent[slug]?.[0]
    const issue = `http://roost.test/${project.fullPath}/issues/1`
    const name = project.creator.name
    expect(sent['slack']).toEqual([
      {
        text: expect.stringMatching(
          new RegExp(
            `^\\[<http://roost.test/${project.fullPath}\\|[^>]*>\\] Issue <${issue}\\|#1 &lt;b&gt; \\[x\\]\\(y\\) &amp; @channel \\*a\\*> opened by ${name}$`,
          ),
        ),
        attachments: [{ fallback: '@everyone &lt;@all&gt;', text: '@everyone &lt;@all&gt;', color: '#334455', mrkdwn_in: ['text'] }],
      },
    ])
    expect(first('mattermost').attachments[0].text).toBe('@\u200beveryone &lt;@\u200ball&gt;')
    expect(first('discord')).toMatchObject({ allowed_mentions: { parse: [] }, embeds: [{ author: { name } }] })
    expect(first('discord').embeds[0].description).toContain(`[\\#1 \\<b\\> \\[x\\]\\(y\\) & @\u200bchannel \\*a\\*](${issue}) opened by`)
    expect(first('microsoft-teams')).toMatchObject({ '@type': 'MessageCard', summary: expect.stringContaining('Issue #1 <b> [x](y)') })
    expect(first('hangouts-chat').text).toContain('<\u200b@all>')
    expect(first('webex-teams').markdown).toContain('<\u200b@\u200ball>')
    expect(first('unify-circuit')).toMatchObject({ markdown: true, text: expect.stringContaining(issue) })
    expect(first('pumble').text).toContain(`<${issue}|#1`)
    const [telegram] = await sentTo(`${bot}/bot12:ab/sendMessage`)
    expect(telegram).toMatchObject({ chat_id: '@room', parse_mode: 'HTML' })
    expect(telegram.text).toContain(`<a href="${issue}">#1 &lt;b&gt;`)
    const { headers } = r.got.find(({ path }) => path === paths[0]?.[1]) ?? expect.fail('nothing was sent')
    expect(Object.keys(headers).filter((header) => header.startsWith('x-gitlab'))).toEqual([])

    const lines = async () => (await sentTo(paths[0]?.[1] as string)).slice(1).map(({ text }) => text.replace(/<[^|>]*\|([^>]*)>/g, '$1'))
    const place = `${project.creator.username} / ${project.fullPath.split('/')[1]}`
    await aCommit(t.ctx, project, { 'a.txt': 'a' }, { message: 'First\n\nrest' })
    await aCommit(t.ctx, project, { 'b.txt': 'b' }, { branch: 'side', start_branch: 'main' })
    await post(project, '/repository/tags', { tag_name: 'v1', ref: 'main' })
    await post(project, '/issues/1/notes', { body: 'a note' })
    await t.api('put', `${project.path}/issues/1`, project.creator).send({ title: 'Other' }).expect(200)
    await t.api('put', `${project.path}/issues/1`, project.creator).send({ state_event: 'close' }).expect(200)
    await post(project, '/merge_requests', { title: 'Merge', source_branch: 'side', target_branch: 'main' })
    await post(project, '/wikis', { title: 'Home', content: 'x' })
    expect((await lines()).sort()).toEqual(
      [
        `${name} pushed to branch main of ${place} (Compare changes)`,
        // nothing about a branch that is not the default one
        `${name} pushed new tag v1 to ${place}`,
        `${name} commented on issue #1 &lt;b&gt; [x](y) &amp; @channel *a* in ${place}`,
        `[${place}] Issue #1 Other closed by ${name}`,
        `[${place}] Merge request !1 Merge opened by ${name}`,
        `${name} created the wiki page Home in ${place}`,
      ].sort(),
    )
    const pushed = (await sentTo(paths[0]?.[1] as string)).find(({ text }) => text.includes('pushed to'))
    expect(pushed.attachments[0].text).toMatch(new RegExp(`^<http://roost.test/${project.fullPath}/commit/[0-9a-f]{40}\\|[0-9a-f]{8}>: First - `))
  })

  it('gets chosen events, in the channel of each, and of the ends of pipelines (SV-7, SV-8, SV-9)', async () => {
    const { project, runner } = await ci.withCi('job:\n  script: x\n')
    const path = `/${++counter}`
    const more = { username: 'bot', channel: 'all', issue_channel: 'one, two', issues_events: false, branches_to_be_notified: 'protected' }
    await set(project, 'slack', { webhook: r.url + path, ...more })
    await post(project, '/issues', { title: 'Open' })
    await post(project, '/issues', { title: 'Secret', confidential: true })
    expect((await sentTo(path)).map(({ channel, username }) => [channel, username]).sort()).toEqual([
      ['one', 'bot'],
      ['two', 'bot'],
    ])
    await ci.push(project, { 'a.txt': 'a' })
    const ends = async () =>
      (await sentTo(path))
        .slice(2)
        .map(({ text, channel, attachments }) => [channel, text.replace(/<[^|>]*\|([^>]*)>/g, '$1'), attachments?.[0].color])
    for (const state of ['failed', 'success'] as const) {
      await runner.end(await runner.takeNamed('job'), state)
      await t.ctx.jobs.drain()
      if (state === 'failed') await post(project, '/pipeline?ref=main', {})
    }
    expect(await ends()).toEqual([
      ['all', expect.stringMatching(/pushed to branch main/), '#334455'],
      ['all', expect.stringMatching(/: Pipeline #\d+ of branch main by .* has failed/), '#b3261e'],
    ])
  })

  it('is set aside after four failures, as a webhook, until it is set up again (SV-6, HK-26)', async () => {
    const project = await aRepository()
    const path = `/${++counter}`
    await set(project, 'slack', { webhook: r.url + path })
    r.answer = (sent) => (sent.path === path ? { status: 500 } : {})
    for (let i = 0; i < 4; i++) {
      await post(project, '/issues', { title: 'Again' })
      await t.ctx.jobs.drain()
    }
    r.answer = () => ({})
    await post(project, '/issues', { title: 'Held back' })
    // four failures set it aside, as webhooks
    expect(await sentTo(path)).toHaveLength(4)
    await set(project, 'slack', { webhook: r.url + path })
    await post(project, '/issues', { title: 'Set up again' })
    expect((await sentTo(path)).at(-1).text).toContain('Set up again')
  })
})

describe('builds elsewhere', () => {
  it('are triggered by webhooks at addresses with their secrets (SV-13)', async () => {
    const project = await aRepository()
    const [jenkins, drone, teamcity] = [`/${++counter}`, `/${++counter}`, `/${++counter}`]
    await set(project, 'jenkins', { jenkins_url: r.url + jenkins, project_name: 'a b', username: 'u', password: 'p:w' })
    await set(project, 'drone-ci', { drone_url: `${r.url + drone}/`, token: 'a&b' })
    await set(project, 'teamcity', { teamcity_url: r.url + teamcity, build_type: 'a"b', username: 'u', password: 'p' })
    const after = await aCommit(t.ctx, project, { 'a.txt': 'a' })
    await t.ctx.jobs.drain()
    const [owner, name] = project.fullPath.split('/')
    const at = (path: string) => r.got.filter((sent) => sent.path === path)
    const [toJenkins, toDrone, toTeamcity] = [
      at(`${jenkins}/project/a%20b`),
      at(`${drone}/hook?access_token=a%26b&owner=${owner}&name=${name}`),
      at(`${teamcity}/httpAuth/app/rest/buildQueue`),
    ]
    expect(toJenkins.map(({ headers }) => [headers.authorization, headers['x-gitlab-event']])).toEqual([
      [`Basic ${Buffer.from('u:p:w').toString('base64')}`, 'Push Hook'],
    ])
    expect(JSON.parse(toDrone[0]?.text ?? '{}')).toMatchObject({ object_kind: 'push', after, project: { path_with_namespace: project.fullPath } })
    expect(toTeamcity.map(({ headers, text }) => [headers['content-type'], text])).toEqual([
      ['application/xml', '<build branchName="main"><buildType id="a&quot;b"/></build>'],
    ])
  })
})

describe('Jira', () => {
  it('gets comments for commits of the default branch and for merge requests, and moves what is closed (SV-23)', async () => {
    const project = await aRepository()
    const path = `/${++counter}`
    await set(project, 'jira', { url: r.url + path, username: 'u', password: 'p', jira_issue_transition_id: '3,4' })
    const asked = async () => {
      await t.ctx.jobs.drain()
      const own = r.got.filter((sent) => sent.path.startsWith(path))
      return own
        .splice(0)
        .map(({ path: to, text }) => [to.slice(`${path}/rest/api/2/issue/`.length), JSON.parse(text).body ?? JSON.parse(text).transition.id])
    }
    await aCommit(t.ctx, project, { 'a.txt': 'a' }, { message: 'Work\n\nFixes PROJ-1, see PROJ-2' })
    await aCommit(t.ctx, project, { 'b.txt': 'b' }, { branch: 'side', start_branch: 'main', message: 'Closes PROJ-9' })
    const comment = expect.stringContaining('mentioned this issue in [a commit|')
    expect((await asked()).sort()).toEqual([
      ['PROJ-1/comment', comment],
      ['PROJ-1/transitions', '3'],
      ['PROJ-1/transitions', '4'],
      ['PROJ-2/comment', comment],
    ])
    r.got.length = 0
    await set(project, 'jira', { jira_auth_type: 1, url: r.url + path, password: 'token', commit_events: false })
    await post(project, '/merge_requests', { title: 'PROJ-5', source_branch: 'side', target_branch: 'main' })
    await aCommit(t.ctx, project, { 'c.txt': 'c' }, { message: 'PROJ-6' })
    expect(await asked()).toEqual([['PROJ-5/comment', expect.stringContaining('[a merge request|')]])
    expect(r.got[0]?.headers.authorization).toBe('Bearer token')
  })
})

describe('Asana', () => {
  it('gets comments and completed tasks below its address, with its token (SV-24)', async () => {
    const project = await aRepository()
    const path = `/${++counter}`
    await set(project, 'asana', { api_key: 'key' })
    // its address is a fixed one
    const sealed_url = t.ctx.encryption.seal(r.url + path, `project ${project.id} hook url`)
    await t.ctx.db.write.update(webHooks).set({ sealed_url }).where(eq(webHooks.project_id, project.id))
    await aCommit(t.ctx, project, { 'a.txt': 'a' }, { message: 'Fixed #12345' })
    await t.ctx.jobs.drain()
    const own = r.got.filter((sent) => sent.path.startsWith(path))
    expect(own.map(({ path: to, headers }) => [to, headers.authorization]).sort()).toEqual([
      [`${path}/tasks/12345`, 'Bearer key'],
      [`${path}/tasks/12345/stories`, 'Bearer key'],
    ])
    expect(own.map(({ text }) => JSON.parse(text).data)).toContainEqual({ completed: true })
  })
})

describe('mails', () => {
  it('have the commits and differences of pushes, one to each address (SV-11, SV-12)', async () => {
    const project = await aRepository()
    await set(project, 'emails-on-push', { recipients: 'a@push.org, b@push.org\nA@push.org' })
    await aCommit(t.ctx, project, { 'a.txt': 'new line\n' }, { message: 'One change' })
    const [mail, ...more] = await box.to('a@push.org')
    expect(more).toEqual([])
    expect(mail?.subject).toBe(`[${project.fullPath}][main] One change`)
    expect(mail?.text).toContain('+new line')
    expect(mail?.text).toMatch(/[0-9a-f]{8} One change \(/)
    expect(await box.to('b@push.org')).toHaveLength(1)
    await set(project, 'emails-on-push', { recipients: 'c@push.org', disable_diffs: true, branches_to_be_notified: 'default' })
    await aCommit(t.ctx, project, { 'b.txt': 'hidden\n' })
    await aCommit(t.ctx, project, { 'c.txt': 'c\n' }, { branch: 'side', start_branch: 'main' })
    const mails = await box.to('c@push.org')
    expect(mails.map(({ text }) => text?.includes('hidden'))).toEqual([false])
    await t.ctx.db.write.update(projects).set({ emails_disabled: true }).where(eq(projects.id, project.id))
    await aCommit(t.ctx, project, { 'd.txt': 'd\n' })
    expect(await box.to('c@push.org')).toEqual([])
  })

  it('say how pipelines have ended (SV-12)', async () => {
    const { project, runner } = await ci.withCi('job:\n  script: x\n')
    await set(project, 'pipelines-email', { recipients: 'p@ci.org', notify_only_broken_pipelines: false })
    await runner.end(await runner.takeNamed('job'), 'success')
    await post(project, '/pipeline?ref=main', {})
    await t.ctx.jobs.drain()
    await runner.end(await runner.takeNamed('job'), 'failed')
    const mails = await box.to('p@ci.org')
    expect(mails.map(({ subject }) => subject?.replace(/#\d+/, '#').replace(/\| [0-9a-f]{8}$/, '|'))).toEqual(
      ['passed', 'failed'].map((end) => `${project.fullPath.split('/')[1]} | Pipeline # has ${end} for main |`),
    )
    expect(mails[1]?.text).toContain('Failed: job (test)')
  })
})
