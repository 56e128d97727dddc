// @module-tag long
import { request } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { type Roost, type Seed, startRoost } from '../../testing/index.mjs'
import { packet } from '../support/clients/git-client.js'
import { startEnvironment } from '../support/servers/started-roost.js'

const START = '2030-01-01T00:00:00Z'
const seed: Seed = {
  users: [{ username: 'ann', tokens: ['a-token-of-ann'] }],
  groups: [{ path: 'team', members: { ann: 'owner' }, labels: ['bug'] }],
  projects: [
    {
      ...{ path: 'team/api', visibility: 'private', files: { 'README.md': '# One\n' }, branches: ['stable'] },
      commits: [{ message: 'change', branch: 'feature', files: { 'a.txt': 'a\n' } }],
      issues: [{ title: 'seeded', notes: ['a note'] }],
      merge_requests: [{ title: 'feature', source: 'feature', statuses: [{ state: 'success' }] }],
    },
  ],
}

interface Answer {
  status: number
  /** Whole, with its headers. */
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API answers
  body: any
}

function caller(roost: Roost) {
  return (method: string, path: string, body?: unknown, token = 'a-token-of-ann') =>
    new Promise<Answer>((resolve, reject) => {
      const [type, sent] = body instanceof Buffer ? ['application/x-git-upload-pack-request', body] : ['application/json', JSON.stringify(body)]
      const headers = { 'private-token': token, authorization: `Basic ${btoa(`ann:${token}`)}`, ...(body !== undefined && { 'content-type': type }) }
      if (!path.startsWith('/team')) delete (headers as { authorization?: string }).authorization
      const at = path.startsWith('/team') || path.startsWith('/oauth') ? path : `/api/v4${path}`
      const call = request(`${roost.url}${at}`, { method, headers }, (answer) => {
        const pieces: Buffer[] = []
        answer.on('data', (piece: Buffer) => void pieces.push(piece)).once('error', reject)
        answer.once('end', () => {
          const bytes = Buffer.concat(pieces)
          const { statusCode: status = 0, rawHeaders } = answer
          const json = answer.headers['content-type'] === 'application/json' && bytes.length > 0
          resolve({ status, text: `${status} ${rawHeaders.join('\n')}\n\n${bytes.toString('latin1')}`, body: json && JSON.parse(bytes.toString()) })
        })
      })
      call.once('error', reject).end(sent)
    })
}

/** What a client may do: writes that need ids, times, tokens and random values, and reads of all of them. */
async function walk(roost: Roost): Promise<string[]> {
  const call = caller(roost)
  const seen: string[] = []
  const step = async (...what: Parameters<typeof call>) => {
    const answer = await call(...what)
    if (answer.status >= 500) expect.fail(`${what.slice(0, 2).join(' ')}: ${answer.text}`)
    seen.push(`${what.slice(0, 2).join(' ')}: ${answer.text}`)
    return answer.body
  }
  const p = '/projects/1'
  await step('GET', '/user')
  await step('POST', '/users', { username: 'bob', name: 'Bob', email: 'bob@example.com', reset_password: true }, roost.token)
  await step('POST', '/users/2/impersonation_tokens', { name: 'ci', scopes: ['api'] }, roost.token)
  await step('POST', '/oauth/token', { grant_type: 'password', username: 'ann', password: 'ann-password' })
  await step('POST', `${p}/members`, { user_id: 3, access_level: 30, expires_at: '2030-01-02' })
  const actions = [{ action: 'create', file_path: 'b.txt', content: 'b\n' }]
  const { id: sha } = await step('POST', `${p}/repository/commits`, { branch: 'topic', start_branch: 'main', commit_message: 'topic', actions })
  await step('POST', `${p}/repository/files/c.txt`, { branch: 'stable', content: 'c', commit_message: 'a file' })
  await step('POST', `${p}/repository/commits/${sha}/cherry_pick`, { branch: 'stable' })
  await step('POST', `${p}/repository/tags`, { tag_name: 'v1', ref: 'main', message: 'annotated' })
  await step('POST', `${p}/releases`, { tag_name: 'v1', name: 'One', description: 'first' })
  await step('POST', `${p}/issues`, { title: 'an issue', labels: 'bug', due_date: '2030-01-01' })
  await step('POST', `${p}/issues/2/notes`, { body: 'see #1 @bob' })
  await step('POST', `${p}/issues/2/discussions`, { body: 'a thread' })
  await step('POST', `${p}/merge_requests`, { source_branch: 'topic', target_branch: 'main', title: 'topic' })
  await step('POST', `${p}/merge_requests/2/discussions`, { body: 'a thread' })
  await step('POST', `${p}/statuses/${sha}`, { state: 'failed', ref: 'topic', name: 'ci' })
  await step('POST', `${p}/deploy_tokens`, { name: 'deploy', scopes: ['read_repository'] })
  await step('POST', `${p}/hooks`, { url: 'http://127.0.0.1:1/hook', push_events: false, wiki_page_events: true })
  await step('POST', `${p}/snippets`, { title: 's', file_name: 's', content: 's', visibility: 'private' })
  await step('POST', `${p}/milestones`, { title: '1.0', due_date: '2030-01-02' })
  await step('POST', `${p}/wikis`, { title: 'Home', content: 'welcome' })
  await roost.advance(86_400)
  await step('PUT', `${p}/merge_requests/1/merge`, {})
  await step('PUT', `${p}/issues/2`, { state_event: 'close', add_labels: 'new' })
  await step('POST', `${p}/fork`, { namespace: 'ann' })
  for (const path of ['issues', 'issues/2/discussions', 'issues/1/notes', 'merge_requests?state=all', 'merge_requests/1', 'merge_requests/1/commits'])
    await step('GET', `${p}/${path}`)
  for (const path of ['merge_requests/2/versions', 'merge_requests/2/discussions', 'events', 'members', 'pipelines', 'milestones', 'hooks'])
    await step('GET', `${p}/${path}`)
  for (const path of ['repository/commits', 'repository/tags', 'repository/branches', 'releases', 'labels', 'snippets', 'wikis/Home'])
    await step('GET', `${p}/${path}`)
  for (const path of ['/events', '/todos', '/projects', '/users/3', '/nothing', '/groups/team']) await step('GET', path, undefined, roost.token)
  await step('GET', '/team/api.git/info/refs?service=git-upload-pack')
  await step('POST', '/team/api.git/git-upload-pack', Buffer.concat([packet(`want ${sha}\n`), Buffer.from('0000'), packet('done\n')]))
  return seen
}

let roost: Roost
beforeAll(async () => {
  await build()
  roost = await startRoost({ clock: START, seed, env: startEnvironment() })
})
beforeEach(() => roost.reset())
afterAll(() => roost.stop())

describe('--clock', () => {
  it('makes a reset and another service answer the same calls with the same bytes', async () => {
    const seen = await walk(roost)
    expect(seen.length).toBeGreaterThanOrEqual(50)
    const year = String(new Date().getUTCFullYear())
    expect(seen.filter((text) => text.includes(year))).toEqual([])
    await roost.reset()
    expect(await walk(roost)).toEqual(seen)
    // answers have the address in them
    await roost.stop()
    roost = await startRoost({ clock: new Date(START), seed, env: startEnvironment(), port: Number(new URL(roost.url).port) })
    expect(await walk(roost)).toEqual(seen)
  })

  it('decides when tokens and memberships expire, also in prepared statements, and is restored with a snapshot', async () => {
    const call = caller(roost)
    const token = (await call('POST', '/users/2/impersonation_tokens', { name: 'x', scopes: ['api'], expires_at: '2030-01-03' }, roost.token)).body
      .token
    await call('POST', '/users', { username: 'bob', name: 'Bob', email: 'b@example.com', password: 'a long password' }, roost.token)
    await call('POST', '/projects/1/members', { user_id: 3, access_level: 30, expires_at: '2030-01-02' })
    const seesProject = async () => (await call('GET', '/projects/1', undefined, roost.token)).body && (await asBob()).status
    const asBob = () => call('GET', '/projects/1?sudo=bob', undefined, roost.token)
    // often enough that Postgres plans once for all
    for (let i = 0; i < 8; i++) expect(await seesProject()).toBe(200)
    await roost.snapshot('before')
    expect((await roost.advance(86_400)).toISOString()).toBe('2030-01-02T00:00:00.000Z')
    expect([await seesProject(), (await call('GET', '/user', undefined, token)).status]).toEqual([404, 200])
    await roost.advance(86_400)
    expect((await call('GET', '/user', undefined, token)).status).toBe(401)
    await roost.restore('before')
    expect([await seesProject(), (await call('GET', '/user', undefined, token)).status]).toEqual([200, 200])
    expect((await call('POST', '/projects/1/issues', { title: 'now' })).body.created_at).toBe('2030-01-01T00:00:00.000Z')
    await expect(roost.advance(-1)).rejects.toThrow(/advance/)
  })

  it('leaves timers and the job queue to the clock of the machine', async () => {
    const call = caller(roost)
    await call('POST', '/projects/1/hooks', { url: `${roost.url}/api/v4/version`, push_events: false, issues_events: true })
    await call('POST', '/projects/1/issues', { title: 'sent' })
    await expect.poll(() => roost.requests({ route: '/version', method: 'POST' }), { timeout: 20_000 }).toHaveLength(1)
    await call('POST', '/projects/1/fork', { namespace: 'ann' })
    await expect.poll(async () => (await call('GET', '/projects/ann%2Fapi')).body.import_status, { timeout: 20_000 }).toBe('finished')
  })

  it('must be a time', async () => {
    await expect(startRoost({ clock: 'tomorrow', env: startEnvironment() })).rejects.toThrow(/It is not a time such as/)
  })
})
