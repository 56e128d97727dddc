import { eq } from 'drizzle-orm'
import { expect } from 'vitest'
import { mergeRequests } from '../../src/db/schema/index.js'
import type { TestApp } from './app.js'
import { aCommit, aProject, type TestProject, type TestUser, unique } from './factories.js'

export interface TestRequest {
  id: number
  iid: number
  /** `/projects/:id/merge_requests/:iid`. */
  path: string
  project: TestProject
  source: string
}

/** A merge request by the project's creator, by default from a new branch with one commit into `main`. */
export async function aMergeRequest(
  t: TestApp,
  given: {
    project?: TestProject
    caller?: TestUser
    source?: string
    /** Files of the commit on the source branch; null: no branch is created. */
    files?: Record<string, string> | null
    target?: string
    title?: string
    /** The source project; the target project by default. */
    from?: TestProject
    sent?: object
  } = {},
): Promise<TestRequest> {
  const project = given.project ?? (await aProject(t.ctx, { files: { 'readme.md': 'one\ntwo\nthree\n' } }))
  const from = given.from ?? project
  const source = given.source ?? `topic${unique()}`
  const files = given.files === undefined ? { [`${source}.txt`]: `${source}\n` } : given.files
  if (files) await aCommit(t.ctx, from, files, { branch: source, start_branch: 'main', message: `Work on ${source}` })
  const { body } = await t
    .api('post', `${from.path}/merge_requests`, given.caller ?? from.creator)
    .send({
      title: given.title ?? `Change ${source}`,
      source_branch: source,
      target_branch: given.target ?? 'main',
      ...(from !== project && { target_project_id: project.id }),
      ...given.sent,
    })
    .expect(201)
  return { id: body.id, iid: body.iid, path: `${project.path}/merge_requests/${body.iid}`, project, source }
}

/** The row of a merge request, with columns that no response shows. */
export async function rowOfRequest(t: TestApp, { id }: { id: number }) {
  const [row] = await t.ctx.db.write.select().from(mergeRequests).where(eq(mergeRequests.id, id))
  return row as typeof mergeRequests.$inferSelect
}

/** The merge request in its single view. */
export async function showRequest(t: TestApp, request: TestRequest, caller: TestUser = request.project.creator) {
  return (await t.api('get', request.path, caller).expect(200)).body
}

/** Polls until the condition holds; fails after 20 s. */
export async function soon(holds: () => Promise<boolean>) {
  const end = Date.now() + 20_000
  while (!(await holds())) {
    if (Date.now() > end) expect.fail('it did not come to hold')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
