// What each page costs a browser and the database: `node bench/pages.mjs`. Starts a service with a small project, opens
// every page as a member who is an administrator, and prints a table: requests of a new and of a returning browser
// (pictures of people aside), bytes compressed, statements. Ends with 1 if a page is above the limits.
import { load } from 'cheerio'
import { build } from '../scripts/build.mjs'
import { Bench, call } from './harness.mjs'

/** Limits of a page: a request for itself, its stylesheet, its script and its icon; bytes with brotli; statements. */
const MAX = { cold: 4, warm: 1, bytes: 15 * 1024, statements: 40 }
const USER = { username: 'reader', password: 'a-long-enough-password' }

await build()
const bench = new Bench({ quick: true })
await bench.start()
await bench.sql("alter system set shared_preload_libraries = 'pg_stat_statements'")
await bench.stop()
await bench.start()
await bench.sql('create extension if not exists pg_stat_statements')

const post = (path, body, method = 'POST') => call(`${bench.api}${path}`, { method, body })

/** A project with something on each page. */
async function seeded() {
  const user = await post('/users', { ...USER, name: 'Reader', email: 'reader@example.org', admin: true, skip_confirmation: true })
  const group = await post('/groups', { name: 'Team', path: 'team', visibility: 'public' })
  await post(`/groups/${group.id}/members`, { user_id: user.id, access_level: 50 })
  const { id } = await post('/projects', { name: 'App', namespace_id: group.id, visibility: 'public', description: 'What the pages are read with' })
  const at = `/projects/${id}`
  const lines = (n) => Array.from({ length: n }, (_, i) => `export const value${i} = ${i} // line ${i}\n`).join('')
  const create = (file_path, content) => ({ action: 'create', file_path, content })
  const first = [create('README.md', `# App\n\nWhat it does.\n\n${'A sentence about it. '.repeat(20)}\n`), create('.gitignore', 'node_modules\n')]
  for (let i = 0; i < 30; i++) first.push(create(`src/file${i}.ts`, lines(100)))
  const commit = (branch, commit_message, actions, start_branch) =>
    post(`${at}/repository/commits`, { branch, commit_message, actions, start_branch })
  await commit('main', 'Begin', first)
  for (let i = 0; i < 30; i++)
    await commit('main', `Change file ${i}\n\nWhy it changes.`, [{ action: 'update', file_path: `src/file${i}.ts`, content: lines(100 + i) }])
  const { id: sha } = await commit(
    'topic',
    'Mend two files',
    [1, 2].map((i) => ({ action: 'update', file_path: `src/file${i}.ts`, content: lines(90).replace('value7 ', 'value_7 ') })),
    'main',
  )
  for (const name of ['bug', 'feature', 'later']) await post(`${at}/labels`, { name, color: '#0b6a6a' })
  await post(`${at}/milestones`, { title: 'One' })
  for (let i = 0; i < 25; i++) await post(`${at}/issues`, { title: `Something is wrong in ${i}`, description: 'It *does* not work.', labels: 'bug' })
  for (let i = 0; i < 15; i++) await post(`${at}/issues/1/notes`, { body: `A remark, number ${i}.` })
  await post(`${at}/merge_requests`, { source_branch: 'topic', target_branch: 'main', title: 'Mend two files' })
  for (let i = 0; i < 10; i++) await post(`${at}/merge_requests/1/notes`, { body: `Looks good ${i}.` })
  await post(`${at}/statuses/${sha}`, { state: 'success', ref: 'topic', name: 'test' })
  await post(`${at}/releases`, { tag_name: 'v1.0', ref: 'main', name: 'One', description: 'First.' })
  await post(`${at}/wikis`, { title: 'home', content: 'Welcome.' })
  await post(`${at}/snippets`, { title: 'Snip', file_name: 'a.txt', content: 'text', visibility: 'public' })
  return sha
}

const cookies = new Map()
async function request(path, options = {}) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = { accept: 'text/html', 'accept-encoding': 'br', cookie }
  const answer = await fetch(bench.url + path, { redirect: 'manual', ...options, headers: { ...headers, ...options.headers } })
  for (const text of answer.headers.getSetCookie()) cookies.set(...text.split(';', 1)[0].split('='))
  return { status: answer.status, bytes: Number(answer.headers.get('content-length')), html: await answer.text() }
}

async function signIn() {
  const { html } = await request('/users/sign_in')
  const authenticity_token = load(html)('input[name="authenticity_token"]').attr('value')
  const body = new URLSearchParams({ authenticity_token, 'user[login]': USER.username, 'user[password]': USER.password })
  await request('/users/sign_in', { method: 'POST', body })
}

const sha = await seeded()
await signIn()
const P = '/team/app'
const pages = {
  code: [
    '',
    '/activity',
    '/-/tree/main/src',
    '/-/blob/main/src/file1.ts',
    '/-/blame/main/src/file1.ts',
    '/-/blob/main/README.md',
    '/-/commits/main',
    `/-/commit/${sha}`,
    `/-/commit/${sha}/branches`,
    '/-/compare',
    '/-/compare/main...topic',
    '/-/branches',
    '/-/tags',
    '/-/tags/v1.0',
    '/-/tags/new',
    '/-/releases',
    '/-/releases/v1.0',
    '/-/releases/new',
    '/-/find_file/main',
    '/-/graphs/main',
    '/-/network/main',
    '/-/refs/switch',
    '/-/edit/main/src/file1.ts',
    '/-/new/main',
    '/-/forks',
    '/-/forks/new',
    '/-/search?search=value7&scope=blobs',
    '/-/pipelines',
    '/-/pipelines/1',
  ].map((path) => P + path),
  planning: [
    ...[
      '/-/issues',
      '/-/issues/1',
      '/-/issues/1/edit',
      '/-/issues/new',
      '/-/boards',
      '/-/labels',
      '/-/milestones',
      '/-/milestones/1',
      '/-/wikis/home',
      '/-/wikis/pages',
      '/-/snippets',
      '/-/snippets/1',
    ].map((path) => P + path),
    '/groups/team/-/issues',
    '/groups/team/-/labels',
    '/groups/team/-/milestones',
    '/dashboard/issues',
    '/dashboard/todos',
    '/dashboard/snippets',
  ],
  reviews: ['', '/new?merge_request[source_branch]=topic', '/1', '/1/commits', '/1/diffs', '/1/edit', '/1/widget']
    .map((path) => `${P}/-/merge_requests${path}`)
    .concat('/groups/team/-/merge_requests', '/dashboard/merge_requests'),
  people: [
    '/dashboard',
    '/dashboard/groups',
    '/dashboard/projects/starred',
    '/dashboard/activity',
    '/explore',
    '/explore/groups',
    '/search?search=app',
    '/reader',
    '/groups/team',
    '/groups/team/-/activity',
    '/groups/team/-/group_members',
    '/help',
    '/-/profile',
    '/-/profile/account',
    '/-/profile/keys',
    '/-/profile/emails',
    '/-/profile/notifications',
    '/-/profile/personal_access_tokens',
    '/-/profile/active_sessions',
  ],
  administration: [
    ...['/edit', '/-/project_members', '/-/protected_branches', '/-/hooks', '/-/variables', '/-/settings/advanced', '/-/audit_events'].map(
      (path) => P + path,
    ),
    '/groups/team/-/edit',
    '/groups/team/-/audit_events',
    ...[
      '',
      '/users',
      '/users/reader',
      '/groups',
      '/projects',
      '/application_settings',
      '/audit_log',
      '/jobs',
      '/hooks',
      '/applications',
      '/broadcast_messages',
      '/abuse_reports',
      '/sign_in_providers',
    ].map((path) => `/admin${path}`),
  ],
}

const statements = async () => Number((await bench.sql('select coalesce(sum(calls), 0)::int as calls from pg_stat_statements'))[0].calls)

let above = 0
const rows = []
for (const [family, paths] of Object.entries(pages)) {
  for (const path of paths) {
    for (let i = 0; i < 2; i++) await request(path)
    await bench.sql('select pg_stat_statements_reset()')
    const before = await statements()
    const { status, bytes, html } = await request(path)
    // one statement counts
    const calls = (await statements()) - before - 1
    const $ = load(html)
    const assets = new Set(
      $('link[rel="stylesheet"], link[rel="icon"], script[src]')
        .toArray()
        .map((each) => $(each).attr('href') ?? $(each).attr('src')),
    )
    const [cold, warm] = [1 + assets.size, 1]
    const isGood = status === 200 && cold <= MAX.cold && warm <= MAX.warm && bytes <= MAX.bytes && calls <= MAX.statements
    if (!isGood) above++
    rows.push(
      `| ${family} | \`${path.replace(sha, 'SHA')}\` | ${cold} / ${warm} | ${(bytes / 1024).toFixed(1)} | ${(html.length / 1024).toFixed(0)} | ${calls} | ${isGood ? '' : status === 200 ? 'above' : status} |`,
    )
  }
}
await bench.close()
process.stdout.write(
  `| family | page | requests, new and returning | KiB compressed | KiB | statements | |\n|---|---|---|---|---|---|---|\n${rows.join('\n')}\n\nlimits: ${JSON.stringify(MAX)}; ${rows.length} pages, ${above} above\n`,
)
process.exit(above > 0 ? 1 : 0)
