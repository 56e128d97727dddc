import type { ObjectStore } from './object-store.js'

/** Age at which an object without a row is left behind, and not about to get one. */
const LEFT_BEHIND_MS = 86_400_000
const BATCH = 1_000

/** Ids of old objects of a store of which `named` finds no row: rows were deleted, or never made. */
export async function* unnamedObjects(
  store: Pick<ObjectStore, 'list'>,
  named: (oids: string[]) => Promise<{ oid: string }[]>,
): AsyncGenerator<string> {
  let oids: string[] = []
  const unnamed = async () => {
    const found = new Set((oids.length > 0 ? await named(oids) : []).map(({ oid }) => oid))
    return oids.filter((oid) => !found.has(oid))
  }
  for await (const { oid, storedAt } of store.list()) {
    if (Date.now() - storedAt < LEFT_BEHIND_MS) continue
    oids.push(oid)
    if (oids.length < BATCH) continue
    yield* await unnamed()
    oids = []
  }
  yield* await unnamed()
}
