import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Bench, call } from '../harness.mjs'

/** Clients per worker, as batching (such as one sync for several calls) happens within a process. */
const CLIENTS = 8
/** Rounds per variant, alternately, after warm-up rounds in which V8 compiles hot code in each worker. */
const ROUNDS = 4
const WARMING = 3

/** CPU seconds used by a process and its descendants so far, including Postgres and git. */
function cpuOfAll(pid) {
  const below = new Map()
  let seconds = 0
  const ticks = new Map()
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ')
      const parent = Number(fields[1])
      below.set(parent, [...(below.get(parent) ?? []), Number(name)])
      // its own and that of its ended children, in hundredths of a second
      ticks.set(
        Number(name),
        [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0),
      )
    } catch {
      // it has just ended
    }
  const add = (one) => {
    seconds += (ticks.get(one) ?? 0) / 100
    for (const child of below.get(one) ?? []) add(child)
  }
  add(pid)
  return seconds
}

/** Runs a number of calls, shared by all clients. */
async function calls(clients, amount, one) {
  let made = 0
  const client = async () => {
    for (let n = made++; n < amount; n = made++) await one(n)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

/** A seeded service, and the measured calls. */
async function prepared(service) {
  for (let n = 0; n < 24; n++) await service.project(`listed ${n}`)
  const { id } = await service.project('busy')
  const base = `${service.api}/projects/${id}`
  const post = (url, body) => call(url, { method: 'POST', body })
  let count = 0
  const commit = (branch, start) => {
    const actions = [{ action: 'create', file_path: `f${++count}`, content: `${count}` }]
    return post(`${base}/repository/commits`, { branch, commit_message: 'one', actions, ...start })
  }
  const head = await commit('main')
  for (let n = 0; n < CLIENTS; n++) await commit(`b${n}`, { start_branch: 'main' })
  return {
    'GET /projects/:id': [1_500, () => call(base)],
    'GET /projects, 20 of 25': [800, () => call(`${service.api}/projects`)],
    'POST /projects/:id/statuses/:sha': [300, () => post(`${base}/statuses/${head.id}`, { state: 'success' })],
    'commits of one file, on 8 branches': [160, (n) => commit(`b${n % CLIENTS}`)],
    'commits of one file, on one branch': [80, () => commit('main')],
  }
}

/**
 * The total CPU time of calls with two workers, against two independent services with as many processes, and against
 * one process.
 */
export async function workers(bench) {
  const services = [new Bench(bench), new Bench(bench), new Bench(bench)]
  const [two, one, another] = services
  const contestants = [[two], [one, another], [one]]
  try {
    await two.start({ ROOST_WORKERS: '2' })
    await one.start()
    await another.start()
    const work = new Map()
    for (const service of services) work.set(service, await prepared(service))
    const cpuOf = (all) => all.reduce((sum, service) => sum + cpuOfAll(service.child.pid), 0)
    for (const what of Object.keys(work.get(two))) {
      const spent = [0, 0, 0]
      const amount = work.get(two)[what][0] / (bench.quick ? 4 : 1)
      for (let round = -WARMING; round < ROUNDS; round++)
        for (const [i, all] of contestants.entries()) {
          const before = cpuOf(all)
          const clients = i === 0 ? 2 * CLIENTS : CLIENTS
          await Promise.all(all.map((service) => calls(clients, amount / all.length, work.get(service)[what][1])))
          // background work belongs to the calls
          await sleep(300)
          if (round >= 0) spent[i] += cpuOf(all) - before
        }
      const [ofTwo, beside, alone] = spent.map((seconds) => (seconds / amount / ROUNDS) * 1_000)
      bench.row(`CPU of a call with 2 workers, against 2 services: ${what}`, ofTwo, beside, 1.1)
      bench.row(`CPU of a call with 2 workers, against 1: ${what}`, ofTwo, alone, 1.1)
    }
    const idle = await Promise.all(
      [two, one].map(async (service) => {
        const before = cpuOf([service])
        await sleep(10_000)
        return (cpuOf([service]) - before) * 100
      }),
    )
    bench.row('CPU of a second without calls, 2 workers against 1', ...idle, 2.5)
  } finally {
    for (const service of services) if (service.child) await service.close()
  }
}
