import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { call } from '../harness.mjs'

const DELIVERIES = 500
/** Projects with upkeep that is due, and open merge requests of some of them that are to be checked. */
const PROJECTS = 60
const CHECKED_PROJECTS = 6
const REQUESTS = 40
const CLIENTS = 8

/** Does `work` for the numbers below `count`, some at a time. */
async function forEach(count, work) {
  let next = 0
  const one = async () => {
    for (let n = next++; n < count; n = next++) await work(n)
  }
  await Promise.all(Array.from({ length: CLIENTS }, one))
}

/** How long webhooks that a killed service had not sent wait for upkeep and checks of merge requests, which it had not done. */
export async function hooksAfterKill(bench) {
  /** When each came, by its title. */
  const arrived = new Map()
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      arrived.set(JSON.parse(Buffer.concat(chunks).toString()).object_attributes.title, performance.now())
      response.end('{}')
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const upkept = await prepare(bench)
    const project = await bench.project('hooks after a kill')
    const url = `http://127.0.0.1:${server.address().port}/`
    await call(`${bench.api}/projects/${project.id}/hooks`, { method: 'POST', body: { url, issues_events: true, push_events: false } })
    const delivered = async (name, beside) => {
      arrived.clear()
      const holder = await bench.connection()
      // it ends with the service's Postgres
      holder.on('error', () => undefined)
      // no job is begun before the kill
      await holder.query("select pg_advisory_lock(hashtextextended('roost jobs', 0))")
      await beside(holder)
      await forEach(DELIVERIES, (n) => call(`${bench.api}/projects/${project.id}/issues`, { method: 'POST', body: { title: `${name} ${n}` } }))
      const ended = new Promise((resolve) => bench.child.once('exit', resolve))
      bench.child.kill('SIGKILL')
      await ended
      await holder.end().catch(() => undefined)
      await bench.start()
      const begun = performance.now()
      while (arrived.size < DELIVERIES && performance.now() - begun < 600_000) await sleep(20)
      if (arrived.size < DELIVERIES) throw new Error(`${DELIVERIES - arrived.size} webhooks did not arrive`)
      const took = performance.now() - begun
      const [{ count }] = await bench.sql("select count(*) from jobs where kind in ('repository upkeep', 'merge status') and failed_at is null")
      const times = [...arrived.values()].map((time) => time - begun).sort((a, b) => a - b)
      process.stdout.write(
        `  ${name}: the first after ${times[0].toFixed(0)} ms, half after ${times[DELIVERIES / 2].toFixed(0)} ms, all after ${took.toFixed(0)} ms; ${count} jobs of upkeep and checks are left\n`,
      )
      await bench.quiet()
      return took
    }
    const alone = await delivered('alone', async () => undefined)
    const beside = await delivered('beside upkeep', (holder) => enqueue(holder, upkept))
    bench.row(`${DELIVERIES} webhooks after a kill, upkeep and merge checks waiting, against none waiting`, beside, alone, 3)
  } finally {
    server.close().closeAllConnections()
  }
}

async function prepare(bench) {
  const projects = []
  await forEach(PROJECTS, async (n) => projects.push(await bench.project(`upkeep ${n}`, { initialize_with_readme: true })))
  const post = (id, path, body) => call(`${bench.api}/projects/${id}/${path}`, { method: 'POST', body })
  const commit = (id, branch, name) =>
    post(id, 'repository/commits', {
      branch,
      start_branch: branch === 'main' ? undefined : 'main',
      commit_message: name,
      actions: [{ action: 'create', file_path: name, content: name }],
    })
  for (const { id } of projects.slice(0, CHECKED_PROJECTS))
    await forEach(REQUESTS, async (n) => {
      await commit(id, `topic${n}`, `file${n}`)
      await post(id, 'merge_requests', { title: `request ${n}`, source_branch: `topic${n}`, target_branch: 'main' })
    })
  await bench.quiet()
  return { ids: projects.map(({ id }) => id), moved: (id) => commit(id, 'main', 'moved') }
}

/** Upkeep of all projects, as after many pushes, and checks of the merge requests, whose target has moved. */
async function enqueue(holder, { ids, moved }) {
  for (const id of ids.slice(0, CHECKED_PROJECTS)) await moved(id)
  await holder.query('update projects set pushes_since_gc = 1000 where id = any($1)', [ids])
  await holder.query(
    `insert into jobs (kind, key, lane, lane_limit, priority, payload)
      select 'repository upkeep', id::text, 'repository upkeep ' || id, 1, 2, jsonb_build_object('project', id) from unnest($1::bigint[]) id`,
    [ids],
  )
}
