import { call } from '../harness.mjs'

const PROJECTS = 100
const ISSUES = 100_000
const IN_ONE = 5_000
const LABELS = 3_000
const CLIENTS = 32
const TOKEN = 'bench-token-0123456789'

/**
 * Lists of the issues of a project with thousands of them among many others, and many clients that open issues
 * concurrently.
 */
export async function issues(bench) {
  const project = await bench.project('issues')
  await seed(bench, project)
  const list = `${bench.api}/projects/${project.id}/issues`
  const rate = (query) => bench.throughput(`${list}?${query}`, CLIENTS)
  const plain = await bench.againstConstantList(CLIENTS, () => rate(''))
  bench.row(`20 of ${IN_ONE} issues, constant list`, ...plain, 0.12, { unit: '/s', atLeast: true })
  const filters = {
    'one label': 'labels=label 1',
    'a label that few have': 'labels=label 2999',
    'two labels': 'labels=label 1,label 4',
    milestone: 'milestone=v1',
    assignee: 'assignee_id=1',
    author: 'author_id=1',
    'open ones': 'state=opened',
    'closed ones': 'state=closed',
    search: 'search=quux',
    'search without a hit': 'search=nothing like it',
    'last change': 'order_by=updated_at',
    'last page': `page=${IN_ONE / 20}`,
  }
  for (const [what, query] of Object.entries(filters)) {
    const encoded = query.replaceAll(' ', '%20')
    const found = await call(`${list}?${encoded}`)
    if (found.length === 0 && what !== 'search without a hit') throw new Error(`${what} found nothing`)
    bench.row(`issues by ${what} against all`, await rate(encoded), plain[0], what === 'two labels' ? 0.3 : 0.5, { unit: '/s', atLeast: true })
  }
  const labels = await bench.throughput(`${bench.api}/projects/${project.id}/labels`, CLIENTS)
  bench.row(`20 of ${LABELS} labels against the issues`, labels, plain[0], 0.2, { unit: '/s', atLeast: true })

  const talk = await bench.project('talked about')
  const { iid } = await call(`${bench.api}/projects/${talk.id}/issues`, { method: 'POST', body: { title: 'An issue' } })
  const notes = `${bench.api}/projects/${talk.id}/issues/${iid}/notes`
  await call(notes, { method: 'POST', body: { body: 'A note' } })
  const said = await bench.againstConstantList(CLIENTS, () =>
    bench.throughput(notes, CLIENTS, {
      method: 'POST',
      headers: { 'private-token': TOKEN, 'content-type': 'application/json' },
      body: JSON.stringify({ body: 'A note' }),
    }),
  )
  bench.row('creating a note on one issue, constant list', ...said, 0.12, { unit: '/s', atLeast: true })
  const read = await bench.againstConstantList(CLIENTS, () => bench.throughput(`${notes}?per_page=20`, CLIENTS))
  bench.row('20 of its notes, constant list', ...read, 0.12, { unit: '/s', atLeast: true })

  const fresh = await bench.project('opened at once')
  const begun = performance.now()
  let left = 1_000
  const iids = []
  const client = async () => {
    while (left-- > 0)
      iids.push((await call(`${bench.api}/projects/${fresh.id}/issues`, { method: 'POST', body: { title: 'An issue', labels: 'a,b' } })).iid)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  bench.figure(`1,000 issues opened by ${CLIENTS} clients`, performance.now() - begun, 30_000, 'ms')
  iids.sort((a, b) => a - b)
  if (iids.some((iid, i) => iid !== i + 1)) throw new Error('the numbers of new issues have gaps')
}

async function seed(bench, { id, namespace }) {
  const user = 1
  await bench.sql(
    `insert into projects (namespace_id, creator_id, name, path, visibility, storage, default_branch)
    select $1, $2, 'other ' || i, 'other-' || i, 20, 'default', 'main' from generate_series(1, $3::integer) i`,
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
    `with places as (select id, row_number() over (order by id) as n from projects where id <> $1 and path like 'other-%')
    insert into issues (project_id, iid, title, description, state, author_id, assignee_ids, milestone_id, created_at, updated_at)
    select case when i <= $2 then $1 else (select id from places where n = 1 + i % $3) end, i,
      'Issue ' || i || case when i % 50 = 0 then ' quux' else '' end, repeat('What is to be done about it. ', 10),
      case when i % 3 = 0 then 'closed' else 'opened' end, $4, case when i % 4 = 0 then array[$4]::bigint[] else '{}' end,
      case when i <= $2 and i % 2 = 0 then (select m.id from milestones m where m.project_id = $1 and m.iid = 1 + i % 20) end,
      now() - i * interval '1 minute', now() - (i * 7919 % 100000) * interval '1 minute'
    from generate_series(1, $5::integer) i`
      .replaceAll('$1', '$1::bigint')
      .replaceAll('$4', '$4::bigint')
      .replaceAll('$2', '$2::integer')
      .replaceAll('$3', '$3::integer'),
    [id, IN_ONE, PROJECTS - 1, user, ISSUES],
  )
  await bench.sql(
    `insert into issue_labels (project_id, issue_id, label_id)
    select distinct i.project_id, i.id, l.id from issues i cross join lateral (values (i.iid % 3), (3 + i.iid % 7), (i.iid % $2::integer)) as used (n)
    join labels l on l.project_id = $1 and l.title = 'label ' || used.n where i.project_id = $1`,
    [id, LABELS],
  )
  await bench.sql(`insert into iid_counters (project_id, kind, last) values ($1, 'issue', $2)`, [id, IN_ONE])
  await bench.sql('vacuum analyze')
}
