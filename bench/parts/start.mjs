import { median, postgresOf, pss } from '../harness.mjs'

/** Start-up time and idle memory. */
export async function start(bench) {
  await bench.stop()
  const starts = []
  for (let i = 0; i < 5; i++) {
    starts.push(await bench.start())
    if (i < 4) await bench.stop()
  }
  bench.figure('warm start to ready', median(starts), 1_000, 'ms')
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  bench.figure('idle memory of Node (PSS)', pss(bench.child.pid), 130, 'MB')
  bench.figure(
    'idle memory of Postgres (PSS)',
    postgresOf(bench.dataDir).reduce((sum, pid) => sum + pss(pid), 0),
    60,
    'MB',
  )
}
