import { sql } from 'drizzle-orm'
import type { Transaction } from '../../../db/client.js'
import { builds, commitStatuses, resourceGroups } from '../../../db/schema/index.js'
import { enqueueAll } from '../../../jobs/enqueue.js'
import type { PlannedJob } from '../../../rules/ci/types.js'
import { assigning } from '../builds/later.js'

/** Characters of the name of a group. */
const MAX_KEY = 255

/** What is wrong with the resource group of a planned job, whose name is known now. */
export function resourceGroupFaults({ name, resource_group: key }: PlannedJob): string[] {
  if (key === null || (key !== '' && key.length <= MAX_KEY)) return []
  return [`jobs:${name}:resource_group ${key === '' ? "can't be blank" : `is too long (maximum is ${MAX_KEY} characters)`}`]
}

/** Makes the groups that new jobs name (CI-290); their ids by name. */
export async function insertResourceGroups(tx: Transaction, project_id: number, jobs: PlannedJob[]): Promise<Map<string, number>> {
  const keys = [...new Set(jobs.flatMap(({ resource_group: key }) => (key === null ? [] : [key])))].sort()
  if (keys.length === 0) return new Map()
  await tx
    .insert(resourceGroups)
    .values(keys.map((key) => ({ project_id, key })))
    .onConflictDoNothing()
  const rows = await tx
    .select({ id: resourceGroups.id, key: resourceGroups.key })
    .from(resourceGroups)
    .where(sql`${resourceGroups.project_id} = ${project_id} and ${resourceGroups.key} in ${keys}`)
  return new Map(rows.map(({ id, key }) => [key, id]))
}

/** A group whose resource no job has: that of the row has ended, or there is none. */
export const isFree = sql`not exists (select 1 from ${commitStatuses} h where h.id = g.job_id and h.status in ('pending', 'preparing', 'running'))`
const hasWaiting = sql`exists (select 1 from ${builds} b join ${commitStatuses} w on w.id = b.job_id
  where b.resource_group_id = g.id and w.status = 'waiting_for_resource')`

/** Enqueues what gives free resources to the jobs that wait for them (CI-291). */
export async function promptGroups(tx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  const { rows } = await tx.execute<{ id: string }>(
    sql`select g.id from ${resourceGroups} g where g.id = any(${`{${ids.join(',')}}`}::bigint[]) and ${isFree} and ${hasWaiting}`,
  )
  await enqueueAll(
    tx,
    assigning,
    rows.map(({ id }) => ({ input: { group: Number(id) }, key: id })),
  )
}
