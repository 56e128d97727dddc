import { join } from 'node:path'
import { cache, median, native, rss, timed } from '../harness.mjs'
import { bulky, git } from '../repository.mjs'

/** 100 MB each way, against the same through the file system. */
export async function wire(bench) {
  const { scratch, child, quick } = bench
  const big = bulky(cache)
  const bulk = await bench.project('bulk')
  const before = rss(child.pid)
  let peak = before
  const watch = setInterval(() => (peak = Math.max(peak, rss(child.pid))), 50)
  git(big, ['push', '-q', bench.remote('root/bulk'), 'main'])
  const pushTimes = [[], []]
  for (let i = 0; i < (quick ? 2 : 4); i++) {
    const target = await bench.project(`bulk ${i} ${bulk.id}`)
    const file = join(scratch, `push${i}.git`)
    git(scratch, ['init', '-q', '--bare', file])
    git(file, ['config', 'receive.fsckObjects', 'true'])
    git(file, ['config', 'receive.unpackLimit', '1'])
    git(file, ['config', 'core.fsync', 'committed'])
    pushTimes[1].push(await timed(() => native(big, ['push', '-q', `file://${file}`, 'main'])))
    pushTimes[0].push(await timed(() => native(big, ['push', '-q', bench.remote(target.path_with_namespace), 'main'])))
  }
  bench.row('push of 100 MB', median(pushTimes[0]), median(pushTimes[1]), 1.3)
  const cloneTimes = [[], []]
  for (let i = 0; i < (quick ? 2 : 4); i++) {
    cloneTimes[1].push(await timed(() => native(scratch, ['clone', '-q', '--bare', `file://${bench.stored(bulk)}`, `file${i}.git`])))
    cloneTimes[0].push(await timed(() => native(scratch, ['clone', '-q', '--bare', bench.remote('root/bulk'), `http${i}.git`])))
  }
  bench.row('clone of 100 MB', median(cloneTimes[0]), median(cloneTimes[1]), 1.3)
  clearInterval(watch)
  bench.figure('growth of memory meanwhile (RSS)', peak - before, 40, 'MB')
}
