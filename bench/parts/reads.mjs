import { call, median, native } from '../harness.mjs'
import { git } from '../repository.mjs'

/** Reading a repository, against the equivalent git command. */
export async function reads(bench) {
  const { stored, base } = await bench.large()
  const log = (skip) => ['log', `--skip=${skip}`, '-n', '20', '--format=%H%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%P%x00%B', 'main']
  for (const page of [1, 50]) {
    const shown = await call(`${base}/commits?page=${page}`)
    const expected = git(stored, ['log', `--skip=${(page - 1) * 20}`, '-n', '20', '--format=%H', 'main'])
      .toString()
      .trim()
    if (shown.map(({ id }) => id).join('\n') !== expected) throw new Error(`page ${page} is not in the order of git log`)
    bench.row(
      `commits page ${page}`,
      ...(await bench.interleaved(
        () => call(`${base}/commits?page=${page}`),
        () => native(stored, log((page - 1) * 20)),
      )),
      1.5,
    )
  }

  const spawned = `${await bench.plain()}/log?directory=${encodeURIComponent(stored)}`
  const [pages, spawns] = [[], []]
  for (let i = 0; i < 3; i++) {
    spawns.push(await bench.throughput(spawned, 16))
    pages.push(await bench.throughput(`${base}/commits`, 16))
  }
  bench.row('16 clients, commits page 1, a spawn each', median(pages), median(spawns), 5, { unit: '/s', atLeast: true })

  const ids = git(stored, ['log', '-n', '400', '--no-merges', '--format=%H', 'main']).toString().trim().split('\n')
  const each = (work) => {
    let i = 0
    return () => work(ids[i++ % ids.length])
  }
  bench.row(
    'single commit',
    ...(await bench.interleaved(
      each((id) => call(`${base}/commits/${id}`)),
      each((id) => native(stored, ['show', '--numstat', id])),
    )),
    1.5,
  )
  const blobs = git(stored, ['ls-tree', '-r', '--format=%(objectname)', 'main']).toString().trim().split('\n')
  let b = 0
  bench.row(
    'blob',
    ...(await bench.interleaved(
      () => call(`${base}/blobs/${blobs[b++]}/raw`),
      () => native(stored, ['cat-file', 'blob', blobs[b]]),
    )),
    1.5,
  )
  bench.row(
    'tree, one level',
    ...(await bench.interleaved(
      () => call(`${base}/tree?path=src/m1&per_page=100`),
      () => native(stored, ['ls-tree', 'main:src/m1']),
    )),
    1.5,
  )
  bench.row(
    'commit diff',
    ...(await bench.interleaved(
      each((id) => call(`${base}/commits/${id}/diff`)),
      each((id) => native(stored, ['diff-tree', '-p', '-M', '--root', id])),
    )),
    1.5,
  )
}
