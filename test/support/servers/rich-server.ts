import { expect } from 'vitest'
import type { TestApp } from '../app.js'
import { anObject, lfsClient } from '../clients/lfs-client.js'
import { anAdmin, aUser, type TestUser } from '../factories.js'

type Body = Record<string, unknown>
type Answer = Body & { id: number; iid: number; path_with_namespace: string }

/** Ed25519 public keys without private keys. */
const KEYS = [
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPeX0n3m9bGq2l9wq8C4yPpXz4q5M1Jb0T0Hc6rC1j2k deploy',
]

/** An LFS object. */
export const PICTURE = anObject('a picture')

/** Two groups, a personal project, its fork, and a project with objects of every kind. */
export interface RichServer {
  admin: TestUser
  ada: TestUser
  grace: TestUser
}

/** Fills a service with data through its API. */
export async function richServer(t: TestApp): Promise<RichServer> {
  const admin = await anAdmin(t.ctx, { username: 'chief' })
  const ada = await aUser(t.ctx, {
    username: 'ada',
    name: 'Ada L',
    email: 'ada@example.com',
    bio: 'writes',
    location: 'London',
    public_email: 'ada@example.com',
    private_profile: true,
  })
  const grace = await aUser(t.ctx, { username: 'grace', name: 'Grace H', email: 'grace@example.com' })
  await aUser(t.ctx, { username: 'gone', name: 'Gone', email: 'gone@example.com', state: 'blocked' })
  const call = async (method: 'post' | 'put', path: string, body: Body, caller: TestUser = admin): Promise<Answer> => {
    const answer = await t.api(method, path, caller).send(body)
    if (answer.status >= 300) expect.fail(`${method} ${path} answers ${answer.status}: ${answer.text}`)
    return answer.body as Answer
  }
  await call('post', '/user/keys', { title: 'laptop', key: KEYS[0] }, ada)
  const group = await call('post', '/groups', { name: 'Works', path: 'works', description: 'all of it', visibility: 'public' })
  const below = await call('post', '/groups', { name: 'Engines', path: 'engines', parent_id: group.id, visibility: 'internal' })
  await call('post', `/groups/${group.id}/members`, { user_id: ada.id, access_level: 50 })
  await call('post', `/groups/${group.id}/labels`, { name: 'everywhere', color: '#112233' })
  await call('post', `/groups/${group.id}/milestones`, { title: 'the year', due_date: '2031-12-31' })
  await call('post', `/groups/${group.id}/variables`, { key: 'PLACE', value: 'London' })
  const project = await call('post', '/projects', {
    ...{ name: 'Analytical Engine', path: 'analytical', namespace_id: below.id, description: 'computes', visibility: 'internal' },
    ...{ merge_method: 'ff', auto_cancel_pending_pipelines: 'disabled', only_allow_merge_if_all_discussions_are_resolved: true, tag_list: ['gears'] },
  })
  await call('put', `/projects/${project.id}`, {
    ...{ squash_option: 'default_on', forking_access_level: 'private', remove_source_branch_after_merge: true, emails_disabled: true },
    ...{ allow_merge_on_skipped_pipeline: false, autoclose_referenced_issues: false, merge_commit_template: 'Merge %{title}' },
    ...{ squash_commit_template: 'Squash %{title}', issue_branch_template: 'i-%{id}', suggestion_commit_message: 'Suggested' },
  })
  await fillProject(t, call, project.id, { admin, ada, grace })
  await call('put', `/groups/${below.id}`, {
    ...{ project_creation_level: 'noone', subgroup_creation_level: 'maintainer', default_branch_protection: 1, emails_disabled: true },
    ...{ mentions_disabled: true, auto_devops_enabled: true, two_factor_grace_period: 24, share_with_group_lock: true },
  })
  const own = await call('post', '/projects', { name: 'Notes', visibility: 'public' }, ada)
  await commit(call, own.id, 'a.txt', { branch: 'main' }, ada)
  const fork = await call('post', `/projects/${own.id}/fork`, {}, grace)
  await commit(call, fork.id, 'b.txt', { branch: 'change', start_branch: 'main' }, grace)
  await call(
    'post',
    `/projects/${fork.id}/merge_requests`,
    { source_branch: 'change', target_branch: 'main', target_project_id: own.id, title: 'From a fork' },
    grace,
  )
  await call('post', '/snippets', { title: 'mine', file_name: 'a.sh', content: 'echo 1\n', visibility: 'public' }, ada)
  return { admin, ada, grace }
}

type Call = (method: 'post' | 'put', path: string, body: Body, caller?: TestUser) => Promise<Answer>

const commit = (
  call: Call,
  id: number,
  file: string,
  { content = file, ...on }: { branch: string; start_branch?: string; content?: string },
  caller?: TestUser,
) =>
  call(
    'post',
    `/projects/${id}/repository/commits`,
    { ...on, commit_message: `Add ${file}`, actions: [{ action: 'create', file_path: file, content }] },
    caller,
  )

async function fillProject(t: TestApp, call: Call, id: number, { admin, ada, grace }: RichServer): Promise<void> {
  const at = `/projects/${id}`
  await commit(call, id, 'README.md', { branch: 'main' })
  await call('post', `${at}/members`, { user_id: grace.id, access_level: 30, expires_at: '2039-01-01' })
  await call('post', `${at}/labels`, { name: 'bug', color: '#ff0000', description: 'a *fault*', priority: 2 })
  await call('post', `${at}/milestones`, { title: 'v0', description: 'old' })
  const milestone = await call('post', `${at}/milestones`, { title: 'v1', start_date: '2030-01-01', due_date: '2030-02-01' })
  await call('post', `${at}/variables`, { key: 'TOKEN', value: 'secret', protected: true })
  await call('post', `${at}/hooks`, { url: 'http://93.184.216.34/hook', issues_events: true, push_events: false })
  await call('post', `${at}/deploy_keys`, { title: 'machine', key: KEYS[1], can_push: true })
  await call('post', `${at}/protected_branches`, { name: 'stable/*', push_access_level: 0, merge_access_level: 30 })
  await call('post', `${at}/protected_tags`, { name: 'v*', create_access_level: 40 })
  const issue = await call(
    'post',
    `${at}/issues`,
    {
      title: 'It jams',
      description: '- [x] oil\n- [ ] gears @grace',
      labels: 'bug,everywhere',
      milestone_id: milestone.id,
      assignee_ids: [grace.id],
    },
    ada,
  )
  await call('post', `${at}/issues/${issue.iid}/notes`, { body: 'I see it too, @ada' }, grace)
  const discussion = await call('post', `${at}/issues/${issue.iid}/discussions`, { body: 'Why?' }, ada)
  await call('post', `${at}/issues/${issue.iid}/discussions/${discussion.id}/notes`, { body: 'Because.' }, grace)
  await call('post', `${at}/issues/${issue.iid}/time_estimate?duration=2h`, {}, ada)
  const secret = await call('post', `${at}/issues`, { title: 'Hush', confidential: true, due_date: '2030-05-05' }, ada)
  await call('put', `${at}/issues/${secret.iid}`, { state_event: 'close', discussion_locked: true }, ada)
  await fillMergeRequests(t, call, id, { admin, ada, grace })
  await call('post', `${at}/repository/tags`, { tag_name: 'v1.0', ref: 'main', message: 'first' })
  await call('post', `${at}/releases`, {
    ...{ tag_name: 'v1.0', name: 'One', description: 'the **first**', milestones: ['v1'], released_at: '2030-01-15T00:00:00Z' },
    assets: {
      links: [
        { name: 'plan', url: 'https://example.com/plan', link_type: 'runbook' },
        { name: 'engine', url: 'https://example.com/engine-1', filepath: '/bin/engine' },
      ],
    },
  })
  const snippet = await call('post', `${at}/snippets`, { title: 'how', file_name: 'how.md', content: '# How\n', visibility: 'internal' }, grace)
  await call('post', `${at}/snippets/${snippet.id}/notes`, { body: 'nice' }, ada)
  await lfsClient(t).upload('works/engines/analytical', admin, PICTURE)
  await commit(call, id, 'picture.bin', { branch: 'main', content: PICTURE.pointer }, admin)
  await call('post', `${at}/wikis`, { title: 'home', content: 'welcome' }, ada)
}

async function fillMergeRequests(t: TestApp, call: Call, id: number, { admin, ada, grace }: RichServer): Promise<void> {
  const at = `/projects/${id}`
  const branch = (name: string, file: string) => commit(call, id, file, { branch: name, start_branch: 'main' })
  await branch('open', 'open.txt')
  const open = await call(
    'post',
    `${at}/merge_requests`,
    {
      source_branch: 'open',
      target_branch: 'main',
      title: 'WIP: more',
      description: 'Closes #1',
      labels: 'bug',
      assignee_id: grace.id,
      reviewer_ids: [grace.id],
    },
    ada,
  )
  await commit(call, id, 'more.txt', { branch: 'open' })
  const { body: shown } = await t.api('get', `${at}/merge_requests/${open.iid}`, admin)
  const position = { ...(shown as { diff_refs: Body }).diff_refs, position_type: 'text', old_path: 'open.txt', new_path: 'open.txt', new_line: 1 }
  const thread = await call('post', `${at}/merge_requests/${open.iid}/discussions`, { body: 'this line', position }, grace)
  await call('put', `${at}/merge_requests/${open.iid}/discussions/${thread.id}`, { resolved: true }, ada)
  await call('post', `${at}/merge_requests/${open.iid}/discussions`, { body: 'and this?' }, grace)
  for (const who of [ada, grace]) await call('post', `${at}/merge_requests/${open.iid}/approve`, {}, who)
  await branch('merged', 'merged.txt')
  const merged = await call('post', `${at}/merge_requests`, { source_branch: 'merged', target_branch: 'main', title: 'Done', squash: true }, ada)
  await call('put', `${at}/merge_requests/${merged.iid}/merge`, { should_remove_source_branch: true })
  await branch('closed', 'closed.txt')
  const closed = await call('post', `${at}/merge_requests`, { source_branch: 'closed', target_branch: 'main', title: 'Never' }, grace)
  await call('put', `${at}/merge_requests/${closed.iid}`, { state_event: 'close' }, grace)
}
