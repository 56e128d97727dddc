import { EMPTY_TREE } from '../diff/diff.js'
import type { ReadObject } from '../objects/changes.js'
import type { ObjectBuffer } from '../objects/object-buffer.js'
import { decodeTree, encodeTree, isTree, type RawEntry } from '../objects/tree-codec.js'
import type { Oid } from '../types.js'

/** Bytes of the largest folder that is joined here: to read a larger one would hold the event loop. */
const LARGEST_TREE = 262_144
/** Others are written anew by git, in modes of its own. */
const MODES = new Set(['100644', '100755', '120000', '160000', '40000'])

/**
 * Merges what two sides did to different entries of the same folders, and stages the folders of the result: most merges are no more than this, and it takes no process. Null: leave it to git.
 *
 * It comes to what merge-ort comes to, for whatever a rename could change here is left to git. A rename on one side changes what the other side's work comes to only where that side touched the old path, the new path, or, when a folder went away as a whole, something inside it; each of these is an entry that both sides changed, and only folders that all three still have are gone into.
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

/** What the only side made of an entry that changed it; null: both did. */
function unchangedBy(before: RawEntry | undefined, ours: RawEntry | undefined, theirs: RawEntry | undefined): RawEntry | typeof GONE | null {
  if (same(before, theirs)) return ours ?? GONE
  if (same(before, ours)) return theirs ?? GONE
  return null
}

/** An entry that both sides changed: a file to the same content, or a folder that is one still. */
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
  // alike on both sides it may hold halves of two renames
  if (folders < 3 || same(ours, theirs)) return null
  const oid = await mergeInProcess(readObject, stage, before.oid, ours.oid, theirs.oid)
  return oid === null ? null : { ...ours, oid }
}

const same = (a: RawEntry | undefined, b: RawEntry | undefined) => a?.oid === b?.oid && a?.mode === b?.mode

/** Null where writing the entries again might not come to what git writes. */
async function entriesOf(readObject: ReadObject, tree: Oid): Promise<Map<string, RawEntry> | null> {
  const object = await readObject(tree)
  if (object?.type !== 'tree' || object.content.length > LARGEST_TREE) return null
  const entries = decodeTree(object.content)
  if (!entries.every(({ mode, oid }) => MODES.has(mode) && oid !== EMPTY_TREE)) return null
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return byName.size === entries.length ? byName : null
}
