// @module-tag long
import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { mergeRequests, refIntents } from '../../src/db/schema/index.js'
import { recover } from '../../src/services/operations/recovery.js'
import { testApp } from '../support/app.js'
import { aProject } from '../support/factories.js'
import { aMergeRequest, rowOfRequest, showRequest, type TestRequest } from '../support/merge-requests.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()

/** What a process that merges has done when it is killed before the ref moves: the commit is made, the intent is written. */
async function halfMerged(given: { remove?: boolean; description?: string } = {}) {
  const project = await aProject(t.ctx, { files: { a: 'a' } })
  const request = await aMergeRequest(t, { project, sent: { description: given.description } })
  const bare = bareOf(t, project)
  const [start, head] = ['main', request.source].map((branch) => bare.git('rev-parse', `refs/heads/${branch}`).trim()) as [string, string]
  const person = { name: 'Ada', email: 'ada@example.com', seconds: 1_700_000_000, offset: '+0000' }
  const repository = t.ctx.git.open({ storage: 'default', id: project.id, kind: 'project' })
  const drafted = await repository.draftMerge({
    into: start,
    from: head,
    squash: null,
    merge: { author: person, committer: person, message: 'a merge\n' },
  })
  if (!('commit' in drafted)) throw new Error('a conflict')
  await t.ctx.db.write.insert(refIntents).values({
    project_id: project.id,
    actor_id: project.creator.id,
    origin: 'api',
    updates: [{ ref: 'refs/heads/main', old: start, new: drafted.commit }],
    merge: { request: request.id, should_remove_source_branch: given.remove ?? null, head },
  })
  const move = (to: string) => bare.git('update-ref', 'refs/heads/main', to)
  return { project, request, bare, start, head, commit: drafted.commit, move }
}

const recovered = async () => {
  await recover(t.ctx)
  await t.ctx.jobs.drain()
  expect(await t.ctx.db.write.select().from(refIntents)).toEqual([])
}
const state = async (request: TestRequest) => {
  const { state, merge_commit_sha } = await rowOfRequest(t, request)
  return [state, merge_commit_sha]
}

describe('a merge that a kill cut short (SEC-158)', () => {
  it('before the ref moved did not happen, and can be done again', async () => {
    const { request, project, bare, start } = await halfMerged()
    await recovered()
    expect([await state(request), bare.git('rev-parse', 'main').trim()]).toEqual([['opened', null], start])
    await t.api('put', `${request.path}/merge`, project.creator).expect(200)
    expect(bare.git('rev-list', '--count', '--merges', 'main').trim()).toBe('1')
  })

  it('after the ref moved is finished: the row, the issues and the source branch', async () => {
    const description = 'Closes #1'
    const { request, project, bare, commit, move } = await halfMerged({ remove: true, description })
    const { body: issue } = await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'x' }).expect(201)
    move(commit)
    await recovered()
    expect(await showRequest(t, request)).toMatchObject({
      state: 'merged',
      merge_commit_sha: commit,
      merged_by: { id: project.creator.id },
      should_remove_source_branch: true,
    })
    expect(bare.git('for-each-ref', `refs/heads/${request.source}`)).toBe('')
    expect((await t.api('get', `${project.path}/issues/${issue.iid}`, project.creator).expect(200)).body.state).toBe('closed')
  })

  it('after the row was written, too: nothing is recorded twice', async () => {
    const { request, project, commit, move } = await halfMerged()
    move(commit)
    await t.ctx.db.write
      .update(mergeRequests)
      .set({ state: 'merged', merge_commit_sha: commit, merged_by_id: project.creator.id, merged_at: new Date() })
      .where(eq(mergeRequests.id, request.id))
    const before = await rowOfRequest(t, request)
    await recovered()
    expect(await rowOfRequest(t, request)).toEqual(before)
  })

  it('is finished where the branch has gone on since, and dropped where it has gone elsewhere', async () => {
    const on = await halfMerged()
    on.bare.commits({ branch: 'main', parents: [on.commit], files: { more: 'x' } })
    const off = await halfMerged()
    off.bare.commits({ branch: 'main', parents: [off.start], files: { more: 'x' } })
    await recovered()
    expect(await state(on.request)).toEqual(['merged', on.commit])
    expect(await state(off.request)).toEqual(['opened', null])
  })

  it('checks unknown states, and makes a version for a source that moved (SEC-116)', async () => {
    const { request, bare, head, project } = await halfMerged()
    const [next] = bare.commits({ branch: request.source, parents: [head], files: { more: 'x' } })
    await t.ctx.db.write.update(mergeRequests).set({ merge_status: 'unchecked' }).where(eq(mergeRequests.id, request.id))
    await recovered()
    expect(await showRequest(t, request)).toMatchObject({ merge_status: 'can_be_merged', sha: next, changes_count: '2', project_id: project.id })
  })
})
