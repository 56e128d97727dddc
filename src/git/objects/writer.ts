import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessPool } from '../process/pool.js'
import { type CommitDraft, type DraftResult, type HistoryDraft, type Oid, type Signature, type Tag, ZERO } from '../types.js'
import { changeTree, type ReadObject } from './changes.js'
import { writeLoose, writeObjects } from './loose-objects.js'
import { ObjectBuffer } from './object-buffer.js'
import { withQuarantine } from './quarantine.js'

export interface WriteContext {
  directory: string
  pool: ProcessPool
  readObject: ReadObject
}

/** Makes a commit that applies changes to the first parent's tree. All objects are on disk on return; no ref moves. */
export async function draftCommit(context: WriteContext, draft: CommitDraft): Promise<DraftResult> {
  const history = draftHistory(context)
  const drafted = await history.commit(draft)
  if (!('fault' in drafted) && !draft.check) await history.write()
  return drafted
}

/** Drafts commits that may build on each other; their objects are on disk when `write` returns. Moves no ref. */
export function draftHistory({ directory, pool, readObject }: WriteContext): HistoryDraft {
  const stage = new ObjectBuffer()
  const read: ReadObject = async (oid) => stage.read(oid) ?? readObject(oid)
  return {
    async commit(draft) {
      const parent = draft.parents[0]
      const changed = await changeTree(parent ? await treeOf(parent, read) : null, draft.changes, read, stage)
      if ('fault' in changed) return changed
      if (draft.check) return { commit: ZERO, tree: changed.tree }
      const commit = await stage.commit({ ...draft, tree: changed.tree })
      if (changed.special && !(await passesFsck(pool, directory, stage))) {
        const index = draft.changes.findIndex((change) => change.action !== 'delete' && /gi/i.test(change.path))
        return { fault: 'invalid_path', index, path: draft.changes[index]?.path ?? '' }
      }
      return { commit, tree: changed.tree }
    },
    write: () => writeObjects(directory, stage.objects),
  }
}

/** Writes a commit with an existing tree. */
export async function writeCommit(
  directory: string,
  commit: { tree: Oid; parents: Oid[]; author: Signature; committer: Signature; message: string },
): Promise<Oid> {
  const stage = new ObjectBuffer()
  const oid = await stage.commit(commit)
  await writeObjects(directory, stage.objects)
  return oid
}

export async function writeTag(
  directory: string,
  tag: { name: string; target: Oid; targetType: Tag['targetType']; tagger: Signature; message: string },
): Promise<Oid> {
  const stage = new ObjectBuffer()
  const oid = await stage.tag(tag)
  await writeObjects(directory, stage.objects)
  return oid
}

/** The tree of a commit that is known to exist. */
export async function treeOf(commit: Oid, readObject: ReadObject): Promise<Oid> {
  const object = await readObject(commit)
  const tree = object?.type === 'commit' ? /^tree ([0-9a-f]{40})\n/.exec(object.content.toString('latin1', 0, 46))?.[1] : undefined
  if (!tree) throw new Error(`commit ${commit} cannot be read`)
  return tree
}

/**
 * Git's own check of files such as `.gitmodules`, whose content can attack users who clone (SEC-101). It needs a
 * process, so it runs only if such a file was written.
 */
function passesFsck(pool: ProcessPool, directory: string, { objects }: ObjectBuffer): Promise<boolean> {
  return withQuarantine(directory, async ({ path, env }) => {
    await mkdir(join(path, 'pack'))
    await Promise.all(objects.map((object) => writeLoose(path, object)))
    const names = objects.map(({ oid }) => `${oid}\n`).join('')
    const { stdout: pack } = await pool.run(directory, ['pack-objects', '--stdout', '--window=0', '-q'], { input: names, env })
    const { exitCode } = await pool.run(directory, ['index-pack', '--strict', '--stdin'], { input: pack, env, accept: [1, 128] })
    return exitCode === 0
  })
}
