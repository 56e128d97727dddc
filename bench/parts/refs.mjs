import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { cache, call, median, native, timed } from '../harness.mjs'
import { branched, git } from '../repository.mjs'

const COUNTS = [500, 10_000, 100_000]

/** Calls on repositories of few refs and of many, in turns. */
export async function refs(bench) {
  const repositories = []
  for (const count of COUNTS) repositories.push(await repositoryOf(bench, count))
  await bench.quiet()
  const times = new Map()
  for (let round = 0; round <= bench.rounds; round++)
    for (const repository of repositories)
      for (const [what, work] of steps(repository, round)) {
        const taken = await timed(work)
        // the first round makes what is kept
        if (round > 0) times.set(`${what} ${repository.count}`, [...(times.get(`${what} ${repository.count}`) ?? []), taken])
      }
  for (const [what, bar] of BARS) {
    const all = COUNTS.map((count) => median(times.get(`${what} ${count}`)))
    process.stdout.write(`| ${what} | ${all.map((each) => each.toFixed(1)).join(' | ')} |\n`)
    bench.figure(`${what}, of 100,000 refs`, all.at(-1), bar, 'ms')
  }
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

/** What is measured, in the order in which one makes what the next needs. */
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
  for (const [key, value] of [['user.name', 'Ada'], ['user.email', 'ada@example.com'], ['gc.auto', '0']]) git(work, ['config', key, value]) // biome-ignore format: pairs
  git(work, ['push', '-q', remote, 'main'])
  // more than one push may bring
  for (const name of ['objects', 'packed-refs']) cpSync(join(source, name), join(bench.stored(project), name), { recursive: true })
  return { base: `${bench.api}/projects/${project.id}/repository`, work, remote, count }
}
