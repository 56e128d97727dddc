import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { backUp } from '../../../src/services/operations/backup.js'
import { faults } from '../../../src/services/operations/doctor/index.js'
import { removeIfUnused } from '../../../src/services/packages/files.js'
import { testApp } from '../../support/app.js'
import { aProject, type TestProject } from '../../support/factories.js'
import { registryOf } from './packages.js'

const t = testApp()
const { generic } = registryOf(t)

const oidOf = (text: string) => createHash('sha256').update(text).digest('hex')
const pathOf = (oid: string) => join(t.dataDir, 'packages', oid.slice(0, 2), oid.slice(2, 4), oid.slice(4))
const isThere = (oid: string) =>
  stat(pathOf(oid)).then(
    () => true,
    () => false,
  )
const remove = async (project: TestProject) => {
  for (const { id } of (await t.api('get', `${project.path}/packages`, project.creator).expect(200)).body)
    await t.api('delete', `${project.path}/packages/${id}`, project.creator).expect(204)
}
const found = async (kind: string) => {
  const all = []
  for await (const fault of faults(t.ctx)) if (fault.kind === kind) all.push(fault)
  return all
}

it('the bytes of a deleted package go, unless another has the same (PK-9)', async () => {
  const [one, two] = [await aProject(t.ctx), await aProject(t.ctx)]
  await generic(one, 'a/1/x', 'shared')
  await generic(two, 'a/1/x', 'shared')
  await remove(one)
  expect([await removeIfUnused(t.ctx, oidOf('shared')), await isThere(oidOf('shared'))]).toEqual([false, true])
  await remove(two)
  expect([await removeIfUnused(t.ctx, oidOf('shared')), await isThere(oidOf('shared'))]).toEqual([true, false])
})

it('doctor reports files that are missing or cut, and removes unnamed ones (PK-9)', async () => {
  const project = await aProject(t.ctx)
  for (const text of ['missing', 'cut']) await generic(project, `a/1/${text}`, text)
  await rm(pathOf(oidOf('missing')))
  await writeFile(pathOf(oidOf('cut')), 'c')
  expect((await found('damaged package')).map(({ text }) => text).sort()).toEqual(
    [`${oidOf('missing')} is not there`, `${oidOf('cut')} has 1 bytes instead of 3`]
      .map((text) => `${text}; publish it again, or take it from a backup`)
      .sort(),
  )
  const staged = await t.ctx.packages.receive(Readable.from([Buffer.from('unnamed')]), 100, [])
  await staged.commit()
  await staged.discard()
  // young ones may be about to get their rows
  expect(await found('orphan package file')).toEqual([])
  await remove(project)
})

it('a backup has the files, also of a file that is called like a digest (PK-9)', async () => {
  const project = await aProject(t.ctx)
  await generic(project, `a/1/${'0'.repeat(64)}`, 'kept')
  const root = join(await mkdtemp(join(t.dataDir, 'backup-')), 'copy')
  await backUp(t.ctx, t.databaseUrl, root)
  const oid = oidOf('kept')
  expect(await readFile(join(root, 'packages', oid.slice(0, 2), oid), 'utf8')).toBe('kept')
})
