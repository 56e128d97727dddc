import { call, median, timed } from '../harness.mjs'

const USERS = 10_000
const GROUPS = 2_000
const PROJECTS = 100_000
const LINES = 1_000_000
const PASSWORD = 'long enough 0815'
/** The most milliseconds of a page. */
const BAR = 50
/** Cached settings, which pages read once a second, are as many statements as this. */
const SPARE = 3

const PAGES = {
  overview: '/admin',
  users: '/admin/users',
  'users, last page': `/admin/users?page=${Math.floor(USERS / 30)}`,
  'users by name': '/admin/users?sort=name_asc',
  'users, changed last': '/admin/users?sort=updated_desc',
  'users that are blocked': '/admin/users?filter=blocked',
  'users by a search of few': '/admin/users?search_query=qux77',
  'users by a search of all': '/admin/users?search_query=person',
  'one user': '/admin/users/person77',
  groups: '/admin/groups',
  'groups by a search': '/admin/groups?name=team1&sort=name_asc',
  'one group': (ids) => `/admin/groups/${ids.group}`,
  projects: '/admin/projects',
  'projects, active last': '/admin/projects?sort=last_activity_desc',
  'projects, largest first': '/admin/projects?sort=storage_size_desc',
  'projects by name': '/admin/projects?sort=name_asc',
  'projects, page 1,000': '/admin/projects?page=1000',
  'projects, largest first, page 1,000': '/admin/projects?sort=storage_size_desc&page=1000',
  'projects that are archived': '/admin/projects?filter=archived',
  'projects that are deleted': '/admin/projects?filter=deleted',
  'projects by a search of few': '/admin/projects?name=qux77',
  'projects by a search of all': '/admin/projects?name=project',
  'one project': (ids) => `/admin/projects/${ids.project}`,
  'audit log': '/admin/audit_log',
  'audit log of a person': '/admin/audit_log?actor=person77',
  'audit log of a rare action': '/admin/audit_log?action=user+blocked',
  'audit log of a person and a rare action': '/admin/audit_log?actor=person77&action=user+blocked',
  'audit log of a kind of things': '/admin/audit_log?entity_type=Group',
  'audit log of a day': '/admin/audit_log?from=2026-01-10&to=2026-01-10',
  jobs: '/admin/jobs',
  hooks: '/admin/hooks',
  settings: '/admin/application_settings',
  'limits of requests': '/admin/request_limits',
  messages: '/admin/broadcast_messages',
  'abuse reports': '/admin/abuse_reports',
  'held texts': '/admin/held_texts',
  applications: '/admin/applications',
  "one's projects": '/dashboard',
  'all projects, active last': '/explore',
  'all projects by stars': '/explore?sort=stars_desc',
  'all projects by name': '/explore?sort=name_asc',
  'all projects with a topic': '/explore?topic=rare',
}

/** Pages of administration with many users, projects and lines of audit: their times, and as many statements as without. */
export async function administration(bench) {
  await bench.sql("alter system set shared_preload_libraries = 'pg_stat_statements'")
  await bench.stop()
  await bench.start()
  await bench.sql('create extension if not exists pg_stat_statements')
  const body = { username: 'person77', name: 'Admin', email: 'person77@example.com', password: PASSWORD, skip_confirmation: true, admin: true }
  await call(`${bench.api}/users`, { method: 'POST', body })
  const group = await call(`${bench.api}/groups`, { method: 'POST', body: { name: 'One', path: 'one' } })
  const ids = { group: group.id, project: (await bench.project('one')).id }
  const cookie = await signIn(bench)
  const open = (page) => fetch(bench.url + (typeof page === 'string' ? page : page(ids)), { headers: { cookie, accept: 'text/html' } })
  const get = async (page) => {
    const answer = await open(page)
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${page}: ${answer.status}`)
    return text
  }
  const database = await bench.connection()
  database.on('error', () => undefined) // it ends with the service when something else fails
  const count = async () => Number((await database.query('select coalesce(sum(calls), 0) as calls from pg_stat_statements')).rows[0].calls)
  /** The fewest statements of a page in some tries: other work of the service adds some. */
  const statementsOf = async (page) => {
    const found = []
    for (let i = 0; i < 5; i++) {
      const before = await count()
      await get(page)
      found.push((await count()) - before - 1)
    }
    return Math.min(...found)
  }
  const few = {}
  for (const [name, page] of Object.entries(PAGES)) few[name] = await statementsOf(page)
  await seed(bench)
  await bench.quiet()
  for (const [name, page] of Object.entries(PAGES)) {
    const times = []
    await get(page)
    for (let i = 0; i < bench.rounds; i++) times.push(await timed(() => get(page)))
    bench.figure(`page of ${name}`, median(times), BAR, 'ms')
    const many = await statementsOf(page)
    if (many > few[name] + SPARE) bench.figure(`statements of the page of ${name}, ${few[name]} without rows`, many, few[name] + SPARE, 'statements')
  }
  for (const name of ['users', 'groups', 'projects', 'projects, largest first', 'all projects, active last']) {
    const times = []
    for (let i = 0; i < bench.rounds; i++) {
      await bench.sql(`update projects set description = $1 where path = 'project7'`, [`Change ${i}`])
      await bench.sql(`update users set name = $1 where username = 'person78'`, [`Person ${i}`])
      times.push(await timed(() => get(PAGES[name])))
    }
    bench.figure(`page of ${name}, after a change`, median(times), BAR, 'ms')
  }
  await database.end()
}

const cookiesOf = ({ headers }) =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')

async function signIn({ url }) {
  const page = await fetch(`${url}/users/sign_in`, { headers: { accept: 'text/html' } })
  const token = /name="authenticity_token" value="([^"]+)"/.exec(await page.text())[1]
  const body = new URLSearchParams({ authenticity_token: token, 'user[login]': 'person77', 'user[password]': PASSWORD })
  const answer = await fetch(`${url}/users/sign_in`, { method: 'POST', redirect: 'manual', headers: { cookie: cookiesOf(page) }, body })
  if (answer.status !== 303 && answer.status !== 302) throw new Error(`sign-in: ${answer.status}`)
  return cookiesOf(answer)
}

/** Users with a tenth of them blocked, groups, projects of both with a hundredth archived or deleted, and a log of two years. */
async function seed(bench) {
  const run = (text) => bench.sql(text)
  await run(`insert into users (username, name, email, projects_limit, confirmed_at, state, created_at)
    select 'person' || i, case when i % 100 = 77 then 'Qux' || i else 'Person ' || i end, 'person' || i || '@example.com', 100, now(),
      case when i % 10 = 0 then 'blocked' else 'active' end, now() - i * interval '1 hour'
    from generate_series(1, ${USERS}) i where i <> 77`)
  await run(`insert into namespaces (kind, name, path, full_path, full_name, owner_id, visibility)
    select 'user', u.username, u.username, u.username, u.username, u.id, 20 from users u where u.username like 'person%' and u.username <> 'person77'`)
  await run(`insert into namespaces (kind, name, path, full_path, full_name, visibility)
    select 'group', 'Team' || i, 'team' || i, 'team' || i, 'Team' || i, 20 from generate_series(1, ${GROUPS}) i`)
  await run(`insert into namespace_ancestry (ancestor_id, descendant_id) select id, id from namespaces on conflict do nothing`)
  await run(`insert into projects (namespace_id, creator_id, name, path, description, visibility, storage, default_branch, archived, repository_size,
      last_activity_at, created_at, marked_for_deletion_at, deletion_due_at)
    select n.id, 1, case when i % 1000 = 77 then 'Qux' || i else 'Project' || i end, 'project' || i, 'One of many', (array[0, 10, 20])[1 + i % 3], 'default', 'main', i % 100 = 1,
      i * 7919::bigint % 1000003, now() - (i * 7919::bigint % 1000003) * interval '1 minute', now() - i * interval '1 minute',
      case when i % 100 = 2 then now() end, case when i % 100 = 2 then now() + interval '7 days' end
    from generate_series(1, ${PROJECTS}) i join namespaces n
      on n.path = case when i % 2 = 0 then 'team' || (i / 2 % ${GROUPS} + 1) else 'person' || (i / 2 % 9000 + 100) end`)
  await run(`insert into routes (key, namespace_id) select lower(full_path), id from namespaces on conflict do nothing`)
  await run(
    `insert into routes (key, project_id) select lower(n.full_path || '/' || p.path), p.id from projects p join namespaces n on n.id = p.namespace_id on conflict do nothing`,
  )
  await run(`insert into repository_checks (project_id, checked_at, fault) select id, now(), '' from projects on conflict do nothing`)
  await run(`insert into audit_events (created_at, actor_id, actor, action, target_type, target_id, target, changes, address)
    select timestamptz '2026-11-01' - i * interval '1 minute', 1, 'person' || (i % 9999 + 1), case when i % 10007 = 0 then 'user_blocked'
        else (array['sign_in_done', 'token_created', 'member_added', 'project_created', 'group_updated'])[1 + i % 5] end,
      (array['user', 'token', 'project', 'project', 'group'])[1 + i % 5], i % 5000, 'thing ' || i, '{"state": ["one", "two"]}', '192.0.2.1'
    from generate_series(1, ${LINES}) i`)
  await run('vacuum analyze')
}
