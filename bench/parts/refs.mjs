import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { cache, call, median, native, timed } from '../harness.mjs'
import { httpBackend } from '../http-backend.mjs'
import { branched, git } from '../repository.mjs'

const COUNTS = [500, 10_000, 100_000]

/** Calls on repositories with few and with many refs, alternately. */
export async function refs(bench) {
  const repositories = []
  for (const count of COUNTS) repositories.push(await repositoryOf(bench, count))
  await bench.quiet()
  const times = new Map()
  for (let round = 0; round <= bench.rounds; round++)
    for (const repository of repositories)
      for (const [what, work] of steps(repository, round)) {
        const taken = await timed(work)
        // the first round fills caches
        if (round > 0) times.set(`${what} ${repository.count}`, [...(times.get(`${what} ${repository.count}`) ?? []), taken])
      }
  for (const [what, bar] of BARS) {
    const all = COUNTS.map((count) => median(times.get(`${what} ${count}`)))
    process.stdout.write(`| ${what} | ${all.map((each) => each.toFixed(1)).join(' | ')} |\n`)
    bench.figure(`${what}, of 100,000 refs`, all.at(-1), bar, 'ms')
  }
  await besideGit(bench, repositories.at(-1))
}

/** git's own time for the two slowest: a push to a bare `git http-backend`, and the deletion of a ref. */
async function besideGit(bench, { base, work, remote, project }) {
  const backend = await httpBackend(bench)
  const { directory, pushUrl } = backend.serve('refs', project)
  let round = 0
  const push = (url) => () => {
    git(work, ['commit', '-q', '--allow-empty', '-m', `Beside git ${++round}`])
    return native(work, ['push', '-q', url, 'HEAD:refs/heads/pushed'])
  }
  const pushes = await bench.interleaved(push(remote), push(pushUrl))
  bench.row('push of one commit, of 100,000 refs, against git http-backend', ...pushes, 1.2)
  let branch = 0
  const branchName = () => `team-${++branch % 100}/topic-${1_000 + branch}`
  const deletions = await bench.interleaved(
    () => call(`${base}/branches/${encodeURIComponent(branchName())}`, { method: 'DELETE' }),
    () => native(directory, ['-c', 'core.fsync=reference', 'update-ref', '-d', `refs/heads/${branchName()}`]),
  )
  bench.row('deletion of a packed branch, of 100,000 refs, against git update-ref', ...deletions, 1.2)
  backend.stop()
}

const BARS = [
  ['a page of branches', 50],
  ['a page of branches after a change of one', 50],
  ['creation of a branch', 30],
  ['deletion of a new branch', 30],
  ['deletion of a packed branch', 30],
  ['push of one commit', 300],
  ['ls-remote', 300],
]

/** The measurements, in an order in which each prepares the next. */
function steps({ base, work, remote, count }, round) {
  const page = () => call(`${base}/branches?per_page=20&page=${1 + (round % Math.floor(count / 40))}`)
  const remove = (branch) => call(`${base}/branches/${encodeURIComponent(branch)}`, { method: 'DELETE' })
  return [
    ['a page of branches', page],
    ['creation of a branch', () => call(`${base}/branches?branch=new-${round}&ref=main`, { method: 'POST' })],
    ['a page of branches after a change of one', page],
    ['deletion of a new branch', () => remove(`new-${round}`)],
    ['deletion of a packed branch', () => remove(`team-${round % 100}/topic-${round}`)],
    ['commit', () => native(work, ['commit', '-q', '--allow-empty', '-m', `Round ${round}`])],
    ['push of one commit', () => native(work, ['push', '-q', remote, 'HEAD:refs/heads/pushed'])],
    ['ls-remote', () => native(work, ['ls-remote', '-q', remote])],
  ]
}

async function repositoryOf(bench, count) {
  const source = branched(cache, count)
  const project = await bench.project(`refs ${count}`)
  const remote = bench.remote(project.path_with_namespace)
  const work = join(bench.scratch, `refs-${count}`)
  git(bench.scratch, ['clone', '-q', '--single-branch', source, work])
  for (const [key, value] of [
    ['user.name', 'Ada'],
    ['user.email', 'ada@example.com'],
    ['gc.auto', '0'],
  ])
    git(work, ['config', key, value])
  git(work, ['push', '-q', remote, 'main'])
  // larger than the push limit
  for (const name of ['objects', 'packed-refs']) cpSync(join(source, name), join(bench.stored(project), name), { recursive: true })
  return { base: `${bench.api}/projects/${project.id}/repository`, work, remote, count, project }
}
