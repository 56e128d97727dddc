import { setTimeout as sleep } from 'node:timers/promises'
import { call, median, postgresOf, pss, ticks, timed } from '../harness.mjs'

const RUNNERS = 500
/** Milliseconds between two questions of a runner, as GitLab Runner has it. */
const INTERVAL = 3_000
const JOBS = 1_000
const WAITING = 10_000
const TRACES = 50
/** Bytes a second of all logs together. */
const RATE = 1_000_000

const info = { name: 'bench', version: '15.3.0', features: {} }

/** Runners, pipelines and logs. */
export async function ci(bench) {
  const post = (path, body) => call(`${bench.api}${path}`, { method: 'POST', body })
  const withConfiguration = async (name, yaml) => {
    const project = await bench.project(name)
    const commit = (file_path, content) =>
      post(`/projects/${project.id}/repository/commits`, { branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path, content }] })
    if (yaml) await commit('.gitlab-ci.yml', yaml)
    return { project, commit, path: `/projects/${project.id}` }
  }
  const tokens = []
  for (let n = 0; n < RUNNERS; n++) tokens.push((await post('/user/runners', { runner_type: 'instance_type', run_untagged: true })).token)
  const ask = async (token) => {
    const response = await fetch(`${bench.api}/jobs/request`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, info }),
    })
    const text = await response.text()
    return response.status === 201 ? JSON.parse(text) : null
  }

  const processes = () => [bench.child.pid, ...postgresOf(bench.dataDir)]
  const memory = () => processes().reduce((sum, pid) => sum + pss(pid), 0)
  const share = async (seconds) => {
    const before = ticks(processes())
    await sleep(seconds * 1_000)
    return (ticks(processes()) - before) / seconds
  }
  const polling = async (what) => {
    await bench.quiet()
    const [idle, before] = [await share(6), memory()]
    let on = true
    const runners = tokens.map(async (token, n) => {
      await sleep((n / RUNNERS) * INTERVAL)
      while (on) {
        if (await ask(token)) throw new Error('a runner was given a job')
        await sleep(INTERVAL)
      }
    })
    await sleep(INTERVAL * 2)
    const busy = await share(15)
    const grown = memory() - before
    on = false
    await Promise.all(runners)
    bench.figure(`${RUNNERS} runners ask every 3 s, ${what}: of one core`, busy - idle, 25, '%')
    bench.figure(`the same: memory more`, Math.max(0, grown), 60, 'MB')
  }
  await polling('nothing waits')

  // from the answer to a commit until a runner that asks all the time has its job
  const { commit, path } = await withConfiguration('begins', 'job: { script: x }')
  const next = async () => {
    for (;;) {
      const job = await ask(tokens[0])
      if (job) return job
      await sleep(20)
    }
  }
  const end = ({ id, token }) => call(`${bench.api}/jobs/${id}`, { method: 'PUT', body: { token, state: 'success' } })
  await end(await next())
  const waits = []
  for (let n = 0; n < bench.rounds; n++) {
    await commit(`f${n}`, '')
    const start = performance.now()
    const job = await next()
    waits.push(performance.now() - start)
    await end(job)
  }
  bench.figure('from a commit to its job in the hand of a runner, median', median(waits), 1_000, 'ms')

  const url = `${bench.api}${path}/jobs?per_page=20`
  const rates = await bench.againstConstant(await call(url), 16, () => bench.throughput(url, 16))
  bench.row('16 clients list jobs, constant list', ...rates, 0.1, { unit: '/s', atLeast: true })

  const many = Array.from({ length: JOBS }, (_, n) => `job ${n}: { script: [make ${n}], stage: ${n % 2 ? 'test' : 'build'}, tags: [none] }`).join(
    '\n',
  )
  const large = await withConfiguration('large pipelines', many)
  const made = []
  for (let n = 0; n < 5; n++) made.push(await timed(() => post(`${large.path}/pipeline`, { ref: 'main' })))
  bench.figure(`a pipeline of ${JOBS} jobs, median`, median(made), 1_000, 'ms')
  while (Number((await bench.sql('select count(*) from pending_builds'))[0].count) < WAITING) await post(`${large.path}/pipeline`, { ref: 'main' })
  await polling(`${WAITING} jobs wait for others`)
  await bench.sql('delete from pending_builds')

  // logs
  const logs = await withConfiguration('logs', `job: { script: x, parallel: ${TRACES} }`)
  const jobs = []
  while (jobs.length < TRACES) {
    const job = await ask(tokens[jobs.length])
    if (job) jobs.push(job)
    else await sleep(50)
  }
  const get = () => timed(() => call(`${bench.api}${logs.path}`))
  const sample = async () => {
    const times = []
    for (const until = Date.now() + 6_000; Date.now() < until; await sleep(10)) times.push(await get())
    return median(times)
  }
  await sample()
  const alone = await sample()
  const piece = Buffer.from(`${'x'.repeat(99)}\n`.repeat(RATE / TRACES / 100))
  let writing = true
  const written = jobs.map(async ({ id, token }, n) => {
    await sleep(n * (1_000 / TRACES))
    for (let at = 0; writing; at += piece.length) {
      const start = Date.now()
      const headers = { 'job-token': token, 'content-type': 'text/plain', 'content-range': `${at}-${at + piece.length - 1}` }
      const { status } = await fetch(`${bench.api}/jobs/${id}/trace`, { method: 'PATCH', headers, body: piece })
      if (status !== 202) throw new Error(`a piece of a log: ${status}`)
      await sleep(Math.max(0, 1_000 - (Date.now() - start)))
    }
  })
  await sleep(1_000)
  const beside = await sample()
  writing = false
  await Promise.all(written)
  bench.row(`another's GET of a project beside ${TRACES} logs of 1 MB/s together, alone`, beside, alone, 2)
}
