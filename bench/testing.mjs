// Measures `roost test`, on Linux: node bench/testing.mjs
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from '../scripts/build.mjs'
import { startRoost } from '../testing/index.mjs'
import { call, median, pss, root, timed } from './harness.mjs'

const STARTS = 5
const [PROJECTS, COMMITS, ISSUES] = [20, 100, 10]

function figure(name, value, bar, unit) {
  console.log(`${value <= bar ? '      ' : 'MISSED'} ${name}: ${value.toFixed(value < 10 ? 2 : 0)} ${unit}, at most ${bar}`)
  if (value > bar) process.exitCode = 1
}
const p95 = (values) => [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1]

/** Memory of a process and its descendants in MB. */
function memory(pid) {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(name)])
  const family = [pid]
  for (const each of family) family.push(...parents.filter(([, parent]) => parent === each).map(([child]) => child))
  return family.reduce((sum, each) => sum + (unlessEnded(() => pss(each)) ?? 0), 0)
}
const parentOf = (pid) => {
  const line = unlessEnded(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? ''
  return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])
}
function unlessEnded(read) {
  try {
    return read()
  } catch {
    return null
  }
}

/** The time from the command to its line of JSON. */
async function command() {
  const began = performance.now()
  const child = spawn('npx', ['--no-install', 'roost', 'test'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const { pid } = JSON.parse(await new Promise((resolve) => child.stdout.once('data', (text) => resolve(String(text)))))
  const taken = performance.now() - began
  const ended = new Promise((resolve) => child.once('exit', resolve))
  process.kill(pid, 'SIGTERM')
  await ended
  return taken
}

const starts = async (start) => {
  const taken = []
  for (let i = 0; i < STARTS; i++) taken.push(await start())
  return median(taken)
}

const callOf =
  ({ url, token }) =>
  (method, path, body) =>
    call(`${url}/api/v4${path}`, { method, body, headers: { 'private-token': token } })

const commitIn = (api, id, name) => api('POST', `/projects/${id}/repository/files/${name}`, { branch: 'main', content: name, commit_message: name })

/** The data of an ordinary test suite: 20 projects, 2,000 rows, 20 repositories of 100 commits. */
async function fill(api) {
  const ids = []
  for (let i = 0; i < PROJECTS; i++) {
    const { id } = await api('POST', '/projects', { name: `project ${i}`, initialize_with_readme: true })
    ids.push(id)
    for (let k = 1; k < COMMITS; k++) await commitIn(api, id, `file${k}.txt`)
    for (let k = 0; k < ISSUES; k++) await api('POST', `/projects/${id}/issues`, { title: `issue ${k}` })
  }
  return ids
}

async function states(roost) {
  const api = callOf(roost)
  const ids = await fill(api)
  figure('snapshot of the state of an ordinary suite', await timed(() => roost.snapshot('filled')), 500, 'ms')
  const some = []
  for (let i = 0; i < 60; i++) {
    await commitIn(api, ids[i % PROJECTS], 'new.txt')
    await api('POST', `/projects/${ids[(i + 7) % PROJECTS]}/issues`, { title: 'new' })
    if (i % 10 === 0) await api('DELETE', `/projects/${ids[(i + 3) % PROJECTS]}`)
    some.push(await timed(() => roost.restore('filled')))
  }
  figure('restore of it after a commit, an issue and sometimes a deleted project, p95', p95(some), 100, 'ms')
  const all = []
  for (let i = 0; i < 20; i++) {
    for (const id of ids) await commitIn(api, id, 'new.txt')
    all.push(await timed(() => roost.restore('filled')))
  }
  figure('restore of it after a commit in each repository, p95', p95(all), 100, 'ms')
  const changes = []
  for (let i = 0; i < 10; i++) {
    changes.push(await timed(() => roost.reset()))
    changes.push(await timed(() => roost.restore('filled')))
  }
  figure('between it and the empty state, p95', p95(changes), 100, 'ms')
  await roost.reset()
}

/** The calls of one test. */
async function fiveCalls(api, i) {
  const { id } = await api('POST', '/projects', { name: `project ${i}`, initialize_with_readme: true })
  await api('POST', `/projects/${id}/issues`, { title: 'an issue' })
  await api('POST', `/projects/${id}/repository/branches`, { branch: 'topic', ref: 'main' })
  await api('GET', `/projects/${id}/issues`)
  await api('GET', `/projects/${id}/repository/branches`)
}

async function suite(roost) {
  const api = callOf(roost)
  const resets = []
  const taken = await timed(async () => {
    for (let i = 0; i < 100; i++) {
      await fiveCalls(api, i)
      resets.push(await timed(() => roost.reset()))
    }
  })
  figure('reset after each of 100 tests, p95', p95(resets), 100, 'ms')
  figure('100 tests of five calls each with a reset between', taken / 1_000, 15, 's')
}

async function worlds(roost) {
  const before = memory(roost.pid)
  figure('memory of all processes after that (PSS)', before, 220, 'MB')
  process.env.ROOST_TEST_CONTROL = roost.control
  for (let i = 0; i < 4; i++) await fiveCalls(callOf(await startRoost({ world: `world${i}` })), i)
  figure('memory of one more world in use (PSS)', (memory(roost.pid) - before) / 4, 20, 'MB')
  // connections of the pool are closed after two seconds
  await sleep(3_000)
  figure('memory of one more world that was used (PSS)', (memory(roost.pid) - before) / 4, 20, 'MB')
  delete process.env.ROOST_TEST_CONTROL
}

await build()
// the code cache is warm from here on
await (await startRoost()).stop()
figure('ready, from npx roost test', await starts(command), 1_500, 'ms')
const start = async () => {
  const began = performance.now()
  const roost = await startRoost()
  const taken = performance.now() - began
  await roost.stop()
  return taken
}
figure('ready, from startRoost', await starts(start), 1_000, 'ms')
await using(suite, worlds)
await using(states)

async function using(...parts) {
  const roost = await startRoost()
  try {
    for (const part of parts) await part(roost)
  } finally {
    await roost.stop()
  }
}
process.exit()
