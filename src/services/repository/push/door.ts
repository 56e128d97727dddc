import type { Project, ProjectSubject } from '../../../access/rules.js'
import type { Context, Move } from '../../../context.js'
import type { MergeIntent } from '../../../db/schema/index.js'
import { forbidden, refused } from '../../../failures.js'
import { RefNameConflict } from '../../../git/errors.js'
import { type GitRepository, type LfsPointer, type Quarantine, ZERO } from '../../../git/types.js'
import type { Settings } from '../../core/settings.js'
import { lockRefusal } from '../lfs/lock-check.js'
import { servesLfs } from '../lfs/objects.js'
import { missingObjects } from '../lfs/sharing.js'
import { quotaRefusal } from '../quotas.js'
import { repositoryOf } from '../repositories.js'
import { finishMoves } from './finish.js'
import { cancelIntent, recordIntent } from './intents.js'
import { resolveOwnIntent } from './recovery.js'
import { loadPushRules, refusalOf } from './rules.js'

/**
 * Moves refs for the API, all or none, by the rules of a push: 403 without push access, 400 with the reason of a
 * refusal (PU-9), RefChanged when another writer was faster.
 */
export async function moveRefs(ctx: Context, subject: ProjectSubject, actorId: number, moves: Move[]): Promise<void> {
  if (!subject.can('push_code')) throw forbidden()
  const repository = repositoryOf(ctx, subject.project)
  const rules = await loadPushRules(ctx, subject, 'api', repository)
  for (const move of moves) {
    const reason = await refusalOf(rules, move)
    if (reason) throw refused(reason)
  }
  const write = { project: subject.project, actorId, moves, settings: rules.settings, repository }
  await moveUnderIntent(ctx, write).catch((error: unknown) => {
    throw error instanceof RefNameConflict ? refused(nameConflict(error.ref)) : error
  })
}

/** A set of ref moves that a call of the API makes; their objects are already written. */
export interface ApiMove {
  project: Project
  actorId: number
  moves: Move[]
  settings: Settings
  repository: GitRepository
  /** The merge request that the moves merge, if any. */
  merge?: MergeIntent
  /** The id of the intent, if it is already recorded. */
  intent?: number
}

/**
 * Records an intent, moves the refs and finishes the move (SEC-158). All commits, merges, branches and tags of the API
 * take this path; a push over Git does the same, but git moves the refs. Refuses to change a file that another user has
 * locked (LF-16). Rethrows what `move` throws, such as RefChanged, when nothing has moved.
 */
export async function moveUnderIntent(ctx: Context, write: ApiMove, move = () => write.repository.updateRefs(write.moves)): Promise<void> {
  const { project, actorId, moves, settings, repository, merge = null } = write
  const projectId = project.id
  const locked = lockRefusal(ctx, { project, actorId, moves, merges: merge !== null, repository })
  locked.catch(() => undefined)
  const intent = write.intent ?? (await recordIntent(ctx, { projectId, actorId, door: 'api', moves, merge }))
  try {
    const reason = await locked
    if (reason) throw refused(reason)
    await move()
  } catch (error) {
    await cancelIntent(ctx, intent, error)
    throw error
  }
  await finishMoves(ctx, { projectId, moves, intent, settings, repository, merge })
}

/**
 * Serialises work on one branch within this process, in the order of arrival. It avoids lost races; correctness depends
 * only on the compare-and-swap.
 */
export const withBranch = <T>(ctx: Pick<Context, 'process'>, projectId: number, branch: string, work: () => Promise<T>): Promise<T> =>
  ctx.process.mutex.run(`branch ${projectId} ${branch}`, work)

/** Names like `a` and `a/b` cannot coexist (SEC-83). */
function nameConflict(ref: string) {
  const noun = ref.startsWith('refs/tags/') ? 'tag' : 'branch'
  return `${noun === 'tag' ? 'Tag' : 'Branch'} name conflicts with the name of another ${noun}`
}

/** An accepted push over Git, whose refs git moves now. */
export interface PushIntent {
  /** Finishes the push after its refs have moved, and ends the intent. */
  finish(moved: Move[]): Promise<void>
  /** Called when the push is over in any way; resolves the intent unless `finish` has succeeded. */
  close(): Promise<void>
}

/** How many missing objects the message lists. */
const MAX_LISTED_OBJECTS = 20

/** The message for a push with LFS pointers whose objects are missing (LF-10). */
function missingObjectsMessage(missing: LfsPointer[]): string {
  const listed = missing.slice(0, MAX_LISTED_OBJECTS).map(({ oid, size }) => `  ${oid} (${size} bytes)`)
  const more = missing.length > listed.length ? [`  and ${missing.length - listed.length} more`] : []
  return ['Objects of Git LFS are missing. Upload them with "git lfs push --all <remote>" and push again:', ...listed, ...more].join('\n')
}

/**
 * Decides on a push over Git. Every command is checked, and one refusal refuses the whole push (GH-18); returns its
 * message. An accepted push is recorded as an intent before its refs move.
 */
export async function acceptPush(
  ctx: Context,
  subject: ProjectSubject,
  actorId: number,
  commands: Move[],
  repository: Pick<Quarantine, 'isAncestor' | 'objectInfo' | 'changedPath' | 'newPointers'>,
): Promise<PushIntent | string> {
  const rules = await loadPushRules(ctx, subject, 'git', repository)
  // the pushed objects are already on disk, so the repository's size includes them; a push of deletions adds none
  const quotaError = commands.some((command) => command.new !== ZERO) && (await quotaRefusal(ctx, repositoryOf(ctx, subject.project)))
  if (quotaError) return quotaError
  for (const command of commands) {
    // git treats a ref whose old value is missing as broken, and then moves or deletes it without comparing (GH-22)
    if ((command.old !== ZERO || command.new === ZERO) && !(await repository.objectInfo(command.old)))
      return `The old value of ${command.ref} is not known here.`
    const reason = await refusalOf(rules, command)
    if (reason) return reason
  }
  const locked = await lockRefusal(ctx, { project: subject.project, actorId, moves: commands, merges: false, repository })
  if (locked) return locked
  const { id } = subject.project
  if (rules.settings.lfs_pointer_check_enabled && servesLfs(subject.project)) {
    const missing = await missingObjects(ctx, actorId, id, await repository.newPointers())
    if (missing.length > 0) return missingObjectsMessage(missing)
  }
  const intent = await recordIntent(ctx, { projectId: id, actorId, door: 'git', moves: commands })
  let finished = false
  return {
    async finish(moved) {
      await finishMoves(ctx, { projectId: id, moves: moved, intent, settings: rules.settings, repository: repositoryOf(ctx, subject.project) })
      finished = true
    },
    async close() {
      if (!finished) await resolveOwnIntent(ctx, intent)
    },
  }
}
