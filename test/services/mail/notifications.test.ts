import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { emails } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'Roost <roost@example.org>' })

const level = (who: TestUser, given: object, of = '') => t.api('put', `${of}/notification_settings`, who).send(given).expect(200)
const anIssue = async (project: TestProject, by: TestUser, given: object = {}) =>
  (
    await t
      .api('post', `${project.path}/issues`, by)
      .send({ title: 'A title', ...given })
      .expect(201)
  ).body
const note = async (project: TestProject, by: TestUser, on: string, body: string) =>
  (await t.api('post', `${project.path}/${on}/notes`, by).send({ body }).expect(201)).body
/** The events of the mails that have come to somebody, with the reasons; mails may come in any order. */
const events = async (who: TestUser) =>
  (await box.to(who.email)).map((mail) => `${mail.header('x-roost-event')} ${mail.header('x-roost-reason')}`).sort()

describe('an issue', () => {
  it('is mailed to assignees and mentioned users, and not to its author (ML-3, ML-5)', async () => {
    const [author, assignee, named, other] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [assignee, named, other] })
    await anIssue(project, author, { assignee_ids: [assignee.id], description: `Look, @${named.username}` })
    expect(await events(assignee)).toEqual(['new_issue assigned'])
    expect(await events(named)).toEqual(['new_issue mentioned'])
    expect(await events(author)).toEqual([])
    expect(await events(other)).toEqual([])
  })
})

/** Lets something happen while a reader is mailed in vain, and gives what they are mailed after that. */
async function meanwhile(reader: TestUser, change: () => Promise<unknown>, then: () => Promise<unknown>) {
  await events(reader)
  let over = false
  let changed: Promise<unknown> | undefined
  box.answer(reader.email, async () => {
    // the queue may be quicker than the answer to the change
    await changed
    await then()
    over = true
    return 450
  })
  changed = change()
  await changed
  await t.ctx.jobs.drain()
  expect(over).toBe(true)
  return events(reader)
}

/** People of every level, all of whom may see the project. */
async function levels(project: TestProject, of: 'everything' | 'project' = 'everything') {
  const people = {} as Record<'disabled' | 'mention' | 'participating' | 'custom' | 'watch', TestUser>
  for (const name of ['disabled', 'mention', 'participating', 'custom', 'watch'] as const) {
    people[name] = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: people[name].id, access_level: 30 }).expect(201)
    await level(people[name], { level: name }, of === 'everything' ? '' : project.path)
  }
  return people
}

/** The levels that were mailed, with the reasons. */
async function mailed(people: Record<string, TestUser>) {
  const found: Record<string, string> = {}
  for (const [name, who] of Object.entries(people))
    for (const event of await events(who)) found[name] = `${found[name] ? `${found[name]}, ` : ''}${event}`
  return found
}

describe('levels (ML-2, ML-3)', () => {
  it('decide about events of a project that the user does not take part in', async () => {
    const project = await aProject(t.ctx)
    const people = await levels(project)
    await level(people.custom, { new_issue: true })
    await anIssue(project, project.creator)
    expect(await mailed(people)).toEqual({ watch: 'new_issue watching', custom: 'new_issue custom' })
    await level(people.custom, { new_issue: false, close_issue: true })
    const { iid } = await anIssue(project, project.creator)
    await t.api('put', `${project.path}/issues/${iid}`, project.creator).send({ state_event: 'close' }).expect(200)
    expect(await mailed(people)).toEqual({ watch: 'close_issue watching, new_issue watching', custom: 'close_issue custom' })
  })

  it('decide about items that the user takes part in or is mentioned in', async () => {
    const project = await aProject(t.ctx)
    const people = await levels(project, 'project')
    const { iid } = await anIssue(project, project.creator)
    await mailed(people)
    for (const who of Object.values(people)) await note(project, who, `issues/${iid}`, 'I am here')
    await mailed(people)
    await note(project, project.creator, `issues/${iid}`, 'To all of you')
    expect(await mailed(people)).toEqual({
      participating: 'new_note participating',
      custom: 'new_note participating',
      watch: 'new_note participating',
    })
    const names = Object.values(people).map(({ username }) => `@${username}`)
    await note(project, project.creator, `issues/${iid}`, names.join(' '))
    const mentioned = 'new_note mentioned'
    expect(await mailed(people)).toEqual({ mention: mentioned, participating: mentioned, custom: mentioned, watch: mentioned })
  })

  it('of a project come before those of its group, and those before groups above it', async () => {
    const owner = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator: owner })
    const sub = await aGroup(t.ctx, { creator: owner, parent_id: top.id })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: sub.id })
    const who = await aUser(t.ctx)
    await t.api('post', `/groups/${top.id}/members`, owner).send({ user_id: who.id, access_level: 20 }).expect(201)
    const isMailed = async () => {
      await anIssue(project, owner)
      return (await events(who)).length > 0
    }
    expect(await isMailed()).toBe(false)
    await level(who, { level: 'watch' }, `/groups/${top.id}`)
    expect(await isMailed()).toBe(true)
    await level(who, { level: 'mention' }, `/groups/${sub.id}`)
    expect(await isMailed()).toBe(false)
    await level(who, { level: 'watch' }, project.path)
    expect(await isMailed()).toBe(true)
    await level(who, { level: 'disabled' }, project.path)
    expect(await isMailed()).toBe(false)
    await level(who, { level: 'global' }, project.path)
    await level(who, { level: 'global' }, `/groups/${sub.id}`)
    await level(who, { level: 'disabled' })
    expect(await isMailed()).toBe(true)
    await level(who, { level: 'global' }, `/groups/${top.id}`)
    expect(await isMailed()).toBe(false)
    await level(who, { level: 'watch' })
    expect(await isMailed()).toBe(true)
  })

  it('for everything do not watch projects of others (ML-5)', async () => {
    const [stranger, chosen] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { visibility: 'public' })
    await level(stranger, { level: 'watch' })
    await level(chosen, { level: 'watch' }, project.path)
    await anIssue(project, project.creator)
    expect(await events(stranger)).toEqual([])
    expect(await events(chosen)).toEqual(['new_issue watching'])
  })
})

describe('subscriptions (ML-4)', () => {
  it('mail at every level; unsubscribing overrides every reason', async () => {
    const [author, reader] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: reader })
    await level(reader, { level: 'disabled' })
    const { iid } = await anIssue(project, author, { assignee_ids: [reader.id] })
    expect(await events(reader)).toEqual([])
    await t.api('post', `${project.path}/issues/${iid}/unsubscribe`, reader).expect(201)
    await t.api('post', `${project.path}/issues/${iid}/subscribe`, reader).expect(201)
    await note(project, author, `issues/${iid}`, 'news')
    expect(await events(reader)).toEqual(['new_note subscribed'])
    await level(reader, { level: 'watch' })
    await t.api('post', `${project.path}/issues/${iid}/unsubscribe`, reader).expect(201)
    await note(project, author, `issues/${iid}`, `more news, @${reader.username}`)
    expect(await events(reader)).toEqual([])
  })

  it('to labels mail about items that are created with them or get them', async () => {
    const [author, fan] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: fan })
    await t.api('post', `${project.path}/labels`, author).send({ name: 'bug', color: '#ff0000' }).expect(201)
    await t.api('post', `${project.path}/labels/bug/subscribe`, fan).expect(201)
    await anIssue(project, author, { labels: 'bug' })
    expect(await events(fan)).toEqual(['new_issue label_subscribed'])
    const { iid } = await anIssue(project, author)
    expect(await events(fan)).toEqual([])
    await t.api('put', `${project.path}/issues/${iid}`, author).send({ labels: 'bug' }).expect(200)
    const [mail] = await box.to(fan.email)
    expect(mail?.header('x-roost-event')).toBe('relabel')
    expect(mail?.text).toContain(`put labels on Issue #${iid}: bug`)
  })
})

describe('changes', () => {
  it('of the assignee go to the new and the former one (ML-7)', async () => {
    const [author, first, second] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [first, second] })
    const { iid } = await anIssue(project, author, { assignee_ids: [first.id] })
    await events(first)
    await t
      .api('put', `${project.path}/issues/${iid}`, author)
      .send({ assignee_ids: [second.id] })
      .expect(200)
    const [mail] = await box.to(first.email)
    expect(mail?.text).toContain(`${author.name} assigned Issue #${iid} to ${second.name}.`)
    expect(await events(second)).toEqual(['reassign_issue assigned'])
  })

  it('of the reviewer go to the new and the former one, and a new merge request to its reviewer (ML-30)', async () => {
    const [author, first, second, off] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [first, second, off], files: { 'a.txt': 'a\n' } })
    await level(off, { level: 'disabled' })
    const { path, iid } = await aMergeRequest(t, { project, sent: { reviewer_ids: [first.id] } })
    const [made] = await box.to(first.email)
    expect([made?.header('x-roost-event'), made?.header('x-roost-reason')]).toEqual(['new_merge_request', 'review_requested'])
    expect(made?.text).toContain(`Reviewer: ${first.name}`)
    // where the change is, and how much it is (WB-99)
    expect(made?.text).toMatch(/^topic\d+ into main: 1 file changed, \+1 -0$/m)
    const review = async (...ids: number[]) => t.api('put', path, author).send({ reviewer_ids: ids }).expect(200)
    await review(second.id)
    const [mail] = await box.to(first.email)
    expect(mail?.text).toContain(`${author.name} requested a review of Merge request !${iid} from ${second.name}.`)
    expect(await events(second)).toEqual(['change_reviewer_merge_request review_requested'])
    await review()
    const [removed] = await box.to(second.email)
    expect(removed?.text).toContain(`${author.name} removed the reviewer of Merge request !${iid}.`)
    await review(off.id)
    expect(await events(off)).toEqual([])
    await level(first, { level: 'custom', change_reviewer_merge_request: true })
    await review(second.id)
    expect(await events(first)).toEqual(['change_reviewer_merge_request custom'])
  })

  it('of several name them all, and go to those who came or went (ML-620)', async () => {
    const [author, first, second, third] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [first, second, third], files: { 'a.txt': 'a\n' } })
    for (const who of [first, second, third]) await level(who, { level: 'mention' })
    const both = [first.id, second.id]
    const { path } = await aMergeRequest(t, { project, sent: { reviewer_ids: both, assignee_ids: both } })
    const [made] = await box.to(second.email)
    expect(made?.text).toMatch(new RegExp(`Assignees: ${first.name}, ${second.name}\n+Reviewers: ${first.name}, ${second.name}`))
    await events(first)
    for (const [field, event] of [
      ['reviewer_ids', 'change_reviewer_merge_request review_requested'],
      ['assignee_ids', 'reassign_merge_request assigned'],
    ] as const) {
      await t
        .api('put', path, author)
        .send({ [field]: [third.id, second.id] })
        .expect(200)
      expect([await events(first), await events(second), await events(third)]).toEqual([[event], [], [event]])
    }
    const issue = await anIssue(project, author, { assignee_ids: both })
    expect([await events(first), await events(second)]).toEqual([['new_issue assigned'], ['new_issue assigned']])
    await t
      .api('put', `${project.path}/issues/${issue.iid}`, author)
      .send({ assignee_ids: [first.id] })
      .expect(200)
    expect([await events(first), await events(second)]).toEqual([[], ['reassign_issue assigned']])
  })

  it('of approvals go to those who take part (ML-30)', async () => {
    const [author, approver, watcher, other] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [approver, watcher, other], files: { 'a.txt': 'a\n' } })
    const { path, iid } = await aMergeRequest(t, { project })
    // the mails about the new one are sent before somebody watches
    await t.ctx.jobs.drain()
    await level(watcher, { level: 'watch' }, project.path)
    for (const verb of ['approve', 'unapprove']) {
      await t.api('post', `${path}/${verb}`, approver).expect(201)
      const [mail] = await box.to(author.email)
      expect(mail?.text).toContain(`Merge request !${iid} was ${verb}d by ${approver.name}.`)
      expect(await events(watcher)).toEqual([`${verb}d watching`])
    }
    expect([await events(approver), await events(other)]).toEqual([[], []])
  })

  it('by commands in a note are mailed like others, and the commands themselves are in no mail (QA-2)', async () => {
    const [author, actor] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: actor })
    const { iid } = await anIssue(project, author)
    const path = `${project.path}/issues/${iid}/notes`
    await t.api('post', path, actor).send({ body: '/close' }).expect(202)
    expect(await events(author)).toEqual(['close_issue participating'])
    await t.api('post', path, actor).send({ body: '/estimate 1h' }).expect(202)
    expect(await events(author)).toEqual([])
    await note(project, actor, `issues/${iid}`, 'Well\n/estimate 2h')
    const [mail, ...more] = await box.to(author.email)
    expect([mail?.text?.includes('Well'), mail?.text?.includes('estimate'), more.length]).toEqual([true, false, 0])
  })

  it('of a description mail newly mentioned users, once (ML-7)', async () => {
    const [author, old, fresh] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [old, fresh] })
    const { iid } = await anIssue(project, author, { description: `@${old.username}` })
    expect(await events(old)).toEqual(['new_issue mentioned'])
    await t
      .api('put', `${project.path}/issues/${iid}`, author)
      .send({ description: `@${old.username} @${fresh.username}` })
      .expect(200)
    expect(await events(fresh)).toEqual(['mention mentioned'])
    expect(await events(old)).toEqual([])
  })

  it('of a merge request: opened, closed, reopened, merged (ML-6)', async () => {
    const [author, watcher] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: watcher, files: { 'a.txt': 'a\n' } })
    await level(watcher, { level: 'watch' })
    await aCommit(t.ctx, project, { 'b.txt': 'b\n' }, { branch: 'topic', start_branch: 'main' })
    const { iid } = (
      await t
        .api('post', `${project.path}/merge_requests`, author)
        .send({ source_branch: 'topic', target_branch: 'main', title: 'Add b' })
        .expect(201)
    ).body
    const path = `${project.path}/merge_requests/${iid}`
    for (const state_event of ['close', 'reopen']) await t.api('put', path, author).send({ state_event }).expect(200)
    await t.ctx.jobs.drain()
    await t.api('put', `${path}/merge`, author).expect(200)
    const mails = await box.to(watcher.email)
    expect(mails.map((mail) => mail.header('x-roost-event')).sort()).toEqual([
      'close_merge_request',
      'merge_merge_request',
      'new_merge_request',
      'reopen_merge_request',
    ])
  })

  it('of a release only at the level custom (ML-3, ML-6)', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
    const people = await levels(project)
    await level(people.custom, { new_release: true })
    await t
      .api('post', `${project.path}/releases`, project.creator)
      .send({ tag_name: 'v1', ref: 'main', name: 'One', description: 'What is *new*' })
      .expect(201)
    expect(await mailed(people)).toEqual({ custom: 'new_release custom' })
  })
})

describe('pipelines (ML-8)', () => {
  it('that fail are mailed to whose they are, at their level; passed ones only if that is switched on', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
    const people = await levels(project)
    const post = async (who: TestUser, state: string) => {
      const sha = await aCommit(t.ctx, project, { [`${Math.random()}.txt`]: 'x\n' })
      await t.api('post', `${project.path}/statuses/${sha}`, who).send({ state, name: 'ci' }).expect(201)
    }
    for (const who of Object.values(people)) for (const state of ['failed', 'success']) await post(who, state)
    const failed = 'failed_pipeline own_pipeline'
    expect(await mailed(people)).toEqual({ participating: failed, watch: failed, custom: failed })
    await level(people.custom, { failed_pipeline: false, success_pipeline: true })
    for (const state of ['failed', 'success']) await post(people.custom, state)
    expect(await mailed(people)).toEqual({ custom: 'success_pipeline own_pipeline' })
  })

  it('that fail name the jobs that have failed, with description and address, twenty at most (ML-33)', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
    const { creator } = project
    const post = async (sha: string, status: object) => t.api('post', `${project.path}/statuses/${sha}`, creator).send(status).expect(201)
    const sha = await aCommit(t.ctx, project, { 'b.txt': 'x\n' })
    await post(sha, { state: 'pending', name: 'last' })
    await post(sha, { state: 'failed', name: 'unit', description: 'first try', target_url: 'https://ci.example.com/0' })
    await post(sha, { state: 'success', name: 'fine', description: 'all is well' })
    await post(sha, { state: 'success', name: 'unit', description: 'second try' })
    await post(sha, { state: 'failed', name: 'lint', description: '3 <b>faults</b>', target_url: 'https://ci.example.com/1?a=b&c=d' })
    await post(sha, { state: 'failed', name: 'last' })
    const [mail] = await box.to(creator.email)
    const { text = '', html = '' } = mail ?? {}
    const [, first = ''] = text.split('has failed.\n\n')
    const lint = 'Failed: lint: 3 <b>faults</b>\n\nDetails of lint: https://ci.example.com/1?a=b&c=d'
    expect(first.startsWith(`Failed: last\n\n${lint}\n\nView it: `)).toBe(true)
    for (const absent of ['unit', 'fine']) expect(text).not.toContain(absent)
    expect(html).toContain('3 &lt;b&gt;faults&lt;/b&gt;')
    expect(html).toContain('<a href="https://ci.example.com/1?a=b&amp;c=d">Details of lint</a>')
    const many = await aCommit(t.ctx, project, { 'c.txt': 'x\n' })
    for (let i = 0; i < 22; i++) await post(many, { state: 'pending', name: `job-${i}` })
    for (let i = 0; i < 22; i++) await post(many, { state: 'failed', name: `job-${i}` })
    const [long] = await box.to(creator.email)
    expect(long?.text?.match(/Failed: job-/g)).toHaveLength(20)
    expect(long?.text).toContain('More jobs have failed.')
  })

  it('are mailed to the author of the merge request that they check', async () => {
    const [author, robot] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: robot, files: { 'a.txt': 'a\n' } })
    const sha = await aCommit(t.ctx, project, { 'b.txt': 'b\n' }, { branch: 'topic', start_branch: 'main' })
    await t.api('post', `${project.path}/merge_requests`, author).send({ source_branch: 'topic', target_branch: 'main', title: 'b' }).expect(201)
    await level(robot, { level: 'disabled' })
    await t.api('post', `${project.path}/statuses/${sha}`, robot).send({ state: 'failed', name: 'ci', ref: 'topic' }).expect(201)
    const [mail] = await box.to(author.email)
    expect(mail?.header('x-roost-event')).toBe('failed_pipeline')
    expect(mail?.text).toMatch(/Pipeline #\d+ for topic \([0-9a-f]{8}\) has failed\./)
    expect(await events(robot)).toEqual([])
  })
})

describe('a review', () => {
  const lines = 'one\ntwo\nthree\nfour\n'
  async function aReview() {
    const [author, critic, named] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [critic, named], files: { 'a.txt': lines } })
    const actions = [{ action: 'update', file_path: 'a.txt', content: lines.replace('three', 'THREE') }]
    await t
      .api('post', `${project.path}/repository/commits`, author)
      .send({ branch: 'topic', start_branch: 'main', commit_message: 'Work', actions })
      .expect(201)
    await t.ctx.jobs.drain()
    const request = await aMergeRequest(t, { project, caller: author, source: 'topic', files: null })
    await t.ctx.jobs.drain()
    const { diff_refs } = (await t.api('get', request.path, author).expect(200)).body
    const draft = (note: string, new_line?: number) =>
      t
        .api('post', `${request.path}/draft_notes`, critic)
        .send({ note, ...(new_line && { position: { ...diff_refs, position_type: 'text', new_path: 'a.txt', new_line } }) })
        .expect(201)
    await box.to(author.email)
    await box.to(named.email)
    return { author, critic, named, project, request, draft }
  }

  it('is one mail, with the lines that its comments are about, and an approval is part of it (ML-600)', async () => {
    const { author, critic, named, request, draft } = await aReview()
    await draft(`Why capitals, @${named.username}?`, 3)
    await draft('Once more')
    await t
      .api('post', `${request.path}/draft_notes/bulk_publish`, critic)
      .send({ note: 'All in all', reviewer_state: 'requested_changes' })
      .expect(204)
    const [mail, ...more] = await box.to(author.email)
    expect([mail?.header('x-roost-event'), more]).toEqual(['review', []])
    expect(mail?.text).toContain(`${critic.name} requested changes in Merge request !${request.iid}.`)
    expect(mail?.text).toMatch(
      /a\.txt:3: http\S+#note_\d+\n\n```diff\n one\n two\n-three\n\+THREE\n```\n\nWhy capitals, @\S+\?\n\nOnce more\n\nAll in all/,
    )
    expect(mail?.html).toContain('THREE')
    expect(await events(named)).toEqual(['review mentioned'])
    expect(await events(critic)).toEqual([])
    await draft('Good')
    await t.api('post', `${request.path}/notes`, critic).send({ body: '/approve' })
    expect(await events(author)).toEqual(['approved participating'])
    await t.api('post', `${request.path}/unapprove`, critic).expect(201)
    await t.api('put', `${request.path}/draft_notes/${await lastDraft(request.path, critic)}/publish`, critic).expect(204)
    expect(await events(author)).toEqual(['new_note participating', 'unapproved participating'])
  })

  it('of a verdict alone is mailed, and one whose comments are gone is not (ML-600, ML-11)', async () => {
    const { author, critic, request, draft } = await aReview()
    await t.api('post', `${request.path}/draft_notes/bulk_publish`, critic).send({ reviewer_state: 'requested_changes' }).expect(204)
    expect(await events(author)).toEqual(['review participating'])
    await draft('Away with it')
    const send = () => t.api('post', `${request.path}/draft_notes/bulk_publish`, critic).expect(204)
    const remove = async () => {
      const [note] = (await t.api('get', `${request.path}/notes`, critic).expect(200)).body
      await t.api('delete', `${request.path}/notes/${note.id}`, critic).expect(204)
    }
    expect(await meanwhile(author, send, remove)).toEqual([])
  })

  it('goes to those who switched notes on, and shows lines to those who read code (ML-600)', async () => {
    const { project, request, critic, draft } = await aReview()
    const people = await levels(project)
    await level(people.custom, { new_note: true })
    await draft('Why?', 3)
    await t.api('post', `${request.path}/draft_notes/bulk_publish`, critic).expect(204)
    expect(await mailed(people)).toEqual({ watch: 'review watching', custom: 'review custom' })
  })
})

const lastDraft = async (path: string, who: TestUser): Promise<number> => (await t.api('get', `${path}/draft_notes`, who).expect(200)).body.at(-1).id

describe('notes', () => {
  it('on a commit go to its author, to mentioned users, and to earlier commenters (ML-7)', async () => {
    const [author, named, critic] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [named, critic], files: {} })
    const sha = await aCommit(t.ctx, project, { 'a.txt': 'a\n' })
    const comment = (by: TestUser, text: string) =>
      t.api('post', `${project.path}/repository/commits/${sha}/comments`, by).send({ note: text }).expect(201)
    await comment(critic, `Why, @${named.username}?`)
    expect(await events(author)).toEqual(['new_note participating'])
    expect(await events(named)).toEqual(['new_note mentioned'])
    await comment(author, 'Because.')
    expect(await events(critic)).toEqual(['new_note participating'])
  })

  it('on a snippet go to its author', async () => {
    const [author, reader] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: reader })
    const { id } = (
      await t
        .api('post', `${project.path}/snippets`, author)
        .send({ title: 'S', file_name: 's.txt', content: 's', visibility: 'private' })
        .expect(201)
    ).body
    await note(project, reader, `snippets/${id}`, 'Nice')
    expect(await events(author)).toEqual(['new_note participating'])
  })

  it('that move with an issue are no news', async () => {
    const [author, reader] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: reader })
    const other = await aProject(t.ctx, { creator: author, developer: reader })
    const { iid } = await anIssue(project, author)
    await note(project, reader, `issues/${iid}`, 'mine')
    await events(reader)
    await t.api('post', `${project.path}/issues/${iid}/move`, author).send({ to_project_id: other.id }).expect(201)
    expect(await events(reader)).toEqual(['close_issue participating', 'new_issue participating'])
  })
})

describe('at the moment of sending (ML-11)', () => {
  async function watched(given: object = {}) {
    const [author, reader] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, reporter: reader, ...given })
    await level(reader, { level: 'watch' }, project.path)
    return { author, reader, project }
  }

  it('mails users who may still see the item, with its state at that time', async () => {
    const { author, reader, project } = await watched()
    // the first mail may be on its way before the answer to the call
    const change = () => t.api('put', `${project.path}/issues/1`, author).send({ description: 'second words' }).expect(200)
    box.answer(reader.email, async () => {
      await change()
      return 450
    })
    await anIssue(project, author, { description: 'first words' })
    await t.ctx.jobs.drain()
    const [mail] = await box.to(reader.email)
    expect(mail?.text).toContain('second words')
    expect(mail?.raw).not.toContain('first words')
  })

  it('a former member gets nothing', async () => {
    const { author, reader, project } = await watched()
    const leave = () => t.api('delete', `${project.path}/members/${reader.id}`, author).expect(204)
    expect(await meanwhile(reader, () => anIssue(project, author), leave)).toEqual([])
  })

  it('a blocked user gets nothing', async () => {
    const { author, reader, project } = await watched()
    const admin = await anAdmin(t.ctx)
    const block = () => t.api('post', `/users/${reader.id}/block`, admin).expect(201)
    expect(await meanwhile(reader, () => anIssue(project, author), block)).toEqual([])
  })

  it('sends no mail about deleted items and notes', async () => {
    const { author, reader, project } = await watched()
    let iid = 0
    const write = async () => {
      iid = (await anIssue(project, author)).iid
    }
    expect(await meanwhile(reader, write, () => t.api('delete', `${project.path}/issues/${iid}`, author).expect(204))).toEqual([])
    const other = await anIssue(project, author)
    await events(reader)
    let id = 0
    const comment = async () => {
      id = (await note(project, author, `issues/${other.iid}`, 'oh')).id
    }
    expect(await meanwhile(reader, comment, () => t.api('delete', `${project.path}/issues/${other.iid}/notes/${id}`, author).expect(204))).toEqual([])
  })

  it('mails about a confidential issue, and notes on it, go only to those who see it', async () => {
    const author = await aUser(t.ctx)
    const [guest, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, visibility: 'public', guest, reporter })
    for (const who of [guest, reporter]) await level(who, { level: 'watch' }, project.path)
    const { iid } = await anIssue(project, author, { confidential: true, description: `@${guest.username}` })
    await note(project, author, `issues/${iid}`, `@${guest.username}`)
    expect(await events(guest)).toEqual([])
    expect(await events(reporter)).toEqual(['new_issue watching', 'new_note watching'])
    const open = await anIssue(project, author)
    await events(guest)
    const hide = () => t.api('put', `${project.path}/issues/${open.iid}`, author).send({ confidential: true }).expect(200)
    expect(await meanwhile(guest, () => note(project, author, `issues/${open.iid}`, 'a secret'), hide)).toEqual([])
  })

  it('sends nothing to users who have unsubscribed since', async () => {
    const { author, reader, project } = await watched()
    let iid = 0
    const write = async () => {
      iid = (await anIssue(project, author, { assignee_ids: [reader.id] })).iid
    }
    expect(await meanwhile(reader, write, () => t.api('post', `${project.path}/issues/${iid}/unsubscribe`, reader).expect(201))).toEqual([])
  })

  it('a guest of a private project gets no merge request and no release', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
    const guest = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: guest.id, access_level: 10 }).expect(201)
    await level(guest, { level: 'watch' }, project.path)
    await aMergeRequest(t, { project })
    await level(guest, { level: 'custom', new_release: true }, project.path)
    await t.api('post', `${project.path}/releases`, project.creator).send({ tag_name: 'v1', ref: 'main', description: 'x' }).expect(201)
    expect(await events(guest)).toEqual([])
    await anIssue(project, project.creator, { assignee_ids: [guest.id] })
    expect(await events(guest)).toEqual(['new_issue assigned'])
  })

  it('is sent to a confirmed address only (ML-12)', async () => {
    const author = await aUser(t.ctx)
    const [unconfirmed, other] = [await aUser(t.ctx, { skip_confirmation: false }), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, developer: [unconfirmed, other] })
    await anIssue(project, author, { description: `@${unconfirmed.username}` })
    expect(await events(unconfirmed)).toEqual([])
    const address = `second${other.id}@example.com`
    await t.api('post', '/user/emails', other).send({ email: address }).expect(201)
    expect((await box.to(address)).map(({ subject }) => subject)).toEqual(['Confirm your e-mail address'])
    const refusal = { message: { notification_email: ['is not an email you own'] } }
    await t.api('put', '/notification_settings', other).send({ notification_email: address }).expect(400, refusal)
    await t.api('put', '/notification_settings', other).send({ notification_email: author.email }).expect(400, refusal)
    await t.ctx.db.write.update(emails).set({ confirmed_at: new Date() }).where(eq(emails.email, address))
    await level(other, { notification_email: address })
    await anIssue(project, author, { description: `@${other.username}` })
    expect(await box.to(other.email)).toEqual([])
    expect((await box.to(address)).map(({ recipient }) => recipient)).toEqual([address])
    const { id } = (await t.api('get', '/user/emails', other).expect(200)).body[0]
    await t.api('delete', `/user/emails/${id}`, other).expect(204)
    await anIssue(project, author, { description: `@${other.username}` })
    expect(await events(other)).toEqual(['new_issue mentioned'])
  })
})
