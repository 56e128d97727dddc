import { cp, mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'
import type { RefSnapshot } from '../types.js'
import { repositoryExists } from './create.js'
import { withMaintenanceLock } from './maintenance.js'

const LOCK_POLL_INTERVAL_MS = 250

/**
 * Copies a repository into a new directory, with the given refs. Only maintenance removes objects, and it is locked out
 * meanwhile. Returns false if the repository no longer exists.
 */
export async function saveRepository(directory: string, { head, refs }: RefSnapshot, target: string): Promise<boolean> {
  for (;;) {
    const saved = await withMaintenanceLock(directory, async () => {
      await mkdir(target, { recursive: true })
      await cp(join(directory, 'objects'), join(target, 'objects'), { recursive: true, dereference: true, filter: (path) => !TEMPORARY.test(path) })
      await cp(join(directory, 'config'), join(target, 'config'))
      for (const folder of ['refs/heads', 'refs/tags', 'info']) await mkdir(join(target, folder), { recursive: true })
      await writeNewFile(join(target, 'packed-refs'), packedRefs(refs))
      await writeNewFile(join(target, 'HEAD'), `ref: ${head}\n`)
    })
    if (saved || !(await repositoryExists(directory))) return saved
    await sleep(LOCK_POLL_INTERVAL_MS)
  }
}

/** Temporary and `.keep` files of running processes, which may disappear at any moment and are useless in a copy. */
const TEMPORARY = /(\.lock|\.keep|\/(\.?tmp[_-]|incoming-|bulk_fsync)[^/]*)$/

const packedRefs = (refs: RefSnapshot['refs']) =>
  `# pack-refs with: sorted \n${refs
    .map(({ name, oid }) => ({ line: `${oid} ${name}\n`, key: Buffer.from(name) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ line }) => line)
    .join('')}`

/** Restores a saved copy atomically; throws if the repository exists. */
export async function restoreRepository(saved: string, directory: string): Promise<void> {
  const shard = dirname(directory)
  await mkdir(shard, { recursive: true })
  const temporary = join(shard, `.tmp-${process.pid}-${Date.now()}`)
  await cp(saved, temporary, { recursive: true, errorOnExist: true, force: false })
  // git does not recognise a repository without these, and not every backup tool keeps empty directories
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags']) await mkdir(join(temporary, folder), { recursive: true })
  await rename(temporary, directory)
  await syncDirectory(shard)
}
