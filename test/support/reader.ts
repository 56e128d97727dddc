import { afterAll, beforeAll } from 'vitest'
import { POOL_LIMITS, ProcessPool } from '../../src/git/process/pool.js'
import { type Reader, readerFor } from '../../src/git/reading/reader.js'
import { type ReadResources, readResources } from '../../src/git/reading/resources.js'
import { aBareRepository, type TestRepository } from './git.js'
import { testSpawner } from './spawner.js'

/** Repositories for the tests of a file, each with a reader; removed afterwards. */
export function testRepositories() {
  let resources: ReadResources
  const made: TestRepository[] = []
  beforeAll(() => {
    resources = readResources(new ProcessPool(POOL_LIMITS, testSpawner))
  })
  afterAll(async () => {
    resources.batchProcesses.close()
    await resources.pool.close()
    await resources.searches.close()
    for (const repository of made) repository.remove()
  })
  return {
    get resources() {
      return resources
    },
    make(): TestRepository & { reader: Reader; faults: Error[] } {
      const repository = aBareRepository()
      made.push(repository)
      const faults: Error[] = []
      return { ...repository, faults, reader: readerFor(resources, repository.directory, { onFault: (fault) => faults.push(fault) }) }
    },
  }
}

/** A pseudo-random generator with a seed. */
export function random(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return { below: (n: number) => Math.floor(next() * n), chance: (p: number) => next() < p }
}
