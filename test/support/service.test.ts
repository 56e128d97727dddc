import { readdir } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { readCatalog } from '../../src/db/snapshots.js'
import { aProject, setSettings } from './factories.js'
import { giveBack, type Service, takeService } from './service.js'

const options = { environment: {}, limits: undefined }
const silent = { onLog: () => {}, onQuery: () => {} }

/** All rows except those of `processes`, the values of sequences, and the names of all files. */
async function everythingOf({ ctx, dataDir }: Service) {
  const { tables, sequences } = await readCatalog(ctx.db)
  const rows = (text: string) => ctx.db.readRows(undefined, text, [])
  const found: Record<string, unknown> = {}
  // a service that starts again has a new secret key, which the installation's row knows
  for (const name of [...tables.keys()].filter((table) => table !== 'installation'))
    found[name] = await rows(`select t::text from public."${name}" t order by 1`)
  for (const name of sequences) found[name] = await rows(`select last_value, is_called from public."${name}"`)
  return { ...found, files: (await readdir(dataDir, { recursive: true })).sort() }
}

it('a service that was given back is as it was at its start', async () => {
  const service = await takeService(options, silent)
  const before = await everythingOf(service)
  const { creator } = await aProject(service.ctx, { files: { 'readme.md': 'x\n' } })
  await setSettings(service.ctx, { signup_enabled: false })
  const status = async () => (await fetch(`${service.url}/api/v4/user`, { headers: { 'private-token': creator.token } })).status
  expect(await status()).toBe(200)
  await giveBack(service, options)
  expect(await takeService(options, silent)).toBe(service)
  expect(await everythingOf(service)).toEqual(before)
  expect([await status(), (await service.ctx.caches.settings.read()).signup_enabled]).toEqual([401, true])
  await giveBack(service, options)
})
