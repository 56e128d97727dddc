import { and, eq, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { builds, commitStatuses, pendingBuilds, pipelines } from '../../../db/schema/index.js'
import { enqueue, enqueueAll } from '../../../jobs/enqueue.js'
import { compositeStatus, nextState } from '../../../rules/ci/states.js'
import type { PlannedJob } from '../../../rules/ci/types.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import { followJobs } from '../environments/of-jobs.js'
import { isClosedTo } from '../environments/protected.js'
import { promptGroups } from '../resource-groups/groups.js'
import { mirroring, triggering } from './later.js'

/** A job or status of a pipeline, as far as its order goes. */
interface Member {
  id: number
  name: string
  stage_index: number
  state: PipelineState
  allow_failure: boolean
  needs: string[] | null
  when: PlannedJob['when'] | null
  start_in: number | null
  group: number | null
  deploys: boolean | null
  /** Its environment is protected from its user. */
  closed: boolean | null
}

/** Locks a pipeline until the transaction ends. All that changes its jobs begins with this; null: there is none. */
export async function lockJobs(tx: Transaction, pipelineId: number): Promise<typeof pipelines.$inferSelect | null> {
  const [found] = await tx.select().from(pipelines).where(eq(pipelines.id, pipelineId)).for('no key update')
  return found ?? null
}

type Next = NonNullable<ReturnType<typeof nextState>> | 'failed'

/** What becomes of the created jobs of a pipeline, by id (CI-101, PE-4). */
export function nextStates(members: readonly Member[]): Map<number, Next> {
  const changed = new Map<number, Next>()
  const jobs = members.flatMap((each) => (each.when === null ? [] : [{ ...each, when: each.when }]))
  const byName = new Map(jobs.map((each) => [each.name, each]))
  const stages = [...new Set(jobs.map(({ stage_index }) => stage_index))]
  // a job that is skipped or fails at once may let others begin, which come before it in the file
  for (let again = true; again; ) {
    again = false
    const earlier: Member[] = []
    for (const stage of stages) {
      const here = jobs.filter(({ stage_index }) => stage_index === stage)
      const known = new Map<string, Next | null>()
      for (const job of here) {
        if (job.state !== 'created') continue
        const { needs, when } = job
        if (needs === null && !known.has(when)) known.set(when, nextState({ when, needs: null }, earlier))
        const next =
          needs === null
            ? known.get(when)
            : nextState(
                { when, needs: [] },
                needs.flatMap((name) => byName.get(name) ?? []),
              )
        if (!next) continue
        const then = next === 'pending' && job.closed ? 'failed' : next
        job.state = then
        changed.set(job.id, then)
        again ||= then === 'skipped' || then === 'failed'
      }
      earlier.push(...here)
    }
  }
  return changed
}

/**
 * Begins what can begin in a locked pipeline, and updates its state; returns it (CI-101, CI-102). It takes the same number
 * of statements however many jobs there are.
 */
export async function advance(
  ctx: Pick<Context, 'now'>,
  tx: Transaction,
  pipeline: { id: number; project_id: number; protected: boolean; status: PipelineState; bridge_id: number | null },
): Promise<PipelineState> {
  const now = ctx.now()
  const members: Member[] = await tx
    .select({
      id: commitStatuses.id,
      name: commitStatuses.name,
      stage_index: commitStatuses.stage_index,
      state: commitStatuses.status,
      allow_failure: commitStatuses.allow_failure,
      needs: builds.needs,
      when: sql<PlannedJob['when'] | null>`${builds.definition} ->> 'when'`,
      start_in: sql<number | null>`(${builds.definition} ->> 'start_in')::integer`,
      group: builds.resource_group_id,
      deploys: sql<boolean | null>`jsonb_typeof(${builds.definition} -> 'environment') = 'object'`,
      closed: sql<boolean | null>`case when ${commitStatuses.status} = 'created' and jsonb_typeof(${builds.definition} -> 'environment') = 'object'
        then ${isClosedTo(commitStatuses.project_id, builds.definition, commitStatuses.user_id)} end`,
    })
    .from(commitStatuses)
    .leftJoin(builds, eq(builds.job_id, commitStatuses.id))
    .where(and(eq(commitStatuses.project_id, pipeline.project_id), eq(commitStatuses.pipeline_id, pipeline.id), commitStatuses.latest))
    .orderBy(commitStatuses.stage_index, commitStatuses.id)
  const next = nextStates(members)
  const rows = members.flatMap((each) => {
    const status = next.get(each.id)
    return status ? [{ id: each.id, status, at: status === 'scheduled' ? new Date(now.getTime() + (each.start_in ?? 0) * 1_000) : null }] : []
  })
  const waiting = new Set(rows.length > 0 ? await begin(tx, pipeline, rows, now) : [])
  const stateOf = ({ id, state }: Member) => (waiting.has(id) ? 'waiting_for_resource' : (next.get(id) ?? state))
  const status = compositeStatus(members.map((each) => ({ state: stateOf(each), allow_failure: each.allow_failure }))) ?? pipeline.status
  if (members.some(({ deploys }) => deploys)) await followJobs(ctx, tx, pipeline)
  await promptGroups(tx, [...new Set(members.flatMap(({ group }) => group ?? []))])
  // statuses alone have no job that is canceling
  if (status !== pipeline.status) {
    await tx
      .update(pipelines)
      .set({ status: status as PipelineState, updated_at: now })
      .where(eq(pipelines.id, pipeline.id))
    if (pipeline.bridge_id !== null) await enqueue(tx, mirroring, { pipeline: pipeline.id }, { key: String(pipeline.id) })
  }
  return status as PipelineState
}

const CLOSED = 'protected_environment_failure'

/** Returns the jobs that wait for a resource instead. */
async function begin(
  tx: Transaction,
  pipeline: { project_id: number; protected: boolean },
  rows: { id: number; status: string; at: Date | null }[],
  now: Date,
): Promise<number[]> {
  const given = sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as v (id bigint, status text, at timestamptz)`
  const moment = now.toISOString()
  await tx.execute(sql`update ${commitStatuses} s set status = v.status,
      queued_at = case when v.status = 'pending' then ${moment}::timestamptz end,
      finished_at = case when v.status in ('skipped', 'failed') then ${moment}::timestamptz end,
      failure_reason = case when v.status = 'failed' then ${CLOSED} end
    from ${given} where s.id = v.id`)
  if (rows.some(({ status }) => status === 'scheduled'))
    await tx.execute(sql`update ${builds} b set scheduled_at = v.at from ${given} where b.job_id = v.id and v.at is not null`)
  const pending = rows.flatMap(({ id, status }) => (status === 'pending' ? [id] : []))
  return pending.length > 0 ? enqueueBuilds(tx, pipeline, pending) : []
}

/**
 * Puts pending jobs into the queue for runners; those that trigger a pipeline do so by a job of the queue. Those of a
 * resource group wait for it first, unless they have it; their ids are returned. Those whose environment is protected from
 * their user fail instead (PE-4).
 */
export async function enqueueBuilds(
  tx: Transaction,
  pipeline: { project_id: number; protected: boolean },
  ids: number[],
  { hasResource = false } = {},
): Promise<number[]> {
  const { rows } = await tx.execute<{ id: string; waits: boolean }>(sql`with given as (
      select s.id, s.kind, b.definition, c.closed, b.resource_group_id is not null and not ${hasResource}::boolean and not c.closed as waits
      from ${commitStatuses} s join ${builds} b on b.job_id = s.id,
        lateral (select ${isClosedTo(sql`s.project_id`, sql`b.definition`, sql`s.user_id`)} as closed) c
      where s.id = any(${`{${ids.join(',')}}`}::bigint[])),
    closed as (update ${commitStatuses} s set status = 'failed', failure_reason = ${CLOSED}, finished_at = coalesce(s.queued_at, now()), queued_at = null
      from given where s.id = given.id and given.closed),
    waiting as (update ${commitStatuses} s set status = 'waiting_for_resource', queued_at = null from given where s.id = given.id and given.waits),
    queued as (insert into ${pendingBuilds} (job_id, project_id, protected, tags)
      select given.id, ${pipeline.project_id}, ${pipeline.protected}, coalesce(array(select jsonb_array_elements_text(given.definition -> 'tags')), '{}')
      from given where kind = 'build' and not waits and not closed on conflict do nothing)
    select id, waits from given where not closed and (waits or kind = 'bridge')`)
  const [waiting, bridges] = [true, false].map((waits) => rows.flatMap((each) => (each.waits === waits ? [Number(each.id)] : [])))
  await enqueueAll(
    tx,
    triggering,
    (bridges ?? []).map((job) => ({ input: { job }, key: String(job) })),
  )
  return waiting ?? []
}
