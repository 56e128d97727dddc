import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { MergeIntent } from '../../../db/schema/index.js'
import { forbidden, refused } from '../../../failures.js'
import { RefNameConflict } from '../../../git/errors.js'
import { type GitRepository, type LfsPointer, type Quarantine, type RefUpdate, ZERO } from '../../../git/types.js'
import type { Settings } from '../../core/settings.js'
import { servesLfs } from '../lfs/objects.js'
import { missingObjects } from '../lfs/sharing.js'
import { quotaRefusal } from '../quotas.js'
import { repositoryOf } from '../repositories.js'
import { finishMoves } from './follow.js'
import { abandonIntent, recordIntent } from './intents.js'
import { pushSetting, refusalOf } from './rules.js'
import { settleOwn } from './settle.js'

/**
 * Moves refs for the API, all or none, by all the rules of a push: 403 below developer, 400 with the reason where a
 * rule refuses (PU-9), RefChanged when another writer was faster.
 */
export async function moveRefs(ctx: Context, subject: ProjectSubject, actorId: number, moves: RefUpdate[]): Promise<void> {
  if (!subject.can('push_code')) throw forbidden()
  const repository = repositoryOf(ctx, subject.project)
  const setting = await pushSetting(ctx, subject, 'api', repository)
  for (const move of moves) {
    const reason = await refusalOf(setting, move)
    if (reason) throw refused(reason)
  }
  const write = { projectId: subject.project.id, actorId, moves, settings: setting.settings, repository }
  await moveUnderIntent(ctx, write).catch((error: unknown) => {
    throw error instanceof RefNameConflict ? refused(nameConflict(error.ref)) : error
  })
}

/** Refs that the API is about to move, the objects being there. */
export interface Write {
  projectId: number
  actorId: number
  moves: RefUpdate[]
  settings: Settings
  repository: GitRepository
  /** What the moves merge. */
  merge?: MergeIntent
  /** The row of the intent where it is recorded already. */
  intent?: number
}

/**
 * Moves refs under an intent, and does all that follows (SEC-158): the one way for commits, merges, branches and tags
 * of the API. A push over Git goes the same way, with git in place of `move`. Throws what `move` throws, such as
 * RefChanged, when nothing has moved.
 */
export async function moveUnderIntent(ctx: Context, write: Write, move = () => write.repository.updateRefs(write.moves)): Promise<void> {
  const { projectId, actorId, moves, settings, repository, merge = null } = write
  const intent = write.intent ?? (await recordIntent(ctx, { projectId, actorId, door: 'api', moves, merge }))
  try {
    await move()
  } catch (error) {
    await abandonIntent(ctx, intent, error)
    throw error
  }
  await finishMoves(ctx, { projectId, moves, intent, settings, repository, merge })
}

/**
 * Serialises work on one branch, in the order of arrival. This saves writers lost races; compare-and-swap makes them
 * safe.
 */
export const withBranch = <T>(ctx: Context, projectId: number, branch: string, work: () => Promise<T>): Promise<T> =>
  ctx.mutex.run(`branch ${projectId} ${branch}`, work)

/** Names like `a` and `a/b` cannot coexist (SEC-83). */
function nameConflict(ref: string) {
  const noun = ref.startsWith('refs/tags/') ? 'tag' : 'branch'
  return `${noun === 'tag' ? 'Tag' : 'Branch'} name conflicts with the name of another ${noun}`
}

/** A push over Git that has been accepted. */
export interface PushIntent {
  /** Its refs have moved: what follows from that, and the end of the intent. */
  finish(moved: RefUpdate[]): Promise<void>
  /** The push is over, however it went: nothing to do after `finish`. */
  settle(): Promise<void>
}

/** Objects that are named when a push is refused. */
const MAX_NAMED = 20

/** The message for a push that brings pointers without objects (LF-10). */
function missingText(missing: LfsPointer[]): string {
  const named = missing.slice(0, MAX_NAMED).map(({ oid, size }) => `  ${oid} (${size} bytes)`)
  const more = missing.length > named.length ? [`  and ${missing.length - named.length} more`] : []
  return ['Objects of Git LFS are missing. Upload them with "git lfs push --all <remote>" and push again:', ...named, ...more].join('\n')
}

/**
 * The verdict on a push over Git: every command on a branch, tag or note is checked, one refusal refuses all (GH-18),
 * and an accepted push is recorded before its refs move.
 */
export async function acceptPush(
  ctx: Context,
  subject: ProjectSubject,
  actorId: number,
  commands: RefUpdate[],
  repository: Pick<Quarantine, 'isAncestor' | 'objectInfo' | 'newPointers'>,
): Promise<PushIntent | string> {
  const setting = await pushSetting(ctx, subject, 'git', repository)
  // what was pushed lies in the repository's folder already; a deletion brings nothing
  const full = commands.some((command) => command.new !== ZERO) && (await quotaRefusal(ctx, repositoryOf(ctx, subject.project)))
  if (full) return full
  for (const command of commands) {
    // git treats a ref whose old value is missing as broken, and then moves or deletes it without comparing (GH-22)
    if ((command.old !== ZERO || command.new === ZERO) && !(await repository.objectInfo(command.old)))
      return `The old value of ${command.ref} is not known here.`
    const reason = await refusalOf(setting, command)
    if (reason) return reason
  }
  const { id } = subject.project
  if (setting.settings.lfs_pointer_check_enabled && servesLfs(subject.project)) {
    const missing = await missingObjects(ctx, actorId, id, await repository.newPointers())
    if (missing.length > 0) return missingText(missing)
  }
  const intent = await recordIntent(ctx, { projectId: id, actorId, door: 'git', moves: commands })
  let finished = false
  return {
    async finish(moved) {
      await finishMoves(ctx, { projectId: id, moves: moved, intent, settings: setting.settings, repository: repositoryOf(ctx, subject.project) })
      finished = true
    },
    async settle() {
      if (!finished) await settleOwn(ctx, intent)
    },
  }
}
