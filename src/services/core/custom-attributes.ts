import { and, asc, eq, inArray, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { customAttributes } from '../../db/schema/index.js'
import { invalidRecord, notFound } from '../../failures.js'
import { isDots, lengthOf, tooLong } from '../../rules/path.js'

/** The user, group or project that attributes are attached to. */
export interface AttributeSource {
  kind: 'user' | 'group' | 'project'
  id: number
}

export interface CustomAttribute {
  key: string
  value: string
}

const COLUMNS = { user: customAttributes.user_id, group: customAttributes.group_id, project: customAttributes.project_id }
const columns = { key: customAttributes.key, value: customAttributes.value }
const attachedTo = ({ kind, id }: AttributeSource) => eq(COLUMNS[kind], id)

/** The attributes of a subject, ordered by key (CA-1). */
export function listCustomAttributes(ctx: Context, source: AttributeSource): Promise<CustomAttribute[]> {
  return ctx.db.read.select(columns).from(customAttributes).where(attachedTo(source)).orderBy(asc(customAttributes.key))
}

/** One attribute; 404 when there is none (CA-2). */
export async function getCustomAttribute(ctx: Context, source: AttributeSource, key: string): Promise<CustomAttribute> {
  const [attribute] = await ctx.db.read
    .select(columns)
    .from(customAttributes)
    .where(and(attachedTo(source), eq(customAttributes.key, key)))
  if (!attribute) throw notFound()
  return attribute
}

const MAX_VALUE = 1_000_000

/** Creates or replaces an attribute (CA-3). */
export async function setCustomAttribute(ctx: Context, { kind, id }: AttributeSource, { key, value }: CustomAttribute): Promise<CustomAttribute> {
  const faults: Record<string, string[]> = {}
  if (isDots(key)) faults['key'] = ['is invalid']
  if (lengthOf(key) > 255) faults['key'] = [tooLong(255)]
  if (value === '') faults['value'] = ["can't be blank"]
  else if (lengthOf(value) > MAX_VALUE) faults['value'] = [tooLong(MAX_VALUE)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  const column = COLUMNS[kind]
  const [stored] = await ctx.db.write
    .insert(customAttributes)
    .values({ [`${kind}_id`]: id, key, value })
    .onConflictDoUpdate({ target: [column, customAttributes.key], targetWhere: sql`${column} is not null`, set: { value } })
    .returning(columns)
  return stored as CustomAttribute
}

/** Deletes an attribute (CA-4). */
export async function deleteCustomAttribute(ctx: Context, source: AttributeSource, key: string): Promise<void> {
  const deleted = await ctx.db.write
    .delete(customAttributes)
    .where(and(attachedTo(source), eq(customAttributes.key, key)))
    .returning({ id: customAttributes.id })
  if (deleted.length === 0) throw notFound()
}

/** The attributes of many subjects in one query, by the id of the subject (W-11). */
async function customAttributesOf(ctx: Context, kind: AttributeSource['kind'], ids: number[]): Promise<Map<number, CustomAttribute[]>> {
  const found = new Map<number, CustomAttribute[]>(ids.map((id) => [id, []]))
  if (ids.length === 0) return found
  const rows = await ctx.db.read
    .select({ id: COLUMNS[kind], ...columns })
    .from(customAttributes)
    .where(inArray(COLUMNS[kind], ids))
    .orderBy(asc(customAttributes.key))
  for (const { id, ...attribute } of rows) found.get(id as number)?.push(attribute)
  return found
}

/** The attributes of many subjects, if the caller asked for them and is an administrator; otherwise null. */
export async function attributesFor(
  ctx: Context,
  { user }: Pick<Caller, 'user'>,
  { with_custom_attributes }: { with_custom_attributes?: boolean | undefined },
  kind: AttributeSource['kind'],
  ids: number[],
): Promise<Map<number, CustomAttribute[]> | null> {
  return with_custom_attributes && user?.admin ? customAttributesOf(ctx, kind, ids) : null
}

/**
 * List filter by attributes (CA-5), as a condition on an id: the subject has all pairs of the placeholder
 * `custom_attributes`. `attributePairs` makes its value.
 */
export function hasCustomAttributes(kind: AttributeSource['kind'], id: SQLWrapper): SQL {
  const pairs = sql`${sql.placeholder('custom_attributes')}::jsonb`
  return sql`${id} in (select ca.${sql.identifier(COLUMNS[kind].name)} from custom_attributes ca join jsonb_array_elements(${pairs}) pair
    on ca.key = pair->>0 and md5(ca.value) = md5(pair->>1) and ca.value = pair->>1
    where ca.${sql.identifier(COLUMNS[kind].name)} is not null group by 1 having count(*) = jsonb_array_length(${pairs}))`
}

/** The value of the placeholder `custom_attributes`. */
export const attributePairs = (wanted: [string, string][] | undefined) => (wanted && wanted.length > 0 ? JSON.stringify(wanted) : undefined)
