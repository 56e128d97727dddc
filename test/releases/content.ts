import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, TOKEN } from './reading.js'

const SSH_KEYS = [
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEnr94MfBVuYHEYQ0XS2cLnMmrJdCvXEK3DFIlAgVLWS',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB',
]
/** A host that does not exist: deliveries of webhooks fail. */
const NOWHERE = 'http://hooks.invalid/'
export const LFS_CONTENT = 'stored by Git LFS'

const basic = `Basic ${Buffer.from(`root:${TOKEN}`).toString('base64')}`

/** The URL of a repository for Git, with the administrator's token. */
export const gitUrl = (url: string, path: string) => `${url.replace('//', `//root:${TOKEN}@`)}/${path}.git`

/** Runs git without any configuration, at a time that stands still. */
export const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_AUTHOR_NAME: 'Ann',
      GIT_AUTHOR_EMAIL: 'ann@example.com',
      GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z',
      GIT_COMMITTER_NAME: 'Ann',
      GIT_COMMITTER_EMAIL: 'ann@example.com',
      GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z',
    },
  })

/** Fills a new service with at least one item for each operation that reads; answers the path of an attachment. */
export async function fill(url: string, gpgKey: string): Promise<string> {
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await call(url, method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    // biome-ignore lint/suspicious/noExplicitAny: answers of any version
    return answer.body as any
  }
  const post = (path: string, body?: unknown) => send('POST', path, body)
  const put = (path: string, body?: unknown) => send('PUT', path, body)

  /** A hook for no event, with a delivery that has failed and is not repeated. */
  const addHook = async (at: string) => {
    const { id } = await post(at, { url: NOWHERE, token: 'secret', push_events: false, repository_update_events: false })
    await call(url, 'POST', at === '/hooks' ? `/hooks/${id}` : `${at}/${id}/test/push_events`)
  }
  const addUser = (username: string) =>
    post('/users', {
      username,
      name: `Name of ${username}`,
      email: `${username}@example.com`,
      password: 'sufficiently long',
      skip_confirmation: true,
    })
  const [ann, bob, eve] = [await addUser('ann'), await addUser('bob'), await addUser('eve')]
  await put(`/users/${ann.id}`, { bio: 'writes', public_email: 'ann@example.com' })
  await post(`/users/${eve.id}/block`)
  await put('/user/status', { emoji: 'tada', message: 'busy' })
  await post('/user/emails', { email: 'more@example.com' })
  await post(`/users/${ann.id}/emails`, { email: 'ann2@example.com', skip_confirmation: true })
  await post('/user/keys', { title: 'laptop', key: SSH_KEYS[0] })
  await post('/user/gpg_keys', { key: gpgKey })
  await post(`/users/${ann.id}/impersonation_tokens`, { name: 'robot', scopes: ['api'] })
  await post(`/users/${bob.id}/personal_access_tokens`, { name: 'own', scopes: ['read_api'] })
  await put('/application/settings', { home_page_url: 'https://example.com', max_attachment_size: 7 })

  const group = await post('/groups', { name: 'Team', path: 'team', description: 'the team', visibility: 'public', request_access_enabled: true })
  const sub = await post('/groups', { name: 'Sub', path: 'sub', parent_id: group.id, visibility: 'private' })
  const project = await post('/projects', {
    name: 'Api',
    path: 'api',
    namespace_id: group.id,
    visibility: 'public',
    description: 'an api',
    topics: ['one', 'two'],
    request_access_enabled: true,
  })
  const other = await post('/projects', { name: 'Lib', path: 'lib', namespace_id: sub.id, initialize_with_readme: true })
  const p = `/projects/${project.id}`
  const g = `/groups/${group.id}`
  for (const [at, level] of [
    [g, 30],
    [p, 40],
  ] as const)
    await post(`${at}/members`, { user_id: ann.id, access_level: level, expires_at: '2199-01-31' })
  await push(url, project.path_with_namespace)
  const friends = await post('/groups', { name: 'Friends', path: 'friends' })
  await post(`${p}/share`, { group_id: friends.id, group_access: 30 })
  await post(`/projects/${other.id}/archive`)
  for (const at of [g, p]) {
    await send('POST', `${at}/access_requests?sudo=bob`)
    await post(`${at}/labels`, { name: `label of ${at}`, color: '#ff0000', description: 'a label' })
    await post(`${at}/milestones`, { title: `milestone of ${at}`, description: 'a milestone', due_date: '2030-01-31', start_date: '2029-01-31' })
    await post(`${at}/variables`, { key: 'KEY', value: `a secret of ${at}` })
    await addHook(`${at}/hooks`)
    await post(`${at}/deploy_tokens`, { name: 'reader', scopes: ['read_repository'], username: `reader${at.replaceAll('/', '-')}` })
    await put(`${at}/notification_settings`, { level: 'watch' })
  }
  for (const at of [g, p, `/users/${ann.id}`]) await put(`${at}/custom_attributes/key`, { value: `value of ${at}` })
  await post(`${p}/deploy_keys`, { title: 'deploy', key: SSH_KEYS[1], can_push: true })

  await post(`${p}/protected_branches`, { name: 'release-*', push_access_level: 40 })
  await post(`${p}/protected_tags`, { name: 'v*' })
  const commit = (branch: string, path: string, start = 'main') =>
    post(`${p}/repository/commits`, {
      branch,
      start_branch: start,
      commit_message: `add ${path}\n\nCloses #2`,
      actions: [{ action: 'create', file_path: path, content: `${path}\n` }],
    })
  for (const branch of ['feature', 'merged', 'rejected']) await commit(branch, `${branch}.txt`)
  const [head] = await send('GET', `${p}/repository/commits?ref_name=main`)
  await post(`${p}/repository/tags`, { tag_name: 'v1', ref: 'main', message: 'the first' })
  await post(`${p}/releases`, { tag_name: 'v1', name: 'First', description: 'the first release' })
  await post(`${p}/releases/v1/assets/links`, { name: 'manual', url: 'https://example.com/manual' })
  for (const state of ['success', 'failed']) await post(`${p}/statuses/${head.id}`, { state, name: `job ${state}`, coverage: 12.5 })
  await post(`${p}/repository/commits/${head.id}/discussions`, { body: 'a comment on a commit' })
  await post(`${p}/repository/commits/${head.id}/comments`, { note: 'another', path: 'a.txt', line: 1, line_type: 'new' })

  const [milestone] = await send('GET', `${p}/milestones`)
  const [groupMilestone] = await send('GET', `${g}/milestones`)
  const labels = `label of ${p},label of ${g}`
  await post(`${p}/issues`, {
    title: 'first',
    description: 'hello @ann',
    labels,
    milestone_id: milestone.id,
    assignee_ids: [1],
    due_date: '2030-02-01',
  })
  await post(`${p}/issues`, { title: 'second', confidential: true, weight: 3 })
  await post(`${p}/issues`, { title: 'closed', milestone_id: groupMilestone.id, created_at: '2025-01-01T00:00:00Z' })
  await put(`${p}/issues/3`, { state_event: 'close', discussion_locked: true })
  await post(`${p}/issues/1/time_estimate`, { duration: '3h' })
  await post(`${p}/issues/1/add_spent_time`, { duration: '30m' })
  await post(`${p}/merge_requests`, {
    title: 'feature',
    description: 'Closes #1',
    source_branch: 'feature',
    target_branch: 'main',
    labels,
    assignee_id: ann.id,
    milestone_id: milestone.id,
  })
  await post(`${p}/merge_requests`, {
    title: 'merged',
    description: 'Closes #2',
    source_branch: 'merged',
    target_branch: 'main',
    milestone_id: groupMilestone.id,
  })
  await post(`${p}/merge_requests`, { title: 'Draft: rejected', source_branch: 'rejected', target_branch: 'main' })
  await put(`${p}/merge_requests/2/merge`)
  await put(`${p}/merge_requests/3`, { state_event: 'close' })
  await post(`${p}/merge_requests/1/time_estimate`, { duration: '1d' })
  const { id: tip } = await commit('feature', 'later.txt', 'feature')
  await post(`${p}/statuses/${tip}`, { state: 'running', name: 'build', ref: 'feature' })
  const [version] = await send('GET', `${p}/merge_requests/1/versions`)
  const position = {
    position_type: 'text',
    base_sha: version.base_commit_sha,
    start_sha: version.start_commit_sha,
    head_sha: version.head_commit_sha,
    new_path: 'feature.txt',
    old_path: 'feature.txt',
    new_line: 1,
  }
  const onLine = await post(`${p}/merge_requests/1/discussions`, { body: 'on a line', position })
  await put(`${p}/merge_requests/1/discussions/${onLine.id}`, { resolved: true })
  await post(`${p}/merge_requests/1/draft_notes`, { note: 'not yet sent' })
  await post(`${p}/merge_requests/1/approve?sudo=ann`)

  const snippet = await post(`${p}/snippets`, { title: 'snippet', file_name: 'a.rb', content: 'puts 1\n', visibility: 'public' })
  await post('/snippets', { title: 'own', file_name: 'b.rb', content: 'puts 2\n', visibility: 'public' })
  for (const at of [`${p}/issues/1`, `${p}/merge_requests/1`, `${p}/snippets/${snippet.id}`]) {
    const { id } = await post(`${at}/notes`, { body: 'a note for @ann' })
    await post(`${at}/discussions`, { body: 'a thread' })
    await post(`${at}/award_emoji`, { name: 'thumbsup' })
    await post(`${at}/notes/${id}/award_emoji`, { name: 'heart' })
  }
  await post(`${p}/issues/1/subscribe?sudo=bob`)
  await post(`${p}/issues/2/todo`)
  await post(`${p}/wikis`, { title: 'home', content: '# Home' })
  await post(`${p}/fork`, { namespace: 'root' })
  await post('/broadcast_messages', { message: 'a message', starts_at: '2026-01-01T00:00:00Z', ends_at: '2199-01-31T00:00:00Z' })
  // last: it is called for each change
  await addHook('/hooks')
  return `/${project.path_with_namespace}${await upload(url, `${p}/uploads`)}`
}

/** Pushes two branches over HTTP, with a file of Git LFS. */
async function push(url: string, path: string) {
  const folder = mkdtempSync(join(tmpdir(), 'content-'))
  const oid = createHash('sha256').update(LFS_CONTENT).digest('hex')
  const size = LFS_CONTENT.length
  const type = 'application/vnd.git-lfs+json'
  const batch = await fetch(`${url}/${path}.git/info/lfs/objects/batch`, {
    method: 'POST',
    headers: { authorization: basic, accept: type, 'content-type': type },
    body: JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: [{ oid, size }] }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the answer of the LFS API
  const { objects } = (await batch.json()) as any
  const { href, header } = objects[0].actions.upload
  const stored = await fetch(url + new URL(href).pathname, { method: 'PUT', headers: header, body: LFS_CONTENT })
  if (!stored.ok) throw new Error(`the object of Git LFS: ${stored.status}`)
  try {
    git(folder, 'init', '-q', '-b', 'main')
    writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n')
    writeFileSync(join(folder, 'large.bin'), `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`)
    git(folder, 'add', '.')
    git(folder, 'commit', '-q', '-m', 'first')
    git(folder, 'push', '-q', gitUrl(url, path), 'main', 'main:release-1')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function upload(url: string, path: string): Promise<string> {
  const form = new FormData()
  form.set('file', new Blob(['an attachment']), 'note.txt')
  const answer = await fetch(`${url}/api/v4${path}`, { method: 'POST', headers: { 'private-token': TOKEN }, body: form })
  if (!answer.ok) throw new Error(`the upload: ${answer.status}`)
  return ((await answer.json()) as { url: string }).url
}
