import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { databaseHome } from '../../../src/db/postgres/home.js'
import { writePreparation } from '../../../src/db/postgres/records.js'
import { StartFault } from '../../../src/lib/start-fault.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roost-home-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A folder of the embedded Postgres whose database is in `home`. */
async function prepared(name: string, home = join(folder, name)) {
  const directory = join(folder, name)
  await mkdir(join(home, 'data'), { recursive: true })
  await mkdir(directory, { recursive: true })
  await writePreparation(directory, { origin: 'test', major: 18, home, directory })
  return { directory, home, copy: join(folder, `${name}-copy`) }
}

it('a copied data folder has the copied database, not that of the original', async () => {
  const { directory, copy } = await prepared('whole')
  await cp(directory, copy, { recursive: true })
  expect(await databaseHome(directory, undefined)).toBe(directory)
  expect(await databaseHome(copy, undefined)).toBe(copy)
})

it('a copy of a folder whose database is elsewhere is refused; a folder that was moved keeps it', async () => {
  const { directory, home, copy } = await prepared('apart', join(folder, 'elsewhere'))
  await cp(directory, copy, { recursive: true })
  expect(await databaseHome(directory, undefined)).toBe(home)
  await expect(databaseHome(copy, undefined)).rejects.toThrow(StartFault)
  await rm(copy, { recursive: true })
  await rename(directory, copy)
  expect(await databaseHome(copy, undefined)).toBe(home)
})
