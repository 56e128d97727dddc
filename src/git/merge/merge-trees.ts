import { EMPTY_TREE } from '../diff/diff.js'
import type { ReadObject } from '../objects/changes.js'
import type { ObjectBuffer } from '../objects/object-buffer.js'
import { decodeTree, encodeTree, isTree, type NamedEntry } from '../objects/tree-codec.js'
import type { Oid } from '../types.js'

/** Larger trees are left to git, because decoding them would block the event loop. */
const MAX_TREE_BYTES = 262_144
/** Trees with other modes are left to git, which normalises them. */
const MODES = new Set(['100644', '100755', '120000', '160000', '40000'])

/**
 * Merges trees in which the two sides changed different entries, as in most merges, without a process; adds the
 * resulting trees to the buffer. Returns null if the merge must be left to git.
 *
 * The result is that of merge-ort, because everything that a rename could affect is left to git. A rename on one side
 * affects the other side's changes only if that side touched the old path, the new path or, for a renamed folder,
 * something inside it; each of these is an entry that both sides changed, and only folders that exist in all three
 * trees are descended into.
 */
export async function mergeInProcess(readObject: ReadObject, stage: ObjectBuffer, base: Oid, ours: Oid, theirs: Oid): Promise<Oid | null> {
  if (base === theirs) return ours
  if (base === ours) return theirs
  const [ancestor, left, right] = await Promise.all([base, ours, theirs].map((tree) => entriesOf(readObject, tree)))
  if (!ancestor || !left || !right) return null
  const merged: NamedEntry[] = []
  for (const name of new Set([...left.keys(), ...right.keys(), ...ancestor.keys()])) {
    const before = ancestor.get(name)
    const sides = [left.get(name), right.get(name)] as const
    const entry = unchangedBy(before, ...sides) ?? (await mergeBothChanged(readObject, stage, before, ...sides))
    if (entry === null) return null
    if (entry !== REMOVED) merged.push(entry)
  }
  return merged.length === 0 ? null : stage.tree(encodeTree(merged))
}

const REMOVED = Symbol('removed')

/** The entry of the only side that changed it; null if both sides did. */
function unchangedBy(
  before: NamedEntry | undefined,
  ours: NamedEntry | undefined,
  theirs: NamedEntry | undefined,
): NamedEntry | typeof REMOVED | null {
  if (isSame(before, theirs)) return ours ?? REMOVED
  if (isSame(before, ours)) return theirs ?? REMOVED
  return null
}

/** Merges an entry that both sides changed: a file with the same new content, or a folder that is still a folder. */
async function mergeBothChanged(
  readObject: ReadObject,
  stage: ObjectBuffer,
  before: NamedEntry | undefined,
  ours: NamedEntry | undefined,
  theirs: NamedEntry | undefined,
): Promise<NamedEntry | null> {
  if (!before || !ours || !theirs) return null
  const folders = [before, ours, theirs].filter(({ mode }) => isTree(mode)).length
  if (folders === 0) return isSame(ours, theirs) ? ours : null
  // a folder with identical changes on both sides may contain one half of a rename
  if (folders < 3 || isSame(ours, theirs)) return null
  const oid = await mergeInProcess(readObject, stage, before.oid, ours.oid, theirs.oid)
  return oid === null ? null : { ...ours, oid }
}

const isSame = (a: NamedEntry | undefined, b: NamedEntry | undefined) => a?.oid === b?.oid && a?.mode === b?.mode

/** The entries by name; null if re-encoding them might differ from what git writes. */
async function entriesOf(readObject: ReadObject, tree: Oid): Promise<Map<string, NamedEntry> | null> {
  const object = await readObject(tree)
  if (object?.type !== 'tree' || object.content.length > MAX_TREE_BYTES) return null
  const entries = decodeTree(object.content)
  if (!entries.every(({ mode, oid }) => MODES.has(mode) && oid !== EMPTY_TREE)) return null
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return byName.size === entries.length ? byName : null
}
