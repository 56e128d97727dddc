import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { bulky, generated, git } from './repository.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, '.bench')
const TOKEN = 'bench-token-0123456789'
const rows = []
const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 7 : 21

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** One line of the table: ours against theirs, and whether the bar holds. `bar` bounds ours/theirs from above, or from below with `atLeast`. */
function row(what, ours, theirs, bar, { unit = 'ms', atLeast = false } = {}) {
  const ratio = ours / theirs
  rows.push({ what, ours, theirs, ratio, bar, unit, atLeast, holds: atLeast ? ratio >= bar : ratio <= bar })
  const last = rows.at(-1)
  process.stdout.write(
    `${what}: ${ours.toFixed(1)} ${unit} against ${theirs.toFixed(1)} ${unit}, ratio ${ratio.toFixed(2)}, bar ${atLeast ? '>=' : '<='} ${bar} ${last.holds ? 'holds' : 'FAILS'}\n`,
  )
}

/** A figure with a bar of its own. */
const figure = (what, value, bar, unit) => row(what, value, 1, bar, { unit })

async function timed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Medians of both, measured in turns, so that noise hits both alike. */
async function interleaved(ours, theirs, rounds = ROUNDS) {
  const [a, b] = [[], []]
  await ours()
  await theirs()
  for (let i = 0; i < rounds; i++) {
    b.push(await timed(theirs))
    a.push(await timed(ours))
  }
  return [median(a), median(b)]
}

function native(directory, args, input) {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, { cwd: directory, stdio: ['pipe', 'pipe', 'inherit'] })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(Buffer.concat(chunks)) : reject(new Error(`git ${args[0]} ended with ${code}`))))
    child.stdin.end(input)
  })
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

function call(url, { method = 'GET', body, headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      url,
      { method, agent, headers: { 'private-token': TOKEN, ...(body && { 'content-type': 'application/json' }), ...headers } },
      (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (response.statusCode >= 300) reject(new Error(`${method} ${url}: ${response.statusCode} ${text.slice(0, 300)}`))
          else resolve(response.headers['content-type'] === 'application/json' ? JSON.parse(text) : text)
        })
      },
    )
    request.on('error', reject)
    request.end(body && JSON.stringify(body))
  })
}

/** Starts a service and resolves, when it says it is ready, with its address and how long that took. */
function start(dataDir) {
  return new Promise((resolve, reject) => {
    const begun = performance.now()
    const child = spawn(process.execPath, [join(root, 'dist/main.js')], {
      env: { PATH: process.env.PATH, DATA_DIR: dataDir, PORT: '0', ROOST_ADMIN_TOKEN: TOKEN, LOG_LEVEL: 'warn', TMPDIR: tmpdir() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.on('data', (chunk) => {
      const url = /ready at (\S+)/.exec(String(chunk))?.[1]
      if (url) resolve({ child, url, api: `${url}/api/v4`, ms: performance.now() - begun })
    })
    child.on('exit', (code) => reject(new Error(`the service ended with ${code}`)))
  })
}

const stop = ({ child }) => new Promise((resolve) => child.once('exit', resolve).kill('SIGTERM'))

/** Proportional memory in MB of a process, or of all processes below it. */
const pss = (pid) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
const rss = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

/** The Postgres that serves a data folder, and its own processes. */
function postgresOf(dataDir) {
  const master = readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]
  const children = spawnSync('ps', ['-o', 'pid=', '--ppid', master]).stdout.toString().trim().split(/\s+/)
  return [master, ...children]
}

async function throughput(url, connections, headers = { 'private-token': TOKEN }) {
  const { requests, non2xx } = await autocannon({ url, connections, duration: quick ? 3 : 6, headers })
  if (non2xx > 0) throw new Error(`${url}: ${non2xx} answers were refusals`)
  return requests.average
}

async function main() {
  mkdirSync(cache, { recursive: true })
  const source = generated(cache)
  const big = bulky(cache)
  const dataDir = mkdtempSync(join(tmpdir(), 'roost-bench-'))
  chmodSync(dataDir, 0o711) // as root, Postgres runs under another account and passes through
  const scratch = mkdtempSync(join(tmpdir(), 'roost-bench-'))
  let roost
  let plain
  try {
    roost = await start(dataDir)
    figure('first start to ready', roost.ms, 3_000, 'ms')
    await stop(roost)
    const starts = []
    for (let i = 0; i < 5; i++) {
      roost = await start(dataDir)
      starts.push(roost.ms)
      if (i < 4) await stop(roost)
    }
    figure('warm start to ready', median(starts), 1_000, 'ms')
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    figure('idle memory of Node (PSS)', pss(roost.child.pid), 130, 'MB')
    figure(
      'idle memory of Postgres (PSS)',
      postgresOf(dataDir).reduce((sum, pid) => sum + pss(pid), 0),
      60,
      'MB',
    )

    const { api, url } = roost
    const remote = (path) => `${url.replace('://', `://x:${TOKEN}@`)}/${path}.git`
    const project = await call(`${api}/projects`, { method: 'POST', body: { name: 'large' } })
    git(source, ['push', '-q', remote('root/large'), 'refs/heads/*:refs/heads/*'])
    const stored = join(dataDir, 'repositories', (project.id % 256).toString(16).padStart(2, '0'), `${project.id}.git`)
    const base = `${api}/projects/${project.id}/repository`
    const log = (skip) => ['log', `--skip=${skip}`, '-n', '20', '--format=%H%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%P%x00%B', 'main']

    for (const page of [1, 50]) {
      const shown = await call(`${base}/commits?page=${page}`)
      const expected = git(stored, ['log', `--skip=${(page - 1) * 20}`, '-n', '20', '--format=%H', 'main'])
        .toString()
        .trim()
      if (shown.map(({ id }) => id).join('\n') !== expected) throw new Error(`page ${page} is not in the order of git log`)
      row(
        `commits page ${page}`,
        ...(await interleaved(
          () => call(`${base}/commits?page=${page}`),
          () => native(stored, log((page - 1) * 20)),
        )),
        1.5,
      )
    }
    plain = spawn(process.execPath, [join(root, 'bench/plain-server.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
    const plainUrl = String(await new Promise((resolve) => plain.stdout.once('data', resolve))).trim()
    const spawned = `${plainUrl}/log?directory=${encodeURIComponent(stored)}`
    const [pages, spawns] = [[], []]
    for (let i = 0; i < 3; i++) {
      spawns.push(await throughput(spawned, 16))
      pages.push(await throughput(`${base}/commits`, 16))
    }
    row('16 clients, commits page 1, a spawn each', median(pages), median(spawns), 5, { unit: '/s', atLeast: true })

    const ids = git(stored, ['log', '-n', '400', '--no-merges', '--format=%H', 'main']).toString().trim().split('\n')
    const each = (work) => {
      let i = 0
      return () => work(ids[i++ % ids.length])
    }
    row(
      'single commit',
      ...(await interleaved(
        each((id) => call(`${base}/commits/${id}`)),
        each((id) => native(stored, ['show', '--numstat', id])),
      )),
      1.5,
    )
    const blobs = git(stored, ['ls-tree', '-r', '--format=%(objectname)', 'main']).toString().trim().split('\n')
    let b = 0
    row(
      'blob',
      ...(await interleaved(
        () => call(`${base}/blobs/${blobs[b++]}/raw`),
        () => native(stored, ['cat-file', 'blob', blobs[b]]),
      )),
      1.5,
    )
    row(
      'tree, one level',
      ...(await interleaved(
        () => call(`${base}/tree?path=src/m1&per_page=100`),
        () => native(stored, ['ls-tree', 'main:src/m1']),
      )),
      1.5,
    )
    row(
      'commit diff',
      ...(await interleaved(
        each((id) => call(`${base}/commits/${id}/diff`)),
        each((id) => native(stored, ['diff-tree', '-p', '-M', '--root', id])),
      )),
      1.5,
    )

    // ten actions, synced, against fast-import and update-ref on a copy of the same repository
    const twin = join(scratch, 'twin.git')
    git(scratch, ['clone', '-q', '--bare', `file://${source}`, twin])
    let n = 0
    const actions = () =>
      Array.from({ length: 10 }, (_, i) => ({
        action: 'update',
        file_path: `src/m${i}/p${(n + i) % 20}/file${i + 50 * ((n + i) % 20)}.txt`,
        content: `changed ${n} ${i}\n`,
      }))
    const viaApi = () => {
      n++
      return call(`${base}/commits`, { method: 'POST', body: { branch: 'main', commit_message: `Commit ${n}`, actions: actions() } })
    }
    const viaImport = async () => {
      n++
      const tip = (await native(twin, ['rev-parse', 'main'])).toString().trim()
      const body = actions()
        .map(({ file_path, content }) => `M 100644 inline ${file_path}\ndata ${content.length}\n${content}\n`)
        .join('')
      await native(
        twin,
        ['-c', 'core.fsync=all', 'fast-import', '--quiet', '--force'],
        `commit refs/bench/new\ncommitter Ada <a@example.com> ${1_800_000_000 + n} +0000\ndata 2\nx\nfrom ${tip}\n${body}\n`,
      )
      await native(twin, ['-c', 'core.fsync=all', 'update-ref', 'refs/heads/main', 'refs/bench/new', tip])
    }
    row('commit of 10 actions on 5,000 files', ...(await interleaved(viaApi, viaImport)), 1.5)

    for (let i = 0; i < 24; i++)
      await call(`${api}/projects`, { method: 'POST', body: { name: `listed ${i}`, description: 'One of the projects that the list shows' } })
    const listed = await call(`${api}/projects?per_page=20`)
    await call(`${plainUrl}/list`, { method: 'POST', body: listed })
    const [ours, constant] = [[], []]
    for (let i = 0; i < 3; i++) {
      constant.push(await throughput(`${plainUrl}/list`, 32))
      ours.push(await throughput(`${api}/projects?per_page=20`, 32))
    }
    row('list of 20 projects, constant list', median(ours), median(constant), 0.25, { unit: '/s', atLeast: true })

    // 100 MB each way
    const bulk = await call(`${api}/projects`, { method: 'POST', body: { name: 'bulk' } })
    const before = rss(roost.child.pid)
    let peak = before
    const watch = setInterval(() => (peak = Math.max(peak, rss(roost.child.pid))), 50)
    git(big, ['push', '-q', remote('root/bulk'), 'main'])
    const pushTimes = [[], []]
    for (let i = 0; i < (quick ? 2 : 4); i++) {
      const target = await call(`${api}/projects`, { method: 'POST', body: { name: `bulk ${i} ${bulk.id}` } })
      const file = join(scratch, `push${i}.git`)
      git(scratch, ['init', '-q', '--bare', file])
      git(file, ['config', 'receive.fsckObjects', 'true'])
      git(file, ['config', 'receive.unpackLimit', '1'])
      git(file, ['config', 'core.fsync', 'committed'])
      pushTimes[1].push(await timed(() => native(big, ['push', '-q', `file://${file}`, 'main'])))
      pushTimes[0].push(await timed(() => native(big, ['push', '-q', remote(target.path_with_namespace), 'main'])))
    }
    row('push of 100 MB', median(pushTimes[0]), median(pushTimes[1]), 1.3)
    const cloneTimes = [[], []]
    const bulkStored = join(dataDir, 'repositories', (bulk.id % 256).toString(16).padStart(2, '0'), `${bulk.id}.git`)
    for (let i = 0; i < (quick ? 2 : 4); i++) {
      cloneTimes[1].push(await timed(() => native(scratch, ['clone', '-q', '--bare', `file://${bulkStored}`, `file${i}.git`])))
      cloneTimes[0].push(await timed(() => native(scratch, ['clone', '-q', '--bare', remote('root/bulk'), `http${i}.git`])))
    }
    row('clone of 100 MB', median(cloneTimes[0]), median(cloneTimes[1]), 1.3)
    clearInterval(watch)
    figure('growth of memory meanwhile (RSS)', peak - before, 40, 'MB')
  } finally {
    plain?.kill()
    if (roost?.child.exitCode === null) await stop(roost)
    rmSync(dataDir, { recursive: true, force: true })
    rmSync(scratch, { recursive: true, force: true })
  }
  report()
}

function report() {
  const number = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1))
  const lines = rows.map(({ what, ours, theirs, ratio, bar, unit, atLeast, holds }) =>
    theirs === 1
      ? `| ${what} | ${number(ours)} ${unit} | | | at most ${bar} ${unit} | ${holds ? 'yes' : '**no**'} |`
      : `| ${what} | ${number(ours)} ${unit} | ${number(theirs)} ${unit} | ${ratio.toFixed(2)} | ${atLeast ? 'at least' : 'at most'} ${bar} | ${holds ? 'yes' : '**no**'} |`,
  )
  const text = `# Results of \`npm run bench\`

Medians of one run on ${cpus().length} cores (Node ${process.version}), both sides measured in turns in that run; read the ratios, not the figures.
"Theirs" is a native git spawned for the purpose, or a bare Fastify that sends the same list.

| what | Roost | theirs | ratio | bar | holds |
| --- | ---: | ---: | ---: | --- | --- |
${lines.join('\n')}
`
  writeFileSync(join(root, 'bench/RESULTS.md'), text)
  process.stdout.write(`\n${text}`)
  if (rows.some(({ holds }) => !holds)) process.exitCode = 1
}

await main()
