import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context, PushEvent } from '../../../context.js'
import { mirrors } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import type { GitRepository, Oid, PushedRef } from '../../../git/types.js'
import { defineJob } from '../../../jobs/kinds.js'
import { protectionsOf } from '../../repository/protection.js'
import { repositoryOf } from '../../repository/repositories.js'
import { Incomplete, rejectedText } from './address.js'
import { soonest } from './backoff.js'
import { UPDATE_DEADLINE_MS, type Updated, updateMirror } from './update.js'

/** Pushes a project to a repository elsewhere; updates of one mirror run one after the other (PM-9). */
export const pushMirror = defineJob({
  kind: 'push to a mirror',
  input: z.object({ mirror: z.int() }),
  run: (ctx: Context, { mirror }, { signal }) => updateMirror(ctx, mirror, signal, (updated) => pushTo(ctx, updated)),
  concurrency: 2,
  deadline: UPDATE_DEADLINE_MS,
})

const selectEnabled = statement('mirrors to push to', (db) =>
  db
    .select()
    .from(mirrors)
    .where(and(eq(mirrors.project_id, sql.placeholder('project')), eq(mirrors.direction, 'push'), mirrors.enabled)),
)

/** A listener: moved refs are pushed to the mirrors of the project (PM-6). */
export async function enqueuePushMirrors(ctx: Context, { projectId, moves, enqueue }: PushEvent): Promise<void> {
  if (!moves.some(({ ref }) => isMirrored(ref))) return
  for (const mirror of await selectEnabled(ctx.db, null).execute({ project: projectId }))
    enqueue(pushMirror, { mirror: mirror.id }, { key: String(mirror.id), runAt: soonest(mirror, 'pushed') })
}

const isMirrored = (ref: string) => /^refs\/(heads|tags)\//.test(ref)

async function pushTo(ctx: Context, { mirror, project, remote, signal }: Updated): Promise<void> {
  const repository = repositoryOf(ctx, project)
  const protections = mirror.only_protected_branches ? await protectionsOf(ctx, project.id) : null
  const isWanted = (ref: string) => !protections || !ref.startsWith('refs/heads/') || protections.isProtected(ref.slice('refs/heads/'.length))
  const there = await repository.remoteRefs(remote.source, signal)
  const { refs, diverged } = await plan(repository, {
    there,
    isWanted,
    overwrites: mirror.overwrites_diverged,
    defaultBranch: project.default_branch,
  })
  const rejected = await repository.push(remote.source, refs, { signal, deadline: UPDATE_DEADLINE_MS })
  if (diverged.length > 0) throw new Incomplete(`Some refs have diverged and have not been updated on the remote:\n\n${diverged.join('\n')}`)
  if (rejected.length > 0) throw new Incomplete(`The remote has not accepted some refs:\n\n${rejectedText(rejected)}`)
}

interface Wishes {
  /** The refs of the remote repository. */
  there: Map<string, Oid>
  isWanted(ref: string): boolean
  /** Whether refs that have other commits there are overwritten. */
  overwrites: boolean
  defaultBranch: string
}

/**
 * what makes the remote repository equal (PM-9): refs are made and moved, and those that are no more here are deleted
 * if the default branch has what they point at, so that nothing gets lost that is only there.
 */
export async function plan(
  repository: Pick<GitRepository, 'refs' | 'existingObjects' | 'isAncestor' | 'tag'>,
  { there, isWanted, overwrites, defaultBranch }: Wishes,
): Promise<{ refs: PushedRef[]; diverged: string[] }> {
  const here = [...(await repository.refs('refs/heads/')), ...(await repository.refs('refs/tags/'))]
  const left = new Map([...there].filter(([name]) => isWanted(name)))
  const changed = here.filter(({ name, oid }) => isWanted(name) && left.get(name) !== oid)
  const old = new Map(left)
  for (const { name } of here) left.delete(name)
  const known = await repository.existingObjects([...new Set([...left.values(), ...changed.flatMap(({ name }) => old.get(name) ?? [])])])
  const refs: PushedRef[] = []
  const diverged: string[] = []
  for (const { name, oid, peeled } of changed) {
    const before = old.get(name)
    // a tag is never moved forward
    const isForward = before === undefined || (name.startsWith('refs/heads/') && known.has(before) && (await isPart(repository, before, peeled)))
    if (isForward || overwrites) refs.push({ name, oid, force: overwrites })
    else diverged.push(name)
  }
  const trunk = overwrites ? here.find(({ name }) => name === `refs/heads/${defaultBranch}`) : undefined
  if (trunk)
    for (const [name, oid] of left) if (known.has(oid) && (await isPart(repository, oid, trunk.oid))) refs.push({ name, oid: null, force: true })
  return { refs, diverged }
}

/** Whether a commit has all of what an object, such as a tag, points at. */
async function isPart(repository: Pick<GitRepository, 'isAncestor' | 'tag'>, oid: Oid, commit: Oid): Promise<boolean> {
  return repository.isAncestor((await repository.tag(oid))?.target ?? oid, commit)
}
