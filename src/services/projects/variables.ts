import { and, asc, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { variables } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound } from '../../failures.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type AuditAction, audit } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { unsealed } from '../core/unsealed.js'

/** The project or group that variables belong to. */
export interface VariableSource {
  kind: 'project' | 'group'
  id: number
  fullPath: string
}

export interface Variable {
  key: string
  /** Null if it cannot be decrypted (SEC-257). */
  value: string | null
  protected: boolean
}

type Row = typeof variables.$inferSelect

const MAX_KEY = 255
const FORMAT = "can contain only letters, digits and '_'."
const TAKEN = { key: ['has already been taken'] }

const belongsTo = ({ kind, id }: VariableSource) => eq(kind === 'project' ? variables.project_id : variables.group_id, id)
const hasKey = (source: VariableSource, key: string) => and(belongsTo(source), eq(variables.key, key))
const notFoundError = ({ kind }: VariableSource) => notFound(kind === 'project' ? 'Variable' : 'GroupVariable')

/** Binds an encrypted value to its source and key, so that it cannot be decrypted in another row. */
export const variablePurpose = ({ kind, id }: Pick<VariableSource, 'kind' | 'id'>, key: string) => `${kind} ${id} variable ${key}`

const decrypted = (
  ctx: Context,
  source: VariableSource,
  { key, sealed, protected: isProtected }: Pick<Row, 'key' | 'sealed' | 'protected'>,
): Variable => ({
  key,
  value: unsealed(ctx, sealed, variablePurpose(source, key)),
  protected: isProtected,
})

/** Audits an action on a variable with its key, never its value (SEC-135). */
const auditVariable = (ctx: Context, tx: Transaction, { kind, id, fullPath }: VariableSource, action: AuditAction, key: string) =>
  audit(ctx, tx, { action, target: { type: kind, id, name: fullPath }, changes: { key } })

const selectVariables = statement('variables', (db, kind: VariableSource['kind']) =>
  db
    .select({
      key: variables.key,
      sealed: variables.sealed,
      protected: variables.protected,
      total: totalCount(),
    })
    .from(variables)
    .where(eq(kind === 'project' ? variables.project_id : variables.group_id, sql.placeholder('source')))
    .orderBy(asc(variables.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The variables of a project or group, ordered by id (V-2). */
export async function listVariables(ctx: Context, source: VariableSource, paging: Paging): Promise<Page<Variable>> {
  const { items, total } = await pageFrom(selectVariables(ctx.db, source.kind), { source: source.id }, paging)
  return { items: items.map((row) => decrypted(ctx, source, row)), total }
}

/** One variable; keys are case-sensitive (V-3). */
export async function getVariable(ctx: Context, source: VariableSource, key: string): Promise<Variable> {
  const [row] = await ctx.db.read.select().from(variables).where(hasKey(source, key))
  if (!row) throw notFoundError(source)
  return decrypted(ctx, source, row)
}

/** What is wrong with a key (V-5). */
function keyFaults(key: string): string[] {
  const faults = key === '' ? ["can't be blank"] : []
  if (lengthOf(key) > MAX_KEY) faults.push(tooLong(MAX_KEY))
  if (!/^[A-Za-z0-9_]+$/.test(key)) faults.push(FORMAT)
  return faults
}

/** Creates a variable (V-4 to V-7). */
export async function createVariable(
  ctx: Context,
  source: VariableSource,
  given: { key: string; value: string; protected?: boolean | undefined },
): Promise<Variable> {
  const key = given.key.trim()
  const faults = keyFaults(key)
  if (faults.length > 0) throw invalidRecord({ key: faults })
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const row = onlyRow(
          await tx
            .insert(variables)
            .values({
              [`${source.kind}_id`]: source.id,
              key,
              sealed: ctx.encryption.seal(given.value, variablePurpose(source, key)),
              protected: given.protected ?? false,
              ...createdNow(ctx),
            })
            .returning(),
        )
        await auditVariable(ctx, tx, source, 'variable_added', key)
        return decrypted(ctx, source, row)
      }),
    () => invalidRecord(TAKEN),
  )
}

/** Changes a variable; the key cannot be changed (V-8). */
export async function updateVariable(
  ctx: Context,
  source: VariableSource,
  key: string,
  given: { value: string; protected?: boolean | undefined },
): Promise<Variable> {
  return ctx.db.transaction(async (tx) => {
    const [row] = await tx
      .update(variables)
      .set({
        sealed: ctx.encryption.seal(given.value, variablePurpose(source, key)),
        ...(given.protected !== undefined && { protected: given.protected }),
        updated_at: ctx.now(),
      })
      .where(hasKey(source, key))
      .returning()
    if (!row) throw notFoundError(source)
    await auditVariable(ctx, tx, source, 'variable_updated', key)
    return decrypted(ctx, source, row)
  })
}

/** Deletes a variable (V-9). */
export async function deleteVariable(ctx: Context, source: VariableSource, key: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const deleted = await tx.delete(variables).where(hasKey(source, key)).returning({ id: variables.id })
    if (deleted.length === 0) throw notFoundError(source)
    await auditVariable(ctx, tx, source, 'variable_removed', key)
  })
}
