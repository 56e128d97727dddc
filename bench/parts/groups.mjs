import { createHash } from 'node:crypto'
import { call, median, TOKEN, timed } from '../harness.mjs'

const USERS = 10_000
const PROJECTS = 5_000
const CLIENTS = 32

/**
 * Lists of groups and projects on an instance of some size, as several kinds of users, against a bare Fastify that
 * sends twenty projects.
 */
export async function groups(bench) {
  const { api } = bench
  await seed(bench)
  const [{ id: holder }] = await bench.sql(`select id from namespaces where path = 'holder'`)
  const [{ id: parent }] = await bench.sql(`select id from namespaces where path = 'load3'`)
  const callers = {
    anonymous: {},
    'a member of 3 groups': { 'private-token': 'bench-few-groups-0000' },
    'a member of 500 groups': { 'private-token': 'bench-many-groups-000' },
    'an administrator': undefined,
  }
  const lists = {
    'GET /groups': '/groups',
    subgroups: `/groups/${parent}/subgroups`,
    'projects of a group': `/groups/${holder}/projects`,
    'GET /projects': '/projects',
  }
  for (const [who, headers] of Object.entries(callers)) {
    const request = headers === undefined ? {} : { headers }
    for (const [what, path] of Object.entries(lists)) {
      const rates = await bench.againstConstantList(CLIENTS, () => bench.throughput(`${api}${path}`, CLIENTS, request))
      bench.row(`${what} as ${who}`, ...rates, who.includes('500') ? 0.12 : 0.2, { unit: '/s', atLeast: true })
    }
    // deep pages cost most in long lists for users with many memberships
    for (const path of who.includes('500') || headers === undefined ? ['/groups', '/projects'] : []) {
      const last = await lastPage(`${api}${path}`, headers)
      const [first, end] = [[], []]
      for (let i = 0; i < 3; i++) {
        first.push(await bench.throughput(`${api}${path}`, CLIENTS, request))
        end.push(await bench.throughput(`${api}${path}?page=${last}`, CLIENTS, request))
      }
      bench.row(`page ${last} against page 1 of ${path} as ${who}`, median(end), median(first), 0.5, { unit: '/s', atLeast: true })
    }
  }
  const whole = await call(`${api}/groups/${holder}`)
  if (whole.projects.length !== 100) throw new Error(`the group has ${whole.projects.length} projects`)
  const rates = await bench.againstConstantList(CLIENTS, () => bench.throughput(`${api}/groups/${holder}`, CLIENTS))
  bench.row('a group with its 100 projects', ...rates, 0.08, { unit: '/s', atLeast: true })

  const deletions = []
  for (let i = 0; i < 5; i++) {
    const [{ id }] = await bench.sql(`select id from namespaces where path = 'doomed${i}'`)
    deletions.push(await timed(() => call(`${api}/groups/${id}`, { method: 'DELETE' })))
  }
  bench.figure('deletion of a group with 200 projects', median(deletions), 100, 'ms')
  // the cost of a list right after a change, when nothing is cached
  for (const [who, headers] of Object.entries(callers)) {
    for (const path of ['/groups', '/projects']) {
      const times = []
      for (let i = 0; i < bench.rounds; i++) {
        await bench.sql(`update projects set description = 'Change ' || $1 where path = 'busy1'`, [`${i}`])
        times.push(await timed(() => fetch(`${api}${path}`, { headers: headers ?? { 'private-token': TOKEN } }).then((answer) => answer.text())))
      }
      bench.figure(`${path} after a change, as ${who}`, median(times), 50, 'ms')
    }
  }
}

async function lastPage(url, headers) {
  const answer = await fetch(url, { headers: headers ?? { 'private-token': TOKEN } })
  return Number(answer.headers.get('x-total-pages'))
}

/**
 * 10,000 users, 1,000 groups four deep, 5,000 projects, 20,000 memberships; one group of 100 projects and five of 200
 * that are to be deleted.
 */
export async function seed(bench) {
  const { sql } = bench
  const run = (text, values) => sql.call(bench, text, values)
  await run(
    `with made as (
      insert into users (username, name, email, projects_limit, confirmed_at)
      select 'load-person' || i, 'Person ' || i, 'load-person' || i || '@example.com', 100, now() from generate_series(1, $1::integer) i
      returning id, username)
    insert into namespaces (kind, name, path, full_path, full_name, owner_id, visibility) select 'user', username, username, username, username, id, 20 from made`,
    [USERS],
  )
  const level = (from, to, above) =>
    run(
      `insert into namespaces (kind, name, path, full_path, full_name, parent_id, visibility)
      select 'group', 'Load ' || i, 'load' || i, coalesce(p.full_path || '/', '') || 'load' || i, coalesce(p.full_name || ' / ', '') || 'Load ' || i, p.id,
        least(coalesce(p.visibility, 20), (array[0, 10, 20, 20])[1 + i % 4])
      from generate_series($1::integer, $2::integer) i left join namespaces p on p.path = 'load' || (i % greatest($3::integer, 1) + 1) and $3 > 0 and p.kind = 'group'`,
      [from, to, above],
    )
  await level(1, 40, 0)
  await level(41, 200, 4)
  await level(201, 520, 200)
  await level(521, 993, 520)
  await run(`insert into namespaces (kind, name, path, full_path, full_name, visibility)
    select 'group', n, n, n, n, 20 from unnest(array['holder', 'doomed0', 'doomed1', 'doomed2', 'doomed3', 'doomed4', 'spare']) n`)
  await run(`insert into namespace_ancestry (ancestor_id, descendant_id)
    with recursive up as (select id as descendant, id as ancestor, parent_id from namespaces
      union all select up.descendant, p.id, p.parent_id from up join namespaces p on p.id = up.parent_id)
    select ancestor, descendant from up on conflict do nothing`)
  const fill = (count, place, prefix) =>
    run(
      `insert into projects (namespace_id, creator_id, name, path, description, visibility, storage, default_branch, created_at)
      select n.id, 1, $2 || i, $2 || i, 'One of many', least(n.visibility, (array[0, 10, 20])[1 + i % 3]), 'default', 'main', now() - i * interval '1 minute'
      from generate_series(1, $1::integer) i join namespaces n on n.path = ${place}`,
      [count, prefix],
    )
  await fill(PROJECTS * 0.8, `'load' || (i % 993 + 1) and n.kind = 'group'`, 'busy')
  await fill(PROJECTS * 0.2, `'load-person' || i`, 'own')
  await fill(100, `'holder'`, 'held')
  for (let i = 0; i < 5; i++) await fill(200, `'doomed${i}'`, 'doomed')
  await run(`insert into routes (key, namespace_id) select lower(full_path), id from namespaces on conflict do nothing`)
  await run(
    `insert into routes (key, project_id) select lower(n.full_path || '/' || p.path), p.id from projects p join namespaces n on n.id = p.namespace_id on conflict do nothing`,
  )
  const member = (who, which, count) =>
    run(
      `insert into members (user_id, namespace_id, access_level) select u.id, n.id, 30 from generate_series(1, $1::integer) i
      join users u on u.username = ${who} join namespaces n on n.path = ${which} and n.kind = 'group' on conflict do nothing`,
      [count],
    )
  await member(`'load-person' || (i % 9000 + 1001)`, `'load' || (i * 7 % 993 + 1)`, 10_000)
  await member(`'load-person1'`, `'load' || (i * 300)`, 3)
  await member(`'load-person2'`, `'load' || (i * 2 - 1)`, 496)
  await member(`'load-person2'`, `'load' || (i * 2)`, 4)
  await run(`insert into members (user_id, project_id, access_level)
    select u.id, p.id, 30 from generate_series(1, 9500) i join users u on u.username = 'load-person' || (i % 9000 + 1001)
    join projects p on p.path = 'busy' || (i % 4000 + 1) on conflict do nothing`)
  await run(`insert into members (user_id, project_id, access_level) select 1, id, 40 from projects where path like 'doomed%' on conflict do nothing`)
  await run(`insert into project_shares (project_id, group_id, group_access)
    select p.id, n.id, 20 from generate_series(1, 200) i join projects p on p.path = 'busy' || (i * 20) join namespaces n on n.path = 'load' || (i * 4 + 1) and n.kind = 'group'`)
  await run(`insert into events (project_id, author_id, action, target_type, target_id, created_at)
    select p.id, 1, 'created', 'Project', p.id, now() from projects p cross join generate_series(1, 5) where p.path like 'doomed%'`)
  for (const [username, token] of [
    ['load-person1', 'bench-few-groups-0000'],
    ['load-person2', 'bench-many-groups-000'],
  ])
    await run(
      `insert into tokens (user_id, kind, name, digest, scopes) select id, 'personal', 'bench', $2, array['api'] from users where username = $1`,
      [username, createHash('sha256').update(token).digest('hex')],
    )
  await run('vacuum analyze')
}
