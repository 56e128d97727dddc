import { spawnSync } from 'node:child_process'
import { call, median, timed } from '../harness.mjs'

/** Disk usage of several folders; hard links are counted once. */
const used = (...folders) => {
  const lines = spawnSync('du', ['-sk', '--total', ...folders])
    .stdout.toString()
    .trim()
    .split('\n')
  return Number(lines.at(-1).split('\t')[0])
}

/** A fork of the repository of 50,000 commits, and its disk usage. */
export async function forks(bench) {
  const { project, stored } = await bench.large()
  const [ours, made] = [[], []]
  for (let i = 0; i < Math.ceil(bench.rounds / 2); i++) {
    const body = { name: `fork ${i}`, path: `fork-${i}` }
    ours.push(
      await timed(async () => {
        made.push(await call(`${bench.api}/projects/${project.id}/fork`, { method: 'POST', body }))
      }),
    )
  }
  bench.figure('fork of 50,000 commits', median(ours), 1_000, 'ms')
  const one = used(stored)
  bench.row('a repository and its fork on disk', used(stored, bench.stored(made.at(-1))) / 1024, one / 1024, 1.1, { unit: 'MB' })
}
