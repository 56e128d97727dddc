import { and, eq, inArray, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context, PushEvent } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { events, type MergeIntent, projects, protectedBranches, refIntents, releases, users } from '../../db/schema/index.js'
import { forbidden, refused } from '../../failures.js'
import { RefChanged, RefNameConflict, RepositoryMissing } from '../../git/errors.js'
import { type GitRepository, type Oid, type RefUpdate, ZERO } from '../../git/types.js'
import { branchNameFault } from '../../lib/branch-name.js'
import { isUnavailable } from '../../lib/unavailable.js'
import { dropOldEvents } from '../activity/events.js'
import { readSettings, type Settings } from '../core/settings.js'
import { updateLanguages } from './languages.js'
import { runMaintenance } from './maintenance.js'
import { Protections, protectionsOf, reaches } from './protection.js'
import { pushDataOf } from './push-events.js'
import { quotaRefusal } from './quotas.js'
import { repositoryOf } from './repositories.js'

/** A change of a ref from one value to another; ZERO stands for a ref that does not exist. */
export type RefMove = RefUpdate

/** Where the move came from: some rules differ (BR-19). */
export type Door = 'api' | 'git'

const PROTECTED = 'You are not allowed to push into this branch'

/** What the rules about a move need, loaded once for each push. */
export interface PushSetting {
  subject: ProjectSubject
  protections: Protections
  settings: Settings
  door: Door
  /** Reads the repository together with the new objects, to tell whether a move is a fast-forward. */
  repository: Pick<GitRepository, 'isAncestor'>
}

export async function pushSetting(
  ctx: Context,
  subject: ProjectSubject,
  door: Door,
  repository: Pick<GitRepository, 'isAncestor'>,
): Promise<PushSetting> {
  const [protections, settings] = await Promise.all([protectionsOf(ctx, subject.project.id), readSettings(ctx)])
  return { subject, protections, settings, door, repository }
}

/**
 * Whether this caller may make this move, for every way to write (SEC-104): null, or the reason why not (GH-19, GH-20).
 */
export async function refusalOf(setting: PushSetting, move: RefMove): Promise<string | null> {
  const { subject } = setting
  if (!subject.can('push_code')) return 'You are not allowed to push code to this project.'
  if (move.ref.startsWith('refs/heads/')) return refuseBranch(setting, move, move.ref.slice('refs/heads/'.length))
  if (move.ref.startsWith('refs/tags/')) return refuseTag(setting, move, move.ref.slice('refs/tags/'.length))
  // notes may move anywhere, fast-forward or not
  return move.ref.startsWith('refs/notes/') ? null : 'Only branches, tags and notes can be pushed.'
}

async function refuseBranch(
  { subject, protections, settings, door, repository }: PushSetting,
  move: RefMove,
  branch: string,
): Promise<string | null> {
  const { project } = subject
  const deletes = move.new === ZERO
  if (deletes) {
    if (branch === project.default_branch && !project.empty_repo) return 'The default branch of a project cannot be deleted.'
    if (!protections.isProtected(branch)) return null
    if (door === 'git') return 'You can only delete protected branches through the API.'
    return subject.can('delete_protected_branch') ? null : 'You are not allowed to delete protected branches from this project.'
  }
  if (move.old === ZERO) {
    const fault = branchNameFault(branch)
    if (fault) return `Branch name '${branch}' is invalid`
  }
  if (project.empty_repo && settings.default_branch_protection === 2 && !reaches(subject, 40)) return PROTECTED
  if (!protections.isProtected(branch)) return null
  if (!reaches(subject, protections.pushLevel(branch))) return PROTECTED
  if (move.old === ZERO || protections.allowsForcePush(branch)) return null
  return (await repository.isAncestor(move.old, move.new)) ? null : 'You are not allowed to force push code to a protected branch on this project.'
}

function refuseTag({ subject, protections }: PushSetting, move: RefMove, tag: string): string | null {
  // a deletion is one whatever old value the client claims
  const creates = move.old === ZERO && move.new !== ZERO
  if (!creates && !subject.can('delete_tag')) return 'You are not allowed to change existing tags on this project.'
  if (!protections.isTagProtected(tag)) return null
  if (!creates) return move.new === ZERO ? 'Protected tags cannot be deleted.' : 'Protected tags cannot be updated.'
  return reaches(subject, protections.createTagLevel(tag)) ? null : 'You are not allowed to create this tag as it is protected.'
}

/** Records what is about to move, after the objects and before the refs (SEC-158). Returns the row's id. */
export async function recordIntent(
  ctx: Context,
  projectId: number,
  actorId: number,
  door: Door,
  updates: RefMove[],
  merge: MergeIntent | null = null,
): Promise<number> {
  const [row] = await ctx.db.write
    .insert(refIntents)
    .values({
      project_id: projectId,
      actor_id: actorId,
      origin: door,
      updates: updates.map(({ ref, old, new: to }) => ({ ref, old, new: to })),
      merge,
    })
    .returning({ id: refIntents.id })
  const id = row?.id as number
  ctx.intents.set(id, 'moving')
  return id
}

/**
 * Ends an intent whose refs were not moved because of `error`. Where git does not say that nothing moved, the refs are
 * examined later.
 */
export async function abandonIntent(ctx: Context, intent: number, error: unknown): Promise<void> {
  leaveIntent(ctx, intent)
  if (!(error instanceof RefChanged || error instanceof RefNameConflict)) return
  try {
    await ctx.db.write.delete(refIntents).where(eq(refIntents.id, intent))
    ctx.intents.delete(intent)
  } catch (thrown) {
    if (!isUnavailable(thrown)) throw thrown
  }
}

/** Nobody works on this intent any more: it is settled in the background, according to the refs. */
export function leaveIntent(ctx: Context, intent: number): void {
  if (ctx.intents.has(intent)) ctx.intents.set(intent, 'left')
}

/**
 * Moves refs for the API, all or none, by all the rules of a push: 403 below developer, 400 with the reason where a
 * rule refuses (PU-9), RefChanged when another writer was faster.
 */
export async function moveRefs(ctx: Context, subject: ProjectSubject, actorId: number, moves: RefMove[]): Promise<void> {
  if (!subject.can('push_code')) throw forbidden()
  const repository = repositoryOf(ctx, subject.project)
  const setting = await pushSetting(ctx, subject, 'api', repository)
  for (const move of moves) {
    const reason = await refusalOf(setting, move)
    if (reason) throw refused(reason)
  }
  const intent = await recordIntent(ctx, subject.project.id, actorId, 'api', moves)
  try {
    await repository.updateRefs(moves)
  } catch (error) {
    await abandonIntent(ctx, intent, error)
    if (error instanceof RefNameConflict) throw refused(nameConflict(error.ref))
    throw error
  }
  await finishMoves(ctx, subject.project.id, moves, intent, setting.settings, repository)
}

/** Names like `a` and `a/b` cannot coexist (SEC-83). */
function nameConflict(ref: string) {
  const noun = ref.startsWith('refs/tags/') ? 'tag' : 'branch'
  return `${noun === 'tag' ? 'Tag' : 'Branch'} name conflicts with the name of another ${noun}`
}

/** A push over Git that has been accepted. */
export interface PushIntent {
  /** To be called when its refs have moved: does what follows, and ends the intent. */
  finish(moved: RefMove[]): Promise<void>
  /** To be called when the push is over, whatever happened; does nothing after `finish`. */
  settle(): Promise<void>
}

/**
 * The verdict on a push over Git: every command on a branch, tag or note is checked, one refusal refuses all (GH-18),
 * and an accepted push is recorded before its refs move.
 */
export async function acceptPush(
  ctx: Context,
  subject: ProjectSubject,
  actorId: number,
  commands: RefMove[],
  repository: Pick<GitRepository, 'isAncestor' | 'objectInfo'>,
): Promise<PushIntent | string> {
  const setting = await pushSetting(ctx, subject, 'git', repository)
  // the pushed objects are in the repository's folder already; a deletion adds none
  const full = commands.some((command) => command.new !== ZERO) && (await quotaRefusal(ctx, repositoryOf(ctx, subject.project)))
  if (full) return full
  for (const command of commands) {
    // git takes a ref whose old value does not exist for broken, and compares nothing before it moves or deletes it
    // (GH-22)
    if ((command.old !== ZERO || command.new === ZERO) && !(await repository.objectInfo(command.old)))
      return `The old value of ${command.ref} is not known here.`
    const reason = await refusalOf(setting, command)
    if (reason) return reason
  }
  const { id } = subject.project
  const intent = await recordIntent(ctx, id, actorId, 'git', commands)
  let finished = false
  return {
    async finish(moved) {
      await finishMoves(ctx, id, moved, intent, setting.settings, repositoryOf(ctx, subject.project))
      finished = true
    },
    async settle() {
      if (!finished) await settleOwn(ctx, intent)
    },
  }
}

/**
 * Does everything that follows when refs have moved, and ends the intent. All of it holds before the caller gets an
 * answer (PU-1), except maintenance, which runs soon after. `repository` is looked up when it is not given; `merge` is
 * what the moves merged. The refs have moved, so what fails here is tried again until it succeeds.
 */
export async function finishMoves(
  ctx: Context,
  projectId: number,
  moves: RefMove[],
  intent: number | null,
  settings: Settings,
  repository?: GitRepository,
  merge: MergeIntent | null = null,
): Promise<void> {
  try {
    await follow(ctx, projectId, moves, intent, settings, repository, merge)
    if (intent !== null) ctx.intents.delete(intent)
  } catch (error) {
    // what took too long will be fast once maintenance has written the new commits into the commit-graph
    maintainSoon(ctx, projectId)
    if (intent !== null) leaveIntent(ctx, intent)
    throw error
  }
}

async function follow(
  ctx: Context,
  projectId: number,
  moves: RefMove[],
  intent: number | null,
  settings: Settings,
  repository: GitRepository | undefined,
  merge: MergeIntent | null,
): Promise<void> {
  let actor: Promise<number | null> | undefined
  let found: Promise<GitRepository | null> | undefined
  const event: PushEvent = {
    projectId,
    moves,
    intent,
    merge,
    actor: () => (actor ??= actorIdOf(ctx, intent)),
    repository: () => (found ??= repository ? Promise.resolve(repository) : repositoryById(ctx, projectId).then((known) => known?.git ?? null)),
  }
  const [told] = await Promise.all([
    event.repository().then((git) => (git ? pushDataOf(git, moves) : [])),
    followBranches(ctx, projectId, moves, settings),
    dropReleases(ctx, projectId, moves),
    ...ctx.followers.push.map((follower) => follower(ctx, event)),
  ])
  const now = ctx.now().toISOString()
  const pushed = sql`insert into ${events} (project_id, author_id, action, push, created_at)
    select ${projectId}::bigint, finished.actor_id, 'pushed', told.push, ${now}::timestamptz
    from finished join ${users} on ${users.id} = finished.actor_id, jsonb_array_elements(${JSON.stringify(told)}::jsonb) with ordinality as told (push, turn)
    order by told.turn`
  // The only one of these statements that waits for the disk. It makes everything committed before it durable too, so
  // what is answered now stays (SEC-157). The events are written together with the end of the intent, so a push is
  // recorded once however often it is finished.
  await ctx.db.write.execute(sql`with finished as (delete from ${refIntents} where ${refIntents.id} = ${intent} returning actor_id), pushed as (${pushed})
    update ${projects} set last_activity_at = greatest(last_activity_at, ${now}::timestamptz), pushes_since_gc = pushes_since_gc + 1
    where id = ${projectId}`)
  maintainSoon(ctx, projectId)
}

/** Who moved the refs of an intent, unless that user has been removed meanwhile. */
async function actorIdOf(ctx: Context, intent: number | null): Promise<number | null> {
  if (intent === null) return null
  const [row] = await ctx.db.write
    .select({ id: users.id })
    .from(refIntents)
    .innerJoin(users, eq(users.id, refIntents.actor_id))
    .where(eq(refIntents.id, intent))
  return row?.id ?? null
}

/** A deleted tag loses its release (PU-8). */
async function dropReleases(ctx: Context, projectId: number, moves: RefMove[]): Promise<void> {
  const gone = moves.filter((move) => move.new === ZERO && move.ref.startsWith('refs/tags/')).map(({ ref }) => ref.slice('refs/tags/'.length))
  if (gone.length > 0) await ctx.db.write.delete(releases).where(and(eq(releases.project_id, projectId), inArray(releases.tag, gone)))
}

/**
 * The first branch becomes the default branch and is protected; without its last branch a repository is empty again
 * (PU-1, BR-17).
 */
export async function followBranches(ctx: Context, projectId: number, moves: RefMove[], settings: Settings) {
  const branches = moves.filter(({ ref }) => ref.startsWith('refs/heads/'))
  if (!branches.some((move) => move.old === ZERO || move.new === ZERO)) return
  const repository = await repositoryById(ctx, projectId)
  if (!repository) return
  const heads = await repository.git.refs('refs/heads/')
  await ctx.db.transaction(async (tx) => {
    const [project] = await tx
      .select({ id: projects.id, empty_repo: projects.empty_repo, default_branch: projects.default_branch })
      .from(projects)
      .where(eq(projects.id, projectId))
      .for('update')
    if (!project || project.empty_repo === (heads.length === 0)) return
    if (heads.length === 0) {
      await tx.update(projects).set({ empty_repo: true }).where(eq(projects.id, projectId))
      return
    }
    const names = heads.map(({ name }) => name.slice('refs/heads/'.length))
    const first = branches.find((move) => move.new !== ZERO && heads.some(({ name }) => name === move.ref))?.ref.slice('refs/heads/'.length)
    const branch = names.includes(project.default_branch) ? project.default_branch : (first ?? (names[0] as string))
    if (branch !== project.default_branch) await repository.git.setHeadBranch(branch)
    await tx.update(projects).set({ empty_repo: false, default_branch: branch }).where(eq(projects.id, projectId))
    await protectDefaultBranch(tx, projectId, branch, settings)
  })
}

/**
 * Protects the first default branch of a project as the setting `default_branch_protection` says: not at all, with push
 * level developer, or with push and merge level maintainer (G-73).
 */
export async function protectDefaultBranch(tx: Transaction, projectId: number, branch: string, settings: Settings) {
  const level = settings.default_branch_protection
  if (level === 0) return
  const entries = await tx.select().from(protectedBranches).where(eq(protectedBranches.project_id, projectId))
  if (new Protections(entries, []).isProtected(branch)) return
  await tx
    .insert(protectedBranches)
    .values({ project_id: projectId, name: branch, push_level: level === 1 ? 30 : 40, merge_level: 40 })
    .onConflictDoNothing()
}

async function repositoryById(ctx: Context, projectId: number) {
  const [project] = await ctx.db.write
    .select({ id: projects.id, storage: projects.storage, default_branch: projects.default_branch })
    .from(projects)
    .where(eq(projects.id, projectId))
  return project && { git: repositoryOf(ctx, project), defaultBranch: project.default_branch }
}

/** Milliseconds between the starts of two maintenance runs of one project, so that a burst of commits causes few. */
const UPKEEP_GAP = 2_000

/** Maintenance of a repository that has changed, in the background. */
export const maintainSoon = (ctx: Context, projectId: number) =>
  ctx.jobs.coalesce(`upkeep ${projectId}`, UPKEEP_GAP, 'repository upkeep', () => maintainRepository(ctx, projectId))

/** Size, commit count, languages, commit-graph and packs: a push neither waits for these nor fails with them. */
async function maintainRepository(ctx: Context, projectId: number) {
  const repository = await repositoryById(ctx, projectId)
  if (!repository) return
  await runMaintenance(ctx, projectId, repository.git)
  await dropOldEvents(ctx, projectId)
  const head = await repository.git.ref(`refs/heads/${repository.defaultBranch}`)
  const [size, log] = await Promise.all([repository.git.size(), head ? repository.git.log({ from: [head], skip: 0, limit: 1 }) : { total: 0 }])
  await ctx.db.write.update(projects).set({ repository_size: size, commit_count: log.total }).where(eq(projects.id, projectId))
  await updateLanguages(ctx, projectId, repository.git, head)
}

/**
 * Finishes or drops one intent by its refs: a ref that has its new value, or has moved on from it, did move (SEC-158).
 * Returns whether any did.
 */
export async function settleIntent(
  ctx: Context,
  intent: typeof refIntents.$inferSelect,
  may: { finish: boolean; drop: boolean } = { finish: true, drop: true },
): Promise<boolean> {
  const repository = await repositoryById(ctx, intent.project_id)
  const moved: RefMove[] = []
  // a repository that is gone needs nothing more; where that cannot be told, this throws
  if (repository && (await ctx.git.exists(repository.git.key))) {
    for (const update of intent.updates) {
      const now: Oid = (await repository.git.ref(update.ref)) ?? ZERO
      if (now === update.new || (await hasGoneOn(repository.git, update.new, now))) moved.push(update)
    }
  }
  if (moved.length > 0 ? !may.finish : !may.drop) return false
  if (moved.length > 0) await follow(ctx, intent.project_id, moved, intent.id, await readSettings(ctx), undefined, intent.merge)
  else await ctx.db.write.delete(refIntents).where(eq(refIntents.id, intent.id))
  ctx.intents.delete(intent.id)
  return moved.length > 0
}

/** Whether a ref that was at one commit may since have moved on to the other. */
async function hasGoneOn(repository: GitRepository, from: Oid, to: Oid): Promise<boolean> {
  if (from === ZERO || to === ZERO) return false
  const known = await Promise.all([repository.commit(from), repository.commit(to)])
  return known.every((commit) => commit !== null) && repository.isAncestor(from, to)
}

/** Milliseconds: an intent younger than this may have an owner that does not know its id yet. */
const YOUNG = 3_000
/**
 * Milliseconds after which an intent of another service on the same database is taken over: one whose refs have moved,
 * and one whose refs have not.
 */
const OTHERS_MOVED = 60_000
const OTHERS_UNMOVED = 600_000

/**
 * Finishes or drops the intents that nobody works on (SEC-158): those of a killed process at the start, and those that
 * a lost database connection cut short while the service runs. `alone`: no other service can be at work on this
 * database, whoever it belongs to. Returns the ids of the merge requests found merged.
 */
export async function settleLeftIntents(ctx: Context, { start = false, alone = false } = {}): Promise<number[]> {
  const age = sql<number>`extract(epoch from now() - ${refIntents.created_at})::float8 * 1000`
  const left = await ctx.db.write.select({ intent: refIntents, age }).from(refIntents).orderBy(refIntents.id)
  const merged: number[] = []
  for (const { intent, age } of left) {
    const state = ctx.intents.get(intent.id)
    if ((state === 'moving' && age < OTHERS_UNMOVED) || (!state && !start && age < YOUNG)) continue
    // no other service can be at work on an embedded database
    const shared = !alone && ctx.config.databaseUrl !== undefined && state !== 'left'
    // a process that was killed while moving refs has left its locks
    await (await repositoryById(ctx, intent.project_id))?.git.removeStaleLocks()
    const may = shared ? { finish: start || age > OTHERS_MOVED, drop: age > OTHERS_UNMOVED } : { finish: true, drop: true }
    try {
      if ((await settleIntent(ctx, intent, may)) && intent.merge) merged.push(intent.merge.request)
    } catch (error) {
      // its disk may be mounted later; the others are settled all the same
      if (!(error instanceof RepositoryMissing)) throw error
    }
  }
  // rows that are gone were settled by another process
  const known = new Set(left.map(({ intent }) => intent.id))
  for (const [id, state] of ctx.intents) if (state === 'left' && !known.has(id)) ctx.intents.delete(id)
  return merged
}

async function settleOwn(ctx: Context, id: number): Promise<void> {
  try {
    const [left] = await ctx.db.write.select().from(refIntents).where(eq(refIntents.id, id))
    if (left) await settleIntent(ctx, left)
    else ctx.intents.delete(id)
  } catch (error) {
    leaveIntent(ctx, id)
    throw error
  }
}

/** Maintenance lost to a kill is at most this old; a second would do. */
const RECENT = '1 minute'

/**
 * At the start: updates what projects say of their repositories, for those that were busy when the last process ended.
 */
export async function catchUp(ctx: Context): Promise<void> {
  const busy = await ctx.db.write
    .select({ id: projects.id })
    .from(projects)
    .where(sql`${projects.last_activity_at} > (select max(${projects.last_activity_at}) from ${projects}) - ${RECENT}::interval`)
  for (const { id } of busy) maintainSoon(ctx, id)
}
