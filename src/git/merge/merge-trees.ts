import { EMPTY_TREE } from '../diff/diff.js'
import type { ReadObject } from '../objects/changes.js'
import type { ObjectBuffer } from '../objects/object-buffer.js'
import { decodeTree, encodeTree, isTree, type RawEntry } from '../objects/tree-codec.js'
import type { Oid } from '../types.js'

/** Bytes of the largest tree that is merged here: reading a larger one would block the event loop. */
const LARGEST_TREE = 262_144
/** Entries with other modes are left to git, which normalises them. */
const MODES = new Set(['100644', '100755', '120000', '160000', '40000'])

/**
 * Merges what two sides did to different entries of the same folders, and adds the resulting trees to the buffer: most
 * merges need no more than this, and no process. Null: leave it to git.
 *
 * The result is that of merge-ort, because everything that a rename could affect is left to git. A rename on one side
 * affects the other side's changes only where that side touched the old path, the new path or, when a whole folder was
 * renamed, something inside it; each of these is an entry that both sides changed, and only folders that all three
 * trees still have are descended into.
 */
export async function mergeInProcess(readObject: ReadObject, stage: ObjectBuffer, base: Oid, ours: Oid, theirs: Oid): Promise<Oid | null> {
  if (base === theirs) return ours
  if (base === ours) return theirs
  const [was, left, right] = await Promise.all([base, ours, theirs].map((tree) => entriesOf(readObject, tree)))
  if (!was || !left || !right) return null
  const merged: RawEntry[] = []
  for (const name of new Set([...left.keys(), ...right.keys(), ...was.keys()])) {
    const before = was.get(name)
    const sides = [left.get(name), right.get(name)] as const
    const entry = unchangedBy(before, ...sides) ?? (await joined(readObject, stage, before, ...sides))
    if (entry === null) return null
    if (entry !== GONE) merged.push(entry)
  }
  return merged.length === 0 ? null : stage.tree(encodeTree(merged))
}

const GONE = Symbol('gone')

/** The entry as changed by the only side that changed it; null: both sides did. */
function unchangedBy(before: RawEntry | undefined, ours: RawEntry | undefined, theirs: RawEntry | undefined): RawEntry | typeof GONE | null {
  if (same(before, theirs)) return ours ?? GONE
  if (same(before, ours)) return theirs ?? GONE
  return null
}

/** An entry that both sides changed: a file to the same content, or a folder that still is one. */
async function joined(
  readObject: ReadObject,
  stage: ObjectBuffer,
  before: RawEntry | undefined,
  ours: RawEntry | undefined,
  theirs: RawEntry | undefined,
): Promise<RawEntry | null> {
  if (!before || !ours || !theirs) return null
  const folders = [before, ours, theirs].filter(({ mode }) => isTree(mode)).length
  if (folders === 0) return same(ours, theirs) ? ours : null
  // changed alike on both sides, a folder may contain halves of two renames
  if (folders < 3 || same(ours, theirs)) return null
  const oid = await mergeInProcess(readObject, stage, before.oid, ours.oid, theirs.oid)
  return oid === null ? null : { ...ours, oid }
}

const same = (a: RawEntry | undefined, b: RawEntry | undefined) => a?.oid === b?.oid && a?.mode === b?.mode

/** The entries by name; null where encoding them again might not give what git writes. */
async function entriesOf(readObject: ReadObject, tree: Oid): Promise<Map<string, RawEntry> | null> {
  const object = await readObject(tree)
  if (object?.type !== 'tree' || object.content.length > LARGEST_TREE) return null
  const entries = decodeTree(object.content)
  if (!entries.every(({ mode, oid }) => MODES.has(mode) && oid !== EMPTY_TREE)) return null
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return byName.size === entries.length ? byName : null
}
