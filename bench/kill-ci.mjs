import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { answers, call, need, query, startAgain, strike, TOKEN, VICTIMS } from './kill.mjs'

// a later push cancels none of them
const CONFIGURATION = `
workflow: { auto_cancel: { on_new_commit: none } }
stages: [build, test]
one: { stage: build, script: x }
two: { stage: build, script: x }
after one: { stage: test, script: x, needs: [one] }
after all: { stage: test, script: x }
of a merge request: { stage: test, script: x, rules: [{ if: $CI_PIPELINE_SOURCE == "merge_request_event" }] }
`
/** How many jobs a pipeline has, by its source. */
const JOBS = { push: 4, schedule: 4, merge_request_event: 1 }
const RUNNERS = 5
/** Milliseconds after the last kill in which no job begins or ends, and some have not ended. */
const PATIENCE = 180_000

/**
 * A runner that remembers its jobs by id, with their log, and whether their end was acknowledged. Now and then it
 * drops a job, as if it had been killed: before the first line, or after some.
 */
class Runner {
  constructor(url, token, known, fault) {
    Object.assign(this, { url, token, known, fault, on: true })
    this.ended = this.work()
  }

  /** The answer; null if there was none. */
  async send(method, path, init) {
    try {
      const answer = await fetch(`${this.url()}/api/v4${path}`, { method, signal: AbortSignal.timeout(60_000), ...init })
      const text = await answer.text()
      return { status: answer.status, headers: answer.headers, body: /^\{/.test(text) ? JSON.parse(text) : null }
    } catch {
      return null
    }
  }

  json(method, path, body) {
    return this.send(method, path, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  }

  async work() {
    while (this.on) {
      const answer = await this.json('POST', '/jobs/request', { token: this.token, info: { features: {} } })
      if (answer?.status === 201) await this.run(answer.body)
      else await sleep(30)
    }
  }

  async run({ id, token }) {
    const before = this.known.get(id)
    if (before && before.dropped !== 'unheard') this.fault(`job ${id} was given twice`)
    const job = { token, log: '', acknowledged: 0, ended: false, dropped: null }
    this.known.set(id, job)
    const lines = 3 + Math.floor(Math.random() * 12)
    const dropAt = Math.random() < 0.06 ? Math.floor(Math.random() * 2) * 2 : null
    for (let line = 0; line < lines; line++) {
      if (line === dropAt) {
        job.dropped = line === 0 ? 'unheard' : 'silent'
        return
      }
      job.log += `${id}: line ${line}\n`
      if (!(await this.append(id, job))) return
      await sleep(Math.random() * 40)
    }
    for (;;) {
      const answer = await this.json('PUT', `/jobs/${id}`, { token, state: 'success' })
      if (answer?.status === 200) break
      if (answer?.status === 403) return this.fault(`job ${id} is refused at its end: ${answer.headers.get('job-status')}`)
      await sleep(50)
    }
    job.ended = true
  }

  /** Sends what is new of a log until it is acknowledged. */
  async append(id, job) {
    while (job.acknowledged < job.log.length) {
      const rest = job.log.slice(job.acknowledged)
      const answer = await this.send('PATCH', `/jobs/${id}/trace`, {
        headers: { 'job-token': job.token, 'content-type': 'text/plain', 'content-range': `${job.acknowledged}-${job.log.length - 1}` },
        body: rest,
      })
      if (answer?.status === 202 || answer?.status === 416) {
        const length = Number(/^0-(\d+)$/.exec(answer.headers.get('range') ?? '')?.[1])
        if (length < job.acknowledged) this.fault(`the log of job ${id} has ${length} bytes of ${job.acknowledged} that were acknowledged`)
        job.acknowledged = length
      } else if (answer?.status === 403) {
        this.fault(`a line of job ${id} is refused: ${answer.headers.get('job-status')}`)
        return false
      } else await sleep(50)
    }
    return true
  }
}

/**
 * Kills the service or a part of it at random moments while runners work, `rounds` times with the victims in turn. Resolves
 * with the faults found: jobs lost, given twice or in a wrong state, and lines that are missing or doubled.
 */
export async function killCi(rounds, report, victims, { environment = {}, least = 200, more = 1_000 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const faults = []
  const figures = { endedStarts: [] }
  const known = new Map()
  const pushed = []
  /** Commits of the source branch of a merge request, which are pushed as well. */
  const ofRequest = []
  /** How often the time of a schedule came, at least and at most. */
  const due = { least: 0, most: 0 }
  let runners = []
  let service = await startAgain(dataDir, environment, figures)
  try {
    const api = (method, path, body) => call(service.url, method, path, body)
    const { id } = need(await api('POST', '/projects', { name: 'ci' }), 201, 'a project')
    const commit = (file_path, content, branch = 'main') =>
      api('POST', `/projects/${id}/repository/commits`, { branch, commit_message: 'x', actions: [{ action: 'create', file_path, content }] })
    pushed.push(need(await commit('.gitlab-ci.yml', CONFIGURATION), 201, 'the first commit').id)
    need(await api('POST', `/projects/${id}/repository/branches`, { branch: 'topic', ref: 'main' }), 201, 'a branch')
    ofRequest.push(need(await commit('topic', '', 'topic'), 201, 'a commit of it').id)
    need(await api('POST', `/projects/${id}/merge_requests`, { source_branch: 'topic', target_branch: 'main', title: 'x' }), 201, 'a merge request')
    need(await api('POST', `/projects/${id}/pipeline_schedules`, { description: 'x', ref: 'main', cron: '0 0 1 1 *' }), 201, 'a schedule')
    for (let n = 0; n < RUNNERS; n++) {
      const { token } = need(await api('POST', '/user/runners', { runner_type: 'instance_type' }), 201, 'a runner')
      runners.push(
        new Runner(
          () => service.url,
          token,
          known,
          (text) => faults.push(text),
        ),
      )
    }
    for (let round = 1; round <= rounds; round++) {
      const victim = victims[(round - 1) % victims.length]
      const found = faults.length
      const until = Date.now() + least + Math.random() * more
      const pushes = (async () => {
        if (round % 3 === 0) {
          due.most++
          due.least += (await query(dataDir, 'update pipeline_schedules set next_run_at = now() where next_run_at > now() returning id')).length
        }
        if (round % 2 === 0) {
          const answer = await commit(`t${round}`, '', 'topic')
          if (answer?.status === 201) ofRequest.push(answer.body.id)
        }
        for (let n = 0; n < 2 && Date.now() < until; n++) {
          const answer = await commit(`f${round}-${n}`, '')
          if (answer?.status === 201) pushed.push(answer.body.id)
        }
      })()
      await sleep(until - Date.now())
      const gone = await strike(victim, service, dataDir)
      if (!gone) await answers(service).catch((error) => faults.push(error.message))
      if (gone || service.hasEnded()) {
        await service.end()
        service = await startAgain(dataDir, environment, figures)
      }
      await pushes
      report(`round ${round} (${victim}): ${known.size} jobs given, ${faults.slice(found).join('; ') || 'nothing lost'}`)
    }
    await settle(dataDir)
    for (const runner of runners) runner.on = false
    await Promise.all(runners.map((runner) => runner.ended))
    runners = []
    faults.push(...(await look(service.url, api, id, { main: pushed, topic: ofRequest, due }, known)), ...figures.endedStarts)
    await service.end('SIGTERM')
  } finally {
    for (const runner of runners) runner.on = false
    await service.end()
    await Promise.all(runners.map((runner) => runner.ended))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return { faults, given: known.size }
}

const UNFINISHED = ['created', 'pending', 'running']
/** What still makes pipelines: jobs of the queue, and schedules whose time has come. */
const TO_BE_MADE = `
  select id from jobs where kind in ('pipelines of a push', 'pipeline of a merge request', 'run a schedule')
  union all select id from pipeline_schedules where next_run_at <= now()`

/** Waits until all jobs have ended; of those that no runner speaks of any more, an hour passes at once. */
async function settle(dataDir) {
  const silence = () =>
    query(
      dataDir,
      `with silent as (update builds set seen_at = seen_at - interval '2 hours' where seen_at < now() - interval '10 seconds' returning job_id, seen_at)
      update commit_statuses s set started_at = silent.seen_at from silent where s.id = silent.job_id and s.started_at = silent.seen_at + interval '2 hours'`,
    )
  let [until, before] = [0, '']
  for (;;) {
    await silence()
    const open = await query(dataDir, `select id, name, status from commit_statuses where status = any ('{${UNFINISHED}}') order by id`)
    const states = open.map(({ id, name, status }) => `${id} ${name} ${status}`).join(', ')
    if (states !== before) [until, before] = [Date.now() + PATIENCE, states]
    if (open.length === 0 && (await query(dataDir, TO_BE_MADE)).length === 0) return
    if (Date.now() > until) throw new Error(`jobs do not end: ${states}`)
    await sleep(2_000)
  }
}

async function all(api, path) {
  const found = []
  for (let page = 1; ; page++) {
    const rows = need(await api('GET', `${path}per_page=100&page=${page}`), 200, path)
    found.push(...rows)
    if (rows.length < 100) return found
  }
}

/** What is wrong with pipelines, jobs and logs at the end. */
async function look(url, api, project, { main, topic, due }, known) {
  const faults = []
  const pipelines = await all(api, `/projects/${project}/pipelines?`)
  for (const [ref, commits] of Object.entries({ main, topic }))
    for (const sha of commits) {
      const { length } = pipelines.filter((pipeline) => pipeline.sha === sha && pipeline.source === 'push' && pipeline.ref === ref)
      if (length !== 1) faults.push(`the push of ${sha} to ${ref} has ${length} pipelines`)
    }
  // pushes that follow each other may have one for the last of them
  for (const sha of topic) {
    const { length } = pipelines.filter((pipeline) => pipeline.sha === sha && pipeline.source === 'merge_request_event')
    if (length > 1 || (length === 0 && sha === topic.at(-1))) faults.push(`the merge request at ${sha} has ${length} pipelines`)
  }
  const scheduled = pipelines.filter(({ source }) => source === 'schedule').length
  if (scheduled < due.least || scheduled > due.most)
    faults.push(`${scheduled} pipelines of a schedule whose time came ${due.least} to ${due.most} times`)
  const jobs = await all(api, `/projects/${project}/jobs?`)
  const extra = new Set(jobs.map(({ id }) => id))
  for (const id of known.keys()) if (!extra.has(id)) faults.push(`job ${id} is gone`)
  for (const pipeline of pipelines) {
    const own = jobs.filter((job) => job.pipeline.id === pipeline.id)
    if (own.length !== JOBS[pipeline.source]) faults.push(`pipeline ${pipeline.id} has ${own.length} jobs`)
    const states = own.map(({ status }) => status)
    const expected = states.every((status) => status === 'success') ? 'success' : 'failed'
    if (pipeline.status !== expected) faults.push(`pipeline ${pipeline.id} is ${pipeline.status} with ${states}`)
  }
  for (const job of jobs) {
    const record = known.get(job.id)
    const expected = record ? (record.ended ? 'success' : 'failed') : 'skipped'
    if (job.status !== expected) faults.push(`job ${job.id} ${job.name} is ${job.status}, not ${expected}`)
    if (!record) continue
    const answer = await fetch(`${url}/api/v4/projects/${project}/jobs/${job.id}/trace`, { headers: { 'private-token': TOKEN } })
    const log = await answer.text()
    if (log !== record.log) faults.push(`the log of job ${job.id} is ${JSON.stringify(log)}, not ${JSON.stringify(record.log)}`)
  }
  return faults
}

/** `node bench/kill-ci.mjs [ROUNDS] [VICTIM,…]`; `ROOST_WORKERS` is the number of workers. */
async function main() {
  const { ROOST_WORKERS = '1' } = process.env
  const victims = process.argv[3]?.split(',') ?? (ROOST_WORKERS === '1' ? VICTIMS : [...VICTIMS, 'worker'])
  const rounds = Number(process.argv[2] ?? 50)
  const say = (line) => process.stdout.write(`${line}\n`)
  const { faults, given } = await killCi(rounds, say, victims, { environment: { ROOST_WORKERS } })
  for (const fault of faults) say(fault)
  say(`${rounds} kills, ${given} jobs given, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
