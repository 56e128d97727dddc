import { createHash } from 'node:crypto'
import { call } from './harness.mjs'

/** The first id of generated rows; measured rows have smaller ids and do not change. */
const BASE = 1_000_000
const GROUPS = 10 * BASE
const FIXED = 500_000
const IN_BIG = 10_000

export const MEMBER = 'bench-member-0123456789'

const FILLED = [
  'users namespaces namespace_ancestry routes projects members labels milestones issues issue_labels',
  'merge_requests merge_request_labels notes events todos iid_counters',
]
  .join(' ')
  .split(' ')

const moment = (i, step = 7919) => `now() - (${i} * ${step}::bigint % 1000003) * interval '1 minute'`
const text = (what) => `'${what} of something that people work on, number '`

/** Rows per project: two users, a fifth of a group, ten issues, five merge requests, a hundred notes. */
const rows = (from, to) => {
  const people = 2 * to
  const series = (each, name = 'i') => `generate_series(${each * from} + 1, ${each * to}) ${name}`
  const person = (i, step = 7919) => `${BASE} + 1 + (${i} * ${step}::bigint % ${people})`
  const projectOf = (j, each) => `${BASE} + 1 + (${j} - 1) / ${each}`
  return [
    `insert into users (id, username, name, email, projects_limit, confirmed_at, created_at) overriding system value
      select ${BASE} + i, 'person' || i, (array['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara'])[1 + i % 5] || ' Person' || i, 'person' || i || '@example.com', 100, now(), ${moment('i')}
      from ${series(2)}`,
    `insert into namespaces (id, kind, name, path, full_path, full_name, owner_id, visibility) overriding system value
      select ${BASE} + i, 'user', 'person' || i, 'person' || i, 'person' || i, 'person' || i, ${BASE} + i, 20 from ${series(2)}`,
    `insert into namespaces (id, kind, name, path, full_path, full_name, visibility) overriding system value
      select ${GROUPS} + i, 'group', 'Team ' || i, 'team' || i, 'team' || i, 'Team ' || i, (array[20, 20, 10, 0])[1 + i % 4] from ${series(0.2)}`,
    `insert into namespace_ancestry (ancestor_id, descendant_id) select ${BASE} + i, ${BASE} + i from ${series(2)}
      union all select ${GROUPS} + i, ${GROUPS} + i from ${series(0.2)}`,
    `insert into projects (id, namespace_id, creator_id, name, path, description, visibility, storage, default_branch, open_issues_count, last_activity_at, created_at)
      overriding system value
      select ${BASE} + i, n.id, ${BASE} + i, 'Project ' || i, 'project' || i, ${text('Part')} || i,
        case when n.kind = 'group' then least(n.visibility, v.level) else v.level end, 'default', 'main', 7, ${moment('i', 104_729)}, ${moment('i')}
      from ${series(1)} cross join lateral (select (array[20, 10, 0, 0, 0, 0, 0])[1 + i % 7] as level) v
      join namespaces n on n.id = case when i % 5 < 3 then ${GROUPS} + 1 + (i - 1) / 5 else ${BASE} + i end`,
    // there are no repositories to check
    `insert into repository_checks (project_id, checked_at, fault) select ${BASE} + i, now(), '' from ${series(1)}`,
    `insert into routes (key, namespace_id) select 'person' || i, ${BASE} + i from ${series(2)} union all select 'team' || i, ${GROUPS} + i from ${series(0.2)}`,
    `insert into routes (key, project_id) select n.full_path || '/project' || i, ${BASE} + i
      from ${series(1)} join namespaces n on n.id = case when i % 5 < 3 then ${GROUPS} + 1 + (i - 1) / 5 else ${BASE} + i end`,
    `insert into members (user_id, project_id, access_level) select ${BASE} + i + k * ${to}, ${BASE} + i, 40 - 10 * k from ${series(1)} cross join generate_series(0, 1) k`,
    `insert into members (user_id, namespace_id, access_level) select ${BASE} + i * 5 + k, ${GROUPS} + i, 30 + 20 * (k % 2) from ${series(0.2)} cross join generate_series(0, 4) k`,
    `insert into labels (id, project_id, title, color, created_at, updated_at) overriding system value
      select ${BASE} + i, ${projectOf('i', 2)}, (array['bug', 'feature'])[1 + i % 2], '#428BCA', now(), now() from ${series(2)}`,
    `insert into milestones (id, project_id, iid, title, created_at, updated_at) overriding system value
      select ${BASE} + i, ${BASE} + i, 1, 'v1', ${moment('i')}, ${moment('i', 104_729)} from ${series(1)}`,
    `insert into issues (id, project_id, iid, title, description, state, author_id, assignee_ids, milestone_id, confidential, closed_at, user_notes_count, created_at, updated_at)
      overriding system value
      select ${BASE} + i, ${projectOf('i', 10)}, 1 + (i - 1) % 10, 'Issue ' || i, ${text('Trouble')} || i, case when i % 3 = 0 then 'closed' else 'opened' end,
        ${person('i')}, case when i % 4 = 0 then array[${person('i', 104_729)}]::bigint[] else '{}' end, case when i % 2 = 0 then ${projectOf('i', 10)} end, i % 50 = 0,
        case when i % 3 = 0 then now() end, 10, ${moment('i')}, ${moment('i', 104_729)} from ${series(10)}`,
    `insert into issue_labels (project_id, issue_id, label_id)
      select ${projectOf('i', 10)}, ${BASE} + i, ${BASE} + 1 + 2 * ((i - 1) / 10) + i % 2 from ${series(10)}`,
    `insert into merge_requests (id, project_id, source_project_id, original_source_project_id, iid, source_branch, target_branch, title, description, state,
        author_id, assignee_ids, milestone_id, merge_status, links_due, closed_at, created_at, updated_at) overriding system value
      select ${BASE} + i, p.id, p.id, p.id, 1 + (i - 1) % 5, 'topic' || i, 'main', 'Request ' || i, ${text('Change')} || i, case when i % 3 = 0 then 'closed' else 'opened' end,
        ${person('i')}, case when i % 4 = 0 then array[${person('i', 104_729)}]::bigint[] else '{}' end, case when i % 2 = 0 then p.id end, 'can_be_merged', false,
        case when i % 3 = 0 then now() end, ${moment('i')}, ${moment('i', 104_729)} from ${series(5)} cross join lateral (select ${projectOf('i', 5)} as id) p`,
    `insert into merge_request_labels (project_id, merge_request_id, label_id)
      select ${projectOf('i', 5)}, ${BASE} + i, ${BASE} + 1 + 2 * ((i - 1) / 5) + i % 2 from ${series(5)}`,
    `insert into notes (project_id, noteable_type, noteable_id, author_id, note, discussion_id, created_at, updated_at)
      select ${projectOf('i', 100)}, 'Issue', ${BASE} + 1 + (i - 1) / 10, ${person('i')}, 'Seen, as ' || i, md5(i::text) || '00000000', ${moment('i')}, ${moment('i')}
      from ${series(100)}`,
    `insert into events (project_id, author_id, action, target_type, target_id, about_type, about_id, created_at)
      select ${projectOf('i', 10)}, ${person('i')}, 'created', 'Issue', ${BASE} + i, 'Issue', ${BASE} + i, ${moment('i')} from ${series(10)}`,
    `insert into todos (user_id, author_id, project_id, target_type, target_id, action, state, created_at, updated_at)
      select ${person('i', 104_729)}, ${person('i')}, ${projectOf('i', 10)}, 'Issue', ${BASE} + i, 'assigned', case when i % 8 = 0 then 'done' else 'pending' end, ${moment('i')}, ${moment('i')}
      from ${series(10)} where i % 4 = 0`,
    `insert into iid_counters (project_id, kind, last) select ${BASE} + i, kind, last
      from ${series(1)} cross join (values ('issue', 10), ('merge_request', 5), ('milestone', 1)) c (kind, last)`,
  ]
}

/** Inserts the rows of a range of projects without triggers, and recreates indexes and foreign keys afterwards. */
export async function grow(bench, from, to) {
  const client = await bench.connection()
  const run = async (sql, values) => (await client.query(sql, values)).rows
  try {
    await run(`set synchronous_commit = off`)
    await run(`set maintenance_work_mem = '512MB'`)
    const indexes = await run(
      `select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename = any($1) and indexname not in (select conname from pg_constraint)`,
      [FILLED],
    )
    const references = await run(
      `select conname, conrelid::regclass::text as of, pg_get_constraintdef(oid) as definition from pg_constraint
      where contype = 'f' and conrelid::regclass::text = any($1)`,
      [FILLED],
    )
    for (const { conname, of } of references) await run(`alter table ${of} drop constraint ${conname}`)
    for (const { indexname } of indexes) await run(`drop index ${indexname}`)
    for (const table of FILLED) await run(`alter table ${table} disable trigger user`)
    for (const statement of rows(from, to)) await run(statement)
    for (const { indexdef } of indexes) await run(indexdef)
    for (const { conname, of, definition } of references) await run(`alter table ${of} add constraint ${conname} ${definition}`)
    for (const table of FILLED) await run(`alter table ${table} enable trigger user`)
    await run(`update list_versions set version = version + 1`)
    await run('vacuum analyze')
  } finally {
    await client.end()
  }
}

/**
 * The measured data: a small project with a repository, one with 10,000 issues, and a member of both and of a group.
 */
export async function fixed(bench) {
  const post = (path, body) => call(`${bench.api}${path}`, { method: 'POST', body })
  const member = await post('/users', {
    name: 'Zora Member',
    username: 'zora',
    email: 'zora@example.com',
    password: 'sufficiently long',
    skip_confirmation: true,
  })
  const group = await post('/groups', { name: 'Home', path: 'home', visibility: 'public' })
  const big = await post('/projects', { name: 'Big', path: 'big', namespace_id: group.id, visibility: 'private' })
  const small = await post('/projects', {
    name: 'Small zebra',
    path: 'small',
    namespace_id: group.id,
    visibility: 'public',
    initialize_with_readme: true,
  })
  await post(`/groups/${group.id}/members`, { user_id: member.id, access_level: 40 })
  for (let i = 0; i < 20; i++) await post(`/projects/${small.id}/issues`, { title: `Issue ${i}`, labels: 'bug', description: 'What is to be done' })
  await post(`/projects/${small.id}/issues/1/notes`, { body: 'A note' })
  const [{ id: head }] = await call(`${bench.api}/projects/${small.id}/repository/commits?per_page=1`)
  await bench.sql(`insert into tokens (user_id, kind, name, digest, scopes) values ($1, 'personal', 'bench', $2, array['api'])`, [
    member.id,
    createHash('sha256').update(MEMBER).digest('hex'),
  ])
  await bench.sql(
    `insert into projects (id, namespace_id, creator_id, name, path, visibility, storage, default_branch) overriding system value
    select ${FIXED} + i, ${group.id}, 1, 'Held ' || i, 'held' || i, 0, 'default', 'main' from generate_series(1, 50) i`,
  )
  await bench.sql(`insert into routes (key, project_id) select 'home/held' || i, ${FIXED} + i from generate_series(1, 50) i`)
  await fillBig(bench, big.id, member.id)
  return { member, group, big, small, head }
}

async function fillBig(bench, id, member) {
  const statements = [
    `insert into labels (id, project_id, title, color, created_at, updated_at) overriding system value
      select ${FIXED} + i, ${id}, 'label' || i, '#428BCA', now(), now() from generate_series(0, 29) i`,
    `insert into milestones (id, project_id, iid, title, created_at, updated_at) overriding system value
      select ${FIXED} + i, ${id}, i, 'm' || i, now(), now() from generate_series(1, 20) i`,
    `insert into issues (id, project_id, iid, title, description, state, author_id, assignee_ids, milestone_id, closed_at, user_notes_count, created_at, updated_at)
      overriding system value
      select ${FIXED} + i, ${id}, i, 'Issue ' || i || case when i % 250 = 0 then ' zebra' else '' end, ${text('Trouble')} || i,
        case when i % 3 = 0 then 'closed' else 'opened' end, case when i % 100 = 0 then ${member} else 1 end, case when i % 200 = 0 then array[${member}]::bigint[] else '{}' end,
        case when i % 10 = 0 then ${FIXED} + 1 + i / 10 % 20 end, case when i % 3 = 0 then now() end, 2, ${moment('i')}, ${moment('i', 104_729)}
      from generate_series(1, ${IN_BIG}) i`,
    `insert into issue_labels (project_id, issue_id, label_id) select ${id}, ${FIXED} + i, ${FIXED} + i % 30 from generate_series(1, ${IN_BIG}) i`,
    `insert into merge_requests (id, project_id, source_project_id, original_source_project_id, iid, source_branch, target_branch, title, state, author_id,
        assignee_ids, merge_status, links_due, closed_at, created_at, updated_at) overriding system value
      select ${FIXED} + i, ${id}, ${id}, ${id}, i, 'topic' || i, 'main', 'Request ' || i || case when i % 50 = 0 then ' zebra' else '' end,
        case when i % 3 = 0 then 'closed' else 'opened' end, 1, case when i % 50 = 0 then array[${member}]::bigint[] else '{}' end, 'can_be_merged', false,
        case when i % 3 = 0 then now() end, ${moment('i')}, ${moment('i', 104_729)} from generate_series(1, 1000) i`,
    `insert into notes (project_id, noteable_type, noteable_id, author_id, note, created_at, updated_at)
      select ${id}, 'Issue', ${FIXED} + case when i <= 200 then 1 else 1 + i % ${IN_BIG} end, ${member}, 'Seen' || case when i % 500 = 0 then ' zebra' else '' end, ${moment('i')}, ${moment('i')}
      from generate_series(1, 20000) i`,
    `insert into events (project_id, author_id, action, target_type, target_id, about_type, about_id, created_at)
      select ${id}, case when i % 100 = 0 then ${member} else 1 end, 'created', 'Issue', ${FIXED} + i, 'Issue', ${FIXED} + i, ${moment('i')} from generate_series(1, ${IN_BIG}) i`,
    `insert into todos (user_id, author_id, project_id, target_type, target_id, action, created_at, updated_at)
      select ${member}, 1, ${id}, 'Issue', ${FIXED} + 200 * i, 'assigned', now(), now() from generate_series(1, 50) i`,
    `insert into iid_counters (project_id, kind, last) values (${id}, 'issue', ${IN_BIG}), (${id}, 'merge_request', 1000), (${id}, 'milestone', 20)`,
  ]
  for (const statement of statements) await bench.sql(statement)
  // calls create rows with ids between these and the generated ones
  for (const table of ['users', 'namespaces', 'projects', 'labels', 'milestones', 'issues', 'merge_requests'])
    await bench.sql(`select setval(pg_get_serial_sequence('${table}', 'id'), ${FIXED + 100_000})`)
}
