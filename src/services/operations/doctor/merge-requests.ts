import { and, desc, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { events, mergeRequests, mergeRequestVersions } from '../../../db/schema/index.js'
import { type GitRepository, type Oid, ZERO } from '../../../git/types.js'
import { headRef } from '../../../rules/refs/merge-request-refs.js'
import { readSettings } from '../../core/settings.js'
import { keepAroundRef, setRefs } from '../../issuables/merge-requests/versions/keep-around.js'
import { updateDefaultBranch } from '../../repository/push/finish.js'
import type { Check } from './fault.js'

/** Compares the merge requests of one project with its repository. */
export async function* mergeRequestFaults(ctx: Context, projectId: number, repository: GitRepository): Check {
  yield* versionRefFaults(ctx, projectId, repository)
  yield* lostMergeFaults(ctx, projectId, repository)
}

/**
 * Checks that a ref protects the commits of each version, and that heads of merge requests can be fetched (SEC-118).
 */
async function* versionRefFaults(ctx: Context, projectId: number, repository: GitRepository): Check {
  const versions = await ctx.db.write
    .select({
      head: mergeRequestVersions.head_commit_sha,
      start: mergeRequestVersions.start_commit_sha,
      iid: mergeRequests.iid,
      newest: mergeRequests.sha,
    })
    .from(mergeRequestVersions)
    .innerJoin(mergeRequests, eq(mergeRequests.id, mergeRequestVersions.merge_request_id))
    .where(and(eq(mergeRequestVersions.project_id, projectId), isNull(mergeRequests.deleted_at)))
  const wanted = new Map<string, { oid: Oid; iid: number }>()
  // the head ref protects the newest head, keep-around refs all others
  for (const { head, start, iid, newest } of versions) {
    wanted.set(keepAroundRef(start), { oid: start, iid })
    wanted.set(head === newest ? headRef(iid) : keepAroundRef(head), { oid: head, iid })
  }
  if (wanted.size === 0) return
  const refs = [...(await repository.refs('refs/keep-around/')), ...(await repository.refs('refs/merge-requests/'))]
  const held = new Map(refs.map(({ name, oid }) => [name, oid]))
  const existing = await repository.existingObjects([...wanted.values()].map(({ oid }) => oid))
  for (const [ref, { oid, iid }] of wanted) {
    if (!existing.has(oid)) {
      const text = `${oid} of one of its versions is not there; it must come from a backup or be pushed again`
      yield { kind: 'missing commit', of: `merge request ${iid} of project ${projectId}`, text, repair: null }
    } else if (held.get(ref) !== oid) {
      const repair = async () => {
        await setRefs(repository, new Map([[ref, oid]]))
        return 'set'
      }
      yield { kind: 'missing pin', of: `merge request ${iid} of project ${projectId}`, text: `${ref} does not hold ${oid}`, repair }
    }
  }
}

/** Checks that merged merge requests are in their targets, unless a force push has removed them since (SEC-158). */
async function* lostMergeFaults(ctx: Context, projectId: number, repository: GitRepository): Check {
  const merged = await ctx.db.write
    .select({ id: mergeRequests.id, iid: mergeRequests.iid, branch: mergeRequests.target_branch, commit: mergeRequests.merge_commit_sha })
    .from(mergeRequests)
    .where(
      and(
        eq(mergeRequests.project_id, projectId),
        eq(mergeRequests.state, 'merged'),
        isNotNull(mergeRequests.merge_commit_sha),
        isNull(mergeRequests.deleted_at),
      ),
    )
    .orderBy(mergeRequests.id)
  const commits = [...new Set(merged.map(({ commit }) => commit as Oid))]
  const existing = await repository.existingObjects(commits)
  for (const branch of new Set(merged.map((request) => request.branch))) {
    const ref = `refs/heads/${branch}`
    const head = await repository.ref(ref)
    const [last] = await ctx.db.write
      .select({ push: events.push })
      .from(events)
      .where(and(eq(events.project_id, projectId), sql`${events.push}->>'ref' = ${branch} and ${events.push}->>'ref_type' = 'branch'`))
      .orderBy(desc(events.id))
      .limit(1)
    // the branch is where the last push left it, so missing merges were discarded by a push
    if ((last?.push?.commit_to ?? null) === head) continue
    const here = merged.filter((request) => request.branch === branch)
    const lost = new Set(
      await repository.unreachable(
        here.map(({ commit }) => commit as Oid).filter((oid) => existing.has(oid)),
        head ?? undefined,
      ),
    )
    for (const { id, iid, commit } of here) {
      const oid = commit as Oid
      if (existing.has(oid) && head !== null && !lost.has(oid)) continue
      const repair = async () => {
        const now = (await repository.ref(ref)) ?? ZERO
        if (existing.has(oid) && (now === ZERO || (await repository.isAncestor(now, oid)))) {
          await repository.updateRefs([{ ref, old: now, new: oid }])
          await updateDefaultBranch(ctx, projectId, [{ ref, old: now, new: oid }], await readSettings(ctx))
          return `${branch} put to ${oid}`
        }
        if (existing.has(oid) && now !== ZERO && (await repository.isAncestor(oid, now))) return 'in the branch again'
        await unmerge(ctx, id)
        return 'closed, and no longer called merged'
      }
      yield { kind: 'lost merge', of: `merge request ${iid} of project ${projectId}`, text: `it is merged, but ${oid} is not in ${branch}`, repair }
    }
  }
}

/** Closes the merge request. It is not reopened, because another one may be open for the same branches by now. */
async function unmerge(ctx: Context, id: number): Promise<void> {
  const now = ctx.now()
  const columns = { state: 'closed', merge_commit_sha: null, merged_at: null, merged_by_id: null, closed_at: now, updated_at: now } as const
  await ctx.db.write.update(mergeRequests).set(columns).where(eq(mergeRequests.id, id))
}
