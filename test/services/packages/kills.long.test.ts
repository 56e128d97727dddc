// @module-tag long
import { beforeAll, expect, it } from 'vitest'
import { killPackages } from '../../../bench/kill-packages.mjs'
import { build } from '../../../scripts/build.mjs'

beforeAll(async () => {
  await build()
})

it('kill -9 of the service, a worker, git or Postgres loses no package, image, mirrored commit, invitation or flag, and leaves nothing (PK-9, PK-81, OCI-9)', async () => {
  const lines: string[] = []
  const environment = { ROOST_WORKERS: '2' }
  const { faults, acknowledged } = await killPackages(8, (line) => lines.push(line), ['all', 'worker', 'postmaster', 'backend', 'git', 'service'], {
    environment,
  })
  expect(faults).toEqual([])
  expect(lines).toHaveLength(8)
  // the rounds were not idle
  expect(Object.values(acknowledged).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(20)
}, 900_000)
