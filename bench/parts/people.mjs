import { call } from '../harness.mjs'

const USERS = 10_000

/** The current user and lists of many users, against a bare Fastify that sends the same. */
export async function people(bench) {
  await seed(bench)
  const { api } = bench
  const rate = (path) => bench.throughput(`${api}${path}`, 32)
  const own = await bench.againstConstantList(32, () => rate('/user'))
  bench.row('GET /user, constant list', ...own, 0.3, { unit: '/s', atLeast: true })

  const plain = await bench.againstConstantList(32, () => rate('/users'))
  bench.row('20 of 10,000 users, constant list', ...plain, 0.2, { unit: '/s', atLeast: true })
  const found = await call(`${api}/users?search=qux`)
  if (found.length !== 20) throw new Error(`the search found ${found.length} users`)
  const searched = await bench.againstConstantList(32, () => rate('/users?search=qux'))
  bench.row('the same with a search of three letters', ...searched, 0.2, { unit: '/s', atLeast: true })
  bench.row('search against the whole list', searched[0], plain[0], 0.5, { unit: '/s', atLeast: true })
  const last = await rate('/users?page=500')
  bench.row('page 500 against page 1', last, plain[0], 0.5, { unit: '/s', atLeast: true })

  const plan = await bench.sql(`explain (costs off) select id from users where name ilike '%qux%' or username ilike '%qux%' or lower(email) = 'qux'`)
  process.stdout.write(`${plan.map((row) => Object.values(row)[0]).join('\n')}\n`)
}

/** Users with their namespaces, one in a hundred called qux. */
async function seed(bench) {
  await bench.sql(
    `with made as (
      insert into users (username, name, email, projects_limit, confirmed_at)
      select 'person' || i, case when i % 100 = 0 then 'Qux Person ' else 'Person ' end || i, 'person' || i || '@example.com', 100, now() from generate_series(1, $1::integer) i
      returning id, username)
    insert into namespaces (kind, name, path, full_path, full_name, owner_id, visibility) select 'user', username, username, username, username, id, 20 from made`,
    [USERS],
  )
  await bench.sql(`insert into routes (key, namespace_id) select lower(full_path), id from namespaces on conflict do nothing`)
  await bench.sql('vacuum analyze')
}
