import { spawn } from 'node:child_process'
import http from 'node:http'
import { median, rss, TOKEN } from '../harness.mjs'
import { git } from '../repository.mjs'

/** Milliseconds to the first and to the last byte of a stream. */
async function watch(stream, start) {
  let first
  for await (const _ of stream) first ??= performance.now() - start
  return [first, performance.now() - start]
}

/** Uncached archives of 5,000 files, against `git archive`; memory must not grow. */
export async function archive(bench) {
  const { base, stored } = await bench.large()
  const count = Math.ceil(bench.rounds / 2)
  const commits = git(stored, ['rev-list', '-n', `${count + 1}`, 'main'])
    .toString()
    .trim()
    .split('\n')
  const viaApi = (commit) => {
    const start = performance.now()
    return new Promise((resolve, reject) => {
      const request = http.get(`${base}/archive.tar.gz?sha=${commit}`, { headers: { 'private-token': TOKEN } }, (response) => {
        if (response.statusCode === 200) watch(response, start).then(resolve, reject)
        else reject(new Error(`archive: ${response.statusCode}`))
      })
      request.on('error', reject)
    })
  }
  const viaGit = (commit) => {
    const start = performance.now()
    const child = spawn('git', ['archive', '--format=tar.gz', '--prefix=large/', commit], { cwd: stored, stdio: ['ignore', 'pipe', 'inherit'] })
    return watch(child.stdout, start)
  }
  const warm = commits.pop()
  await viaApi(warm)
  await viaGit(warm)
  const before = rss(bench.child.pid)
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, rss(bench.child.pid))), 20)
  const [ours, theirs] = [[], []]
  for (const commit of commits) {
    theirs.push(await viaGit(commit))
    ours.push(await viaApi(commit))
  }
  clearInterval(timer)
  for (const [at, byte] of ['first', 'last'].entries()) {
    const of = (times) => median(times.map((pair) => pair[at]))
    bench.row(`archive of 5,000 files, to its ${byte} byte`, of(ours), of(theirs), 1.3)
  }
  bench.figure('growth of memory during archives (RSS)', peak - before, 40, 'MB')
}
