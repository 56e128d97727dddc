import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EMPTY_TREE } from '../diff/diff.js'
import { gitFailure } from '../errors.js'
import type { ReadObject } from '../objects/changes.js'
import { readLoose, writeLoose, writeObjects } from '../objects/loose-objects.js'
import { ObjectBuffer, type StagedObject } from '../objects/object-buffer.js'
import { parseCommit } from '../objects/object-codec.js'
import { withQuarantine } from '../objects/quarantine.js'
import { treeOf, type WriteContext } from '../objects/writer.js'
import type {
  ConflictedMerge,
  MergeDraft,
  MergedCommits,
  MergedTexts,
  MergeResult,
  Oid,
  PickDraft,
  PickedChange,
  PickRefusal,
  PickResult,
  Signature,
} from '../types.js'
import { mergeInProcess } from './merge-trees.js'

/** The result of a merge without conflicts. */
interface Merged {
  tree: Oid
  /** Objects of the tree that are not in the repository yet. */
  objects: StagedObject[]
}

/** Bytes that git may allocate at once: merging larger files line by line fails (SEC-147). */
const MAX_ALLOCATION_BYTES = 256 * 1024 * 1024

/**
 * Applies or reverts a commit's change (relative to its first parent) on `onto`, with the same result as `git
 * cherry-pick` or `git revert` (C-50, SEC-103). All objects of the new commit are on disk on return; no ref moves.
 */
export async function draftPick(context: WriteContext, draft: PickDraft, maxAllocation = MAX_ALLOCATION_BYTES): Promise<PickResult> {
  const merged = await applyChange(context, draft, maxAllocation)
  if ('refusal' in merged) return merged
  const stage = new ObjectBuffer()
  // git knows the empty tree even if it is not stored, but fsck wants it stored
  if (merged.tree === EMPTY_TREE) await stage.tree(Buffer.of())
  const commit = await stage.commit({ ...draft, tree: merged.tree, parents: [draft.onto] })
  await writeObjects(context.directory, [...merged.objects, ...stage.objects])
  return { commit, tree: merged.tree }
}

/** Why `draftPick` would refuse the change, or null. Writes nothing to the repository. */
export async function pickRefusal(context: WriteContext, change: PickedChange): Promise<PickRefusal | null> {
  const merged = await applyChange(context, change, MAX_ALLOCATION_BYTES)
  return 'refusal' in merged ? merged.refusal : null
}

async function applyChange(context: WriteContext, change: PickedChange, maxAllocation: number): Promise<Merged | { refusal: PickRefusal }> {
  const { readObject } = context
  const picked = await readObject(change.commit)
  if (picked?.type !== 'commit') throw new Error(`commit ${change.commit} cannot be read`)
  const { tree, parents } = parseCommit(change.commit, picked.content)
  const before = parents[0] ? await treeOf(parents[0], readObject) : EMPTY_TREE
  const ours = await treeOf(change.onto, readObject)
  const merged = await (change.reverse
    ? mergeTrees(context, tree, ours, before, maxAllocation)
    : mergeTrees(context, before, ours, tree, maxAllocation))
  if (!merged) return { refusal: 'conflict' }
  if (merged.tree === ours && !(change.keepEmpty && tree === before)) return { refusal: 'unchanged' }
  return merged
}

/**
 * Merges two commits with git's defaults (MR-64, SEC-103); a fast-forward gives the tree of `from`. `base` is their
 * only best common ancestor, if there is exactly one. Null if they conflict or have no common history.
 */
async function mergeCommits(
  context: WriteContext,
  into: Oid,
  from: Oid,
  { base, keep }: { base: Oid | null; keep: boolean },
  maxAllocation: number,
): Promise<Merged | null> {
  const { readObject } = context
  if (base === into) return { tree: await treeOf(from, readObject), objects: [] }
  const inProcess =
    base &&
    (await tryMergeInProcess(readObject, ...(await Promise.all([treeOf(base, readObject), treeOf(into, readObject), treeOf(from, readObject)]))))
  if (inProcess) return inProcess
  return withQuarantine(context.directory, async ({ path, env }) => {
    const tree = await mergeTree(context, into, from, { ...env, GIT_ALLOC_LIMIT: `${maxAllocation}` })
    return tree === null ? null : { tree, objects: keep ? await readLoose(path, new Set()) : [] }
  })
}

/**
 * Whether two commits merge without conflicts; `base` is their only best common ancestor, if there is exactly one.
 * Writes nothing to the repository.
 */
export async function canMerge(
  context: WriteContext,
  into: Oid,
  from: Oid,
  base: Oid | null,
  maxAllocation = MAX_ALLOCATION_BYTES,
): Promise<boolean> {
  return base === into || (await mergeCommits(context, into, from, { base, keep: false }, maxAllocation)) !== null
}

/**
 * Makes the commits of a merge. All objects are on disk on return; no ref moves. `whileWriting` is called with the
 * commits' ids while the objects are written, and awaited.
 */
export async function draftMerge(
  context: WriteContext,
  draft: MergeDraft,
  base: Oid | null,
  whileWriting: (commits: MergedCommits) => Promise<void> = async () => {},
  maxAllocation = MAX_ALLOCATION_BYTES,
): Promise<MergeResult> {
  const { into, from, squash, merge } = draft
  const merged = await mergeCommits(context, into, from, { base, keep: true }, maxAllocation)
  if (!merged) return { refusal: 'conflict' }
  const { tree } = merged
  const stage = new ObjectBuffer()
  if (tree === EMPTY_TREE) await stage.tree(Buffer.of())
  const squashed = squash && (await stage.commit({ ...squash, tree, parents: [into] }))
  const commit = merge ? await stage.commit({ ...merge, tree, parents: [into, squashed ?? from] }) : (squashed ?? from)
  const commits = { commit, squash: squashed }
  const objects = [...merged.objects, ...stage.objects]
  await Promise.all([writeObjects(context.directory, objects), whileWriting(commits)])
  return commits
}

/**
 * Merges three trees; null on conflicts. `git merge-tree` of 2.38 accepts only commits and finds the base itself, so it
 * gets three temporary commits: the base and two children of it.
 */
async function mergeTrees(context: WriteContext, base: Oid, ours: Oid, theirs: Oid, maxAllocation: number): Promise<Merged | null> {
  if (ours === theirs) return { tree: ours, objects: [] }
  const inProcess = await tryMergeInProcess(context.readObject, base, ours, theirs)
  if (inProcess) return inProcess
  const stage = new ObjectBuffer()
  const commit = (tree: Oid, parents: Oid[]) => stage.commit({ tree, parents, author: NOBODY, committer: NOBODY, message: '' })
  const root = await commit(base, [])
  const sides = [await commit(ours, [root]), await commit(theirs, [root])] as const
  return withQuarantine(context.directory, async ({ path, env }) => {
    await Promise.all(stage.objects.map((object) => writeLoose(path, object)))
    const known = new Set(stage.objects.map(({ oid }) => oid))
    const tree = await mergeTree(context, ...sides, { ...env, GIT_ALLOC_LIMIT: `${maxAllocation}` })
    return tree === null ? null : { tree, objects: await readLoose(path, known) }
  })
}

/** Null if the merge needs git. */
async function tryMergeInProcess(readObject: ReadObject, base: Oid, ours: Oid, theirs: Oid): Promise<Merged | null> {
  const stage = new ObjectBuffer()
  const tree = await mergeInProcess(readObject, stage, base, ours, theirs)
  return tree === null ? null : { tree, objects: stage.objects }
}

const NOBODY: Signature = { name: 'nobody', email: '', seconds: 0, offset: '+0000' }

/**
 * Runs `git merge-tree`; returns the merged tree, written to the object directory in `env`, or null on conflicts or
 * unrelated histories. Nothing is synced, because the objects to keep are written again.
 */
async function mergeTree({ directory, pool }: WriteContext, ours: Oid, theirs: Oid, env: NodeJS.ProcessEnv): Promise<Oid | null> {
  const args = ['-c', 'core.fsync=none', 'merge-tree', '--write-tree', '--no-messages', ours, theirs]
  const { stdout, stderr, exitCode } = await pool.run(directory, args, { env, accept: [1, 128] })
  if (exitCode === 1 || stderr.includes('attempting to allocate') || stderr.includes('refusing to merge unrelated histories')) return null
  if (exitCode !== 0) throw gitFailure('merge-tree', exitCode, stderr)
  return stdout.toString('latin1').trim()
}

/**
 * Writes what git leaves behind when a merge conflicts, as a commit by nobody; null if it does not conflict. The same
 * merge gives the same commit. Nothing refers to it.
 */
export async function draftConflicted(context: WriteContext, ours: Oid, theirs: Oid): Promise<ConflictedMerge | null> {
  const { directory, pool } = context
  return withQuarantine(directory, async ({ path, env }) => {
    const args = ['-c', 'core.fsync=none', '-c', 'merge.conflictStyle=merge', 'merge-tree', '--write-tree', '-z', '--no-messages', ours, theirs]
    const limited = { ...env, GIT_ALLOC_LIMIT: `${MAX_ALLOCATION_BYTES}` }
    const { stdout, exitCode } = await pool.run(directory, args, { env: limited, accept: [1, 128] })
    if (exitCode !== 1) return null
    const [tree = '', ...entries] = stdout.toString('utf8').split('\0')
    const files = new Map<string, ConflictedMerge['files'][number]>()
    for (const entry of entries) {
      const [, mode = '', oid = '', stage = '', path = ''] = /^(\d{6}) ([0-9a-f]{40}) ([123])\t([\s\S]+)$/.exec(entry) ?? []
      const side = STAGES[stage]
      if (side) files.set(path, { ...(files.get(path) ?? { path }), [side]: { mode, oid } })
    }
    const stage = new ObjectBuffer()
    const commit = await stage.commit({ tree, parents: [ours], author: NOBODY, committer: NOBODY, message: '' })
    await writeObjects(directory, [...(await readLoose(path, new Set())), ...stage.objects])
    return { commit, files: [...files.values()] }
  })
}

/** The sides of a conflict by the numbers of git's stages. */
const STAGES: Record<string, 'base' | 'ours' | 'theirs'> = { 1: 'base', 2: 'ours', 3: 'theirs' }

/** Merges three texts as git does; where both sides changed the same lines, those of `side` are taken. */
export const mergeTexts = ({ directory, pool }: WriteContext, { base, ours, theirs }: MergedTexts, side: 'ours' | 'theirs'): Promise<Buffer> =>
  // the files need a folder only: nothing of them is an object
  withQuarantine(directory, async ({ path }) => {
    const files = await Promise.all(
      [ours, base ?? Buffer.of(), theirs].map(async (text, i) => {
        const file = join(path, `text-${i}`)
        await writeFile(file, text)
        return file
      }),
    )
    const { stdout } = await pool.run(directory, ['merge-file', '--stdout', '--quiet', `--${side}`, ...files])
    return stdout
  })
