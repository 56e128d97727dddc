import { and, eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { auditEvents, events, mergeRequests, notes, projects, protectedBranches, refIntents, todos } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast } from '../../support/cast.js'
import { aCommit, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest, rowOfRequest, showRequest, type TestRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'
import { rounds } from '../../support/rounds.js'

const t = testApp()

const accept = ({ path, project }: TestRequest, sent: object = {}, caller: TestUser | null = project.creator) =>
  t.api('put', `${path}/merge`, caller).send(sent)
const headOf = (project: TestProject, branch: string) => bareOf(t, project).git('rev-parse', `refs/heads/${branch}`).trim()
const hasBranch = (project: TestProject, branch: string) => bareOf(t, project).git('for-each-ref', `refs/heads/${branch}`) !== ''
const commitOf = (project: TestProject, oid: string, format: string) => bareOf(t, project).git('log', '-1', `--format=${format}`, oid).trimEnd()

const REFUSED = { message: 'Method Not Allowed' }
const UNMERGEABLE = { message: 'Branch cannot be merged' }

/** A refusal changes nothing (SEC-2). */
async function refused(request: TestRequest, sent: object, status: number, body: object, caller?: TestUser) {
  const before = [headOf(request.project, 'main'), await rowOfRequest(t, request)]
  await accept(request, sent, caller).expect(status, body)
  expect([headOf(request.project, 'main'), await rowOfRequest(t, request)]).toEqual(before)
}

describe('PUT …/merge', () => {
  it('makes a true merge commit of the two heads by the caller, and answers with the request (MR-64, SEC-113)', async () => {
    const request = await aMergeRequest(t)
    const { project } = request
    const heads = [headOf(project, 'main'), headOf(project, request.source)]
    const { body } = await accept(request).expect(200)
    expect(body).toMatchObject({
      state: 'merged',
      merge_commit_sha: headOf(project, 'main'),
      merged_by: { id: project.creator.id },
      subscribed: true,
      should_remove_source_branch: null,
      merge_error: null,
    })
    expect(body.merged_at).not.toBeNull()
    expect(commitOf(project, body.merge_commit_sha, '%P')).toBe(heads.join(' '))
    expect(commitOf(project, body.merge_commit_sha, '%an %ae %cn %ce')).toBe(
      `${project.creator.name} ${project.creator.email} ${project.creator.name} ${project.creator.email}`,
    )
    expect(hasBranch(project, request.source)).toBe(true)
    expect(bareOf(t, project).git('show', `main:${request.source}.txt`)).toBe(`${request.source}\n`)
    expect(await t.ctx.db.write.select().from(refIntents)).toEqual([])
  })

  it('is 401 for callers who may neither push to the target nor merge into it (MR-59)', async () => {
    const cast = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const request = await aMergeRequest(t, { project: cast.project, caller: cast.as.owner })
    await t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, cast.project.id))
    for (const role of ['reporter', 'guest'] as const) await refused(request, {}, 401, { message: '401 Unauthorized' }, cast.as[role])
    await t.ctx.db.write.insert(protectedBranches).values({ project_id: cast.project.id, name: 'main', push_level: 40, merge_level: 40 })
    await refused(request, {}, 401, { message: '401 Unauthorized' }, cast.as.developer)
    await t.ctx.db.write.update(protectedBranches).set({ merge_level: 30 }).where(eq(protectedBranches.project_id, cast.project.id))
    await accept(request, {}, cast.as.developer).expect(200)
  })

  it('those who may push to the target or merge into it, developers where nothing protects it, administrators unless no one may (G-72)', async () => {
    const cast = await aCast(t.ctx, { files: { a: 'a' } })
    const { developer, maintainer, admin, owner } = cast.as
    const request = () => aMergeRequest(t, { project: cast.project, caller: owner })
    const protect = async (push_level: number, merge_level: number) => {
      await t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, cast.project.id))
      await t.ctx.db.write.insert(protectedBranches).values({ project_id: cast.project.id, name: 'main', push_level, merge_level })
    }
    await protect(30, 40)
    await accept(await request(), {}, developer).expect(200)
    await protect(40, 30)
    await accept(await request(), {}, developer).expect(200)
    await protect(40, 40)
    const waiting = await request()
    await refused(waiting, {}, 401, { message: '401 Unauthorized' }, developer)
    await accept(waiting, {}, admin).expect(200)
    await protect(0, 0)
    const stuck = await request()
    for (const caller of [maintainer, owner, admin]) await refused(stuck, {}, 401, { message: '401 Unauthorized' }, caller)
    await t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, cast.project.id))
    await accept(stuck, {}, developer).expect(200)
  })

  it('is 403 in an archived project (SEC-107)', async () => {
    const request = await aMergeRequest(t)
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, request.project.id))
    await refused(request, {}, 403, { message: '403 Forbidden' })
  })

  it('is 406 once it is merged or closed (G-35, MR-60)', async () => {
    const merged = await aMergeRequest(t)
    await accept(merged).expect(200)
    await refused(merged, {}, 406, REFUSED)
    const closed = await aMergeRequest(t)
    await t.ctx.db.write.update(mergeRequests).set({ state: 'closed' }).where(eq(mergeRequests.id, closed.id))
    await refused(closed, { sha: 'x' }, 406, REFUSED)
  })

  it('is 405 while it is work in progress, its pipeline has to succeed, or discussions are open (G-35, MR-61)', async () => {
    await refused(await aMergeRequest(t, { title: 'WIP: not yet' }), {}, 405, REFUSED)
    const request = await aMergeRequest(t)
    const { project } = request
    await t.ctx.db.write
      .update(projects)
      .set({ only_allow_merge_if_pipeline_succeeds: true, only_allow_merge_if_all_discussions_are_resolved: true })
      .where(eq(projects.id, project.id))
    await refused(request, {}, 405, REFUSED)
    const post = (state: string) =>
      t
        .api('post', `${project.path}/statuses/${headOf(project, request.source)}`, project.creator)
        .send({ state, ref: request.source })
        .expect(201)
    await post('running')
    await refused(request, {}, 405, REFUSED)
    await post('success')
    await t.ctx.db.write.update(mergeRequests).set({ unresolved_discussions_count: 1 }).where(eq(mergeRequests.id, request.id))
    await refused(request, {}, 405, REFUSED)
    await t.ctx.db.write.update(mergeRequests).set({ unresolved_discussions_count: 0 }).where(eq(mergeRequests.id, request.id))
    await accept(request).expect(200)
  })

  it('is 405 with conflicts, without one of the branches, with nothing to merge, without a common history (MR-62, MR-37, SEC-110)', async () => {
    const project = await aProject(t.ctx, { files: { 'readme.md': 'one\n' } })
    const bare = bareOf(t, project)
    const [root] = [headOf(project, 'main')]
    bare.commits(
      { branch: 'clash', parents: [root], files: { 'readme.md': 'theirs\n' } },
      { branch: 'same', parents: [root], files: {} },
      { branch: 'alone', parents: [], files: { other: 'x' } },
    )
    bare.git('update-ref', 'refs/heads/same', root)
    await t
      .api('post', `${project.path}/repository/commits`, project.creator)
      .send({
        branch: 'main',
        commit_message: 'ours',
        actions: [{ action: 'update', file_path: 'readme.md', content: 'ours\n' }],
      })
      .expect(201)
    for (const source of ['clash', 'same', 'alone', 'missing']) {
      const request = await aMergeRequest(t, { project, source, files: null })
      expect(await showRequest(t, request)).toMatchObject({ merge_status: 'cannot_be_merged', state: 'opened' })
      await refused(request, {}, 405, UNMERGEABLE)
      await refused(request, { sha: 'f'.repeat(40) }, 405, UNMERGEABLE)
    }
    const nowhere = await aMergeRequest(t, { project, target: 'nowhere' })
    await refused(nowhere, {}, 405, UNMERGEABLE)
  })

  it('is 409 where the given sha is not the whole head of the source (MR-63)', async () => {
    const request = await aMergeRequest(t)
    const head = headOf(request.project, request.source)
    for (const sha of [head.slice(0, 8), 'f'.repeat(40), ''])
      await refused(request, { sha }, 409, { message: 'SHA does not match HEAD of source branch' })
    await accept(request, { sha: head }).expect(200)
  })

  it('writes the commit message unless the caller gives one (MR-67)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const issue = async () => (await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'x' }).expect(201)).body.iid
    for (let i = 0; i < 3; i++) await issue()
    const mergeWith = async (description: string, sent: object = {}) => {
      const request = await aMergeRequest(t, { project, sent: { description } })
      const { body } = await accept(request, sent).expect(200)
      return { request, message: bareOf(t, project).git('cat-file', 'commit', body.merge_commit_sha).split('\n\n').slice(1).join('\n\n') }
    }
    const plain = await mergeWith('')
    expect(plain.message.trimEnd()).toBe(
      `Merge branch '${plain.request.source}' into 'main'\n\nChange ${plain.request.source}\n\nSee merge request ${project.fullPath}!${plain.request.iid}`,
    )
    expect((await mergeWith('Closes #1, #2 and #3')).message).toContain('\n\nCloses #1, #2, and #3\n\nSee')
    expect((await mergeWith('Closes #1 and #2')).message).toContain('\n\nCloses #1 and #2\n\n')
    expect((await mergeWith('', { merge_commit_message: '   ' })).message).toContain('See merge request')
    expect((await mergeWith('', { merge_commit_message: 'As I say' })).message.trimEnd()).toBe('As I say')
  })

  it('takes the source branch away where that was asked for, and only then (MR-68, SEC-106)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const left = async (at: { given?: boolean; asked?: boolean; prepare?: (request: TestRequest) => Promise<unknown>; caller?: TestUser }) => {
      const request = await aMergeRequest(t, { project, sent: { remove_source_branch: at.given } })
      await at.prepare?.(request)
      const { body } = await accept(request, { should_remove_source_branch: at.asked }, at.caller).expect(200)
      expect(body.should_remove_source_branch).toBe(at.asked ?? null)
      return hasBranch(project, request.source)
    }
    expect(await left({})).toBe(true)
    expect(await left({ asked: true })).toBe(false)
    expect(await left({ given: true })).toBe(false)
    expect(await left({ given: true, asked: false })).toBe(true)
    const protect = ({ source }: TestRequest) =>
      t.ctx.db.write.insert(protectedBranches).values({ project_id: project.id, name: source, push_level: 40, merge_level: 40 })
    expect(await left({ asked: true, prepare: protect })).toBe(true)
    await accept(await aMergeRequest(t), { should_remove_source_branch: 'x' }).expect(400, { error: 'should_remove_source_branch is invalid' })
  })

  it('closes the issues, ends the todos of the caller, and adds a note, an event and, with sudo, an audit event (MR-69, SEC-168)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const { body: issue } = await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'x' }).expect(201)
    const author = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: author.id, access_level: 30 }).expect(201)
    const request = await aMergeRequest(t, {
      project,
      caller: author,
      sent: { description: `Fixes #${issue.iid}`, assignee_id: project.creator.id },
    })
    const pending = () =>
      t.ctx.db.write
        .select()
        .from(todos)
        .where(and(eq(todos.user_id, project.creator.id), eq(todos.state, 'pending')))
    expect(await pending()).toHaveLength(1)
    const admin = await anAdmin(t.ctx)
    await accept(request, {}, admin).set('Sudo', project.creator.username).expect(200)
    expect(await pending()).toEqual([])
    expect((await t.api('get', `${project.path}/issues/${issue.iid}`, project.creator).expect(200)).body.state).toBe('closed')
    expect(
      await t.ctx.db.write
        .select()
        .from(notes)
        .where(and(eq(notes.noteable_type, 'MergeRequest'), eq(notes.noteable_id, request.id))),
    ).toMatchObject([{ note: 'merged', system: true, author_id: project.creator.id }])
    expect(
      await t.ctx.db.write
        .select()
        .from(events)
        .where(and(eq(events.target_type, 'MergeRequest'), eq(events.action, 'merged'))),
    ).toContainEqual(expect.objectContaining({ target_id: request.id, author_id: project.creator.id }))
    expect(
      await t.ctx.db.write
        .select()
        .from(auditEvents)
        .where(and(eq(auditEvents.action, 'merge_request_merged'), eq(auditEvents.target_id, request.id))),
    ).toMatchObject([{ target_id: request.id, actor_id: project.creator.id, sudoer_id: admin.id }])
  })

  it('from a fork, whose objects come along (GH-8, MR-36)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const other = await aUser(t.ctx)
    const { body } = await t.api('post', `${project.path}/fork`, other).send({}).expect(201)
    await t.ctx.jobs.drain()
    const fork: TestProject = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: other }
    const request = await aMergeRequest(t, { project, from: fork, sent: { remove_source_branch: true } })
    expect(await showRequest(t, request)).toMatchObject({
      merge_status: 'can_be_merged',
      source_project_id: fork.id,
      sha: headOf(fork, request.source),
    })
    expect(bareOf(t, project).git('rev-parse', `refs/merge-requests/${request.iid}/head`).trim()).toBe(headOf(fork, request.source))
    const head = headOf(fork, request.source)
    await refused(request, { sha: headOf(project, 'main') }, 409, { message: 'SHA does not match HEAD of source branch' })
    const { body: merged } = await accept(request, { sha: head }).expect(200)
    expect(commitOf(project, merged.merge_commit_sha, '%P').split(' ')[1]).toBe(head)
    // MR-68: in the name of the author, who may push there
    expect(hasBranch(fork, request.source)).toBe(false)
    expect(bareOf(t, project).git('fsck', '--strict')).toBe('')
    // SEC-108: who may merge into the target has no right on the source
    const kept = await aMergeRequest(t, { project, from: fork })
    await accept(kept, { should_remove_source_branch: true }).expect(200)
    expect(hasBranch(fork, kept.source)).toBe(true)
  })

  it('other requests of the same branches follow (MR-73, MR-74)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await aCommit(t.ctx, project, { x: 'x' }, { branch: 'stable', start_branch: 'main' })
    const first = await aMergeRequest(t, { project })
    const second = await aMergeRequest(t, { project, source: first.source, files: null, target: 'stable' })
    await accept(first, { should_remove_source_branch: true }).expect(200)
    expect(await showRequest(t, second)).toMatchObject({ state: 'closed', closed_by: { id: project.creator.id } })
    expect(await showRequest(t, first)).toMatchObject({ state: 'merged' })
  })
})

describe('at the same time', () => {
  it('of twenty accepts one merges and the others are 406 (SEC-111)', async () => {
    const request = await aMergeRequest(t)
    const before = headOf(request.project, 'main')
    const answers = await Promise.all(Array.from({ length: 20 }, () => accept(request)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(406)])
    expect(bareOf(t, request.project).git('rev-list', '--count', '--first-parent', `${before}..main`).trim()).toBe('1')
  })

  it('many requests into one branch at once are all merged, none over another (SEC-113)', { tags: ['long'] }, async () => {
    const many = rounds(12, 20)
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const requests: TestRequest[] = []
    for (let i = 0; i < many; i++) requests.push(await aMergeRequest(t, { project }))
    const answers = await Promise.all(requests.map((request) => accept(request)))
    expect(answers.map(({ status }) => status)).toEqual(Array(many).fill(200))
    const bare = bareOf(t, project)
    expect(bare.git('ls-tree', '--name-only', 'main').trim().split('\n').sort()).toEqual(
      ['a', ...requests.map(({ source }) => `${source}.txt`)].sort(),
    )
    expect(bare.git('rev-list', '--count', '--merges', 'main').trim()).toBe(String(many))
    expect(bare.git('fsck', '--strict', '--connectivity-only')).toBe('')
  })

  it('merges the commit of `sha` or nothing, while the source moves (SEC-112)', { tags: ['long'] }, async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    for (let round = 0; round < rounds(2, 10); round++) {
      const request = await aMergeRequest(t, { project })
      const head = headOf(project, request.source)
      const before = headOf(project, 'main')
      const push = async () => {
        await new Promise((resolve) => setTimeout(resolve, (round % 12) * 4))
        await aCommit(t.ctx, project, { [`more${round}`]: 'x' }, { branch: request.source })
      }
      const [{ status, body }] = await Promise.all([accept(request, { sha: head }), push()])
      const after = headOf(project, 'main')
      if (status === 200) expect(commitOf(project, body.merge_commit_sha, '%P')).toBe(`${before} ${head}`)
      else expect([status, after]).toEqual([409, before])
    }
  })
})
