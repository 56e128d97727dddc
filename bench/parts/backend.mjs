import { join } from 'node:path'
import { cache, median, native, timed } from '../harness.mjs'
import { httpBackend } from '../http-backend.mjs'
import { bulky, generated, git } from '../repository.mjs'

/** Git over HTTP against a bare `git http-backend` behind a plain Node server, on copies of the same repositories. */
export async function backend(bench) {
  const { scratch, quick } = bench
  const sources = { small: generated(cache, { commits: 6_000, files: 500 }), bulk: bulky(cache) }
  const theirs = await httpBackend(bench)
  const [urls, pushed] = [{}, {}]
  for (const [name, source] of Object.entries(sources)) {
    const project = await bench.project(`beside a backend ${name}`, { visibility: 'public' })
    const ours = bench.remote(project.path_with_namespace)
    git(source, ['push', '-q', ours, 'refs/heads/*:refs/heads/*'])
    await bench.quiet()
    // copied after our maintenance, so that both have the same packs and bitmaps
    const { url, pushUrl } = theirs.serve(name, project)
    urls[name] = [`${bench.url}/${project.path_with_namespace}.git`, url]
    pushed[name] = [ours, pushUrl]
  }
  let count = 0
  const clone = (url, more = []) => native(scratch, ['clone', '-q', '--bare', ...more, url, `b${++count}.git`])
  const row = async (what, rounds, work) => {
    const [own, other] = await bench.interleaved(
      () => work(0),
      () => work(1),
      quick ? Math.min(rounds, 5) : rounds,
    )
    bench.row(`${what}, against git http-backend`, own, other, 1)
  }
  await row('ls-remote', 41, (side) => native(scratch, ['ls-remote', '-q', urls.small[side]]))
  await row('clone of 6,000 commits', 9, (side) => clone(urls.small[side]))
  await row('clone of the last commit', 21, (side) => clone(urls.small[side], ['--depth=1']))
  await row('clone of 100 MB', 9, (side) => clone(urls.bulk[side]))

  // each side has its own complete clone, which pushes its own commits
  const clones = [0, 1].map((side) => {
    const path = join(scratch, `work${side}`)
    git(scratch, ['clone', '-q', '--depth=1', urls.small[side], path])
    git(path, ['config', 'user.name', 'Ada'])
    git(path, ['config', 'user.email', 'ada@example.com'])
    return path
  })
  await row('fetch of nothing', 41, (side) => native(clones[side], ['fetch', '-q', '--depth=1', 'origin', 'main']))
  const commit = (side) => git(clones[side], ['commit', '-q', '--allow-empty', '-m', `change ${++count}`])
  const pushes = [[], []]
  for (let i = 0; i < (quick ? 5 : 21); i++)
    for (const side of [1, 0]) {
      commit(side)
      pushes[side].push(await timed(() => native(clones[side], ['push', '-q', pushed.small[side], 'HEAD:main'])))
    }
  bench.row('push of a commit, against git http-backend', median(pushes[0]), median(pushes[1]), 1)
  theirs.stop()
}
