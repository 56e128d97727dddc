import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { call, gitProcesses, startService } from './kill.mjs'
import { LOOP } from './loop.mjs'
import { sshKeyPair } from './ssh-keys.mjs'

/**
 * Runs all attacks on the built service at once for some minutes, next to an ordinary reader, and prints the results:
 *   node bench/attacks.mjs [minutes [comma-separated parts of attack names]]
 */
const MINUTES = Number(process.argv[2] ?? 1)
const MEANT = process.argv[3] ?? ''
const GIT = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@a',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@a',
}
/**
 * Prints once a second, to standard error, the longest time the event loop was blocked, and how much of it the main
 * thread was running; the rest it waited for a core. Without kernel figures both are the same.
 */
const MONITOR = `${LOOP}
setInterval(() => {
  process.stderr.write('loop ' + held.toFixed(1) + ' ran ' + longest.toFixed(1) + String.fromCharCode(10))
  held = longest = 0
}, 1000).unref()`

const git = (cwd, args, input) => spawnSync('git', args, { cwd, env: GIT, input, encoding: 'utf8', maxBuffer: 1 << 28 })
const need = (answer, status, what) => {
  if (answer?.status !== status) throw new Error(`${what}: ${answer?.status} ${JSON.stringify(answer?.body)}`)
  return answer.body
}
const rank = (times, share) => [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0

const folder = mkdtempSync(join(tmpdir(), 'roost-attacks-'))
chmodSync(folder, 0o711)
const dataDir = join(folder, 'data')

/** A free port for the mail server of the attackers. */
const smtpPort = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address()
    server.close(() => resolve(port))
  })
})
const service = await startService(dataDir, {
  SSH_PORT: '0',
  SMTP_URL: `smtp://127.0.0.1:${smtpPort}?ignoreTLS=true`,
  MAIL_FROM: 'roost@example.org',
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

/** Files whose marks would take seconds each, in lines of 1,900 characters, and ones like any other for the reader of pages. */
const hostile = Array.from({ length: 40 }, (_, n) => `${n}.${['java', 'js', 'c', 'cpp'][n % 4]}`)
const HOSTILE_LINE = `${'a'.repeat(1_900)}\n`
const creations = hostile.map((file_path) => ({ action: 'create', file_path, content: `// ${file_path}\n${HOSTILE_LINE.repeat(200)}` }))
const FAIR = 500
for (let n = 0; n < FAIR; n++)
  creations.push({ action: 'create', file_path: `fair/${n}.ts`, content: `/** ${n} */\nexport const value = (a: string) => a + ${n}\n`.repeat(100) })
const made = { branch: 'hostile', start_branch: 'main', commit_message: 'hostile', actions: creations }
need(await call(url, 'POST', `/projects/${id}/repository/commits`, made), 201, 'hostile files')

const { private: privateKey, public: publicKey } = sshKeyPair()
need(await call(url, 'POST', '/user/keys', { title: 'bench', key: publicKey }), 201, 'a key')
const ssh = { port: Number(new URL(project.ssh_url_to_repo).port), privateKey }

/** An issue with forty subscribers. */
const { iid: issue } = need(await call(url, 'POST', `/projects/${id}/issues`, { title: 'mailed' }), 201, 'an issue')
for (let i = 0; i < 40; i++) {
  const username = `reader${i}`
  const account = { username, name: username, email: `${username}@example.org`, password: `a long password ${i}`, skip_confirmation: true }
  need(await call(url, 'POST', '/users', account), 201, 'a user')
  need(await call(url, 'POST', `/projects/${id}/issues/${issue}/subscribe?sudo=${username}`), 201, 'a subscription')
}

/** Creates a commit with a file of 3 GB of zeros, which packs into 3 MB. */
function zeroFile() {
  const work = join(folder, 'zeros')
  mkdirSync(work)
  git(work, ['init', '-q', '-b', 'zeros'])
  // no pipe of Node is needed: fast-import reads the bytes from the shell
  const size = 3 * 2 ** 30
  const script = `{ printf 'commit refs/heads/zeros\ncommitter A <a@a> 1 +0000\ndata 1\nx\nM 100644 inline zeros\ndata ${size}\n'; head -c ${size} /dev/zero; echo; } | git -c core.bigFileThreshold=1m fast-import --quiet`
  spawnSync('sh', ['-c', script], { cwd: work, env: GIT })
  return work
}
const isMeant = (attack) => MEANT.split(',').some((part) => attack.includes(part))
const zeros = isMeant('3 GB of zeros in 3 MB') ? zeroFile() : ''

/** Creates a commit with ten thousand parents to push. */
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

/**
 * Runs the attacking clients on the last core at the lowest priority, as in reality they would be on other machines.
 * Resolves with the number of times each response was returned.
 */
function attack(what) {
  const script = [process.execPath, fileURLToPath(new URL('attackers.mjs', import.meta.url)), JSON.stringify(what)]
  const last = availableParallelism() - 1
  const pinned = last > 0 && process.platform === 'linux' ? ['taskset', '-c', `${last}`] : []
  const [program, ...args] = ['nice', '-n', '19', ...pinned, ...script]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve(JSON.parse(text)))
  })
}

/** Responses to the ordinary reader other than 200. */
const missed = []

/** Response times in milliseconds. */
async function timed(milliseconds, ask) {
  const times = []
  for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(20)) {
    const began = performance.now()
    const status = await ask()
    times.push(performance.now() - began)
    if (status !== 200) missed.push(status ?? 'no answer')
  }
  return times
}

/** Signs in, so that the reader of pages has other turns than the attackers, who have the same address. */
async function signIn() {
  const page = await fetch(`${url}/users/sign_in`)
  const cookies = (answer) => answer.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0])
  const before = cookies(page)
  const token = /name="authenticity_token" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  const body = new URLSearchParams({ 'user[login]': 'reader0', 'user[password]': 'a long password 0', authenticity_token: token })
  const headers = { cookie: before.join('; '), origin: url }
  const answer = await fetch(`${url}/users/sign_in`, { method: 'POST', body, headers, redirect: 'manual' })
  return [...before, ...cookies(answer)].join('; ')
}
let [cookie, pages, unmarked] = ['', 0, 0]

/** Asks for a file whose marks are not kept any more. */
async function readPage() {
  const answer = await fetch(`${url}/${project.path_with_namespace}/-/blob/hostile/fair/${pages++ % FAIR}.ts`, {
    headers: { cookie, accept: 'text/html' },
  }).catch(() => null)
  if (!(await answer?.text())?.includes('hljs-')) unmarked++
  return answer?.status
}

/** Times of one reader of the API, and of one of pages. */
const read = (milliseconds) =>
  Promise.all([timed(milliseconds, async () => (await call(url, 'GET', `/projects/${id}`))?.status), timed(milliseconds, readPage)])

await sleep(2_000)
cookie = await signIn()
const idle = await read(5_000)
const rssBefore = rss()
const from = service.log().length
let rssMost = 0
const watch = setInterval(() => {
  rssMost = Math.max(rssMost, rss())
}, 250)
const attacked = attack({
  url,
  id,
  path: project.path_with_namespace,
  work,
  zeros,
  ssh,
  smtpPort,
  issue,
  hostile,
  milliseconds: MINUTES * 60_000,
  meant: MEANT,
})
const busy = await read(MINUTES * 60_000)
const counts = await attacked
clearInterval(watch)
await sleep(35_000)

const measured = [
  ...service
    .log()
    .slice(from)
    .matchAll(/^loop ([\d.]+) ran ([\d.]+)$/gm),
]
const loops = measured.map(([, text]) => Number(text))
const ran = measured.map(([, , text]) => Number(text))
process.stdout.write('\n| attack: answer | times |\n|---|---|\n')
for (const [name, times] of Object.entries(counts).sort()) process.stdout.write(`| ${name} | ${times} |\n`)
process.stdout.write('\n')
for (const [i, who] of ['another reader', 'a reader of files'].entries()) {
  const change = (share) => {
    const [before, after] = [rank(idle[i], share), rank(busy[i], share)]
    return `${before.toFixed(1)} → ${after.toFixed(1)} ms (${(after / before).toFixed(1)}×)`
  }
  process.stdout.write(`${who}: p50 ${change(0.5)}, p99 ${change(0.99)}\n`)
}
process.stdout.write(`pages of files without marks: ${unmarked} of ${pages}\n`)
process.stdout.write(
  `event loop held at most ${Math.max(...ran).toFixed(0)} ms by code, ${Math.max(...loops).toFixed(0)} ms with waits for a core (medians of seconds ${rank(ran, 0.5).toFixed(0)} and ${rank(loops, 0.5).toFixed(0)})\n`,
)
process.stdout.write(
  `RSS ${rssBefore.toFixed(0)} MB before, ${rssMost.toFixed(0)} at most, ${rss().toFixed(0)} half a minute after; git processes left: ${gitProcesses(dataDir).length}\n`,
)
const wrong = [
  ...Object.keys(counts).filter((name) => /: 5\d\d$/.test(name) && !name.endsWith(': 503')),
  ...[...new Set(missed)].map((status) => `the reader: ${missed.filter((other) => other === status).length} times ${status}`),
]
process.stdout.write(`${wrong.length === 0 ? 'no 5xx but 503' : `wrong: ${wrong.join(', ')}`}\n`)
await service.end('SIGTERM')
rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
process.exitCode = wrong.length === 0 ? 0 : 1
