import autocannon from 'autocannon'
import { call, TOKEN } from '../harness.mjs'

const READERS = 8

/** The 99th percentile in ms of clients that read a repository for some seconds while one commits to it. */
async function slowest(bench, project, seconds) {
  let reading = true
  let commits = 0
  const writer = (async () => {
    while (reading) {
      const actions = [{ action: 'create', file_path: `upkeep/${Date.now()}-${commits++}.txt`, content: 'x' }]
      await call(`${bench.api}/projects/${project.id}/repository/commits`, {
        method: 'POST',
        body: { branch: 'upkeep', commit_message: 'One more', actions },
      })
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  })()
  const { latency, non2xx, errors } = await autocannon({
    url: bench.url,
    connections: READERS,
    duration: seconds,
    headers: { 'private-token': TOKEN },
    requests: ['repository/commits?per_page=20', 'repository/tree?per_page=50', 'repository/branches'].map((path) => ({
      method: 'GET',
      path: `/api/v4/projects/${project.id}/${path}`,
    })),
  })
  reading = false
  await writer
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} reads failed`)
  return latency.p99
}

/** Maintenance of the repository of 50,000 commits during reads, and lists of variables. */
export async function upkeep(bench) {
  const { id } = (await bench.large()).project
  const project = await call(`${bench.api}/projects/${id}`)
  const settings = (body) => call(`${bench.api}/application/settings`, { method: 'PUT', body })
  const seconds = bench.quick ? 8 : 25
  await call(`${bench.api}/projects/${project.id}/repository/branches?branch=upkeep&ref=${project.default_branch}`, { method: 'POST' })
  await settings({ housekeeping_enabled: false })
  await slowest(bench, project, 5) // warm-up: the history is read once after the initial push
  const before = await slowest(bench, project, seconds)
  // every push repacks, every third one collects garbage
  await settings({
    housekeeping_enabled: true,
    housekeeping_incremental_repack_period: 1,
    housekeeping_full_repack_period: 1,
    housekeeping_gc_period: 3,
  })
  const during = await slowest(bench, project, seconds)
  await settings({ housekeeping_incremental_repack_period: 10, housekeeping_full_repack_period: 50, housekeeping_gc_period: 200 })
  bench.row('8 readers and a writer beside full maintenance of 50,000 commits, p99', during, before, 2)

  const keeper = await bench.project('variables')
  for (let i = 0; i < 50; i++)
    await call(`${bench.api}/projects/${keeper.id}/variables`, { method: 'POST', body: { key: `KEY_${i}`, value: `value of ${i}` } })
  const list = () => bench.throughput(`${bench.api}/projects/${keeper.id}/variables?per_page=50`, 16)
  bench.row('50 variables, against the constant list', ...(await bench.againstConstantList(16, list)), 0.2, { unit: '/s', atLeast: true })
}
