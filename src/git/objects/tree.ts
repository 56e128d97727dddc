import { Turn, yieldToEventLoop } from '../../lib/async/yield.js'
import { bytesOfPath, pathOfBytes } from '../../lib/text/byte-path.js'
import { withoutTrailing } from '../../lib/text/without-trailing.js'
import type { Oid, TreeEntry } from '../types.js'
import type { CatFile } from './cat-file.js'
import { entryType, parseTree, type RawEntry } from './tree-codec.js'

/** Reads objects through a cache; trees are immutable. */
export interface TreeSource {
  objects: CatFile
  cached: <V extends NonNullable<unknown>>(key: string, size: (value: V) => number, make: () => Promise<V | null>) => Promise<V | null>
}

/** Larger tree objects are not read; this is about half a million entries. */
const MAX_TREE_BYTES = 16_777_216
/**
 * Maximum number of entries in a recursive listing: trees that contain the same tree many times over could exhaust
 * memory.
 */
const MAX_ENTRIES = 100_000
const READ_BATCH = 64
/** How many entries are parsed before other calls have a turn. */
const SLICE_ENTRIES = 5_000

/** The entries of a tree object; null if it is not a tree. */
export function readTree(source: TreeSource, oid: Oid): Promise<RawEntry[] | null> {
  return source.cached(
    `tree ${oid}`,
    (entries) => 100 + entries.length * 200,
    async () => {
      const object = await source.objects.read(oid, MAX_TREE_BYTES)
      if (object?.type !== 'tree') return null
      let { entries, next } = parseTree(object.content, 0, SLICE_ENTRIES)
      while (next < object.content.length) {
        await yieldToEventLoop()
        const more = parseTree(object.content, next, SLICE_ENTRIES)
        // a truncated end is ignored
        if (more.entries.length === 0) break
        entries = entries.concat(more.entries)
        next = more.next
      }
      return entries
    },
  )
}

/** The entry at a path in a root tree; `''` is the root itself. */
export async function entryAt(source: TreeSource, root: Oid, path: string): Promise<TreeEntry | null> {
  let entry: TreeEntry = { mode: '040000', type: 'tree', oid: root, name: '', path: '' }
  if (path === '') return entry
  for (const part of path.split('/')) {
    if (entry.type !== 'tree') return null
    const name = bytesOfPath(part)
    // a name that is not UTF-8 is matched by its displayed form
    const entries: RawEntry[] = (await readTree(source, entry.oid)) ?? []
    const raw = entries.find((raw) => raw.name.equals(name)) ?? entries.find((raw) => raw.name.toString('utf8') === part)
    if (!raw) return null
    entry = toEntry(raw, entry)
  }
  return entry
}

/** One level or the whole subtree at a path, in Git's order: a folder before its content. */
export async function entriesAt(source: TreeSource, root: Oid, path: string, recursive: boolean): Promise<TreeEntry[] | null> {
  const top = await entryAt(source, root, withoutTrailing(path, '/'))
  if (top?.type !== 'tree') return null
  const trees = new Map<Oid, RawEntry[]>()
  const first = await readTree(source, top.oid)
  if (!first) return null
  trees.set(top.oid, first)
  if (recursive) await readBelow(source, first, trees)

  const turn = new Turn()
  const found: TreeEntry[] = []
  const stack = [{ entries: first, at: 0, parent: top as Parent }]
  for (let level = stack.at(-1); level && found.length < MAX_ENTRIES; level = stack.at(-1)) {
    const raw = level.entries[level.at++]
    if (turn.over) await turn.end()
    if (!raw) {
      stack.pop()
      continue
    }
    const entry = toEntry(raw, level.parent)
    found.push(entry)
    const below = recursive && entry.type === 'tree' ? trees.get(entry.oid) : undefined
    if (below) stack.push({ entries: below, at: 0, parent: entry })
  }
  return found
}

/**
 * One page of the subtree at a path, sorted by path, and the total; null if there is no tree. Skipped subtrees are
 * counted without being walked: a few trees can contain each other so often that listing everything would never end.
 */
export async function pageBelow(
  source: TreeSource,
  root: Oid,
  path: string,
  { skip, limit }: { skip: number; limit: number },
): Promise<{ entries: TreeEntry[]; total: number } | null> {
  const top = await entryAt(source, root, withoutTrailing(path, '/'))
  if (top?.type !== 'tree') return null
  const counts = await countsBelow(source, top.oid)
  if (!counts) return null
  const found: TreeEntry[] = []
  const levelOf = async (oid: Oid, parent: Parent) => ({ steps: inPathOrder((await readTree(source, oid)) ?? []), at: 0, parent })
  const stack = [await levelOf(top.oid, top)]
  let left = skip
  for (let level = stack.at(-1); level && found.length < limit; level = stack.at(-1)) {
    const step = level.steps[level.at++]
    if (!step) {
      stack.pop()
      continue
    }
    const { raw, below } = step
    const skipped = below ? (counts.get(raw.oid) ?? 0) : 1
    if (skipped <= left) left -= skipped
    else if (below) stack.push(await levelOf(raw.oid, toEntry(raw, level.parent)))
    else found.push(toEntry(raw, level.parent))
  }
  return { entries: found, total: counts.get(top.oid) ?? 0 }
}

/**
 * The entries of one tree in order of full paths: a name may sort between a folder and its content, as `a.b` does
 * between `a` and `a/b`.
 */
function inPathOrder(entries: RawEntry[]): { raw: RawEntry; below: boolean }[] {
  const steps = entries.flatMap((raw) => {
    const name = raw.name.toString('utf8')
    const itself = { key: name, raw, below: false }
    return entryType(raw.mode) === 'tree' ? [itself, { key: `${name}/`, raw, below: true }] : [itself]
  })
  return steps.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

/**
 * The number of entries below `top` and each tree that it contains; every tree is read once, however often it occurs.
 */
function countsBelow(source: TreeSource, top: Oid): Promise<Map<Oid, number> | null> {
  return source.cached(
    `counts below ${top}`,
    (counts) => counts.size * 150,
    async () => {
      const first = await readTree(source, top)
      if (!first) return null
      const trees = new Map([[top, first]])
      await readBelow(source, first, trees)
      const counts = new Map<Oid, number>()
      const turn = new Turn()
      const stack = [{ oid: top, entries: first, at: 0, count: 0 }]
      for (let level = stack.at(-1); level; level = stack.at(-1)) {
        if (turn.over) await turn.end()
        const raw = level.entries[level.at]
        if (!raw) {
          counts.set(level.oid, level.count)
          stack.pop()
          continue
        }
        const below = entryType(raw.mode) === 'tree' ? trees.get(raw.oid) : undefined
        if (below && !counts.has(raw.oid)) {
          stack.push({ oid: raw.oid, entries: below, at: 0, count: 0 })
          continue
        }
        level.count = Math.min(level.count + 1 + (below ? (counts.get(raw.oid) ?? 0) : 0), Number.MAX_SAFE_INTEGER)
        level.at++
      }
      return counts
    },
  )
}

/** Reads all trees below, each once, with many concurrent reads. */
async function readBelow(source: TreeSource, first: RawEntry[], trees: Map<Oid, RawEntry[]>) {
  const turn = new Turn(1)
  const seen = new Set<Oid>()
  const waiting: Oid[] = []
  const collect = (entries: RawEntry[]) => {
    for (const { mode, oid } of entries) {
      if (entryType(mode) !== 'tree' || seen.has(oid)) continue
      seen.add(oid)
      waiting.push(oid)
    }
  }
  collect(first)
  while (waiting.length > 0) {
    const oids = waiting.splice(-READ_BATCH)
    const read = await Promise.all(oids.map(async (oid) => ({ oid, entries: (await readTree(source, oid)) ?? [] })))
    for (const { oid, entries } of read) {
      trees.set(oid, entries)
      collect(entries)
    }
    if (turn.over) await turn.end()
  }
}

/** The path of a folder: as it is shown, and with its bytes. */
interface Parent {
  path: string
  bytePath?: string | undefined
}

function toEntry({ mode, name, oid }: RawEntry, { path: shown, bytePath = shown }: Parent): TreeEntry {
  const text = name.toString('utf8')
  const bytes = text.includes('\ufffd') ? pathOfBytes(name) : text
  const path = shown === '' ? text : `${shown}/${text}`
  const own = bytePath === '' ? bytes : `${bytePath}/${bytes}`
  return { mode: mode.padStart(6, '0'), type: entryType(mode), oid, name: text, path, ...(own !== path && { bytePath: own }) }
}
