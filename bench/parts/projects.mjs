import { call, median, timed } from '../harness.mjs'

const CLIENTS = 32
const CREATORS = 16
const EACH = 8
const MANY = 100_000

/**
 * A list of projects, against a bare Fastify that sends the same: with five times as many clients as saturate the
 * service (SEC-149), during many creations, and on an instance with very many projects.
 */
export async function projects(bench) {
  const list = (clients) => bench.throughput(`${bench.api}/projects?per_page=20`, clients)
  const rates = await bench.againstConstantList(CLIENTS, () => list(CLIENTS))
  bench.row('list of 20 projects, constant list', ...rates, 0.25, { unit: '/s', atLeast: true })
  const [many, few] = [[], []]
  for (let i = 0; i < 3; i++) {
    few.push(await list(CLIENTS))
    many.push(await list(5 * CLIENTS))
  }
  bench.row(`the same for ${5 * CLIENTS} clients, for ${CLIENTS}`, median(many), median(few), 0.9, { unit: '/s', atLeast: true })
  await creations(bench)
  await inserts(bench)
  await longList(bench)
}

/** Concurrent creation of projects, each client in its own group, against the same without list versions. */
async function creations(bench) {
  const groups = []
  for (let i = 0; i < CREATORS; i++)
    groups.push(await call(`${bench.api}/groups`, { method: 'POST', body: { name: `Creator ${i}`, path: `creator${i}` } }))
  let n = 0
  const create = async ({ id }) => {
    for (let i = 0; i < EACH; i++) await call(`${bench.api}/projects`, { method: 'POST', body: { name: `Created ${n++}`, namespace_id: id } })
  }
  const rate = async () => (CREATORS * EACH * 1_000) / (await timed(() => Promise.all(groups.map(create))))
  const tables = ['projects', 'members', 'namespaces']
  const triggers = async (state) => {
    for (const table of tables) await bench.sql(`alter table ${table} ${state} trigger user`)
  }
  const [counted, free] = [[], []]
  await rate()
  for (let i = 0; i < 5; i++) {
    await triggers('disable')
    free.push(await rate())
    await triggers('enable')
    counted.push(await rate())
  }
  bench.row(`projects created by ${CREATORS} clients, without versions of lists`, median(counted), median(free), 0.8, { unit: '/s', atLeast: true })
}

/** Transactions of 10 ms that insert a project, on many connections, against the rate of one times their number. */
async function inserts(bench) {
  const [{ id }] = await bench.sql(`select id from namespaces where path = 'creator0'`)
  const connections = await Promise.all(Array.from({ length: CREATORS }, () => bench.connection()))
  let n = 0
  const insert = async (connection) => {
    for (let i = 0; i < 50; i++) {
      await connection.query('begin')
      await connection.query(
        `insert into projects (namespace_id, name, path, visibility, storage, default_branch) values ($1, $2, $2, 0, 'default', 'main')`,
        [id, `inserted-${n++}`],
      )
      await connection.query('select pg_sleep(0.01)')
      await connection.query('commit')
    }
  }
  const rate = async (some) => (some.length * 50 * 1_000) / (await timed(() => Promise.all(some.map(insert))))
  const [all, one] = [[], []]
  for (let i = 0; i < 5; i++) {
    one.push(await rate(connections.slice(0, 1)))
    all.push(await rate(connections))
  }
  await Promise.all(connections.map((connection) => connection.end()))
  bench.row(`inserts of projects by ${CREATORS} connections, ${CREATORS} times one`, median(all), CREATORS * median(one), 0.8, {
    unit: '/s',
    atLeast: true,
  })
}

/** The first and last page of a list that is longer than its cached window. */
async function longList(bench) {
  const [{ id }] = await bench.sql(`select id from namespaces where path = 'creator0'`)
  await bench.sql(
    `insert into projects (namespace_id, creator_id, name, path, visibility, storage, default_branch, created_at)
    select $1::bigint, 1, 'many ' || i, 'many-' || i, 20, 'default', 'main', now() - i * interval '1 minute' from generate_series(1, $2::integer) i`,
    [id, MANY],
  )
  await bench.sql('vacuum analyze')
  const list = `${bench.api}/projects?per_page=20`
  const answer = await fetch(list)
  const total = Number(answer.headers.get('x-total'))
  if (total !== MANY) throw new Error(`${total} projects are listed instead of ${MANY}`)
  const [first, last] = [[], []]
  for (let i = 0; i < bench.rounds; i++) {
    first.push(await timed(() => fetch(list).then((page) => page.text())))
    last.push(await timed(() => fetch(`${list}&page=${MANY / 20}`).then((page) => page.text())))
  }
  bench.row(`page ${MANY / 20} of ${MANY} projects, page 1`, median(last), median(first), 2)
}
