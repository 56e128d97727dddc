import { fork, spawnSync } from 'node:child_process'
import { availableParallelism, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { call, TOKEN } from '../harness.mjs'

const CLIENTS = 24
const SECONDS = 8
/** The body of a commit in the flood. */
const BYTES = 4 * 1024 * 1024

const at = (times, part) => [...times].sort((a, b) => a - b)[Math.floor((times.length - 1) * part)]

/** The latency of another user's short call while one user's clients request archives, large commits and path logs. */
export async function flood(bench) {
  const { project, base } = await bench.large()
  const user = await call(`${bench.api}/users`, {
    method: 'POST',
    body: { username: 'flooded', name: 'Flooded', email: 'flooded@example.com', password: 'long enough 0815', skip_confirmation: true },
  })
  const { token } = await call(`${bench.api}/users/${user.id}/impersonation_tokens`, { method: 'POST', body: { name: 'x', scopes: ['api'] } })
  const get = async () => {
    const start = performance.now()
    const response = await fetch(`${bench.api}/user`, { headers: { 'private-token': token } })
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`GET /user: ${response.status}`)
    return performance.now() - start
  }
  const measure = async () => {
    const times = []
    for (const end = Date.now() + SECONDS * 1000; Date.now() < end; ) times.push(await get())
    return times
  }
  await measure()
  const idle = await measure()
  // in a separate low-priority process on the last core, so that the clients' own cost is not measured
  const where = { base, commits: `${bench.api}/projects/${project.id}/repository/commits` }
  const clients = fork(fileURLToPath(import.meta.url), [JSON.stringify(where)])
  setPriority(clients.pid, 19)
  spawnSync('taskset', ['-a', '-p', '-c', String(availableParallelism() - 1), String(clients.pid)])
  const flooded = await measure()
  if (!clients.kill('SIGKILL')) throw new Error('the clients that flood have ended before the measurement')
  bench.row(`another's GET /user while one user's ${CLIENTS} clients flood, median`, at(flooded, 0.5), at(idle, 0.5), 3)
  bench.row(`the same, 99 of 100`, at(flooded, 0.99), at(idle, 0.99), 10)
}

async function clientsOf({ base, commits }) {
  const headers = { 'private-token': TOKEN, 'content-type': 'application/json' }
  const content = 'x'.repeat(BYTES)
  let n = 0
  const kinds = [
    () => fetch(`${base}/archive.tar.gz`, { headers }),
    () => {
      const actions = [{ action: 'create', file_path: `flood ${++n}`, content }]
      const body = JSON.stringify({ branch: `flood-${n}`, start_branch: 'main', commit_message: 'Flood', actions })
      return fetch(commits, { method: 'POST', headers, body })
    },
    () => fetch(`${base}/commits?path=src&ref_name=main`, { headers }),
  ]
  const run = async (kind) => {
    for (;;) await (await kind()).arrayBuffer()
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, i) => run(kinds[i % kinds.length])))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await clientsOf(JSON.parse(process.argv[2]))
