import type { Context } from '../../context.js'
import type { ObjectStore } from '../../lib/files/object-store.js'

/** Milliseconds without a write after which an upload is abandoned; slow clients are disconnected long before. */
export const STALLED_UPLOAD_AGE_MS = 600_000

/** Removes incomplete files of abandoned uploads from a store. */
export async function removeStalledUploads(
  { log }: Pick<Context, 'log'>,
  store: Pick<ObjectStore, 'leftovers' | 'removeLeftover'>,
  unchanged = STALLED_UPLOAD_AGE_MS,
): Promise<void> {
  for (const name of await store.leftovers(unchanged))
    await store.removeLeftover(name).catch((fault: unknown) => log.warn({ err: fault, name }, 'an abandoned upload cannot be removed'))
}
