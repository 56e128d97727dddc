import { cp, mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'
import type { RefSnapshot } from '../types.js'
import { repositoryExists } from './create.js'
import { withMaintenanceLock } from './maintenance.js'

/** Milliseconds between two checks whether maintenance has ended. */
const PATIENCE = 250

/**
 * Copies a repository into a new folder, with its refs as they were. Objects are only ever added, except by
 * maintenance, which waits. False: it no longer exists.
 */
export async function saveRepository(directory: string, { head, refs }: RefSnapshot, target: string): Promise<boolean> {
  for (;;) {
    const saved = await withMaintenanceLock(directory, async () => {
      await mkdir(target, { recursive: true })
      await cp(join(directory, 'objects'), join(target, 'objects'), { recursive: true, dereference: true, filter: (path) => !LEFTOVER.test(path) })
      await cp(join(directory, 'config'), join(target, 'config'))
      for (const folder of ['refs/heads', 'refs/tags', 'info']) await mkdir(join(target, folder), { recursive: true })
      await writeNewFile(join(target, 'packed-refs'), packedRefs(refs))
      await writeNewFile(join(target, 'HEAD'), `ref: ${head}\n`)
    })
    if (saved || !(await repositoryExists(directory))) return saved
    await sleep(PATIENCE)
  }
}

/**
 * What running processes write, or hold a new pack with until its refs have moved: it may disappear at any moment, and
 * is of no use later.
 */
const LEFTOVER = /(\.lock|\.keep|\/(\.?tmp[_-]|incoming-|bulk_fsync)[^/]*)$/

const packedRefs = (refs: RefSnapshot['refs']) =>
  `# pack-refs with: sorted \n${refs
    .map(({ name, oid }) => ({ line: `${oid} ${name}\n`, key: Buffer.from(name) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ line }) => line)
    .join('')}`

/** Puts such a copy in its place, where nothing may exist. It appears complete or not at all. */
export async function restoreRepository(saved: string, directory: string): Promise<void> {
  const shard = dirname(directory)
  await mkdir(shard, { recursive: true })
  const aside = join(shard, `.tmp-${process.pid}-${Date.now()}`)
  await cp(saved, aside, { recursive: true, errorOnExist: true, force: false })
  // git does not recognise a folder without these as a repository, and not every backup tool keeps empty folders
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags']) await mkdir(join(aside, folder), { recursive: true })
  await rename(aside, directory)
  await syncDirectory(shard)
}
