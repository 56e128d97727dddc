import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { commitIn, gitClient, gitOut } from '../../support/clients/git-client.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser, unique } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'

const t = testApp()
const git = gitClient(t)

const anIssue = async (project: TestProject, sent: object = {}, caller = project.creator) => {
  const { body } = await t
    .api('post', `${project.path}/issues`, caller)
    .send({ title: 'An issue', ...sent })
    .expect(201)
  return { ...body, path: `${project.path}/issues/${body.iid}` } as { id: number; iid: number; path: string }
}
/** What the service says of a thing, oldest first. */
const mentionsIn = async ({ path }: { path: string }, caller: TestUser): Promise<string[]> =>
  (await t.api('get', `${path}/notes?sort=asc&activity_filter=only_activity`, caller).expect(200)).body.map(({ body }: { body: string }) => body)

describe('mentions in other items', () => {
  it('issues and merge requests have a note for each place that mentions them (IS-23, NT-6)', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a' } })
    const { creator } = project
    const issue = await anIssue(project)
    const request = await aMergeRequest(t, { project })
    const named = `See #${issue.iid}, !${request.iid} and #${issue.iid}, not \`#1\` nor #999`
    const other = await anIssue(project, { description: named })
    const from = await aMergeRequest(t, { project, title: `After #${issue.iid}`, sent: { description: `!${request.iid}` } })
    const places = [`mentioned in issue #${other.iid}`, `mentioned in merge request !${from.iid}`]
    expect(await mentionsIn(issue, creator)).toEqual(places)
    expect(await mentionsIn(request, creator)).toEqual(places)
    expect(await mentionsIn(other, creator)).toEqual([])

    const late = await anIssue(project)
    const note = (await t.api('post', `${late.path}/notes`, creator).send({ body: named }).expect(201)).body
    await t
      .api('put', `${late.path}/notes/${note.id}`, creator)
      .send({ body: `${named} #${other.iid} #${late.iid}` })
      .expect(200)
    await t.api('post', `${late.path}/notes`, creator).send({ body: named }).expect(201)
    expect(await mentionsIn(issue, creator)).toEqual([...places, `mentioned in issue #${late.iid}`])
    expect(await mentionsIn(request, creator)).toEqual([...places, `mentioned in issue #${late.iid}`])
    expect(await mentionsIn(other, creator)).toEqual([`mentioned in issue #${late.iid}`])
    expect(await mentionsIn(late, creator)).toEqual([])

    await t
      .api('put', from.path, creator)
      .send({ description: `#${late.iid}` })
      .expect(200)
    await t
      .api('put', other.path, creator)
      .send({ title: `Of #${late.iid}` })
      .expect(200)
    expect(await mentionsIn(late, creator)).toEqual([`mentioned in merge request !${from.iid}`, `mentioned in issue #${other.iid}`])

    // the thread of a merge request and a comment on a commit are places, too
    const last = await anIssue(project)
    await t
      .api('post', `${request.path}/discussions`, creator)
      .send({ body: `#${last.iid}` })
      .expect(201)
    const sha = await aCommit(t.ctx, project, { 'b.txt': 'b' })
    await t
      .api('post', `${project.path}/repository/commits/${sha}/comments`, creator)
      .send({ note: `#${last.iid}` })
      .expect(201)
    expect(await mentionsIn(last, creator)).toEqual([`mentioned in merge request !${request.iid}`, `mentioned in commit ${sha}`])
  })

  it('such a note is read as others are, and changes nothing of its item (NT-6, NT-7)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const { creator } = project
    const author = await aUser(t.ctx)
    const issue = await anIssue(project)
    const before = (await t.api('get', issue.path, creator).expect(200)).body
    await anIssue(project, { description: `#${issue.iid}` }, author)
    expect((await t.api('get', issue.path, creator).expect(200)).body).toEqual(before)
    expect((await t.api('get', `${issue.path}/participants`, creator).expect(200)).body).toMatchObject([{ id: creator.id }])
    expect((await t.api('get', issue.path, author).expect(200)).body.subscribed).toBe(false)
    const listed = await t.api('get', `${issue.path}/notes`, creator).expect(200)
    expect(listed.headers['x-total']).toBe('1')
    const [note] = listed.body
    expect(note).toMatchObject({ system: true, author: { id: author.id }, noteable_id: issue.id, body: 'mentioned in issue #2' })
    expect((await t.api('get', `${issue.path}/notes/${note.id}`, creator).expect(200)).body).toEqual(note)
    expect((await t.api('get', `${issue.path}/discussions`, creator).expect(200)).body).toMatchObject([{ individual_note: true, notes: [note] }])
    await t.api('put', `${issue.path}/notes/${note.id}`, creator).send({ body: 'x' }).expect(403)
    await t.api('delete', `${issue.path}/notes/${note.id}`, creator).expect(403)
    await t.api('delete', `${project.path}/issues/2`, creator).expect(204)
    expect(await mentionsIn(issue, creator)).toEqual([])
  })

  it('only who sees the place reads of it, under the name it has today (SEC-35, SEC-36, SEC-122)', async () => {
    const open = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' } })
    const { creator: owner } = open
    const [stranger, insider] = [await aUser(t.ctx), await aUser(t.ctx)]
    const secret = `secret${unique()}`
    const hidden = await aProject(t.ctx, { creator: insider, name: secret, files: { 'a.txt': 'a' } })
    const issue = await anIssue(open)
    const request = await aMergeRequest(t, { project: open })
    const things = [issue, request]
    const names = `${open.fullPath}#${issue.iid} and ${open.fullPath}!${request.iid}`

    const there = await anIssue(hidden, { description: names })
    const merge = await aMergeRequest(t, { project: hidden, title: `As in ${names}` })
    const sha = await aCommit(t.ctx, hidden, { 'c.txt': 'c' }, { message: `Like ${names}` })
    const confidential = await anIssue(open, { confidential: true, description: names }, insider)
    const seen = [
      `mentioned in issue ${hidden.fullPath}#${there.iid}`,
      `mentioned in merge request ${hidden.fullPath}!${merge.iid}`,
      `mentioned in commit ${hidden.fullPath}@${sha}`,
      `mentioned in issue #${confidential.iid}`,
    ]
    for (const thing of things) {
      expect(await mentionsIn(thing, insider)).toEqual(seen)
      expect(await mentionsIn(thing, owner)).toEqual([`mentioned in issue #${confidential.iid}`])
      for (const list of ['notes', 'discussions']) {
        const { body, headers } = await t.api('get', `${thing.path}/${list}`, stranger).expect(200)
        expect([body, headers['x-total']]).toEqual([[], '0'])
      }
      const { body: read } = await t.api('get', `${thing.path}/notes?sort=asc`, insider).expect(200)
      const { body: threads } = await t.api('get', `${thing.path}/discussions`, insider).expect(200)
      for (const [i, { id }] of read.entries()) {
        await t.api('get', `${thing.path}/notes/${id}`, stranger).expect(404)
        await t.api('get', `${thing.path}/notes/${id}/award_emoji`, stranger).expect(404)
        await t.api('get', `${thing.path}/discussions/${threads[i].id}`, stranger).expect(404)
      }
      for (const caller of [owner, stranger]) {
        const { text } = await t.api('get', `${thing.path}/participants`, caller).expect(200)
        expect(text).not.toContain(insider.username)
      }
    }
    // issues that the caller does not see get no note
    const unseen = await anIssue(hidden)
    await anIssue(open, { description: `${hidden.fullPath}#${unseen.iid}` }, stranger)
    expect(await mentionsIn(unseen, insider)).toEqual([])

    await t
      .api('put', hidden.path, insider)
      .send({ visibility: 'public', path: `${secret}-renamed` })
      .expect(200)
    const renamed = seen.map((text) => text.replace(hidden.fullPath, `${hidden.fullPath}-renamed`))
    expect(await mentionsIn(issue, stranger)).toEqual(renamed.slice(0, 3))
    await t.api('put', hidden.path, insider).send({ issues_access_level: 'private', repository_access_level: 'private' }).expect(200)
    expect(await mentionsIn(issue, stranger)).toEqual([])
    await t.api('delete', hidden.path, insider).expect(202)
    expect(await mentionsIn(issue, insider)).toEqual(seen.slice(3))
  })

  it('lists of such notes cost what lists cost, however many places there are (IS-23)', async () => {
    const project = await aProject(t.ctx)
    const issue = await anIssue(project)
    const count = async () => (await t.queriesOf(() => t.api('get', `${issue.path}/notes?per_page=100`, project.creator).expect(200))).length
    for (let i = 0; i < 3; i++) await anIssue(project, { description: `#${issue.iid}` })
    await count()
    const few = await count()
    for (let i = 0; i < 20; i++) await anIssue(project, { description: `#${issue.iid}` })
    expect(await count()).toBe(few)
  })
})

describe('what commits mention (PU-6)', () => {
  it('pushed to any branch they make one note, and no todos (PU-6)', async () => {
    const reader = await aUser(t.ctx)
    const project = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' }, developer: reader })
    const { creator } = project
    const issue = await anIssue(project)
    const request = await aMergeRequest(t, { project })
    const work = await git.cloned(git.url(project.fullPath, creator))
    await gitOut(work, 'checkout', '-q', '-b', 'topic')
    await commitIn(work, 'one.txt')
    await gitOut(work, 'commit', '-q', '--amend', '-m', `About #${issue.iid} and !${request.iid}\n\ncc @${reader.username}`)
    const one = await gitOut(work, 'rev-parse', 'HEAD')
    await commitIn(work, 'two.txt')
    await gitOut(work, 'commit', '-q', '--amend', '-m', `Also #${issue.iid}`)
    const two = await gitOut(work, 'rev-parse', 'HEAD')
    await gitOut(work, 'push', '-q', 'origin', 'topic')
    const both = [`mentioned in commit ${one}`, `mentioned in commit ${two}`]
    expect((await mentionsIn(issue, creator)).sort()).toEqual([...both].sort())
    expect(await mentionsIn(request, creator)).toEqual(both.slice(0, 1))

    // the same commits on another branch, and on the default one, say nothing new
    await gitOut(work, 'push', '-q', 'origin', 'topic:again')
    await gitOut(work, 'push', '-q', 'origin', 'topic:main')
    expect((await mentionsIn(issue, creator)).sort()).toEqual([...both].sort())
    expect((await t.api('get', '/todos', reader).expect(200)).body).toEqual([])

    const made = { branch: 'main', commit_message: `Fixes #${issue.iid}`, actions: [{ action: 'create', file_path: 'n', content: 'n' }] }
    const { body: commit } = await t.api('post', `${project.path}/repository/commits`, creator).send(made).expect(201)
    const after = await mentionsIn(issue, creator)
    expect(after).toContain(`mentioned in commit ${commit.id}`)
    expect(after).toContain(`closed by commit ${commit.id}`)
  })

  it('the first push makes no notes, a fork none in its source (PU-6)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const { creator } = project
    const issue = await anIssue(project)
    await aCommit(t.ctx, project, { 'a.txt': 'a' }, { message: `First, of #${issue.iid}` })
    expect(await mentionsIn(issue, creator)).toEqual([])
    const forker = await aUser(t.ctx)
    const { body: fork } = await t.api('post', `${project.path}/fork`, forker).send({}).expect(201)
    const commit_message = `Again #${issue.iid} of ${project.fullPath}#${issue.iid}`
    const actions = [{ action: 'create', file_path: 'n', content: 'n' }]
    const sent = { branch: 'main', commit_message, actions }
    await t.api('post', `/projects/${fork.id}/repository/commits`, forker).send(sent).expect(201)
    expect(await mentionsIn(issue, forker)).toEqual([])
    await t.api('post', `${project.path}/repository/commits`, creator).send(sent).expect(201)
    expect(await mentionsIn(issue, forker)).toHaveLength(1)
  })
})
