import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { call, gitBeside, gitProcesses, startService, withToken } from './kill.mjs'

/**
 * Attacks the built service for some minutes, all at once and beside an ordinary reader, and prints what held:
 *   node bench/attacks.mjs [minutes [part of the names of the attacks meant]]
 */
const MINUTES = Number(process.argv[2] ?? 1)
const MEANT = process.argv[3] ?? ''
const GIT = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@a', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@a' } // biome-ignore format: one environment
/** Tells once a second, on standard error, the longest time the event loop was held. */
const MONITOR = `
import { monitorEventLoopDelay } from 'node:perf_hooks'
const held = monitorEventLoopDelay({ resolution: 5 })
held.enable()
setInterval(() => {
  process.stderr.write('loop ' + (held.max / 1e6).toFixed(1) + String.fromCharCode(10))
  held.reset()
}, 1000).unref()`

const git = (cwd, args, input) => spawnSync('git', args, { cwd, env: GIT, input, encoding: 'utf8', maxBuffer: 1 << 28 })
const need = (answer, status, what) => {
  if (answer?.status !== status) throw new Error(`${what}: ${answer?.status} ${JSON.stringify(answer?.body)}`)
  return answer.body
}
const rank = (times, share) => [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0

/** Sends a request whose body is written in pieces; resolves with the status, or 0 when the connection was closed without one. */
function send(url, { method = 'POST', headers = {}, pieces = [], pause = 0, leaveAfter = 0 }) {
  return new Promise((resolve) => {
    const outgoing = request(url, { method, headers, agent: false }, (answer) => {
      answer.on('data', () => undefined)
      answer.on('end', () => resolve(answer.statusCode))
      answer.on('error', () => resolve(answer.statusCode))
    })
    outgoing.on('error', () => resolve(0))
    outgoing.setMaxListeners(0)
    outgoing.setTimeout(120_000, () => outgoing.destroy())
    if (leaveAfter > 0) setTimeout(() => outgoing.destroy(), leaveAfter)
    const write = async () => {
      for (const piece of pieces) {
        if (outgoing.destroyed) return
        if (!outgoing.write(piece)) await new Promise((next) => outgoing.once('drain', next).once('close', next))
        if (pause > 0) await sleep(pause)
      }
      outgoing.end()
    }
    void write()
  })
}

const folder = mkdtempSync(join(tmpdir(), 'roost-attacks-'))
chmodSync(folder, 0o711)
const dataDir = join(folder, 'data')
const service = await startService(dataDir, {
  NODE_OPTIONS: `--import data:text/javascript;base64,${Buffer.from(MONITOR).toString('base64')}`,
  LOG_LEVEL: 'error',
})
const { url } = service
const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) / 1024

const project = need(await call(url, 'POST', '/projects', { name: 'target', visibility: 'public' }), 201, 'a project')
const { id } = project
const action = { action: 'create', file_path: 'a', content: 'a' }
need(await call(url, 'POST', `/projects/${id}/repository/commits`, { branch: 'main', commit_message: 'a', actions: [action] }), 201, 'a commit')
for (let i = 0; i < 20; i++)
  need(await call(url, 'POST', `/projects/${id}/issues`, { title: `issue ${i}`, description: '\u0001'.repeat(1_000_000) }), 201, 'an issue')

const counts = new Map()
const note = (attack, status) => counts.set(`${attack}: ${status}`, (counts.get(`${attack}: ${status}`) ?? 0) + 1)
let until = 0
const repeat = (attack, work) =>
  (async () => {
    for (let i = 0; attack.includes(MEANT) && Date.now() < until; i++) note(attack, await work(i).catch((error) => error.message))
  })()
const json = { 'content-type': 'application/json' }
const chunk = Buffer.from('['.repeat(65_536))
const pairs = Buffer.from('{},'.repeat(21_845))
const haves = gzipSync(
  `0032want ${'1'.repeat(40)}\n0000${Array.from({ length: 200_000 }, () => `0032have ${randomBytes(20).toString('hex')}\n`).join('')}`,
)

/** A commit with ten thousand parents, ready to be pushed. */
function octopus() {
  const work = join(folder, 'octopus')
  mkdirSync(work)
  git(work, ['init', '-q', '-b', 'main'])
  const tree = git(work, ['mktree'], '').stdout.trim()
  const stream = Array.from({ length: 10_000 }, (_, i) => `commit refs/heads/p${i}\ncommitter A <a@a> ${i + 1} +0000\ndata 1\nx\n\n`).join('')
  git(work, ['fast-import', '--quiet'], stream)
  const parents = git(work, ['for-each-ref', '--format=%(objectname)', 'refs/heads']).stdout.trim().split('\n')
  const text = `tree ${tree}\n${parents.map((oid) => `parent ${oid}\n`).join('')}author A <a@a> 1 +0000\ncommitter A <a@a> 1 +0000\n\nx\n`
  const oid = git(work, ['hash-object', '-t', 'commit', '-w', '--stdin'], text).stdout.trim()
  git(work, ['update-ref', 'refs/heads/octopus', oid])
  return work
}
const work = octopus()

/** The ordinary reader's times, in milliseconds. */
async function read(milliseconds) {
  const times = []
  for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(20)) {
    const began = performance.now()
    const answer = await call(url, 'GET', `/projects/${id}`)
    times.push(performance.now() - began)
    if (answer?.status !== 200) note('ordinary reader', answer?.status ?? 'no answer')
  }
  return times
}

await sleep(2_000)
const idle = await read(5_000)
const rssBefore = rss()
const from = service.log().length
until = Date.now() + MINUTES * 60_000
let rssMost = 0
const watch = setInterval(() => {
  rssMost = Math.max(rssMost, rss())
}, 250)
const attacks = [
  ...Array.from({ length: 16 }, () =>
    repeat('nested JSON of a stranger', () => send(`${url}/api/v4/projects/999999/issues`, { headers: json, pieces: Array(128).fill(chunk) })),
  ),
  ...Array.from({ length: 16 }, () =>
    repeat('many elements of a stranger', () =>
      send(`${url}/api/v4/projects/${id}/repository/commits`, { headers: json, pieces: Array(900).fill(pairs) }),
    ),
  ),
  ...Array.from({ length: 64 }, (_, n) =>
    repeat('guessed passwords', async (i) => {
      const body = new URLSearchParams({ grant_type: 'password', username: n % 2 ? 'root' : `user${i}`, password: `guess ${i}` })
      const answer = await fetch(`${url}/oauth/token`, { method: 'POST', body }).catch(() => null)
      await answer?.text()
      return answer?.status ?? 0
    }),
  ),
  ...Array.from({ length: 8 }, () =>
    repeat('lists of large texts', async () => {
      const answer = await fetch(`${url}/api/v4/projects/${id}/issues?per_page=85`).catch(() => null)
      await answer?.arrayBuffer()
      return answer?.status ?? 0
    }),
  ),
  ...Array.from({ length: 4 }, () =>
    repeat('abandoned fetches', () =>
      send(`${url}/${project.path_with_namespace}.git/git-upload-pack`, {
        headers: { 'content-type': 'application/x-git-upload-pack-request', 'content-encoding': 'gzip' },
        pieces: [haves],
        leaveAfter: 1_000,
      }),
    ),
  ),
  ...Array.from({ length: 16 }, () =>
    repeat('slow bodies', () =>
      send(`${url}/oauth/token`, { headers: json, pieces: Array(100).fill(' '), pause: 3_000, leaveAfter: Math.max(1, until - Date.now()) }),
    ),
  ),
  repeat('a commit with 10,000 parents', async () => {
    const { code } = await gitBeside(work, ['push', '-q', `${withToken(url)}/${project.path_with_namespace}.git`, 'octopus'])
    await sleep(5_000)
    return `git exit ${code}`
  }),
]
const busy = await read(MINUTES * 60_000)
await Promise.all(attacks)
clearInterval(watch)
await sleep(35_000)

const loops = [
  ...service
    .log()
    .slice(from)
    .matchAll(/^loop ([\d.]+)$/gm),
].map(([, text]) => Number(text))
process.stdout.write('\n| attack: answer | times |\n|---|---|\n')
for (const [name, times] of [...counts].sort()) process.stdout.write(`| ${name} | ${times} |\n`)
process.stdout.write(
  `\nanother reader: p50 ${rank(idle, 0.5).toFixed(1)} → ${rank(busy, 0.5).toFixed(1)} ms (${(rank(busy, 0.5) / rank(idle, 0.5)).toFixed(1)}×), `,
)
process.stdout.write(
  `p99 ${rank(idle, 0.99).toFixed(1)} → ${rank(busy, 0.99).toFixed(1)} ms (${(rank(busy, 0.99) / rank(idle, 0.99)).toFixed(1)}×)\n`,
)
process.stdout.write(
  `event loop held at most ${Math.max(...loops).toFixed(0)} ms (p99 of seconds ${rank(loops, 0.99).toFixed(0)}, median ${rank(loops, 0.5).toFixed(0)})\n`,
)
process.stdout.write(
  `RSS ${rssBefore.toFixed(0)} MB before, ${rssMost.toFixed(0)} at most, ${rss().toFixed(0)} half a minute after; git processes left: ${gitProcesses(dataDir).length}\n`,
)
const wrong = [...counts.keys()].filter((name) => /: 5\d\d$/.test(name) && !name.endsWith(': 503'))
process.stdout.write(`${wrong.length === 0 ? 'no 5xx but 503' : `wrong: ${wrong.join(', ')}`}\n`)
await service.end('SIGTERM')
rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
process.exitCode = wrong.length === 0 ? 0 : 1
