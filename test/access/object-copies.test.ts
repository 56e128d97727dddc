import { and, eq, sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { members, mergeRequests, pendingRepositoryDeletions, projects, refIntents, users } from '../../src/db/schema/index.js'
import { enqueue } from '../../src/jobs/enqueue.js'
import { rebase } from '../../src/services/issuables/merge-requests/merging/rebase.js'
import { deferredMerges } from '../../src/services/issuables/merge-requests/merging/resume.js'
import { resolveAbandonedIntents } from '../../src/services/repository/push/recovery.js'
import { testApp } from '../support/app.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest, rowOfRequest, showRequest, soon, type TestRequest } from '../support/merge-requests.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()

const headOf = (project: TestProject, branch: string) => bareOf(t, project).git('rev-parse', `refs/heads/${branch}`).trim()
const holds = (project: TestProject, oid: string) => {
  try {
    bareOf(t, project).git('cat-file', '-e', oid)
    return true
  } catch {
    return false
  }
}
const join = (project: TestProject, user: TestUser, access_level: number) =>
  t.ctx.db.write.insert(members).values({ project_id: project.id, user_id: user.id, access_level })
const leave = (project: TestProject, user: TestUser) =>
  t.ctx.db.write.delete(members).where(and(eq(members.project_id, project.id), eq(members.user_id, user.id)))
const notesOf = async (request: TestRequest, about = /stopped following/) =>
  (await t.api('get', `${request.path}/notes?sort=asc`, request.project.creator).expect(200)).body.filter(({ body }: { body: string }) =>
    about.test(body),
  ) as { body: string; author: { id: number } }[]

async function aFork(source: TestProject, owner: TestUser, sent: object = {}): Promise<TestProject> {
  const { body } = await t.api('post', `${source.path}/fork`, owner).send(sent).expect(201)
  await t.ctx.jobs.drain()
  return { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: owner }
}

/** A fork of a project that was public and is private now, whose owner is a guest there and proposes a change. */
async function aGuestWithFork() {
  const target = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
  const guest = await aUser(t.ctx)
  const fork = await aFork(target, guest)
  await t.api('put', target.path, target.creator).send({ visibility: 'private' }).expect(200)
  await join(target, guest, 10)
  const request = await aMergeRequest(t, { project: target, from: fork, caller: guest })
  const secret = await aCommit(t.ctx, target, { 'secret.txt': 'secret' })
  return { target, guest, fork, request, secret }
}

describe('a rebase brings the target into the fork in the name of who asks for it (SEC-43)', () => {
  it('refuses callers who may not read the code of the target, and copies nothing to the fork', async () => {
    const { target, guest, fork, request, secret } = await aGuestWithFork()
    const before = headOf(fork, request.source)
    await t.api('put', `${request.path}/rebase`, guest).expect(403, { message: '403 Forbidden' })
    await t.ctx.jobs.drain()
    expect(holds(fork, secret)).toBe(false)
    expect(headOf(fork, request.source)).toBe(before)
    expect(await rowOfRequest(t, request)).toMatchObject({ rebase_user_id: null, merge_error: null })
    // nor through any other door of the fork
    for (const [path, sent] of [
      [`/repository/commits/${secret}/cherry_pick`, { branch: request.source }],
      [`/repository/commits/${secret}/revert`, { branch: request.source }],
      ['/repository/branches', { branch: 'new', ref: secret }],
      ['/repository/tags', { tag_name: 'new', ref: secret }],
      [
        '/repository/commits',
        { branch: 'new', start_sha: secret, commit_message: 'x', actions: [{ action: 'create', file_path: 'x', content: 'x' }] },
      ],
    ] as const)
      expect([400, 404]).toContain((await t.api('post', fork.path + path, guest).send(sent)).status)
    expect(holds(fork, secret)).toBe(false)
    await t.ctx.db.write.update(members).set({ access_level: 20 }).where(eq(members.user_id, guest.id))
    await t.api('put', `${request.path}/rebase`, guest).expect(202)
    await soon(async () => (await rowOfRequest(t, request)).rebase_user_id === null)
    expect(bareOf(t, fork).git('merge-base', secret, request.source).trim()).toBe(secret)
    expect(headOf(target, 'main')).toBe(secret)
  })

  it('nor for an author who has lost the right when the job runs, also after a restart', async () => {
    const { guest, fork, request, secret } = await aGuestWithFork()
    const before = headOf(fork, request.source)
    await t.ctx.db.write.update(mergeRequests).set({ rebase_user_id: guest.id }).where(eq(mergeRequests.id, request.id))
    await enqueue(t.ctx.db, rebase, { merge_request: request.id })
    await soon(async () => (await rowOfRequest(t, request)).rebase_user_id === null)
    expect((await rowOfRequest(t, request)).merge_error).toBe('The target branch may not be read')
    expect(holds(fork, secret)).toBe(false)
    expect(headOf(fork, request.source)).toBe(before)
  })
})

/** A private fork whose owner let somebody in who proposes a change to the source. */
async function aPrivateFork() {
  const target = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
  const [owner, author] = [await aUser(t.ctx), await aUser(t.ctx)]
  const fork = await aFork(target, owner, { visibility: 'private' })
  await join(fork, author, 30)
  const request = await aMergeRequest(t, { project: target, from: fork, caller: author })
  await t.ctx.jobs.drain()
  const first = headOf(fork, request.source)
  return { target, owner, author, fork, request, first }
}

describe('a request shows what its author may read of the source (SEC-43, MR-70)', () => {
  const push = async (fork: TestProject, request: TestRequest) => {
    const oid = await aCommit(t.ctx, fork, { [`more-${crypto.randomUUID()}`]: 'x' }, { branch: request.source, message: 'WIP: hidden' })
    await t.ctx.jobs.drain()
    return oid
  }

  it('keeps its version when others push after the author was removed, notes that once, and continues when the author is back', async () => {
    const { target, author, fork, request, first } = await aPrivateFork()
    await leave(fork, author)
    const hidden = [await push(fork, request), await push(fork, request)]
    expect(await showRequest(t, request)).toMatchObject({ sha: first, merge_status: 'cannot_be_merged', work_in_progress: false, changes_count: '1' })
    expect((await t.api('get', `${request.path}/versions`, target.creator).expect(200)).body).toHaveLength(1)
    for (const oid of hidden) {
      expect(holds(target, oid)).toBe(false)
      await t.api('get', `${target.path}/repository/commits/${oid}`, target.creator).expect(404)
    }
    const systemNotes = await notesOf(request)
    expect(systemNotes.map(({ body, author: by }) => [body, by.id])).toEqual([
      ['stopped following the source branch, which the author may no longer read', author.id],
    ])
    expect(await notesOf(request, /added \d/)).toEqual([])
    // no caller of a new version gets them copied
    await t.api('put', request.path, target.creator).send({ state_event: 'close' }).expect(200)
    await t.api('put', request.path, target.creator).send({ state_event: 'reopen' }).expect(200)
    await t.api('post', `${target.path}/repository/branches`, target.creator).send({ branch: 'other', ref: 'main' }).expect(201)
    await t.api('put', request.path, target.creator).send({ target_branch: 'other' }).expect(200)
    await t.api('put', `${request.path}/merge`, target.creator).expect(405, { message: 'Branch cannot be merged' })
    await aCommit(t.ctx, target, { beside: 'x' }, { branch: 'other' })
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ sha: first, merge_status: 'cannot_be_merged' })
    expect(holds(target, hidden[1] as string)).toBe(false)
    expect(await notesOf(request)).toHaveLength(1)

    await join(fork, author, 20)
    const shown = await push(fork, request)
    expect(await showRequest(t, request)).toMatchObject({ sha: shown, merge_status: 'can_be_merged' })
    await leave(fork, author)
    await push(fork, request)
    expect(await showRequest(t, request)).toMatchObject({ sha: shown })
    expect(await notesOf(request)).toHaveLength(2)
  })

  it('nor continues for an author who was blocked, nor for a push that is recovered after a kill', async () => {
    const { target, author, owner, fork, request, first } = await aPrivateFork()
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, author.id))
    const [hidden] = bareOf(t, fork).commits({ branch: request.source, parents: [first], files: { hidden: 'x' } })
    await t.ctx.db.write.insert(refIntents).values({
      project_id: fork.id,
      actor_id: owner.id,
      origin: 'git',
      updates: [{ ref: `refs/heads/${request.source}`, old: first, new: hidden as string }],
    })
    await resolveAbandonedIntents(t.ctx, { start: true })
    await t.ctx.jobs.drain()
    expect(holds(target, hidden as string)).toBe(false)
    expect(await showRequest(t, request)).toMatchObject({ sha: first })
    expect(await notesOf(request)).toHaveLength(1)
  })

  it('while the source has not moved it can be merged, reopened and put into another branch', async () => {
    const { target, author, fork, request, first } = await aPrivateFork()
    await leave(fork, author)
    await t.api('put', request.path, target.creator).send({ state_event: 'close' }).expect(200)
    await t.api('put', request.path, target.creator).send({ state_event: 'reopen' }).expect(200)
    expect(await showRequest(t, request)).toMatchObject({ sha: first, merge_status: 'can_be_merged' })
    await t.api('put', `${request.path}/merge`, target.creator).expect(200)
    expect(await notesOf(request)).toEqual([])
  })

  it('a merge that was deferred is called off by such a push, and brings nothing', async () => {
    const { target, author, fork, request, first } = await aPrivateFork()
    const status = (state: string) =>
      t.api('post', `${fork.path}/statuses/${first}`, fork.creator).send({ state, name: 'build', ref: request.source }).expect(201)
    await status('running')
    await t.api('put', `${request.path}/merge`, target.creator).send({ merge_when_pipeline_succeeds: true }).expect(200)
    expect(await rowOfRequest(t, request)).toMatchObject({ merge_when_pipeline_succeeds: true, state: 'opened' })
    await leave(fork, author)
    const hidden = await push(fork, request)
    await status('success')
    await t.ctx.jobs.drain()
    expect(await rowOfRequest(t, request)).toMatchObject({ merge_when_pipeline_succeeds: false, state: 'opened', sha: first })
    expect(holds(target, hidden)).toBe(false)
    // one whose rows do not say so yet is not merged either
    await t.ctx.db.write
      .update(mergeRequests)
      .set({ merge_when_pipeline_succeeds: true, merge_user_id: target.creator.id })
      .where(eq(mergeRequests.id, request.id))
    await enqueue(t.ctx.db, deferredMerges, {})
    await soon(async () => !(await rowOfRequest(t, request)).merge_when_pipeline_succeeds)
    expect(await rowOfRequest(t, request)).toMatchObject({ state: 'opened', merge_error: 'Branch cannot be merged' })
    expect(holds(target, hidden)).toBe(false)
  })
})

describe('a fork is made in the name of who asks for it (SEC-43)', () => {
  /** Starts a fork that waits for a row, withdraws the right during the wait, and lets it continue. */
  async function forkWhile(hold: ReturnType<typeof sql>) {
    const source = await aProject(t.ctx, { files: { a: 'a' } })
    const user = await aUser(t.ctx)
    await join(source, user, 20)
    const waiting = async () => {
      const { rows } = await t.ctx.db.write.execute(
        sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length > 0
    }
    const answer = await t.ctx.db.transaction(async (tx) => {
      await tx.execute(sql`${hold} ${hold === HOLD_PLACE ? sql`${user.id}` : sql`${source.id}`} for update`)
      const pending = t
        .api('post', `${source.path}/fork`, user)
        .send({})
        .then((response) => response)
      await soon(waiting)
      await leave(source, user)
      return { pending }
    })
    const { status } = await answer.pending
    await t.ctx.jobs.drain()
    return { status, source }
  }
  const HOLD_PLACE = sql`select 1 from namespaces where owner_id =`
  const HOLD_SOURCE = sql`select 1 from projects where id =`

  it.each([
    ['before anything was copied', HOLD_PLACE],
    ['while the objects were copied', HOLD_SOURCE],
  ])('a right that was lost %s is lost, and nothing is left', async (_, hold) => {
    const { status, source } = await forkWhile(hold)
    expect(status).toBe(404)
    expect(await t.ctx.db.write.select().from(projects).where(eq(projects.forked_from_id, source.id))).toEqual([])
    expect(await t.ctx.db.write.select().from(pendingRepositoryDeletions)).toEqual([])
  })
})
