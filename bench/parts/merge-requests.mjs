import { call } from '../harness.mjs'

const PROJECTS = 100
const REQUESTS = 100_000
const IN_ONE = 3_600
const LABELS = 3_000
const CLIENTS = 32

/** Lists of the merge requests of a project with thousands of them among many others, and single ones. */
export async function mergeRequests(bench) {
  const project = await bench.project('merge requests')
  await seed(bench, project)
  const list = `${bench.api}/projects/${project.id}/merge_requests`
  const rate = (query) => bench.throughput(`${list}?${query}`, CLIENTS)
  const plain = await bench.againstConstantList(CLIENTS, () => rate(''))
  bench.row(`20 of ${IN_ONE} merge requests, constant list`, ...plain, 0.12, { unit: '/s', atLeast: true })
  const single = await bench.againstConstantList(CLIENTS, () => bench.throughput(`${list}/1`, CLIENTS))
  bench.row('one merge request, constant list', ...single, 0.15, { unit: '/s', atLeast: true })
  const asked = `{ project(fullPath: "${project.path_with_namespace}") { mergeRequests(first: 20) { count nodes { id iid title description state webUrl createdAt
    author { username name avatarUrl } labels { nodes { title color } } project { fullPath } milestone { title } } } } }`
  const graphql = `${bench.api.replace(/v4$/, 'graphql')}?${new URLSearchParams({ query: asked })}`
  const { data } = await call(graphql)
  if (data.project.mergeRequests.count !== IN_ONE) throw new Error('the query by GraphQL does not find them')
  bench.row('20 of them by GraphQL against all', await bench.throughput(graphql, CLIENTS), plain[0], 0.2, { unit: '/s', atLeast: true })
  const filters = {
    'one label': ['labels=label 1', 0.5],
    'a label that few have': ['labels=label 2999', 0.5],
    'two labels': ['labels=label 1,label 4', 0.3],
    milestone: ['milestone=v1', 0.5],
    assignee: ['assignee_id=1', 0.5],
    author: ['author_id=1', 0.5],
    'open ones': ['state=opened', 0.5],
    'merged ones': ['state=merged', 0.5],
    'source branch': ['source_branch=branch-1', 0.5],
    search: ['search=quux', 0.5],
    'search without a hit': ['search=nothing like it', 0.5],
    'last change': ['order_by=updated_at', 0.5],
    'last page': [`page=${IN_ONE / 20}`, 0.5],
  }
  for (const [what, [query, bar]] of Object.entries(filters)) {
    const encoded = query.replaceAll(' ', '%20')
    const found = await call(`${list}?${encoded}`)
    if (found.length === 0 && what !== 'search without a hit') throw new Error(`${what} found nothing`)
    bench.row(`merge requests by ${what} against all`, await rate(encoded), plain[0], bar, { unit: '/s', atLeast: true })
  }
}

async function seed(bench, { id, namespace }) {
  const user = 1
  await bench.sql(
    `insert into projects (namespace_id, creator_id, name, path, visibility, storage, default_branch)
    select $1, $2, 'asked ' || i, 'asked-' || i, 20, 'default', 'main' from generate_series(1, $3::integer) i`,
    [namespace.id, user, PROJECTS - 1],
  )
  await bench.sql(
    `insert into labels (project_id, title, color, created_at, updated_at)
    select $1, 'label ' || i, '#428BCA', now(), now() from generate_series(0, $2::integer - 1) i`,
    [id, LABELS],
  )
  await bench.sql(
    `insert into milestones (project_id, iid, title, created_at, updated_at) select $1, i, 'v' || i, now(), now() from generate_series(1, 20) i`,
    [id],
  )
  // the main project has this many; the others share the rest
  await bench.sql(
    `with places as (select id, row_number() over (order by id) as n from projects where path like 'asked-%'),
    made as (select i, case when i <= $2::integer then $1::bigint else (select id from places where n = 1 + i % $3::integer) end as project_id
      from generate_series(1, $5::integer) i)
    insert into merge_requests (project_id, source_project_id, original_source_project_id, iid, source_branch, target_branch, title, description, state,
      merge_status, links_due, author_id, assignee_ids, milestone_id, created_at, updated_at)
    select project_id, project_id, project_id, i, 'branch-' || i, 'main',
      'Change ' || i || case when i % 50 = 0 then ' quux' else '' end, repeat('What is to be done about it. ', 10),
      case i % 3 when 0 then 'closed' when 1 then 'opened' else 'merged' end, 'cannot_be_merged', false, $4::bigint, case when i % 4 = 0 then array[$4::bigint] else '{}' end,
      case when i <= $2::integer and i % 2 = 0 then (select m.id from milestones m where m.project_id = $1::bigint and m.iid = 1 + i % 20) end,
      now() - i * interval '1 minute', now() - (i * 7919 % 100000) * interval '1 minute'
    from made`,
    [id, IN_ONE, PROJECTS - 1, user, REQUESTS],
  )
  await bench.sql(
    `insert into merge_request_labels (project_id, merge_request_id, label_id)
    select distinct r.project_id, r.id, l.id from merge_requests r
    cross join lateral (values (r.iid % 3), (3 + r.iid % 7), (case when r.iid % 600 = 0 then 2999 else r.iid % $2::integer end)) as used (n)
    join labels l on l.project_id = $1 and l.title = 'label ' || used.n where r.project_id = $1`,
    [id, LABELS],
  )
  await bench.sql(`insert into iid_counters (project_id, kind, last) values ($1, 'merge_request', $2)`, [id, IN_ONE])
  await bench.sql('vacuum analyze')
}
