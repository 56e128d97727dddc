// @module-tag long
import { beforeAll, expect, it } from 'vitest'
import { killCi } from '../../../bench/kill-ci.mjs'
import { build } from '../../../scripts/build.mjs'

beforeAll(async () => {
  await build()
})

it('kill -9 of the service, a worker or Postgres loses no job and no line, and gives no job twice (CI-103, CI-112 to CI-114, CI-127)', async () => {
  const lines: string[] = []
  const environment = { ROOST_WORKERS: '2' }
  const { faults, given } = await killCi(6, (line) => lines.push(line), ['all', 'worker', 'postmaster', 'backend', 'service'], { environment })
  expect(faults).toEqual([])
  expect(lines).toHaveLength(6)
  // the rounds were not idle
  expect(given).toBeGreaterThan(12)
}, 600_000)
