// Compares Roost with Gogs, on the same data and the same Postgres, alternately: `node bench/rival.mjs PATH-OF-GOGS
// [--quick] [--pages]`; with `--pages` only pages are compared.
// Build Gogs 0.14 from its public source; nothing of it is included here. Writes its section of bench/RESULTS.md unless
// --quick.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import { build } from '../scripts/build.mjs'
import { visitor } from './forms.mjs'
import { Bench, cache, call, median, native, pss, TOKEN } from './harness.mjs'
import { replayOf } from './replay.mjs'
import { generated, git } from './repository.mjs'
import { writeResults } from './results.mjs'
import { atOnce } from './seed.mjs'

const quick = process.argv.includes('--quick')
const onlyPages = process.argv.includes('--pages')
const program = process.argv.slice(2).find((word) => !word.startsWith('--'))
if (program === undefined) throw new Error('usage: node bench/rival.mjs PATH-OF-GOGS [--quick]')

const CLIENTS = 16
/** Rounds per row. */
const TURNS = quick ? 1 : 3
const SECONDS = quick ? 1 : 3
/** Gogs has none in this comparison. */
const WITHOUT_SSH = { SSH_PORT: '' }
/** Numbers of rows in both. */
const AMOUNT = quick ? { projects: 30, issues: 100, notes: 50 } : { projects: 300, issues: 2_000, notes: 50 }
const LEAST_RATE = 1.2
/** Of pages; of one issue, whose page Gogs makes from few rows. */
const LEAST_PAGES = { usual: 10, issue: 3 }

/** Gogs with its own database in the Postgres of the bench. */
class Gogs {
  constructor(path, folder) {
    this.program = resolve(path)
    this.folder = folder
    this.config = join(folder, 'app.ini')
    this.repositories = join(folder, 'repositories')
  }

  /** Creates its database, administrator and token. */
  async prepare(bench) {
    await bench.sql('create database gogs')
    this.port = await freePort()
    this.url = `http://127.0.0.1:${this.port}`
    mkdirSync(this.folder, { recursive: true })
    await this.start(bench)
    const made = spawnSync(this.program, [
      'admin',
      'create-user',
      '--name',
      'bench',
      '--password',
      'bench1234',
      '--email',
      'bench@example.com',
      '--admin',
      '--config',
      this.config,
    ])
    if (made.status !== 0) throw new Error(`Gogs makes no user: ${made.stdout}${made.stderr}`)
    const basic = `Basic ${Buffer.from('bench:bench1234').toString('base64')}`
    const { sha1 } = await this.call('/users/bench/tokens', { method: 'POST', body: { name: 'bench' }, headers: { authorization: basic } })
    this.headers = { authorization: `token ${sha1}` }
  }

  /** Writes its settings; the socket of Postgres changes with each start of the service. */
  async settings(bench) {
    const client = await bench.connection()
    const { host, user, password } = client
    await client.end()
    return `RUN_USER = ${spawnSync('id', ['-un']).stdout.toString().trim()}
RUN_MODE = prod
[database]
TYPE = postgres
HOST = ${host}
NAME = gogs
USER = ${user}
PASSWORD = ${password}
SSL_MODE = disable
MAX_OPEN_CONNS = 16
MAX_IDLE_CONNS = 16
[repository]
ROOT = ${this.repositories}
DEFAULT_BRANCH = main
[server]
EXTERNAL_URL = ${this.url}/
DOMAIN = 127.0.0.1
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${this.port}
DISABLE_SSH = true
OFFLINE_MODE = true
[security]
INSTALL_LOCK = true
SECRET_KEY = bench
[auth]
ENABLE_REGISTRATION_CAPTCHA = false
[picture]
DISABLE_GRAVATAR = true
[log]
MODE = file
ROOT_PATH = ${join(this.folder, 'log')}
LEVEL = Error
[session]
PROVIDER = memory
`
  }

  /** Starts it and resolves with the milliseconds until the first response. */
  async start(bench) {
    writeFileSync(this.config, await this.settings(bench))
    const begun = performance.now()
    this.child = spawn(this.program, ['web', '--config', this.config], { cwd: this.folder, stdio: ['ignore', 'ignore', 'inherit'] })
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(`Gogs ended with ${this.child.exitCode}`)
      const answered = await fetch(`${this.url}/healthcheck`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (answered) return performance.now() - begun
      await sleep(5)
    }
  }

  stop() {
    return new Promise((done) => this.child.once('exit', done).kill('SIGTERM'))
  }

  /** Calls its API as the administrator. */
  async call(path, { method = 'GET', body, headers = this.headers } = {}) {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`)
    return answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text
  }

  remote(path) {
    return `${this.url.replace('://', '://bench:bench1234@')}/${path}.git`
  }
}

async function freePort() {
  const server = createServer()
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address()
  await new Promise((done) => server.close(done))
  return port
}

/** The same in both: a repository of 6,000 commits with branches and tags, projects, issues with labels, notes. */
async function seed(bench, gogs) {
  const source = generated(cache, { commits: 6_000, files: 500 })
  const ours = await bench.project('large', { visibility: 'public' })
  await gogs.call('/user/repos', { method: 'POST', body: { name: 'large' } })
  const mirror = join(bench.scratch, 'mirror.git')
  git(bench.scratch, ['clone', '-q', '--bare', source, mirror])
  const heads = git(mirror, ['rev-list', '--max-count=300', 'main']).toString().trim().split('\n')
  const refs = heads.map((sha, i) => `create refs/${i % 3 === 0 ? 'heads/branch' : 'tags/v'}${i} ${sha}\n`)
  git(mirror, ['update-ref', '--stdin'], refs.join(''))
  for (const remote of [bench.remote('root/large'), gogs.remote('bench/large')])
    git(mirror, ['push', '-q', remote, 'refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*'])
  await atOnce(AMOUNT.projects, (i) => bench.project(`project ${i}`, { description: `Project number ${i}` }))
  await atOnce(
    AMOUNT.projects,
    (i) => gogs.call('/user/repos', { method: 'POST', body: { name: `project-${i}`, description: `Project number ${i}` } }),
    4,
  )
  const p = `${bench.api}/projects/${ours.id}`
  for (let i = 0; i < 30; i++) {
    await call(`${p}/labels`, { method: 'POST', body: { name: `label${i}`, color: '#ff0000' } })
    await gogs.call('/repos/bench/large/labels', { method: 'POST', body: { name: `label${i}`, color: '#ff0000' } })
  }
  for (let i = 0; i < 20; i++) {
    await call(`${p}/milestones`, { method: 'POST', body: { title: `v${i}` } })
    await gogs.call('/repos/bench/large/milestones', { method: 'POST', body: { title: `v${i}` } })
  }
  const labels = (await gogs.call('/repos/bench/large/labels')).map(({ id }) => id)
  const text = (i) => ({ title: `Issue ${i}`, words: `The description of issue ${i} in a few words, as people write them.` })
  await atOnce(AMOUNT.issues, (i) =>
    call(`${p}/issues`, { method: 'POST', body: { title: text(i).title, description: text(i).words, labels: `label${i % 30}` } }),
  )
  await atOnce(
    AMOUNT.issues,
    (i) => gogs.call('/repos/bench/large/issues', { method: 'POST', body: { title: text(i).title, body: text(i).words, labels: [labels[i % 30]] } }),
    1,
  ) // it answers some concurrent requests with 500
  await atOnce(AMOUNT.notes, (i) => call(`${p}/issues/1/notes`, { method: 'POST', body: { body: `Note ${i}` } }))
  await atOnce(AMOUNT.notes, (i) => gogs.call('/repos/bench/large/issues/1/comments', { method: 'POST', body: { body: `Note ${i}` } }), 1)
  const file = git(mirror, ['ls-tree', '-r', '--name-only', 'main']).toString().split('\n', 1)[0]
  return { source: mirror, head: heads[0], id: ours.id, file }
}

const R = '/repos/bench/large'
/** Pairs of reads, with the same number of elements if Gogs allows it. */
const reads = ({ id, head, file }) => {
  const p = `/projects/${id}`
  return [
    ['the user', '/user', '/user'],
    ['one project', p, R],
    ['a list of projects', '/projects?owned=true&per_page=20&simple=false', '/user/repos'],
    ['all branches', `${p}/repository/branches?per_page=100`, `${R}/branches`],
    ['one branch', `${p}/repository/branches/main`, `${R}/branches/main`],
    ['commits', `${p}/repository/commits?per_page=30`, `${R}/commits?pageSize=30`],
    ['one commit', `${p}/repository/commits/${head}`, `${R}/commits/${head}`],
    ['a tree', `${p}/repository/tree?per_page=100`, `${R}/git/trees/${head}`],
    ['a raw file', `${p}/repository/files/${encodeURIComponent(file)}/raw?ref=main`, `${R}/raw/main/${file}`],
    ['an archive', `${p}/repository/archive.tar.gz?sha=main`, `${R}/archive/main.tar.gz`],
    ['tags', `${p}/repository/tags?per_page=20`, `${R}/tags`],
    ['issues', `${p}/issues?per_page=10&state=opened`, `${R}/issues`],
    ['one issue', `${p}/issues/1`, `${R}/issues/1`],
    ['notes of an issue', `${p}/issues/1/notes?per_page=50`, `${R}/issues/1/comments`],
    ['labels', `${p}/labels?per_page=30`, `${R}/labels`],
    ['milestones', `${p}/milestones?per_page=20`, `${R}/milestones`],
    ['search of projects', '/projects?search=project&per_page=10', '/repos/search?q=project&limit=10'],
    ['search of users', '/users?search=ro&per_page=10', '/users/search?q=be&limit=10'],
  ]
}

const writes = ({ id }) => {
  const p = `/projects/${id}`
  let n = 0
  return [
    ['create an issue', `${p}/issues`, () => ({ title: `New ${++n}`, description: 'x' }), `${R}/issues`, () => ({ title: `New ${++n}`, body: 'x' })],
    ['write a note', `${p}/issues/2/notes`, () => ({ body: `Note ${++n}` }), `${R}/issues/2/comments`, () => ({ body: `Note ${++n}` })],
    ['create a label', `${p}/labels`, () => ({ name: `l${++n}`, color: '#00ff00' }), `${R}/labels`, () => ({ name: `l${++n}`, color: '#00ff00' })],
    ['create a project', '/projects', () => ({ name: `made ${++n}` }), '/user/repos', () => ({ name: `made-${++n}` })],
    [
      'commit a file by the API',
      `${p}/repository/files/n`,
      () => ({ branch: 'main', commit_message: 'c', content: 'x' }),
      `${R}/contents/n`,
      () => ({ message: 'c', content: 'eA==' }),
    ],
  ]
}

async function load(url, headers) {
  const { requests, latency, non2xx } = await autocannon({ url, connections: CLIENTS, duration: SECONDS, headers })
  if (non2xx > 0) throw new Error(`${url}: ${non2xx} refusals`)
  return { rate: requests.average, p99: latency.p99 }
}

const rows = []
function row(what, unit, ours, theirs, holds) {
  rows.push({ what, unit, ours, theirs, holds: holds ? 'yes' : '**no**' })
  process.stdout.write(`${what}: ${ours} against ${theirs} ${unit} ${holds ? '' : 'BEHIND'}\n`)
}
const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1))

/** Milliseconds, and the part that the disk or the client takes with any server. */
function timeRow(what, ours, theirs, fixed) {
  row(what, 'ms', digits(ours), digits(theirs), ours * LEAST_RATE <= theirs)
  const last = rows.at(-1)
  if (fixed === undefined || last.holds === 'yes') return
  const own = [ours, theirs].map((all) => all - fixed)
  if (own[0] * LEAST_RATE <= own[1]) last.holds = `of the service's own part, ${own.map(digits).join(' against ')}`
  process.stdout.write(`  ${digits(fixed)} ms are fixed, ${own.map(digits).join(' against ')} are not\n`)
}

async function measureReads(bench, gogs, seeded) {
  for (const [what, ours, theirs] of reads(seeded)) {
    const [a, b] = [[], []]
    for (let turn = 0; turn < TURNS; turn++) {
      b.push(await load(`${gogs.url}/api/v1${theirs}`, gogs.headers))
      a.push(await load(`${bench.api}${ours}`, { 'private-token': TOKEN }))
    }
    const of = (all, name) => median(all.map((each) => each[name]))
    const [rate, rival] = [of(a, 'rate'), of(b, 'rate')]
    const [p99, late] = [of(a, 'p99'), of(b, 'p99')]
    row(
      what,
      '/s (p99 ms)',
      `${digits(rate)} (${p99})`,
      `${digits(rival)} (${late || 'none'})`,
      rate >= LEAST_RATE * rival && (p99 <= late || late === 0),
    )
  }
}

async function measureWrites(bench, gogs, seeded) {
  const rounds = quick ? 10 : 40
  for (const [what, ours, body, theirs, other] of writes(seeded)) {
    const file = ours.endsWith('/n')
    let n = 0
    const here = () => call(`${bench.api}${ours}${file ? ++n : ''}`, { method: 'POST', body: body() })
    const there = () => gogs.call(`${theirs}${file ? ++n : ''}`, { method: file ? 'PUT' : 'POST', body: other() })
    const [alone, rival] = await bench.interleaved(here, there, rounds)
    timeRow(`${what}, one client`, alone, rival, await durableInsert(bench))
  }
}

/** Signs the owner in on both; resolves with the cookies. */
async function owners(bench, gogs) {
  const here = visitor(bench.url)
  const password = readFileSync(join(bench.dataDir, 'initial-admin-password'), 'utf8').trim()
  await here.send('/users/sign_in', { 'user[login]': 'root', 'user[password]': password })
  const there = visitor(gogs.url)
  await there.send('/user/login', { _csrf: await there.valueOn('/user/login', 'name="_csrf"'), user_name: 'bench', password: 'bench1234' })
  return [here.cookie(), there.cookie()]
}

/**
 * Pages as a browser asks for them: by people who are not signed in, who see the same in both, or by the
 * owner: only people who are signed in read discussions here.
 */
async function measurePages(bench, gogs, { head, file }) {
  const folder = file.split('/').slice(0, -1).join('/')
  const cookies = await owners(bench, gogs)
  const pages = [
    ['page of a project', '', ''],
    ['page of a folder', `/-/tree/main/${folder}`, `/src/main/${folder}`],
    ['page of a file', `/-/blob/main/${file}`, `/src/main/${file}`],
    ['page of commits', '/-/commits/main', '/commits/main'],
    ['page of a commit', `/-/commit/${head}`, `/commit/${head}`],
    ['page of issues', '/-/issues', '/issues'],
    ['page of issues, signed in', '/-/issues', '/issues', LEAST_PAGES.usual, cookies],
    ['page of an issue without notes', '/-/issues/2', '/issues/2', LEAST_PAGES.issue],
    [`page of an issue with ${AMOUNT.notes} notes, signed in`, '/-/issues/1', '/issues/1', LEAST_PAGES.issue, cookies],
  ]
  for (const [what, ours, theirs, least = LEAST_PAGES.usual, [mine, other] = ['', '']] of pages) {
    const headersOf = (cookie) => ({ accept: 'text/html', 'accept-encoding': 'br, gzip', cookie })
    const [here, there] = [`${bench.url}/root/large${ours}`, `${gogs.url}/bench/large${theirs}`]
    const bytes = []
    // both have it at hand
    for (const [url, cookie] of [
      [here, mine],
      [there, other],
    ])
      bytes.push((await (await fetch(url, { headers: { accept: 'text/html', cookie } })).arrayBuffer()).byteLength)
    await load(here, headersOf(mine))
    const [a, b] = [[], []]
    for (let turn = 0; turn < TURNS; turn++) {
      b.push((await load(there, headersOf(other))).rate)
      a.push((await load(here, headersOf(mine))).rate)
    }
    const [rate, rival] = [median(a), median(b)]
    process.stdout.write(`  ${(rate / rival).toFixed(1)} times; ${bytes.join(' and ')} bytes before compression\n`)
    row(what, '/s', digits(rate), digits(rival), rate >= least * rival)
  }
}

/** Milliseconds to insert a durable row on a plain connection. */
async function durableInsert(bench) {
  const client = await bench.connection()
  await client.query('create table if not exists fixed_part (n bigint)')
  const insert = () => client.query({ name: 'insert', text: 'insert into fixed_part values ($1)', values: [1] })
  const [taken] = await bench.inTurns([insert], 40)
  await client.query('drop table fixed_part')
  await client.end()
  return taken
}

async function measureGit(bench, gogs, { source }) {
  const { scratch } = bench
  const rounds = quick ? 3 : 9
  const [here, there] = [bench.remote('root/large'), gogs.remote('bench/large')]
  let n = 0
  const compare = async (what, work) => {
    const [ours, theirs] = await bench.interleaved(
      () => work(here, 'h'),
      () => work(there, 't'),
      rounds,
    )
    timeRow(what, ours, theirs)
  }
  /** For commands that repeat the same request. */
  const compareRepeated = async (what, work) => {
    const replay = await replayOf(bench.url)
    const recorded = replay.url + here.slice(here.lastIndexOf('/root/'))
    const ways = [() => work(recorded, 'h'), () => work(there, 't'), () => work(here, 'h')]
    const [fixed, theirs, ours] = await bench.inTurns(ways, 2 * rounds)
    replay.close()
    timeRow(what, ours, theirs, fixed)
  }
  await compareRepeated('ls-remote', (remote) => native(scratch, ['ls-remote', '-q', remote]))
  await compare('clone', (remote) => native(scratch, ['clone', '-q', '--bare', remote, `clone${++n}.git`]))
  await compare('shallow clone', (remote) => native(scratch, ['clone', '-q', '--bare', '--depth=1', remote, `clone${++n}.git`]))
  const work = { h: join(scratch, 'work-h'), t: join(scratch, 'work-t') }
  for (const [key, remote] of [
    ['h', here],
    ['t', there],
  ]) {
    git(scratch, ['clone', '-q', remote, work[key]])
    for (const [name, value] of Object.entries({ 'user.name': 'Bench', 'user.email': 'bench@example.com' })) git(work[key], ['config', name, value])
  }
  await compareRepeated('fetch of nothing', (remote, key) => native(work[key], ['fetch', '-q', remote, '+refs/heads/*:refs/remotes/origin/*']))
  const heads = { h: 0, t: 0 }
  for (const key of ['h', 't']) for (let i = 0; i <= rounds; i++) git(work[key], ['commit', '-q', '--allow-empty', '-m', `c${i}`])
  await compare('push of a commit', (_, key) => native(work[key], ['push', '-q', 'origin', `HEAD~${rounds - heads[key]++}:refs/heads/pushed`]))
  await compare('push of the whole into a new repository', async (_, key) => {
    const name = `whole-${++n}`
    const { path } = await (key === 'h'
      ? bench.project(name).then((made) => ({ path: made.path_with_namespace }))
      : gogs.call('/user/repos', { method: 'POST', body: { name } }).then(() => ({ path: `bench/${name}` })))
    const to = key === 'h' ? bench.remote(path) : gogs.remote(path)
    await native(source, ['push', '-q', to, 'refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*'])
  })
}

/** Memory of a process and its descendants, without Postgres. */
function memoryOf(pid) {
  const below = spawnSync('ps', ['-o', 'pid=,comm=', '--ppid', String(pid)])
    .stdout.toString()
    .trim()
    .split('\n')
    .filter(Boolean)
  return below
    .map((line) => line.trim().split(/\s+/))
    .filter(([, name]) => name !== 'postgres')
    .reduce((sum, [child]) => sum + memoryOf(child), pss(pid))
}

async function measureStart(bench, gogs) {
  row('memory after all this, idle for a minute', 'MB', ...(await idle(bench, gogs)))
  const [ours, theirs] = [[], []]
  for (let turn = 0; turn < 3; turn++) {
    await bench.stop()
    ours.push(await bench.start(WITHOUT_SSH))
    await gogs.stop()
    theirs.push(await gogs.start(bench))
  }
  row('warm start to the first answer', 'ms', digits(median(ours)), digits(median(theirs)), median(ours) <= 2 * median(theirs))
  row('memory after a start, idle for a minute', 'MB', ...(await idle(bench, gogs)))
}

async function idle(bench, gogs) {
  await sleep(quick ? 5_000 : 60_000)
  const [ours, theirs] = [memoryOf(bench.child.pid), memoryOf(gogs.child.pid)]
  return [digits(ours), digits(theirs), ours <= LEAST_RATE * theirs]
}

await build()
const bench = new Bench({ quick })
const folder = mkdtempSync(join(tmpdir(), 'roost-rival-'))
const gogs = new Gogs(program, folder)
try {
  await bench.start(WITHOUT_SSH)
  await gogs.prepare(bench)
  const seeded = await seed(bench, gogs)
  await bench.quiet()
  await measurePages(bench, gogs, seeded)
  if (!onlyPages) {
    await measureReads(bench, gogs, seeded)
    await measureWrites(bench, gogs, seeded)
    await measureGit(bench, gogs, seeded)
    await measureStart(bench, gogs)
  }
  const version = spawnSync(gogs.program, ['--version']).stdout.toString().trim()
  const text = `\`node bench/rival.mjs PATH-OF-GOGS\`: ${version} on the same Postgres with the same data (${AMOUNT.projects} projects, ${AMOUNT.issues} issues, a repository of 6,000 commits, 100 branches, 200 tags), both asked in turns, reads by ${CLIENTS} clients, both without SSH (our thread for it keeps 9 MB). The bar is 1.2 times its rate at no more than its p99, 10 times its rate of pages, 3 times that of the page of an issue; twice its start, 1.2 times its memory. Where the disk or the client takes most of a time, the bar is held to the rest: a row that a bare connection writes to the same Postgres, or the same git command answered from a recording, is subtracted from both.

| what | | Roost | Gogs | holds |
| --- | --- | ---: | ---: | --- |
${rows.map(({ what, unit, ours, theirs, holds }) => `| ${what} | ${unit} | ${ours} | ${theirs} | ${holds} |`).join('\n')}
`
  if (!quick && !onlyPages) writeResults('Beside Gogs', text)
  process.stdout.write(`\n${text}`)
} finally {
  if (gogs.child?.exitCode === null) await gogs.stop()
  await bench.close()
  rmSync(folder, { recursive: true, force: true })
}
