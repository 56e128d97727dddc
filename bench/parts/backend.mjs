import { spawn } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cache, median, native, root, timed } from '../harness.mjs'
import { bulky, generated, git } from '../repository.mjs'

/** Git over HTTP against a bare `git http-backend` behind a plain Node server, on copies of the same repositories. */
export async function backend(bench) {
  const { scratch, quick } = bench
  const sources = { small: generated(cache, { commits: 6_000, files: 500 }), bulk: bulky(cache) }
  const folder = join(scratch, 'backend')
  const server = spawn(process.execPath, [join(root, 'bench/backend.mjs'), folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const address = String(await new Promise((resolve) => server.stdout.once('data', resolve))).trim()
  const [urls, pushed] = [{}, {}]
  for (const [name, source] of Object.entries(sources)) {
    const project = await bench.project(`beside a backend ${name}`, { visibility: 'public' })
    const ours = bench.remote(project.path_with_namespace)
    git(source, ['push', '-q', ours, 'refs/heads/*:refs/heads/*'])
    await bench.quiet()
    // what our maintenance has made of it: packs and bitmaps are the same for both
    cpSync(bench.stored(project), join(folder, `${name}.git`), { recursive: true })
    git(join(folder, `${name}.git`), ['config', 'http.receivepack', 'true'])
    for (const [key, value] of [['receive.fsckObjects', 'true'], ['receive.unpackLimit', '1'], ['core.fsync', 'committed,loose-object,reference'], ['core.fsyncMethod', 'batch']]) git(join(folder, `${name}.git`), ['config', key, value]) // biome-ignore format: pairs
    urls[name] = [`${bench.url}/${project.path_with_namespace}.git`, `${address}/${name}.git`]
    pushed[name] = [ours, `${address.replace('://', '://x:y@')}/${name}.git`]
  }
  let count = 0
  const clone = (url, more = []) => native(scratch, ['clone', '-q', '--bare', ...more, url, `b${++count}.git`])
  const row = async (what, rounds, work) => {
    const [ours, theirs] = await bench.interleaved(
      () => work(0),
      () => work(1),
      quick ? Math.min(rounds, 5) : rounds,
    )
    bench.row(`${what}, against git http-backend`, ours, theirs, 1)
  }
  await row('ls-remote', 41, (side) => native(scratch, ['ls-remote', '-q', urls.small[side]]))
  await row('clone of 6,000 commits', 9, (side) => clone(urls.small[side]))
  await row('clone of the last commit', 21, (side) => clone(urls.small[side], ['--depth=1']))
  await row('clone of 100 MB', 9, (side) => clone(urls.bulk[side]))

  // each side has a clone of its own, which has all, and which pushes commits of its own
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
  server.kill()
  rmSync(folder, { recursive: true, force: true })
}
