import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cache, call, median, native, timed } from '../harness.mjs'
import { git } from '../repository.mjs'

const COUNTS = [10_000, 100_000, 1_000_000]
const FILES = 500

/** Calls on repositories with few and with many commits, alternately; prints a table. */
export async function history(bench) {
  const repositories = []
  for (const count of COUNTS) repositories.push(await repositoryOf(bench, count))
  await bench.quiet()
  const times = new Map()
  const rounds = bench.quick ? 3 : 9
  for (let round = 0; round <= rounds; round++)
    for (const repository of repositories)
      for (const [what, work] of steps(bench, repository, round)) {
        const taken = await timed(work)
        const all = times.get(what) ?? new Map()
        times.set(what, all.set(repository.count, [...(all.get(repository.count) ?? []), taken]))
      }
  process.stdout.write(`| | ${COUNTS.map((count) => `${count.toLocaleString('en')} commits`).join(' | ')} |\n| --- | ---: | ---: | ---: |\n`)
  // the first round fills caches
  for (const [what, all] of times)
    process.stdout.write(`| ${what} | ${COUNTS.map((count) => median(all.get(count).slice(1)).toFixed(1)).join(' | ')} |\n`)
}

/** The measurements, in an order in which each prepares the next; no round repeats a request of an earlier one. */
function steps(bench, { project, base, work, remote, count }, round) {
  const page = (query) => () => call(`${base}/commits?per_page=20&${query}`)
  const before = (many) =>
    git(work, ['rev-parse', `HEAD~${many}`])
      .toString()
      .trim()
  const middle = before(Math.floor(count / 2) + round)
  const late = join(bench.scratch, `late-${count}-${round}`)
  return [
    ['commits', page(`page=${1 + round}`)],
    ['commits, page 200', page(`page=${200 + round}`)],
    ['commits from the middle on', page(`ref_name=${middle}`)],
    ['commits of a file', page(`path=src/f${round}.txt`)],
    ['commits of the first day', page(`until=2014-05-14T0${round}:00:00Z`)],
    ['one commit', () => call(`${base}/commits/${middle}`)],
    ['branches that have a commit', () => call(`${base}/commits/${before(10 + round)}/refs`)],
    ['compare the last hundred', () => call(`${base}/compare?from=${before(100 + round)}&to=main`)],
    ['merge base', () => call(`${base}/merge_base?refs[]=${middle}&refs[]=main`)],
    ['blame of a file', () => call(`${base}/files/src%2Ff${round}.txt/blame?ref=main`)],
    ['contributors', () => call(`${base}/contributors`)],
    ['search of commits', () => call(`${bench.api}/projects/${project.id}/search?scope=commits&search=Change%20${count - 50 - round}`)],
    ['commit by the API', () => commitTo(base, round)],
    ['fetch of it', () => native(work, ['pull', '-q', '--ff-only'])],
    ['push of a commit', () => pushed(work, remote, round)],
    ['shallow clone', () => native(bench.scratch, ['clone', '-q', '--bare', '--depth=1', remote, late])],
    ['merge of a branch', () => merged(bench, project, round)],
  ]
}

const commitTo = (base, round) =>
  call(`${base}/commits`, {
    method: 'POST',
    body: { branch: 'main', commit_message: `Round ${round}`, actions: [{ action: 'create', file_path: `new/${round}`, content: `${round}\n` }] },
  })

async function pushed(work, remote, round) {
  await native(work, ['commit', '-q', '--allow-empty', '-m', `Pushed ${round}`])
  await native(work, ['push', '-q', remote, 'HEAD:refs/heads/main', `HEAD:refs/heads/topic-${round}`])
}

async function merged(bench, project, round) {
  const base = `${bench.api}/projects/${project.id}`
  const body = { branch: `topic-${round}`, commit_message: 'x', actions: [{ action: 'create', file_path: `merged/${round}`, content: 'x' }] }
  await call(`${base}/repository/commits`, { method: 'POST', body })
  const { iid } = await call(`${base}/merge_requests`, {
    method: 'POST',
    body: { title: 'x', source_branch: `topic-${round}`, target_branch: 'main' },
  })
  await call(`${base}/merge_requests/${iid}/merge`, { method: 'PUT' })
  await native(join(bench.scratch, `history-${project.name.replace(/\D/g, '')}`), ['pull', '-q', '--ff-only'])
}

async function repositoryOf(bench, count) {
  const source = await straight(count)
  const project = await bench.project(`history ${count}`)
  const remote = bench.remote(project.path_with_namespace)
  const work = join(bench.scratch, `history-${count}`)
  git(bench.scratch, ['clone', '-q', '--shared', source, work])
  for (const [key, value] of [
    ['user.name', 'Ada'],
    ['user.email', 'ada@example.com'],
    ['gc.auto', '0'],
  ])
    git(work, ['config', key, value])
  git(work, ['remote', 'set-url', 'origin', remote])
  git(work, ['push', '-q', 'origin', `main~${count - 1}:refs/heads/main`])
  // larger than the push limit
  cpSync(join(source, 'objects'), join(bench.stored(project), 'objects'), { recursive: true })
  git(bench.stored(project), ['update-ref', 'refs/heads/main', git(source, ['rev-parse', 'main']).toString().trim()])
  // the maintenance after a push writes the commit-graph and the bitmap
  git(work, ['commit', '-q', '--allow-empty', '-m', 'First'])
  git(work, ['push', '-q', 'origin', 'main'])
  await upkeepDone(bench)
  return { project, base: `${bench.api}/projects/${project.id}/repository`, work, remote, count }
}

/** Waits for the maintenance of repositories, which takes minutes for a million commits. */
async function upkeepDone(bench) {
  for (;;) {
    const [{ count }] = await bench.sql("select count(*)::int as count from jobs where kind = 'repository upkeep' and failed_at is null")
    if (count === 0) return bench.quiet()
    await sleep(1_000)
  }
}

/** A bare repository with a linear history, each commit changing one of 500 small files; created once. */
async function straight(count) {
  const directory = join(cache, `straight-${count}.git`)
  if (existsSync(directory)) return directory
  const making = `${directory}.making`
  rmSync(making, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  git(cache, ['init', '-q', '--bare', '-b', 'main', making])
  const child = spawn('git', ['fast-import', '--quiet'], { cwd: making, stdio: ['pipe', 'inherit', 'inherit'] })
  for (let n = 0; n < count; n++) {
    const message = `Change ${n}\n`
    const text = `change ${n}\n`
    const files = n === 0 ? Array.from({ length: FILES }, (_, i) => i) : [n % FILES]
    const changes = files.map((i) => `M 100644 inline src/f${i}.txt\ndata ${text.length}\n${text}\n`).join('')
    const commit = `commit refs/heads/main\ncommitter Ada <ada@example.com> ${1_400_000_000 + n * 60} +0000\ndata ${message.length}\n${message}\n${changes}`
    if (!child.stdin.write(commit)) await once(child.stdin, 'drain')
  }
  child.stdin.end()
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`)
  git(making, ['repack', '-a', '-d', '-q'])
  renameSync(making, directory)
  return directory
}
