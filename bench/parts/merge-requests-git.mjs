import { join } from 'node:path'
import { call, median, native, timed } from '../harness.mjs'
import { git } from '../repository.mjs'

const FILES = 20
/** Merge requests created before the measurement. */
const WARM = 60
/** git configuration with the same durability as ours. */
const SYNCED = ['-c', 'core.fsync=all', '-c', 'user.name=Ada', '-c', 'user.email=a@example.com']

/** Merge requests of 20 files in a repository of 5,000, against git processes for the same work. */
export async function mergeRequestsGit(bench) {
  const { project, stored, base } = await bench.large()
  const requests = `${bench.api}/projects/${project.id}/merge_requests`
  const root = (await native(stored, ['rev-parse', 'main'])).toString().trim()
  const twin = join(bench.scratch, 'merges.git')
  git(bench.scratch, ['clone', '-q', '--bare', `file://${stored}`, twin])

  const count = 4 * bench.rounds + 12 + WARM
  const branches = Array.from({ length: count }, (_, i) => `mr-${i}`)
  const stream = branches
    .map((branch, n) => {
      const changed = Array.from({ length: FILES }, (_, i) => {
        const content = `request ${n} file ${i}\n`.repeat(20)
        return `M 100644 inline src/m${i % 10}/p${n % 20}/request-${n}-${i}.txt\ndata ${content.length}\n${content}\n`
      }).join('')
      return `commit refs/heads/${branch}\ncommitter Ada <a@example.com> ${1_800_000_000 + n} +0000\ndata 2\nx\nfrom ${root}\n${changed}\n`
    })
    .join('')
  for (const directory of [stored, twin]) await native(directory, ['fast-import', '--quiet', '--force'], { input: stream })
  // the target moves on, so that a real merge is needed
  await call(`${base}/commits`, {
    method: 'POST',
    body: { branch: 'main', commit_message: 'on', actions: [{ action: 'create', file_path: 'on', content: 'on' }] },
  })
  await native(twin, ['fetch', '-q', stored, '+refs/heads/main:refs/heads/main'])

  const opened = []
  let next = 0
  const create = async () => {
    const branch = branches[next++]
    const { iid } = await call(requests, { method: 'POST', body: { title: branch, source_branch: branch, target_branch: 'main' } })
    opened.push({ branch, iid })
  }
  for (let i = 0; i < WARM; i++) await create()
  await bench.quiet()
  let compared = 0
  const tree = () => native(twin, ['merge-tree', '--write-tree', '--no-messages', 'main', branches[compared++ % count]])
  bench.row('create a request of 20 files, checked, against merge-tree', ...(await bench.interleaved(create, tree)), 3)
  while (opened.length < 2 * bench.rounds + 4 + WARM) await create()

  const [one] = opened
  const range = async (branch) => [(await native(twin, ['merge-base', 'main', branch])).toString().trim(), branch]
  const difference = (branch) => async () => native(twin, ['diff-tree', '-r', '-p', '-M', ...(await range(branch))])
  const history = (branch) => () => native(twin, ['log', '--format=raw', `main..${branch}`])
  // as many concurrent processes as clients
  const spawns = async (work) => {
    const seconds = bench.quick ? 2 : 4
    const end = performance.now() + 1_000 * seconds
    let done = 0
    const client = async () => {
      for (; performance.now() < end; done++) await work()
    }
    await Promise.all(Array.from({ length: 16 }, client))
    return done / seconds
  }
  const against = async (what, spawned) => {
    const [mine, theirs] = [[], []]
    for (let i = 0; i < 3; i++) {
      theirs.push(await spawns(spawned))
      mine.push(await bench.throughput(`${requests}/${one.iid}/${what}`, 16))
    }
    return [median(mine), median(theirs)]
  }
  const [from] = await range(one.branch)
  const perSecond = { unit: '/s', atLeast: true }
  const changes = await against('changes', () => native(twin, ['diff-tree', '-r', '-p', '-M', from, one.branch]))
  bench.row('16 clients, changes of 20 files, a spawn each', ...changes, 5, perSecond)
  bench.row('16 clients, commits of a request, a spawn each', ...(await against('commits', history(one.branch))), 5, perSecond)

  await bench.stop()
  await bench.start()
  const again = `${bench.api}/projects/${project.id}/merge_requests`
  // warms up the long-lived processes, not the caches
  await call(`${again}/${opened.at(-1).iid}/changes`)
  const cold = async (what, theirs, some) => {
    const [a, b] = [[], []]
    for (const { branch, iid } of some) {
      b.push(await timed(theirs(branch)))
      a.push(await timed(() => call(`${again}/${iid}/${what}`)))
    }
    return [median(a), median(b)]
  }
  const half = Math.floor(opened.length / 2)
  bench.row('changes of 20 files, cold', ...(await cold('changes', difference, opened.slice(1, half))), 1.5)
  bench.row('commits of a request, cold', ...(await cold('commits', history, opened.slice(half, -1))), 1.5)

  // each into its own branch, as a moved branch causes all its merge requests to be checked again
  const into = opened.map(({ branch }) => `into-${branch}`)
  for (const directory of [stored, twin])
    await native(directory, ['update-ref', '--stdin'], { input: into.map((branch) => `create refs/heads/${branch} refs/heads/main\n`).join('') })
  const ready = []
  for (let i = 0; i < bench.rounds + 1; i++) {
    const sent = { title: 'x', source_branch: opened[i].branch, target_branch: into[i] }
    ready.push((await call(again, { method: 'POST', body: sent })).iid)
  }
  await bench.quiet()
  let merged = 0
  const accept = () => call(`${again}/${ready[merged++]}/merge`, { method: 'PUT' })
  let byHand = 0
  const mergeByHand = async () => {
    const target = into[byHand]
    const branch = opened[byHand++].branch
    const tip = (await native(twin, ['rev-parse', target])).toString().trim()
    const tree = (await native(twin, [...SYNCED, 'merge-tree', '--write-tree', '--no-messages', target, branch])).toString().trim()
    const commit = (await native(twin, [...SYNCED, 'commit-tree', tree, '-p', target, '-p', branch, '-m', 'x'])).toString().trim()
    await native(twin, [...SYNCED, 'update-ref', `refs/heads/${target}`, commit, tip])
  }
  bench.row('accept, against merge-tree, commit-tree and update-ref', ...(await bench.interleaved(accept, mergeByHand)), 1.3)
}
