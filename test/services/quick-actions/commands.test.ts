import { and, eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { todos } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest, showRequest, soon } from '../../support/merge-requests.js'

const t = testApp()

const post = (path: string, caller: TestUser, sent: object) => t.api('post', path, caller).send(sent)
const get = async (path: string, caller: TestUser) => (await t.api('get', path, caller).expect(200)).body
/** Posts a note that has only commands; answers what they did. */
const command = async (path: string, caller: TestUser, body: string) => (await post(`${path}/notes`, caller, { body }).expect(202)).body
const systemNotes = async (path: string, caller: TestUser) =>
  (await get(`${path}/notes?sort=asc`, caller)).filter(({ system }: { system: boolean }) => system).map(({ body }: { body: string }) => body)
const comments = async (path: string, caller: TestUser) =>
  (await get(`${path}/notes?sort=asc`, caller)).filter(({ system }: { system: boolean }) => !system).map(({ body }: { body: string }) => body)
const pending = async (user: TestUser) =>
  (
    await t.ctx.db.write
      .select({ action: todos.action })
      .from(todos)
      .where(and(eq(todos.user_id, user.id), eq(todos.state, 'pending')))
  ).map(({ action }) => action)

interface Place {
  project: TestProject
  owner: TestUser
  ann: TestUser
}

/** A public project with a developer, the labels `bug` and `two words`, and the milestone `v 1`. */
async function aPlace(): Promise<Place & { milestone: number }> {
  const ann = await aUser(t.ctx)
  const project = await aProject(t.ctx, { developer: ann, visibility: 'public', files: { 'readme.md': 'one\n' } })
  const owner = project.creator
  for (const name of ['bug', 'two words']) await post(`${project.path}/labels`, owner, { name, color: '#112233' }).expect(201)
  const milestone = (await post(`${project.path}/milestones`, owner, { title: 'v 1' }).expect(201)).body.id
  return { project, owner, ann, milestone }
}

async function anIssue({ project, owner }: Place, sent: object = {}, caller = owner) {
  const issue = (await post(`${project.path}/issues`, caller, { title: 'An issue', ...sent }).expect(201)).body
  return { ...issue, path: `${project.path}/issues/${issue.iid}` }
}

describe('a note with commands', () => {
  it('makes no note if there is nothing else, and says what was done (QA-2)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place)
    expect(await command(issue.path, owner, '/close\r\n/Title  Another \n')).toEqual({
      commands_changes: { state_event: 'close', title: 'Another' },
      summary: ['Closed this issue. Changed the title to "Another".'],
    })
    expect(await get(issue.path, owner)).toMatchObject({ state: 'closed', title: 'Another', user_notes_count: 0 })
    expect(await comments(issue.path, owner)).toEqual([])
    expect(await systemNotes(issue.path, owner)).toEqual(['changed the title', 'closed'])
    expect((await command(issue.path, owner, '/reopen')).summary).toEqual(['Reopened this issue.'])
    expect((await get(issue.path, owner)).state).toBe('opened')
  })

  it('is the note without the commands if there is other text, in a thread too (QA-2)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place)
    const note = (await post(`${issue.path}/notes`, owner, { body: 'Done.\n/label ~bug\n/shrug Well' }).expect(201)).body
    expect(note).toMatchObject({ body: 'Done.\nWell ¯\\＿(ツ)＿/¯', commands_changes: { add_label_ids: [expect.any(Number)] } })
    expect((await get(`${issue.path}/notes/${note.id}`, owner)).commands_changes).toEqual({})
    expect((await get(issue.path, owner)).labels).toEqual(['bug'])
    const discussion = (await post(`${issue.path}/discussions`, owner, { body: 'Hello\n/lock' }).expect(201)).body
    expect(discussion.notes).toMatchObject([{ body: 'Hello', commands_changes: { discussion_locked: true } }])
    const replies = `${issue.path}/discussions/${discussion.id}/notes`
    expect((await post(replies, owner, { body: '/unlock' }).expect(202)).body.commands_changes).toEqual({ discussion_locked: false })
    await post(`${issue.path}/discussions/${'0'.repeat(40)}/notes`, owner, { body: '/lock' }).expect(404)
    expect((await post(`${issue.path}/discussions`, owner, { body: '/lock' }).expect(202)).body.summary).toEqual(['Locked the discussion.'])
    expect((await get(issue.path, owner)).discussion_locked).toBe(true)
    expect(await comments(issue.path, owner)).toEqual([note.body, 'Hello'])
  })

  it('has its commands cut when it is changed; one of commands alone is refused, and they do nothing (QA-2)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place)
    const note = (await post(`${issue.path}/notes`, owner, { body: 'One' }).expect(201)).body
    const change = (body: string) => t.api('put', `${issue.path}/notes/${note.id}`, owner).send({ body })
    expect((await change('Two\n/label bug').expect(200)).body.body).toBe('Two')
    expect((await get(issue.path, owner)).labels).toEqual(['bug'])
    await change('/close').expect(400)
    expect(await get(issue.path, owner)).toMatchObject({ state: 'opened' })
    expect(await comments(issue.path, owner)).toEqual(['Two'])
  })

  it('on a snippet or a commit has no commands (QA-1)', async () => {
    const { project, owner } = await aPlace()
    const snippet = (await post(`${project.path}/snippets`, owner, { title: 'A', file_name: 'a', content: 'a', visibility: 'public' }).expect(201))
      .body
    const at = `${project.path}/snippets/${snippet.id}`
    expect((await post(`${at}/notes`, owner, { body: '/close' }).expect(201)).body.body).toBe('/close')
    const sha = await aCommit(t.ctx, project, { a: 'a' })
    expect((await post(`${project.path}/repository/commits/${sha}/comments`, owner, { note: '/close' }).expect(201)).body.note).toBe('/close')
  })

  it('does nothing that the caller may not do, and says so (QA-3)', async () => {
    const place = await aPlace()
    const visitor = await aUser(t.ctx)
    const issue = await anIssue(place)
    const request = await aMergeRequest(t, { project: place.project })
    const all = '/close\n/title No\n/label ~bug\n/assign me\n/due today\n/lock\n/estimate 1h\n/move a/b\n/confidential\n/copy_metadata #1'
    const answer = await command(issue.path, visitor, all)
    expect(answer.commands_changes).toEqual({})
    expect(answer.summary[0]).toMatch(/^Could not apply close command\. Could not apply title command\. Could not apply label command\./)
    const { user_notes_count, updated_at } = await get(issue.path, place.owner)
    expect({ user_notes_count, updated_at }).toEqual({ user_notes_count: 0, updated_at: issue.updated_at })
    const onRequest = await command(request.path, visitor, '/approve\n/merge\n/rebase\n/target_branch main\n/draft\n/subscribe\n/unapprove')
    expect(onRequest).toEqual({
      commands_changes: {},
      summary: [
        ['approve', 'merge', 'rebase', 'target_branch', 'draft', 'subscribe', 'unapprove']
          .map((name) => `Could not apply ${name} command.`)
          .join(' '),
      ],
    })
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened', title: expect.not.stringContaining('Draft') })
    expect((await get(`${request.path}/approvals`, place.owner)).approved).toBe(false)
  })

  it('tells nothing of what the caller does not see (QA-3, SEC-35)', async () => {
    const place = await aPlace()
    const { owner } = place
    const [secret, hidden] = [await anIssue(place, { confidential: true }), await aProject(t.ctx, {})]
    const ours = (await post(`${hidden.path}/issues`, hidden.creator, { title: 'Hidden' }).expect(201)).body
    const reporter = await aUser(t.ctx)
    const own = await anIssue(place, {}, reporter)
    const messages = await command(own.path, reporter, `/duplicate #${secret.iid}\n/duplicate #9999\n/duplicate ${hidden.fullPath}#${ours.iid}`)
    const text = 'Failed to mark this issue as a duplicate because referenced issue was not found.'
    expect(messages).toEqual({ commands_changes: {}, summary: [[text, text, text].join(' ')] })
    const moving = await command(own.path, owner, `/move ${hidden.fullPath}\n/move no/where`)
    expect(moving.summary[0]).toBe(["Failed to move this issue because target project doesn't exist."].flatMap((each) => [each, each]).join(' '))
  })

  it('has at most 100 commands (QA-1)', async () => {
    const place = await aPlace()
    const issue = await anIssue(place)
    const body = (count: number) => '/todo\n'.repeat(count)
    await post(`${issue.path}/notes`, place.owner, { body: body(100) }).expect(202)
    expect((await post(`${issue.path}/notes`, place.owner, { body: body(101) }).expect(400)).body).toEqual({
      message: 'The text has too many commands (maximum is 100)',
    })
    await command(issue.path, place.owner, `/title ${'x'.repeat(5_000)}`)
    expect((await get(issue.path, place.owner)).title).toBe('An issue')
  })

  it('changes an issue once for all its commands, whose text is stored nowhere (QA-3)', async () => {
    const place = await aPlace()
    const { project, owner, ann } = place
    const issue = await anIssue(place)
    const before = (await systemNotes(issue.path, owner)).length
    await post(`${issue.path}/notes`, owner, { body: `Hm\n/label ~bug ~"two words"\n/assign @${ann.username}\n/milestone %"v 1"\n/close` }).expect(
      201,
    )
    expect(await systemNotes(issue.path, owner)).toHaveLength(before + 4)
    expect(await get(issue.path, owner)).toMatchObject({
      state: 'closed',
      labels: ['bug', 'two words'],
      assignee: { username: ann.username },
      milestone: { title: 'v 1' },
    })
    expect(await pending(ann)).toEqual(['assigned'])
    const search = await get(`${project.path}/search?scope=notes&search=milestone`, owner)
    expect(search.filter(({ system }: { system: boolean }) => !system)).toEqual([])
  })
})

describe('commands on issues and merge requests', () => {
  it('set, add to and remove labels that exist, in any spelling (QA-5)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place)
    const labels = async (body: string) => {
      const { summary } = await command(issue.path, owner, body)
      return [(await get(issue.path, owner)).labels, summary[0]]
    }
    expect(await labels('/label bug "two words" ~missing')).toEqual([['bug', 'two words'], 'Added ~bug ~"two words" labels.'])
    expect(await labels('/unlabel ~bug')).toEqual([['two words'], 'Removed ~bug label.'])
    expect(await labels('/relabel ~bug')).toEqual([['bug'], 'Replaced all labels with ~bug label.'])
    expect(await labels('/label ~missing')).toEqual([['bug'], 'Could not apply label command.'])
    expect(await labels('/label')).toEqual([['bug'], 'Could not apply label command.'])
    expect(await labels('/remove_label')).toEqual([[], 'Removed all labels.'])
    expect((await get(`${place.project.path}/labels`, owner)).map(({ name }: { name: string }) => name)).toEqual(['bug', 'two words'])
  })

  it('set people, those who can be assigned, and `me` (QA-6)', async () => {
    const place = await aPlace()
    const { project, owner, ann } = place
    const stranger = await aUser(t.ctx)
    const issue = await anIssue(place, { confidential: true })
    expect(await command(issue.path, owner, `/assign @no-such-user, @${ann.username.toUpperCase()} @${stranger.username}`)).toEqual({
      commands_changes: { assignee_ids: [ann.id, stranger.id] },
      summary: [`Assigned @${ann.username} and @${stranger.username}.`],
    })
    expect((await command(issue.path, owner, '/assign @no-such-user')).summary).toEqual(['Failed to assign a user because no user was found.'])
    expect((await get(issue.path, owner)).assignee.id).toBe(ann.id)
    expect((await command(issue.path, ann, '/assign me')).commands_changes).toEqual({ assignee_ids: [ann.id, stranger.id] })
    expect((await command(issue.path, owner, '/unassign')).commands_changes).toEqual({ assignee_ids: [] })
    expect((await get(issue.path, owner)).assignee).toBeNull()
    const request = await aMergeRequest(t, { project })
    expect((await command(request.path, owner, `/assign_reviewer @${ann.username}\n/assign me`)).summary[0]).toBe(
      `Assigned @${ann.username} as reviewer. Assigned @${owner.username}.`,
    )
    expect(await showRequest(t, request)).toMatchObject({ reviewers: [{ id: ann.id }], assignee: { id: owner.id } })
    await command(request.path, owner, '/unassign_reviewer')
    expect((await showRequest(t, request)).reviewers).toEqual([])
  })

  it('set and remove the milestone, by title or number, and copy it with labels from another (QA-7)', async () => {
    const place = await aPlace()
    const { project, owner, milestone } = place
    const [issue, other] = [await anIssue(place), await anIssue(place)]
    for (const named of ['%"v 1"', 'v 1', '"v 1"', '%1']) {
      expect((await command(issue.path, owner, `/milestone ${named}`)).commands_changes).toEqual({ milestone_id: milestone })
      expect((await get(issue.path, owner)).milestone.id).toBe(milestone)
      expect((await command(issue.path, owner, '/remove_milestone')).commands_changes).toEqual({ milestone_id: null })
      expect((await get(issue.path, owner)).milestone).toBeNull()
    }
    expect((await command(issue.path, owner, '/milestone %v2')).summary).toEqual(['Could not apply milestone command.'])
    await command(issue.path, owner, '/milestone %"v 1"\n/label ~bug')
    const request = await aMergeRequest(t, { project })
    expect((await command(request.path, owner, `/copy_metadata #${issue.iid}`)).summary).toEqual([`Copied labels and milestone from #${issue.iid}.`])
    expect(await showRequest(t, request)).toMatchObject({ labels: ['bug'], milestone: { id: milestone } })
    await command(other.path, owner, `/copy_metadata !${request.iid}`)
    expect(await get(other.path, owner)).toMatchObject({ labels: ['bug'], milestone: { id: milestone } })
    expect((await command(other.path, owner, '/copy_metadata #999')).summary).toEqual(['Could not apply copy_metadata command.'])
  })

  it('track time (QA-12)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place)
    const stats = async () => {
      const { time_estimate, total_time_spent } = await get(`${issue.path}/time_stats`, owner)
      return [time_estimate, total_time_spent]
    }
    expect(await command(issue.path, owner, '/estimate 1w 2d\n/spend 1h 30m 2020-01-31\n/spend -30m')).toEqual({
      commands_changes: { time_estimate: 201_600, spend_time: { duration: -1_800, user_id: owner.id, spent_at: expect.any(String) } },
      summary: ['Set time estimate to 1w 2d. Added 1h 30m spent time. Subtracted 30m spent time.'],
    })
    expect(await stats()).toEqual([201_600, 3_600])
    expect(await systemNotes(issue.path, owner)).toContain('added 1h 30m of time spent at 2020-01-31')
    const refused = await command(issue.path, owner, '/spend soon\n/spend 1h 2999-01-01\n/spend 1h 2020-02-30\n/spend -2h\n/estimate no')
    expect(refused.commands_changes).toEqual({})
    expect(await stats()).toEqual([201_600, 3_600])
    await command(issue.path, owner, '/remove_estimate\n/remove_time_spent')
    expect(await stats()).toEqual([0, 0])
  })

  it('subscribe, make todos and award emoji (QA-13, QA-15)', async () => {
    const place = await aPlace()
    const { project } = place
    const visitor = await aUser(t.ctx)
    const issue = await anIssue(place)
    expect((await command(issue.path, visitor, '/todo\n/subscribe\n/award :rocket:')).summary).toEqual([
      'Added a to do. Subscribed to this issue. Toggled :rocket: emoji award.',
    ])
    expect(await pending(visitor)).toEqual([])
    expect((await get(`${issue.path}/award_emoji`, visitor)).map(({ name }: { name: string }) => name)).toEqual(['rocket'])
    expect((await get(issue.path, visitor)).subscribed).toBe(true)
    await command(issue.path, visitor, '/award rocket\n/unsubscribe\n/award :no-such-emoji:')
    expect(await get(`${issue.path}/award_emoji`, visitor)).toEqual([])
    expect((await get(issue.path, visitor)).subscribed).toBe(false)
    await command(issue.path, visitor, '/todo')
    expect(await pending(visitor)).toEqual(['marked'])
    expect((await command(issue.path, visitor, '/todo')).summary).toEqual(['Could not apply todo command.'])
    expect((await command(issue.path, visitor, '/done')).summary).toEqual(['Marked to do as done.'])
    expect(await pending(visitor)).toEqual([])
    expect((await command(issue.path, visitor, '/done')).summary).toEqual(['Could not apply done command.'])
    const request = await aMergeRequest(t, { project })
    await command(request.path, visitor, '/award :+1:\n/todo')
    expect((await showRequest(t, request)).upvotes).toBe(1)
  })
})

describe('commands on issues', () => {
  it('set due date and confidentiality (QA-9, QA-10)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place)
    expect((await command(issue.path, owner, '/due 2030-02-03\n/confidential')).summary).toEqual([
      'Set the due date to 2030-02-03. Made this issue confidential.',
    ])
    expect(await get(issue.path, owner)).toMatchObject({ due_date: '2030-02-03', confidential: true })
    expect((await command(issue.path, owner, '/due someday')).summary).toEqual(['Failed to set due date because the date format is invalid.'])
    await command(issue.path, owner, '/remove_due_date')
    expect((await get(issue.path, owner)).due_date).toBeNull()
  })

  it('close a duplicate, with references that only those see who see the other issue (QA-14)', async () => {
    const place = await aPlace()
    const { owner } = place
    const visitor = await aUser(t.ctx)
    const [issue, other] = [await anIssue(place), await anIssue(place, { confidential: true })]
    expect(await command(issue.path, owner, `/duplicate #${other.iid}`)).toEqual({
      commands_changes: { canonical_issue_id: other.id },
      summary: [`Marked this issue as a duplicate of #${other.iid}.`],
    })
    expect((await get(issue.path, owner)).state).toBe('closed')
    expect((await systemNotes(issue.path, owner)).sort()).toEqual(['closed as a duplicate of another issue', `mentioned in issue #${other.iid}`])
    expect(await systemNotes(other.path, owner)).toEqual([`mentioned in issue #${issue.iid}`])
    expect(await systemNotes(issue.path, visitor)).toEqual(['closed as a duplicate of another issue'])
  })

  it('link an issue with another one, and remove the link (QA-20)', async () => {
    const place = await aPlace()
    const { owner } = place
    const [issue, other] = [await anIssue(place), await anIssue(place)]
    const links = async () => (await t.api('get', `${issue.path}/links`, owner).expect(200)).body.map(({ id }: { id: number }) => id)
    expect(await command(issue.path, owner, `/relate #${other.iid}`)).toMatchObject({ summary: [`Marked this issue as related to #${other.iid}.`] })
    expect(await links()).toEqual([other.id])
    expect(await command(issue.path, owner, `/unlink #${other.iid}`)).toMatchObject({ summary: [`Removed the link with #${other.iid}.`] })
    expect(await links()).toEqual([])
    expect(await command(issue.path, owner, '/relate #999')).not.toMatchObject({ summary: [expect.stringContaining('Marked')] })
  })

  it('move an issue, after everything else (QA-16)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place)
    const to = await aProject(t.ctx, { creator: owner })
    expect(await command(issue.path, owner, `/move ${to.fullPath}\n/title Moved`)).toEqual({
      commands_changes: { title: 'Moved', target_project: to.id },
      summary: [`Moved this issue to ${to.fullPath}. Changed the title to "Moved".`],
    })
    expect((await get(`${to.path}/issues/1`, owner)).title).toBe('Moved')
    expect((await get(issue.path, owner)).state).toBe('closed')
  })
})

describe('commands on merge requests', () => {
  it('toggle the draft, and end it (QA-8)', async () => {
    const { project, owner } = await aPlace()
    const request = await aMergeRequest(t, { project, title: 'Work' })
    const title = async (body: string) => {
      const { commands_changes } = await command(request.path, owner, body)
      return [(await showRequest(t, request)).title, commands_changes.wip_event]
    }
    expect(await title('/draft')).toEqual(['Draft: Work', 'wip'])
    expect(await title('/ready')).toEqual(['Work', 'unwip'])
    expect(await title('/ready')).toEqual(['Work', undefined])
    expect(await title('/wip')).toEqual(['Draft: Work', 'wip'])
    expect(await title('/title [WIP] Draft: More')).toEqual(['[WIP] Draft: More', undefined])
    expect(await title('/draft')).toEqual(['More', 'unwip'])
  })

  it('approve and take that back (QA-17)', async () => {
    const { project, owner, ann } = await aPlace()
    const request = await aMergeRequest(t, { project })
    expect(await command(request.path, ann, '/approve')).toEqual({ commands_changes: {}, summary: ['Approved the current merge request.'] })
    const approved = async () => (await get(`${request.path}/approvals`, owner)).approved
    expect(await approved()).toBe(true)
    expect(await comments(request.path, owner)).toEqual([])
    expect((await command(request.path, ann, '/lgtm')).summary).toEqual(['Could not apply approve command.'])
    expect((await command(request.path, ann, '/unapprove')).summary).toEqual(['Unapproved the current merge request.'])
    expect(await approved()).toBe(false)
  })

  it('set the target branch, rebase and merge, now or when the pipeline succeeds (QA-11, QA-18)', async () => {
    const { project, owner } = await aPlace()
    const request = await aMergeRequest(t, { project })
    await aCommit(t.ctx, project, { other: 'x' }, { branch: 'other', start_branch: 'main' })
    expect((await command(request.path, owner, '/target_branch other\n/target_branch missing')).summary).toEqual([
      'Set target branch to other. Could not apply target_branch command.',
    ])
    expect((await showRequest(t, request)).target_branch).toBe('other')
    const before = (await showRequest(t, request)).sha
    expect(await command(request.path, owner, '/rebase')).toEqual({
      commands_changes: { rebase: true },
      summary: [`Scheduled a rebase of branch ${request.source}.`],
    })
    await t.ctx.jobs.drain()
    await soon(async () => (await showRequest(t, request)).sha !== before)
    const sha = (await showRequest(t, request)).sha
    await post(`${project.path}/statuses/${sha}`, owner, { state: 'running', ref: request.source }).expect(201)
    expect(await command(request.path, owner, '/merge')).toEqual({
      commands_changes: { merge: sha },
      summary: ['Scheduled to merge this merge request (When pipeline succeeds).'],
    })
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened', merge_when_pipeline_succeeds: true })
    await t.api('post', `${request.path}/cancel_merge_when_pipeline_succeeds`, owner).expect(201)
    await post(`${project.path}/statuses/${sha}`, owner, { state: 'success', ref: request.source }).expect(201)
    expect((await command(request.path, owner, '/merge\n/label ~bug')).summary).toEqual(['Merged this merge request. Added ~bug label.'])
    expect(await showRequest(t, request)).toMatchObject({ state: 'merged', labels: ['bug'] })
    expect((await command(request.path, owner, '/merge')).summary).toEqual(['Could not apply merge command.'])
  })

  it('say nothing about branches to an author who may not read the code (QA-11)', async () => {
    const { project, owner, ann } = await aPlace()
    const request = await aMergeRequest(t, { project, caller: ann })
    await aCommit(t.ctx, project, { other: 'x' }, { branch: 'other', start_branch: 'main' })
    await t.api('put', project.path, owner).send({ visibility: 'private' }).expect(200)
    await t.api('put', `${project.path}/members/${ann.id}`, owner).send({ access_level: 10 }).expect(200)
    const titled = await command(request.path, ann, '/title Other\n/target_branch other\n/target_branch missing')
    expect(titled.summary[0]).toBe(
      `Changed the title to "Other". ${Array.from({ length: 2 }, () => 'Could not apply target_branch command.').join(' ')}`,
    )
  })
})

describe('a description with commands', () => {
  it('of a new issue sets its attributes, without a change of them (QA-2)', async () => {
    const place = await aPlace()
    const { owner, ann, milestone } = place
    const description = `Text\n\n/label ~bug\n/assign @${ann.username}\n/milestone %"v 1"\n/due 2030-01-02\n/confidential\n/estimate 1h\n/spend 30m\n/close\n`
    const issue = await anIssue(place, { description, labels: 'new' })
    expect(issue).toMatchObject({
      description: 'Text',
      labels: ['bug', 'new'],
      assignee: { id: ann.id },
      milestone: { id: milestone },
      due_date: '2030-01-02',
      confidential: true,
      state: 'opened',
      time_stats: { time_estimate: 3_600, total_time_spent: 1_800 },
    })
    expect(await systemNotes(issue.path, owner)).toEqual(['changed time estimate to 1h', 'added 30m of time spent'])
    const visitor = await aUser(t.ctx)
    const theirs = await anIssue(place, { description: '/label ~bug\n/confidential' }, visitor)
    expect(theirs).toMatchObject({ description: '', labels: [], confidential: true })
  })

  it('of an issue that is changed (QA-2)', async () => {
    const place = await aPlace()
    const { owner } = place
    const issue = await anIssue(place, { labels: 'bug' })
    const change = async (sent: object) => (await t.api('put', issue.path, owner).send(sent).expect(200)).body
    expect(await change({ description: 'New\n/unlabel ~bug\n/close\n/todo', title: 'Other' })).toMatchObject({
      description: 'New',
      labels: [],
      state: 'closed',
      title: 'Other',
    })
    expect(await pending(owner)).toEqual(['marked'])
    expect(await change({ description: '```\n/reopen\n```' })).toMatchObject({ description: '```\n/reopen\n```', state: 'closed' })
  })

  it('of a merge request, new and changed (QA-2)', async () => {
    const { project, owner, ann } = await aPlace()
    await aCommit(t.ctx, project, { other: 'x' }, { branch: 'other', start_branch: 'main' })
    const description = `Why\n/target_branch other\n/draft\n/assign_reviewer @${ann.username}\n/label ~bug\n/spend 1h\n/merge`
    const request = await aMergeRequest(t, { project, title: 'Work', sent: { description } })
    expect(await showRequest(t, request)).toMatchObject({
      description: 'Why',
      title: 'Draft: Work',
      target_branch: 'other',
      reviewers: [{ id: ann.id }],
      labels: ['bug'],
      state: 'opened',
      time_stats: { total_time_spent: 3_600 },
    })
    const changed = (await t.api('put', request.path, owner).send({ title: 'Draft: Other', description: 'How\n/ready\n/approve' }).expect(200)).body
    expect(changed).toMatchObject({ title: 'Other', description: 'How' })
    expect((await get(`${request.path}/approvals`, owner)).approved).toBe(true)
  })
})
