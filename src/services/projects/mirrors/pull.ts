import { and, asc, eq, isNull, lte, notInArray } from 'drizzle-orm'
import { z } from 'zod'
import { actingAs, actorOf } from '../../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import type { Context, Move } from '../../../context.js'
import { mirrors, projects } from '../../../db/schema/index.js'
import { Failure, failureText, nullOnFailure } from '../../../failures.js'
import { RefChanged, RefNameConflict } from '../../../git/errors.js'
import { type GitRepository, ZERO } from '../../../git/types.js'
import { enqueueAll } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { getUser } from '../../identity/users.js'
import { protectionsOf, reaches } from '../../repository/protection.js'
import { moveUnderIntent } from '../../repository/push/door.js'
import { loadPushRules, refusalOf } from '../../repository/push/rules.js'
import { quotaRefusal, repositoryLimit } from '../../repository/quotas.js'
import { repositoryOf } from '../../repository/repositories.js'
import { Incomplete, type Mirror, rejectedText } from './address.js'
import { pullAgain } from './backoff.js'
import { UPDATE_DEADLINE_MS, type Updated, updateMirror } from './update.js'

/** Where the branches and tags of the source are kept; clients do not see them. */
const UPSTREAM = 'refs/roost/upstream'
/** Refs that one recorded push moves. */
const MOVES_AT_ONCE = 500
/** Mirrors that one sweep finds due. */
const BATCH = 100

/** Brings a project up to date with the repository that it follows, or forgets that one when it follows it no more. */
export const pullMirror = defineJob({
  kind: 'pull from a mirror',
  input: z.object({ mirror: z.int() }),
  async run(ctx: Context, { mirror }, { signal }) {
    await forgetIfOff(ctx, mirror)
    return updateMirror(ctx, mirror, signal, (updated) => pullInto(ctx, updated))
  },
  concurrency: 2,
  deadline: UPDATE_DEADLINE_MS,
})

/** Every minute: the mirrors whose time has come (PM-23). */
export const pullDueMirrors = defineJob({
  kind: 'pull from due mirrors',
  input: z.object({}),
  every: 60_000,
  async run(ctx: Context) {
    const now = ctx.now()
    const more = await ctx.db.transaction(async (tx) => {
      const due = await tx
        .select({ mirror: mirrors })
        .from(mirrors)
        .innerJoin(projects, eq(projects.id, mirrors.project_id))
        .where(
          and(
            lte(mirrors.next_update_at, now),
            mirrors.enabled,
            eq(projects.archived, false),
            isNull(projects.marked_for_deletion_at),
            notInArray(projects.import_status, ['scheduled', 'started']),
          ),
        )
        .orderBy(asc(mirrors.next_update_at))
        .limit(BATCH)
        .for('update', { of: mirrors, skipLocked: true })
      for (const { mirror } of due)
        await tx
          .update(mirrors)
          .set({ next_update_at: pullAgain(now, mirror.failures), update_status: 'scheduled' })
          .where(eq(mirrors.id, mirror.id))
      await enqueueAll(
        tx,
        pullMirror,
        due.map(({ mirror }) => ({ input: { mirror: mirror.id }, key: String(mirror.id) })),
      )
      return due.length === BATCH
    })
    return more ? now : undefined
  },
})

async function forgetIfOff(ctx: Context, id: number): Promise<void> {
  const [found] = await ctx.db.write
    .select({ project: projects })
    .from(mirrors)
    .innerJoin(projects, eq(projects.id, mirrors.project_id))
    .where(and(eq(mirrors.id, id), eq(mirrors.enabled, false)))
  if (!found) return
  const repository = repositoryOf(ctx, found.project)
  const kept = await repository.refs(`${UPSTREAM}/`)
  await repository.updateRefs(kept.map(({ name, oid }) => ({ ref: name, old: oid, new: ZERO })))
}

async function pullInto(ctx: Context, { mirror, remote, signal }: Updated): Promise<void> {
  const { subject, actorId } = await puller(ctx, mirror)
  const repository = repositoryOf(ctx, subject.project)
  await repository.fetch(remote.source, signal, { bytes: (await repositoryLimit(ctx)) ?? undefined, below: UPSTREAM })
  const tooMuch = await quotaRefusal(ctx, repository)
  if (tooMuch) throw new Incomplete(tooMuch)
  const rules = await loadPushRules(ctx, subject, 'api', repository)
  const { moves, faults } = await plan(ctx, mirror, subject, repository)
  const allowed: Move[] = []
  const rejected: { name: string; reason: string }[] = []
  for (const move of moves) {
    const reason = await refusalOf(rules, move)
    if (reason) rejected.push({ name: move.ref, reason })
    else allowed.push({ ...move, ...(!mirror.trigger_builds && { without_ci: true }) })
  }
  for (let at = 0; at < allowed.length; at += MOVES_AT_ONCE) {
    signal.throwIfAborted()
    const part = { project: subject.project, actorId, moves: allowed.slice(at, at + MOVES_AT_ONCE), settings: rules.settings, repository }
    await moveUnderIntent(ctx, part).catch((error: unknown) => {
      throw textOf(error)
    })
  }
  const texts = [...faults, ...(rejected.length > 0 ? [rejectedText(rejected)] : [])]
  if (texts.length > 0) throw new Incomplete(texts.join('\n'))
}

function textOf(error: unknown): unknown {
  if (error instanceof RefChanged) return new Incomplete(`${error.ref} has been moved meanwhile.`)
  if (error instanceof RefNameConflict) return new Incomplete(`${error.ref} conflicts with the name of another branch or tag.`)
  return error instanceof Failure ? new Incomplete(failureText(error.body)) : error
}

/** As whom a mirror pushes: a maintainer, so that what arrives is not half of it (PM-21). */
async function puller(ctx: Context, { user_id, project_id }: Mirror): Promise<{ subject: ProjectSubject; actorId: number }> {
  const user = user_id === null ? null : await nullOnFailure(getUser(ctx, user_id))
  if (user?.state !== 'active') throw new Incomplete(user ? `${user.username} is ${user.state}.` : 'The mirror has no user.')
  const subject = await nullOnFailure(getProjectFor(ctx, actingAs(actorOf(user)), String(project_id)))
  if (!subject?.can('push_code') || !reaches(subject, 40)) throw new Incomplete(`${user.username} may not push to all branches of this project.`)
  return { subject, actorId: user.id }
}

/** What brings branches and tags up to date with what was fetched, and what is wrong with the default branch (PM-22). */
async function plan(
  ctx: Context,
  { only_protected_branches, overwrites_diverged }: Mirror,
  { project }: ProjectSubject,
  repository: GitRepository,
): Promise<{ moves: Move[]; faults: string[] }> {
  const protections = only_protected_branches ? await protectionsOf(ctx, project.id) : null
  const moves: Move[] = []
  const faults: string[] = []
  const changes = async function* (kind: 'heads' | 'tags') {
    const here = new Map((await repository.refs(`refs/${kind}/`)).map(({ name, oid }) => [name, oid]))
    for (const { name, oid } of await repository.refs(`${UPSTREAM}/${kind}/`)) {
      const ref = `refs/${kind}/${name.slice(`${UPSTREAM}/${kind}/`.length)}`
      if (here.get(ref) !== oid) yield { ref, old: here.get(ref) ?? ZERO, new: oid }
    }
  }
  for await (const move of changes('heads')) {
    const branch = move.ref.slice('refs/heads/'.length)
    if (protections && !protections.isProtected(branch)) continue
    if (move.old === ZERO || overwrites_diverged || (await repository.isAncestor(move.old, move.new))) moves.push(move)
    else if (branch === project.default_branch && !(await repository.isAncestor(move.new, move.old)))
      faults.push(`The default branch (${branch}) has diverged from its upstream counterpart and could not be updated automatically.`)
  }
  for await (const move of changes('tags')) moves.push(move)
  return { moves, faults }
}
