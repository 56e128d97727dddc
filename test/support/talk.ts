import type { TestApp } from './app.js'
import { aCommit, aProject, type TestProject, type TestUser, unique } from './factories.js'

export const NOTED = ['Issue', 'MergeRequest', 'Snippet'] as const

/** An issue, merge request or snippet, which has notes. */
export interface Thing {
  id: number
  iid: number | null
  /** Its path in the API. */
  path: string
}

/** A public project, so that any user may comment, with a commit and one object of each type that has notes. */
export async function aTalkingProject(t: TestApp, given: Parameters<typeof aProject>[1] = {}) {
  const project = await aProject(t.ctx, { visibility: 'public', ...given, files: { 'a.txt': 'one\ntwo\n' } })
  const sha = await aCommit(t.ctx, project, { 'b.txt': 'three\nfour\n' }, { branch: `feature${unique()}`, start_branch: 'main' })
  const branch = (await t.api('get', `${project.path}/repository/commits/${sha}/refs?type=branch`, project.creator).expect(200)).body[0].name
  return { project, sha, branch, things: await theThings(t, project, branch, project.creator) }
}

async function theThings(t: TestApp, { path }: TestProject, source_branch: string, author: TestUser): Promise<Record<(typeof NOTED)[number], Thing>> {
  const post = async (what: string, sent: object) => (await t.api('post', `${path}/${what}`, author).send(sent).expect(201)).body
  const issue = await post('issues', { title: 'An issue' })
  const request = await post('merge_requests', { title: 'A request', source_branch, target_branch: 'main' })
  const snippet = await post('snippets', { title: 'A snippet', file_name: 'x', content: 'x', visibility: 'public' })
  return {
    Issue: { id: issue.id, iid: issue.iid, path: `${path}/issues/${issue.iid}` },
    MergeRequest: { id: request.id, iid: request.iid, path: `${path}/merge_requests/${request.iid}` },
    Snippet: { id: snippet.id, iid: null, path: `${path}/snippets/${snippet.id}` },
  }
}
