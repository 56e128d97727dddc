import { readFileSync } from 'node:fs'
import http from 'node:http'
import { cache, call, postgresOf, TOKEN } from '../harness.mjs'
import { generated, git } from '../repository.mjs'

const CLIENTS = 16
/** Bytes of answers of the plain server that ours are compared with; between two of them the cost is interpolated. */
const SIZES = [100, 1_000, 4_000, 16_000, 64_000, 256_000]

/** Runs so many at once until all are done. */
export async function atOnce(count, work, parallel = 8) {
  let next = 0
  const run = async () => {
    for (let i = next++; i < count; i = next++) await work(i)
  }
  await Promise.all(Array.from({ length: parallel }, run))
}

/** What the calls below ask about: 300 projects, 200 users, 2,000 issues, 200 requests, 6,000 commits, 200 branches, 300 tags. */
export async function seed(bench) {
  const post = (path, body) => call(`${bench.api}${path}`, { method: 'POST', body })
  const put = (path, body) => call(`${bench.api}${path}`, { method: 'PUT', body })
  const group = await post('/groups', { name: 'Group', path: 'group', description: 'The group of the bench' })
  const sub = await post('/groups', { name: 'Sub', path: 'sub', parent_id: group.id })
  const source = generated(cache, { commits: 6_000, files: 500 })
  const project = await post('/projects', { name: 'Every call', path: 'every', namespace_id: group.id, description: 'x' })
  git(source, ['push', '-q', bench.remote(project.path_with_namespace), 'refs/heads/main'])
  const p = `/projects/${project.id}`
  await atOnce(299, (i) => post('/projects', { name: `p${i}`, description: `Project ${i}`, namespace_id: i % 3 ? group.id : sub.id }))
  const users = []
  await atOnce(200, async (i) => {
    users.push(await post('/users', { name: `User ${i}`, username: `user${i}`, email: `user${i}@example.com`, password: 'sufficiently long', skip_confirmation: true }))
  }) // biome-ignore format: one call
  const [user] = users
  await atOnce(50, (i) => post(`${p}/members`, { user_id: users[i].id, access_level: 30 }))
  await atOnce(30, (i) => post(`/groups/${group.id}/members`, { user_id: users[60 + i].id, access_level: 30 }))
  await atOnce(30, (i) => post(`${p}/labels`, { name: `label${i}`, color: '#ff0000', description: 'A label' }))
  await atOnce(10, (i) => post(`/groups/${group.id}/labels`, { name: `group label${i}`, color: '#00ff00' }))
  const milestone = await post(`${p}/milestones`, { title: 'v1' })
  await atOnce(20, (i) => post(`${p}/milestones`, { title: `v1.${i}` }))
  const groupMilestone = await post(`/groups/${group.id}/milestones`, { title: 'g1' })
  await atOnce(2_000, (i) =>
    post(`${p}/issues`, {
      title: `Issue ${i}`,
      description: `The description of issue ${i} in a few words, as people write them.`,
      labels: `label${i % 30},label${(i * 7) % 30}`,
      ...(i % 5 === 0 && { milestone_id: milestone.id }),
      ...(i % 3 === 0 && { assignee_ids: [users[i % 50].id] }),
    }),
  )
  // with its notes the first issue is what people look at
  await atOnce(40, (i) => post(`${p}/issues/1/notes`, { body: `A note that says something, number ${i}` }))
  const head = (await call(`${bench.api}${p}/repository/commits?per_page=1`))[0].id
  await atOnce(300, (i) => post(`${p}/repository/tags`, { tag_name: `v${i}`, ref: head, message: i % 2 ? 'annotated' : undefined }))
  await atOnce(200, async (i) => {
    const actions = [{ action: 'create', file_path: `topics/t${i}`, content: `${i}\n` }]
    await post(`${p}/repository/commits`, { branch: `topic${i}`, start_branch: 'main', commit_message: `topic ${i}`, actions })
    await post(`${p}/merge_requests`, { title: `Request ${i}`, description: `Closes #${i + 2}`, source_branch: `topic${i}`, target_branch: 'main', labels: `label${i % 30}` })
  }, 4) // biome-ignore format: one call
  await atOnce(30, (i) => post(`${p}/merge_requests/1/notes`, { body: `A note on the request, number ${i}` }))
  await atOnce(20, (i) => post(`${p}/statuses/${head}`, { state: 'success', name: `job ${i}`, target_url: 'https://ci.example.com/1' }))
  const snippet = await post(`${p}/snippets`, { title: 'Snippet', file_name: 'a.rb', content: 'puts 1\n', visibility: 'private' })
  const own = await post('/snippets', { title: 'Own', file_name: 'a.rb', content: 'puts 1\n', visibility: 'public' })
  await post(`${p}/wikis`, { title: 'home', content: '# Home' })
  await post(`${p}/releases`, { tag_name: 'v1', description: 'The first' })
  const link = await post(`${p}/releases/v1/assets/links`, { name: 'a', url: 'https://example.com/a' })
  const comment = await post(`${p}/repository/commits/${head}/discussions`, { body: 'A comment' })
  for (const at of [p, `/groups/${group.id}`]) await post(`${at}/variables`, { key: 'KEY', value: 'value' })
  const hooks = {}
  for (const at of [p, `/groups/${group.id}`, '']) hooks[at] = (await post(`${at}/hooks`, { url: 'http://127.0.0.1:9/', push_events: false })).id
  const tokens = {}
  for (const at of [p, `/groups/${group.id}`]) tokens[at] = (await post(`${at}/deploy_tokens`, { name: 'd', scopes: ['read_repository'] })).id
  const key = `ssh-ed25519 ${Buffer.concat([Buffer.from('0000000b7373682d6564323535313900000020', 'hex'), Buffer.alloc(32, 7)]).toString('base64')}`
  const deployKey = await post(`${p}/deploy_keys`, { title: 'd', key })
  const ownKey = await post('/user/keys', { title: 'k', key: key.replace(/BwcH/g, 'CAgI') })
  const email = await post('/user/emails', { email: 'more@example.com' })
  const impersonation = await post(`/users/${user.id}/impersonation_tokens`, { name: 'i', scopes: ['api'] })
  for (const at of [p, `/groups/${group.id}`, `/users/${user.id}`]) await put(`${at}/custom_attributes/key`, { value: 'v' })
  const awards = {}
  for (const on of ['issues/1', 'merge_requests/1', `snippets/${snippet.id}`]) {
    const discussion = await post(`${p}/${on}/discussions`, { body: 'discussed' })
    const [note] = discussion.notes
    const award = (await post(`${p}/${on}/award_emoji`, { name: 'thumbsup' })).id
    const onNote = (await post(`${p}/${on}/notes/${note.id}/award_emoji`, { name: 'heart' })).id
    awards[on] = { discussion: discussion.id, note: note.id, award, onNote }
  }
  const version = (await call(`${bench.api}${p}/merge_requests/1/versions`))[0]?.id
  const label = (await call(`${bench.api}${p}/labels?per_page=1`))[0].id
  const groupLabel = (await call(`${bench.api}/groups/${group.id}/labels?per_page=1`))[0].id
  const [pipeline] = await call(`${bench.api}${p}/pipelines`)
  const [job] = await call(`${bench.api}${p}/jobs`)
  const [oid, file] = git(source, ['ls-tree', '-r', '--format=%(objectname) %(path)', 'main']).toString().split('\n')[0].split(' ')
  await bench.sql('vacuum analyze')
  const ids = { group, project, user, milestone, groupMilestone, head, snippet, own, link, comment, hooks, tokens, deployKey, ownKey, email }
  return { ...ids, impersonation, awards, version, label, groupLabel, pipeline, job, oid, file, p }
}

/** The address of an operation on what was seeded; null where it needs what the bench does not have. */
export function addressOf(operation, s) {
  const path = operation.replace(/\{(\w+)\}/g, ':$1')
  const on = /issues\/:issue_iid/.test(path) ? 'issues/1' : /merge_requests\/:merge/.test(path) ? 'merge_requests/1' : `snippets/${s.snippet.id}`
  const at = path.startsWith('/groups') ? `/groups/${s.group.id}` : path.startsWith('/projects') ? s.p : ''
  const own = path.startsWith('/snippets')
  const commit = path.includes('/commits/:sha/discussions')
  const fill = {
    id: path.startsWith('/projects')
      ? s.project.id
      : path.startsWith('/groups') || path.startsWith('/namespaces')
        ? s.group.id
        : path.startsWith('/keys')
          ? s.ownKey.id
          : own
            ? s.own.id
            : s.user.id,
    user_id: s.user.id,
    issue_iid: 1,
    merge_request_iid: 1,
    snippet_id: s.snippet.id,
    award_id: path.includes('/notes/:note_id/award') ? s.awards[on].onNote : s.awards[on].award,
    note_id: commit ? s.comment.notes[0].id : s.awards[on].note,
    discussion_id: commit ? s.comment.id : s.awards[on].discussion,
    milestone_id: at.startsWith('/groups') ? s.groupMilestone.id : s.milestone.id,
    label_id: at.startsWith('/groups') ? s.groupLabel : s.label,
    hook_id: s.hooks[at],
    token_id: s.tokens[at],
    key_id: path.startsWith('/user/keys') ? s.ownKey.id : path.includes('deploy_keys') ? s.deployKey.id : null,
    email_id: s.email.id,
    impersonation_token_id: s.impersonation.id,
    pipeline_id: s.pipeline.id,
    job_id: s.job?.id,
    version_id: s.version,
    link_id: s.link.id,
    key: path.includes('custom_attributes') ? 'key' : 'KEY',
    name: 'main',
    tag_name: 'v1',
    sha: path.includes('/blobs/') ? s.oid : s.head,
    branch: 'main',
    file_path: encodeURIComponent(s.file),
    format: 'tar',
    slug: 'home',
  }
  const query = {
    search: path.startsWith('/projects') ? '?scope=issues&search=issue' : '?scope=projects&search=every',
    compare: '?from=topic1&to=main',
    merge_base: '?refs[]=main&refs[]=topic1',
    avatar: '?email=user1@example.com',
    keys: path === '/keys' ? '?fingerprint=SHA256:none' : '',
  }
  const last = path.split('/').at(-1)
  const filled = path.replace(/:(\w+)/g, (_, name) => fill[name] ?? ':missing')
  const needsRef = path.includes('/files/') ? '?ref=main' : ''
  return filled.includes(':missing') ? null : `${filled}${query[last] ?? needsRef}`
}

const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS })

function get(url) {
  return new Promise((resolve, reject) => {
    http
      .get(url, { agent, headers: { 'private-token': TOKEN } }, (response) => {
        let bytes = 0
        response.on('data', (chunk) => {
          bytes += chunk.length
        })
        response.on('end', () => resolve({ status: response.statusCode, bytes }))
      })
      .on('error', reject)
  })
}

/** Hundredths of a second of processor time of processes, their ended children included. */
export const ticks = (pids) =>
  pids.reduce((sum, pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ') // biome-ignore format: a chain
      return sum + [11, 12, 13, 14].reduce((all, at) => all + Number(fields[at]), 0)
    } catch {
      return sum
    }
  }, 0)

/** Calls with 16 clients for so many milliseconds: rate, p50 and p99 in ms, and microseconds of processor time a call. */
async function load(url, milliseconds, pids) {
  const times = []
  const before = Object.fromEntries(Object.entries(pids).map(([name, list]) => [name, ticks(list())]))
  const began = performance.now()
  const end = began + milliseconds
  const client = async () => {
    while (performance.now() < end) {
      const at = performance.now()
      await get(url)
      times.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const seconds = (performance.now() - began) / 1_000
  times.sort((a, b) => a - b)
  const cpu = Object.fromEntries(Object.entries(pids).map(([name, list]) => [name, ((ticks(list()) - before[name]) * 10_000) / times.length]))
  return { rate: times.length / seconds, p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)], cpu, calls: times.length }
}

/** Every read of the document, against a constant answer of its size from a bare Fastify. */
export async function everyRead(bench) {
  const seeded = await seed(bench)
  await bench.quiet()
  const document = await call(`${bench.api}/openapi.json`)
  const reads = Object.entries(document.paths).filter(([, operations]) => operations.get).map(([path]) => path.replace(/^\/api\/v4/, '')) // biome-ignore format: a chain
  const time = bench.quick ? 300 : 1_000
  const plain = await bench.plain()
  const constant = []
  for (const size of SIZES) {
    await call(`${plain}/list`, { method: 'POST', body: ['x'.repeat(size)] })
    await load(`${plain}/list`, 300, {})
    constant.push({ size, ...(await load(`${plain}/list`, time, { node: () => [bench.plainPid] })) })
  }
  const constantOf = (bytes) => {
    const after = constant.findIndex(({ size }) => size >= bytes)
    if (after <= 0) return constant.at(after)
    const [a, b] = [constant[after - 1], constant[after]]
    const part = (bytes - a.size) / (b.size - a.size)
    const between = (of) => of(a) + part * (of(b) - of(a))
    return { rate: between((c) => c.rate), cpu: { node: between((c) => c.cpu.node) } }
  }
  const pids = { node: () => [bench.child.pid], postgres: () => postgresOf(bench.dataDir) }
  const rows = []
  for (const path of reads) {
    const address = addressOf(path, seeded)
    const url = `${bench.api}${address}`
    const first = address === null ? null : await get(url)
    if (first === null || first.status >= 300) {
      process.stdout.write(`${path}: not measured, ${address} answers ${first?.status}\n`)
      continue
    }
    await load(url, 200, {})
    const { rate, p50, p99, cpu } = await load(url, time, pids)
    const same = constantOf(first.bytes)
    rows.push({ path, bytes: first.bytes, rate, p50, p99, node: cpu.node, postgres: cpu.postgres, ratio: rate / same.rate, cost: same.cpu.node / (cpu.node + cpu.postgres) })
  } // biome-ignore format: one row
  rows.sort((a, b) => a.cost - b.cost)
  process.stdout.write('| GET | bytes | /s | p50 ms | p99 ms | Node µs | Postgres µs | rate of constant | cost of constant |\n')
  for (const r of rows)
    process.stdout.write(
      `| ${r.path} | ${r.bytes} | ${r.rate.toFixed(0)} | ${r.p50.toFixed(1)} | ${r.p99.toFixed(1)} | ${r.node.toFixed(0)} | ${r.postgres.toFixed(0)} | ${r.ratio.toFixed(2)} | ${r.cost.toFixed(2)} |\n`,
    )
}
