import { sql } from 'drizzle-orm'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { featureFlagStrategies, featureFlags, featureFlagUserLists } from '../../../db/schema/index.js'
import { Failure } from '../../../failures.js'
import { type AuditAction, audit } from '../../core/audit.js'
import { lockName } from '../../core/lock-name.js'

/** Characters that the user lists of a project and what its strategies name have together: a client gets them in one answer. */
const MAX_SIZE = 2 * 1024 * 1024

/** The record would be invalid: the sentences of the API (FF-2). */
export function refusedAsSentences(faults: Record<string, string[]>): Failure {
  const nameOf = (field: string) => (field.charAt(0).toUpperCase() + field.slice(1)).replace(/[_.]/g, ' ')
  const sentences = Object.entries(faults).flatMap(([field, texts]) => texts.map((text) => (field === 'base' ? text : `${nameOf(field)} ${text}`)))
  return new Failure('invalid', { message: sentences }, {}, faults)
}

/** Changes flags or user lists of a project one after another, and within what a project may have. */
export async function changingFlags<T>(ctx: Context, { project }: ProjectSubject, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `feature flags of project ${project.id}`)
    const result = await work(tx)
    const { rows } = await tx.execute<{ size: string }>(sql`select
      coalesce((select sum(length(l.user_xids)) from ${featureFlagUserLists} l where l.project_id = ${project.id}), 0)
      + coalesce((select sum(length(s.parameters::text) + coalesce(length(l.user_xids), 0)) from ${featureFlagStrategies} s
          join ${featureFlags} f on f.id = s.feature_flag_id left join ${featureFlagUserLists} l on l.id = s.user_list_id
          where f.project_id = ${project.id}), 0) as size`)
    if (Number(rows[0]?.size) > MAX_SIZE)
      throw refusedAsSentences({ base: [`The users of all flags and user lists of the project are too long (maximum is ${MAX_SIZE} characters)`] })
    return result
  })
}

export const auditFlags = (
  ctx: Context,
  tx: Transaction,
  { project }: ProjectSubject,
  action: Extract<AuditAction, `feature_flag_${string}`>,
  changes: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes })
