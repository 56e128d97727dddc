// How calls scale with rows: `node bench/growth.mjs [--sizes=1000,10000,100000] [--stay]`. Sizes are numbers of
// projects,
// each with two users, ten issues, five merge requests and a hundred notes. Each list is requested with 20 rows. With
// --stay the service keeps running afterwards, to inspect plans. Needs 6 GB for 100,000 projects.
import { build } from '../scripts/build.mjs'
import { fixed, grow, MEMBER } from './growth-rows.mjs'
import { Bench, call, median, TOKEN, timed } from './harness.mjs'

const sizes = (/--sizes=(\S+)/.exec(process.argv.join(' '))?.[1] ?? '1000,10000,100000').split(',').map(Number)
const ROUNDS = 5
/** A call that takes longer (in milliseconds) is not repeated. */
const ENOUGH = 2_000
/** The limit: a multiple of the time at the smallest size, or a number of milliseconds more. */
const TIMES = 3
const MORE = 30

const WHO = { admin: { 'private-token': TOKEN }, member: { 'private-token': MEMBER }, anonymous: { 'private-token': '' } }

const reads = ({ big, small, group, member, head }) => {
  const b = `/projects/${big.id}`
  const s = `/projects/${small.id}`
  const g = `/groups/${group.id}`
  const all = 'admin member anonymous'
  const both = 'admin member'
  return [
    [all, 'projects', '/projects'],
    [all, 'projects, last page', '/projects', 'last'],
    [both, 'projects, simple', '/projects?simple=true'],
    [both, 'projects by last activity', '/projects?order_by=last_activity_at'],
    [both, 'projects by name', '/projects?order_by=name&sort=asc'],
    [both, 'projects by id', '/projects?order_by=id'],
    [all, 'public projects', '/projects?visibility=public'],
    [both, 'own projects', '/projects?owned=true'],
    [both, 'projects of memberships', '/projects?membership=true'],
    [all, 'projects by search of few', '/projects?search=zebra'],
    [all, 'projects by search of all', '/projects?search=project'],
    [both, 'one project', s],
    [both, 'projects of a user', `/users/${member.id}/projects`],
    [both, 'members of a project', `${s}/members/all`],
    [all, 'groups', '/groups'],
    [both, 'groups by search', '/groups?search=home'],
    [both, 'groups, owned', '/groups?owned=true'],
    [both, 'one group', g],
    [both, 'projects of a group', `${g}/projects`],
    [both, 'issues of a group', `${g}/issues`],
    [both, 'merge requests of a group', `${g}/merge_requests`],
    [both, 'members of a group', `${g}/members`],
    [both, 'namespaces', '/namespaces'],
    [both, 'namespaces by search', '/namespaces?search=home'],
    [both, 'issues', '/issues?scope=all'],
    [both, 'issues, last page', '/issues?scope=all', 'last'],
    [both, 'open issues', '/issues?scope=all&state=opened'],
    [both, 'issues by last change', '/issues?scope=all&order_by=updated_at'],
    [both, 'issues by a label of few', '/issues?scope=all&labels=label7'],
    [both, 'issues by a label of many', '/issues?scope=all&labels=bug'],
    [both, 'issues by author', `/issues?scope=all&author_id=${member.id}`],
    [both, 'issues assigned to me', '/issues?scope=assigned_to_me'],
    [both, 'issues by me', '/issues'],
    [both, 'issues by milestone', '/issues?scope=all&milestone=m7'],
    [both, 'issues by search of few', '/issues?scope=all&search=zebra'],
    [both, 'issues by search of all', '/issues?scope=all&search=issue'],
    [both, '20 issues of a project', `${s}/issues`],
    [both, 'issues of 10,000', `${b}/issues`],
    [both, 'issues of 10,000, last page', `${b}/issues`, 'last'],
    [both, 'issues of 10,000 by label', `${b}/issues?labels=label7`],
    [both, 'issues of 10,000 by author', `${b}/issues?author_id=${member.id}`],
    [both, 'issues of 10,000 by milestone', `${b}/issues?milestone=m7`],
    [both, 'issues of 10,000 by search', `${b}/issues?search=zebra`],
    [both, 'issues of 10,000 by last change', `${b}/issues?order_by=updated_at`],
    [both, 'one issue', `${b}/issues/1`],
    [both, '200 notes of an issue', `${b}/issues/1/notes`],
    [both, 'its discussions', `${b}/issues/1/discussions`],
    [both, 'merge requests', '/merge_requests?scope=all'],
    [both, 'merge requests, last page', '/merge_requests?scope=all', 'last'],
    [both, 'merge requests by last change', '/merge_requests?scope=all&order_by=updated_at'],
    [both, 'merge requests by search of few', '/merge_requests?scope=all&search=zebra'],
    [both, 'merge requests assigned to me', '/merge_requests?scope=assigned_to_me'],
    [both, 'merge requests of 1,000', `${b}/merge_requests`],
    [both, 'labels of a project', `${b}/labels`],
    [both, 'milestones of a project', `${b}/milestones`],
    [both, 'events of a project', `${b}/events`],
    [both, 'my events', '/events'],
    [both, 'events of my projects', '/events?scope=all'],
    [both, 'events of a user', `/users/${member.id}/events`],
    [both, 'to-do items', '/todos'],
    [both, 'users', '/users'],
    [both, 'users, last page', '/users', 'last'],
    [both, 'users by search of few', '/users?search=zora'],
    [both, 'users by search of all', '/users?search=person'],
    [both, 'users by name', '/users?username=zora'],
    [both, 'one user', `/users/${member.id}`],
    ...['projects', 'issues', 'merge_requests', 'milestones'].map((scope) => [
      both,
      `search of ${scope}`,
      `/search?scope=${scope}&search=${scope === 'milestones' ? 'm7' : 'zebra'}`,
    ]),
    [both, 'search of notes of a project', `${b}/search?scope=notes&search=zebra`],
    [both, 'search of issues of a project', `${b}/search?scope=issues&search=zebra`],
    [both, 'commits', `${s}/repository/commits`],
    [both, 'statuses of a commit', `${s}/repository/commits/${head}/statuses`],
  ]
}

const writes = ({ big, small, head }) => {
  let n = Date.now()
  const s = `/projects/${small.id}`
  const issue = (base) => ['POST', `${base}/issues`, () => ({ title: `New ${n++}`, labels: 'bug' })]
  return [
    ['admin', 'create an issue', ...issue(s)],
    ['member', 'create an issue among 10,000', ...issue(`/projects/${big.id}`)],
    ['member', 'write a note', 'POST', `${s}/issues/1/notes`, () => ({ body: `Note ${n++}` })],
    ['member', 'close or open an issue', 'PUT', `${s}/issues/2`, () => ({ state_event: n++ % 2 ? 'close' : 'reopen' })],
    ['member', 'create a project', 'POST', '/projects', () => ({ name: `made ${n++}` })],
    [
      'admin',
      'create a user',
      'POST',
      '/users',
      () => ({ name: 'Made', username: `made${n}`, email: `made${n++}@example.com`, password: 'sufficiently long', skip_confirmation: true }),
    ],
    ['member', 'post a status', 'POST', `${s}/statuses/${head}`, () => ({ state: 'success', name: `job ${n++}` })],
  ]
}

/** The median, with the number of rows returned and in total. */
async function times(work, before = () => undefined) {
  const all = []
  const begun = performance.now()
  while (all.length < ROUNDS && performance.now() - begun < ENOUGH) {
    await before()
    all.push(await timed(work))
  }
  return median(all)
}

async function measure(bench, client, ids) {
  const figures = new Map()
  // the effect of a change on cached totals
  const change = () => client.query('update list_versions set version = version + 1 where kind in (select distinct kind from list_versions)')
  for (const [callers, what, path, at] of reads(ids)) {
    for (const who of callers.split(' ')) {
      const headers = WHO[who]
      const first = await fetch(`${bench.api}${path}`, { headers })
      await first.text()
      // a timeout of the database is shown in the table
      if (!first.ok) {
        figures.set(`${what} | ${who}`, { again: Number.POSITIVE_INFINITY, changed: Number.POSITIVE_INFINITY, total: first.status })
        continue
      }
      const page = at === 'last' ? `${path.includes('?') ? '&' : '?'}page=${first.headers.get('x-total-pages')}` : ''
      const work = () => call(`${bench.api}${path}${page}`, { headers })
      await work()
      const again = await times(work)
      const changed = await times(work, change)
      figures.set(`${what} | ${who}`, { again, changed, total: first.headers.get('x-total') })
      process.stderr.write(`${what} | ${who}: ${again.toFixed(1)} ${changed.toFixed(1)} of ${first.headers.get('x-total')}\n`)
    }
  }
  for (const [who, what, method, path, body] of writes(ids)) {
    const work = () => call(`${bench.api}${path}`, { method, body: body(), headers: WHO[who] })
    await work()
    const again = await times(work)
    figures.set(`${what} | ${who}`, { again, changed: again, total: null })
    process.stderr.write(`${what} | ${who}: ${again.toFixed(1)}\n`)
  }
  return figures
}

const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1))

/** For each call: milliseconds at each size, unchanged and after a change of the listed rows. */
function table(all) {
  const [first] = all
  const lines = [...first.keys()].map((what) => {
    const each = all.map((figures) => figures.get(what))
    const [least, most] = [each[0], each.at(-1)]
    const grows = ['again', 'changed'].some((name) => most[name] > TIMES * least[name] && most[name] > least[name] + MORE)
    const cells = each.map(({ again, changed, total }) => `${digits(again)}${total === null ? '' : ` / ${digits(changed)}`}`)
    return `| ${what} | ${cells.join(' | ')} | ${each.map(({ total }) => total ?? '').join(', ')} |${grows ? ' grows' : ''}`
  })
  return `| call | by | ${sizes.map((size) => `${size.toLocaleString('en')} projects`).join(' | ')} | rows in all |
| --- | --- | ${sizes.map(() => '---:').join(' | ')} | ---: |
${lines.join('\n')}
`
}

await build()
const bench = new Bench({ quick: false })
try {
  await bench.start()
  const ids = await fixed(bench)
  const all = []
  let from = 0
  for (const size of sizes) {
    const begun = performance.now()
    await grow(bench, from, size)
    const [{ bytes }] = await bench.sql('select pg_database_size(current_database()) as bytes')
    process.stderr.write(`${size} projects after ${((performance.now() - begun) / 1_000).toFixed(0)} s, ${(bytes / 2 ** 30).toFixed(1)} GB\n`)
    await bench.quiet()
    const client = await bench.connection()
    try {
      all.push(await measure(bench, client, ids))
    } finally {
      await client.end()
    }
    from = size
    process.stdout.write(table(all))
  }
  if (process.argv.includes('--stay')) {
    process.stderr.write(`${bench.url} on ${bench.dataDir} until SIGINT\n`)
    await new Promise((resolve) => process.once('SIGINT', resolve))
  }
} finally {
  await bench.close()
}
