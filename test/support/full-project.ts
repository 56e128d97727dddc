import { expect } from 'vitest'
import type { TestApp } from './app.js'
import { aGroup, aProject, type TestProject, type TestUser } from './factories.js'

/** A project with something on each of its pages, in a group. */
export interface FullProject {
  project: TestProject
  group: { id: number; path: string; fullPath: string }
  /** The commit at the end of the first merge request. */
  sha: string
}

/** Makes one of `keeper`, in which `mate`, a developer, takes part. */
export async function aFullProject(t: TestApp, keeper: TestUser, mate: TestUser): Promise<FullProject> {
  const made = await aGroup(t.ctx, { creator: keeper, visibility: 'public' })
  const group = { ...made, fullPath: (await t.api('get', made.path, keeper).expect(200)).body.full_path }
  const files = { 'a.txt': 'one\ntwo\nthree\n', 'README.md': '# One', '.gitlab/issue_templates/one.md': 'text' }
  const project = await aProject(t.ctx, { creator: keeper, namespace_id: made.id, visibility: 'public', files, developer: mate })
  const say = (path: string, body: object, who = keeper) => t.api('post', `${project.path}${path}`, who).send(body).expect(201)
  const commit = (branch: string, content: string) =>
    say('/repository/commits', { branch, start_branch: 'main', commit_message: 'Work', actions: [{ action: 'update', file_path: 'a.txt', content }] })
  await commit('topic', 'one\nTWO\nthree\n')
  await commit('other', 'one\ntwo\nTHREE\n')
  await commit('spare', 'one\n2\nthree\n')
  for (const name of ['one', 'two']) await say('/labels', { name, color: '#112233', priority: 1 })
  for (const title of ['one', 'two']) await say('/milestones', { title })
  for (const title of ['one', 'two', 'three']) await say('/issues', { title, description: '- [ ] task', labels: 'one' })
  for (const branch of ['topic', 'other'])
    await say('/merge_requests', { title: branch, source_branch: branch, target_branch: 'main', description: '- [ ] task' })
  await t.ctx.jobs.drain()
  const request = (await t.api('get', `${project.path}/merge_requests/1`, keeper).expect(200)).body
  const sha: string = request.sha ?? expect.fail('the merge request has no commit')
  for (const at of ['/issues/1', '/merge_requests/1', `/repository/commits/${sha}`]) {
    await say(`${at}/discussions`, { body: 'What about *this*?' }, mate)
    await say(`${at}/discussions`, { body: 'And this?' })
  }
  const position = { ...request.diff_refs, position_type: 'text', new_path: 'a.txt', old_path: 'a.txt', new_line: 2 }
  await say('/merge_requests/1/discussions', { body: '```suggestion\n2\n```', position }, mate)
  await say('/merge_requests/1/draft_notes', { note: 'one' })
  const { body: snippet } = await say('/snippets', { title: 'one', file_name: 'one.txt', content: 'one', visibility: 'public' })
  await say(`/snippets/${snippet.id}/notes`, { body: 'one' })
  await say('/wikis', { title: 'one', content: 'one' })
  await say('/repository/tags', { tag_name: 'v1', ref: 'main' })
  await say('/releases', { tag_name: 'v1', name: 'one', description: 'one' })
  await say(`/statuses/${sha}`, { state: 'success', name: 'test', ref: 'topic' })
  await t.ctx.jobs.drain()
  return { project, group, sha }
}
