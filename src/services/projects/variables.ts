import { and, asc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { variables } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { conflict, invalidRecord, notFound } from '../../failures.js'
import { scopeFaults } from '../../rules/ci/environment-scope.js'
import { MAX_MASKED } from '../../rules/ci/masks.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type AuditAction, audit } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { unsealed } from '../core/unsealed.js'

/** The project, group or, with the id 0, the instance that variables belong to. */
export interface VariableSource {
  kind: 'project' | 'group' | 'instance'
  id: number
  fullPath: string
}

export const INSTANCE_VARIABLES: VariableSource = { kind: 'instance', id: 0, fullPath: 'CI variables' }

export interface VariableAttributes {
  protected: boolean
  masked: boolean
  raw: boolean
  /** Its value is the content of a file. */
  file: boolean
  /** `*` for those of the instance. */
  environment_scope: string
  description: string | null
}

export interface Variable extends VariableAttributes {
  key: string
  /** Null if it cannot be decrypted (SEC-257). */
  value: string | null
  /** Its value is for jobs only, and it stays masked (RX-8). */
  hidden: boolean
}

type Given = { [Name in keyof VariableAttributes]?: VariableAttributes[Name] | undefined }
type Row = typeof variables.$inferSelect

const MAX_KEY = 255
const MAX_DESCRIPTION = 255
const FORMAT = "can contain only letters, digits and '_'."
const taken = (key: string) => invalidRecord({ key: [`(${key}) has already been taken`] })
const STAYS_HIDDEN = 'The visibility setting cannot be changed for masked and hidden variables.'
const NOT_FOUND = { project: 'Variable', group: 'GroupVariable', instance: 'InstanceVariable' }
const SEVERAL = "There are multiple variables with provided parameters. Please use 'filter[environment_scope]'"

const belongsTo = ({ kind }: Pick<VariableSource, 'kind'>, id: number | SQL): SQL =>
  (kind === 'instance' ? and(isNull(variables.project_id), isNull(variables.group_id)) : eq(variables[`${kind}_id`], id)) as SQL
const notFoundError = ({ kind }: VariableSource) => notFound(NOT_FOUND[kind])

/** Binds an encrypted value to its source and key, so that it cannot be decrypted in another row. */
export const variablePurpose = ({ kind, id }: Pick<VariableSource, 'kind' | 'id'>, key: string) => `${kind} ${id} variable ${key}`

/** The source of a row. */
export const sourceOfVariable = ({ project_id, group_id }: Pick<Row, 'project_id' | 'group_id'>): Pick<VariableSource, 'kind' | 'id'> =>
  project_id !== null ? { kind: 'project', id: project_id } : group_id !== null ? { kind: 'group', id: group_id } : { kind: 'instance', id: 0 }

const shownColumns = {
  key: variables.key,
  sealed: variables.sealed,
  protected: variables.protected,
  masked: variables.masked,
  raw: variables.raw,
  file: variables.file,
  environment_scope: variables.environment_scope,
  description: variables.description,
  hidden: variables.hidden,
}

const decrypted = (ctx: Context, source: VariableSource, { sealed, ...shown }: Pick<Row, keyof typeof shownColumns>): Variable => ({
  ...shown,
  value: unsealed(ctx, sealed, variablePurpose(source, shown.key)),
})

/** Audits an action on a variable with its key and scope, never its value (SEC-135). */
const auditVariable = (ctx: Context, tx: Transaction, { kind, id, fullPath }: VariableSource, action: AuditAction, { key, scope }: Named) =>
  audit(ctx, tx, {
    action,
    target: kind === 'instance' ? { type: 'settings', id: null, name: fullPath } : { type: kind, id, name: fullPath },
    changes: { key, ...(scope !== undefined && scope !== '*' && { environment_scope: scope }) },
  })

const selectVariables = statement('variables', (db, kind: VariableSource['kind']) =>
  db
    .select({ ...shownColumns, total: totalCount() })
    .from(variables)
    .where(belongsTo({ kind }, sql`${sql.placeholder('source')}`))
    .orderBy(asc(variables.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The variables of a project, a group or the instance, ordered by id (V-2). */
export async function listVariables(ctx: Context, source: VariableSource, paging: Paging): Promise<Page<Variable>> {
  const { items, total } = await pageFrom(selectVariables(ctx.db, source.kind), { source: source.id }, paging)
  return { items: items.map(({ total: _, ...row }) => decrypted(ctx, source, row)), total }
}

/** Which variable is meant: by its key, and by its scope where several have that key (V-64). */
export interface Named {
  key: string
  scope?: string | undefined
}

async function find(db: Pick<Transaction, 'select'>, source: VariableSource, { key, scope }: Named): Promise<Row> {
  const rows = await db
    .select()
    .from(variables)
    .where(and(belongsTo(source, source.id), eq(variables.key, key), scope === undefined ? undefined : eq(variables.environment_scope, scope)))
    .limit(2)
  if (rows.length > 1) throw conflict(SEVERAL)
  if (!rows[0]) throw notFoundError(source)
  return rows[0]
}

/** One variable; keys are case-sensitive (V-3). */
export async function getVariable(ctx: Context, source: VariableSource, named: Named): Promise<Variable> {
  const { id: _, project_id, group_id, created_at, updated_at, ...row } = await find(ctx.db.read, source, named)
  return decrypted(ctx, source, row)
}

/** Whether a variable is there and hidden (RX-8). */
export const isHidden = (ctx: Context, source: VariableSource, { key, scope }: Named): Promise<boolean> =>
  ctx.db.read
    .$count(
      variables,
      and(
        belongsTo(source, source.id),
        eq(variables.key, key),
        eq(variables.hidden, true),
        scope === undefined ? undefined : eq(variables.environment_scope, scope),
      ),
    )
    .then((found) => found > 0)

/** What is wrong with a key (V-5). */
function keyFaults(key: string): string[] {
  const faults = key === '' ? ["can't be blank"] : []
  if (lengthOf(key) > MAX_KEY) faults.push(tooLong(MAX_KEY))
  if (!/^[A-Za-z0-9_]+$/.test(key)) faults.push(FORMAT)
  return faults
}

/** What is wrong with a value that logs are not to show (V-61): what is shorter, or several lines, would not be found there. */
function maskFaults(value: string, raw: boolean): string[] {
  const fits = raw ? /^\S{8,}$/ : /^[A-Za-z0-9_+=/@:.~-]{8,}$/
  return fits.test(value) ? (value.length > MAX_MASKED ? [tooLong(MAX_MASKED)] : []) : ['is invalid']
}

/** Throws what is wrong with a variable as it would be. */
function check({ key, value, masked, raw, environment_scope, description }: { key: string; value: string | null } & VariableAttributes): void {
  const faults = {
    key: keyFaults(key),
    value: masked && value !== null ? maskFaults(value, raw) : [],
    environment_scope: scopeFaults(environment_scope),
    description: lengthOf(description ?? '') > MAX_DESCRIPTION ? [tooLong(MAX_DESCRIPTION)] : [],
  }
  const found = Object.entries(faults).filter(([, texts]) => texts.length > 0)
  if (found.length > 0) throw invalidRecord(Object.fromEntries(found))
}

const DEFAULTS: VariableAttributes = { protected: false, masked: false, raw: false, file: false, environment_scope: '*', description: null }
const onlyGiven = (given: Given): Partial<VariableAttributes> =>
  Object.fromEntries(
    Object.keys(DEFAULTS).flatMap((name) => {
      const value = given[name as keyof Given]
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** Creates a variable (V-4 to V-7, V-60 to V-63); a hidden one is masked as well (RX-8). */
export async function createVariable(
  ctx: Context,
  source: VariableSource,
  given: Given & { key: string; value: string; hidden?: boolean | undefined },
): Promise<Variable> {
  const key = given.key.trim()
  const hidden = given.hidden === true
  const made = { ...DEFAULTS, ...onlyGiven(given), ...(hidden && { masked: true }) }
  check({ ...made, key, value: given.value })
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const row = onlyRow(
          await tx
            .insert(variables)
            .values({
              ...(source.kind !== 'instance' && { [`${source.kind}_id`]: source.id }),
              ...made,
              hidden,
              key,
              sealed: ctx.encryption.seal(given.value, variablePurpose(source, key)),
              ...createdNow(ctx),
            })
            .returning(shownColumns),
        )
        await auditVariable(ctx, tx, source, 'variable_added', { key, scope: made.environment_scope })
        return decrypted(ctx, source, row)
      }),
    () => taken(key),
  )
}

/** Changes a variable; the key cannot be changed (V-8). */
export async function updateVariable(
  ctx: Context,
  source: VariableSource,
  named: Named,
  { value: text, ...given }: Given & { value?: string | null | undefined },
): Promise<Variable> {
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const found = await find(tx, source, named)
        const { key } = found
        // who changes a hidden variable has no value to give back
        const value = text === null || (found.hidden && text === '') ? undefined : text
        if (found.hidden && given.masked === false) throw invalidRecord({ base: [STAYS_HIDDEN] })
        const next = { ...decrypted(ctx, source, found), ...onlyGiven(given), ...(value !== undefined && { value }) }
        check(next)
        const [row] = await tx
          .update(variables)
          .set({
            ...onlyGiven(given),
            ...(value !== undefined && { sealed: ctx.encryption.seal(value, variablePurpose(source, key)) }),
            updated_at: ctx.now(),
          })
          .where(eq(variables.id, found.id))
          .returning(shownColumns)
        if (!row) throw notFoundError(source)
        await auditVariable(ctx, tx, source, 'variable_updated', { key, scope: row.environment_scope })
        return decrypted(ctx, source, row)
      }),
    () => taken(named.key),
  )
}

/** Deletes a variable (V-9). */
export async function deleteVariable(ctx: Context, source: VariableSource, named: Named): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const found = await find(tx, source, named)
    const deleted = await tx.delete(variables).where(eq(variables.id, found.id)).returning({ id: variables.id })
    if (deleted.length === 0) throw notFoundError(source)
    await auditVariable(ctx, tx, source, 'variable_removed', { key: found.key, scope: found.environment_scope })
  })
}
