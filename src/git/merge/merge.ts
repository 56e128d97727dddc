import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deflate, inflate } from 'node:zlib'
import { EMPTY_TREE } from '../diff/diff.js'
import { gitFailure } from '../errors.js'
import type { ReadObject } from '../objects/changes.js'
import { ObjectBuffer, type ObjectType, type StagedObject } from '../objects/object-buffer.js'
import { parseCommit } from '../objects/object-codec.js'
import { writePack } from '../objects/pack-writer.js'
import { withQuarantine } from '../objects/quarantine.js'
import { treeOf, type WriteContext } from '../objects/writer.js'
import type { MergeDraft, MergeResult, Oid, PickDraft, PickResult, Signature } from '../types.js'
import { mergeInProcess } from './merge-trees.js'

/** The result of a merge without conflicts. */
interface Merged {
  tree: Oid
  /** Objects that the tree needs and the repository does not have yet. */
  objects: StagedObject[]
}

/** Bytes that git may allocate at once: a larger file cannot be merged line by line (SEC-147). */
const LARGEST = 256 * 1024 * 1024

/**
 * Applies to `onto`, or reverts there, what a commit changed against its first parent, exactly as `git cherry-pick` and
 * `git revert` do (C-50, SEC-103). All objects of the new commit are on the disk when it returns; no ref moves.
 */
export async function draftPick(context: WriteContext, draft: PickDraft, largest = LARGEST): Promise<PickResult> {
  const { directory, readObject } = context
  const picked = await readObject(draft.commit)
  if (picked?.type !== 'commit') throw new Error(`commit ${draft.commit} cannot be read`)
  const { tree, parents } = parseCommit(draft.commit, picked.content)
  const before = parents[0] ? await treeOf(parents[0], readObject) : EMPTY_TREE
  const ours = await treeOf(draft.onto, readObject)
  const merged = await (draft.reverse ? mergeTrees(context, tree, ours, before, largest) : mergeTrees(context, before, ours, tree, largest))
  if (!merged) return { refusal: 'conflict' }
  if (merged.tree === ours) return { refusal: 'unchanged' }

  const stage = new ObjectBuffer()
  // git knows it even if it is not stored, but only a stored one passes every check
  if (merged.tree === EMPTY_TREE) await stage.tree(Buffer.of())
  const commit = await stage.commit({ ...draft, tree: merged.tree, parents: [draft.onto] })
  await writePack(directory, [...merged.objects, ...stage.objects])
  return { commit, tree: merged.tree }
}

/**
 * The result of merging two commits with git's defaults (MR-64, SEC-103); it is the tree of `from` for a fast-forward.
 * `base` is their only best common ancestor, if there is one. Null: they conflict, or have no common history.
 */
async function mergeCommits(
  context: WriteContext,
  into: Oid,
  from: Oid,
  { base, keep }: { base: Oid | null; keep: boolean },
  largest: number,
): Promise<Merged | null> {
  const { readObject } = context
  if (base === into) return { tree: await treeOf(from, readObject), objects: [] }
  const apart =
    base && (await mergedApart(readObject, ...(await Promise.all([treeOf(base, readObject), treeOf(into, readObject), treeOf(from, readObject)]))))
  if (apart) return apart
  return withQuarantine(context.directory, async ({ path, env }) => {
    const tree = await mergeTree(context, into, from, { ...env, GIT_ALLOC_LIMIT: `${largest}` })
    return tree === null ? null : { tree, objects: keep ? await readLoose(path, new Set()) : [] }
  })
}

/**
 * Whether git merges two commits without conflicts; `base` is their only best common ancestor, if there is one. Nothing
 * is kept.
 */
export async function canMerge(context: WriteContext, into: Oid, from: Oid, base: Oid | null, largest = LARGEST): Promise<boolean> {
  return base === into || (await mergeCommits(context, into, from, { base, keep: false }, largest)) !== null
}

/**
 * Makes a merge commit, always with both parents. All its objects are on the disk when it returns; no ref moves.
 * `beside` is called with the commit's id while the objects are written, and awaited.
 */
export async function draftMerge(
  context: WriteContext,
  draft: MergeDraft,
  base: Oid | null,
  beside: (commit: Oid) => Promise<void> = async () => {},
  largest = LARGEST,
): Promise<MergeResult> {
  const merged = await mergeCommits(context, draft.into, draft.from, { base, keep: true }, largest)
  if (!merged) return { refusal: 'conflict' }
  const stage = new ObjectBuffer()
  if (merged.tree === EMPTY_TREE) await stage.tree(Buffer.of())
  const commit = await stage.commit({ ...draft, tree: merged.tree, parents: [draft.into, draft.from] })
  await Promise.all([writePack(context.directory, [...merged.objects, ...stage.objects]), beside(commit)])
  return { commit, tree: merged.tree }
}

/**
 * Merges three trees; null: conflicts. `git merge-tree` in version 2.38 accepts commits only and finds the base itself,
 * so it gets three temporary commits: the base, and two on top of it.
 */
async function mergeTrees(context: WriteContext, base: Oid, ours: Oid, theirs: Oid, largest: number): Promise<Merged | null> {
  if (ours === theirs) return { tree: ours, objects: [] }
  const apart = await mergedApart(context.readObject, base, ours, theirs)
  if (apart) return apart
  const stage = new ObjectBuffer()
  const commit = (tree: Oid, parents: Oid[]) => stage.commit({ tree, parents, author: NOBODY, committer: NOBODY, message: '' })
  const root = await commit(base, [])
  const sides = [await commit(ours, [root]), await commit(theirs, [root])] as const
  return withQuarantine(context.directory, async ({ path, env }) => {
    await Promise.all(stage.objects.map((object) => writeLoose(path, object)))
    const known = new Set(stage.objects.map(({ oid }) => oid))
    const tree = await mergeTree(context, ...sides, { ...env, GIT_ALLOC_LIMIT: `${largest}` })
    return tree === null ? null : { tree, objects: await readLoose(path, known) }
  })
}

/** Null: only git can tell. */
async function mergedApart(readObject: ReadObject, base: Oid, ours: Oid, theirs: Oid): Promise<Merged | null> {
  const stage = new ObjectBuffer()
  const tree = await mergeInProcess(readObject, stage, base, ours, theirs)
  return tree === null ? null : { tree, objects: stage.objects }
}

const NOBODY: Signature = { name: 'nobody', email: '', seconds: 0, offset: '+0000' }

/**
 * The tree that two commits merge to, written where `env` says; null: conflicts, or no common history. Nothing is
 * synced: what is kept is written again.
 */
async function mergeTree({ directory, pool }: WriteContext, ours: Oid, theirs: Oid, env: NodeJS.ProcessEnv): Promise<Oid | null> {
  const args = ['-c', 'core.fsync=none', 'merge-tree', '--write-tree', '--no-messages', ours, theirs]
  const { stdout, stderr, exitCode } = await pool.run(directory, args, { env, accept: [1, 128] })
  if (exitCode === 1 || stderr.includes('attempting to allocate') || stderr.includes('refusing to merge unrelated histories')) return null
  if (exitCode !== 0) throw gitFailure('merge-tree', exitCode, stderr)
  return stdout.toString('latin1').trim()
}

const compress = promisify(deflate)
const decompress = promisify(inflate)

/** Writes a loose object, unsynced. */
async function writeLoose(objects: string, { oid, type, content }: StagedObject) {
  const folder = join(objects, oid.slice(0, 2))
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, oid.slice(2)), await compress(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])))
}

/** All loose objects in a directory except known ones. */
async function readLoose(objects: string, known: Set<Oid>): Promise<StagedObject[]> {
  const folders = (await readdir(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const names = await Promise.all(folders.map(async (folder) => (await readdir(join(objects, folder))).map((name) => folder + name)))
  const oids = names.flat().filter((oid) => /^[0-9a-f]{40}$/.test(oid) && !known.has(oid))
  return Promise.all(
    oids.map(async (oid) => {
      const bytes = (await decompress(await readFile(join(objects, oid.slice(0, 2), oid.slice(2))))) as Buffer
      const header = bytes.indexOf(0)
      const [type] = bytes.toString('latin1', 0, header).split(' ')
      return { oid, type: type as ObjectType, content: bytes.subarray(header + 1) }
    }),
  )
}
