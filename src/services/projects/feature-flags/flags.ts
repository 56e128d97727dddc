import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { totalCount } from '../../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../../db/filters.js'
import { onlyRow } from '../../../db/only-row.js'
import { featureFlagScopes, featureFlagStrategies, featureFlags, featureFlagUserLists } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { unlessUniqueViolation } from '../../../db/unique-violation.js'
import { notFound } from '../../../failures.js'
import { groupedBy } from '../../../lib/grouped-by.js'
import { scopeFaults } from '../../../rules/ci/environment-scope.js'
import { flagNameFaults, parameterFaults, STRATEGIES, type Strategy as StrategyName } from '../../../rules/features/feature-flags.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { changesOf } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { nextIid } from '../../core/iids.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'
import { actAs } from '../../outbox/acting.js'
import { auditFlags, changingFlags, refusedAsSentences } from './shared.js'

type Row = typeof featureFlags.$inferSelect

export interface Scope {
  id: number
  environment_scope: string
}

export interface FlagStrategy {
  id: number
  name: StrategyName
  parameters: Record<string, string>
  scopes: Scope[]
  user_list: { id: number; iid: number; name: string; user_xids: string } | null
}

export interface FeatureFlag extends Row {
  strategies: FlagStrategy[]
}

export const FLAG_SCOPES = ['enabled', 'disabled'] as const

export interface FlagFilter extends Paging {
  scope?: (typeof FLAG_SCOPES)[number] | undefined
}

/** A strategy as it is sent: a new one, or with the id of one that the flag has. */
export interface GivenStrategy {
  id?: number | undefined
  name?: string | undefined
  parameters?: Record<string, unknown> | undefined
  user_list_id?: number | undefined
  _destroy?: boolean | undefined
  scopes?: { id?: number | undefined; environment_scope?: string | undefined; _destroy?: boolean | undefined }[] | undefined
}

export interface GivenFlag {
  name?: string | undefined
  description?: string | null | undefined
  active?: boolean | undefined
  strategies?: GivenStrategy[] | undefined
}

const MAX_FLAGS = 200
const MAX_STRATEGIES = 20
const MAX_SCOPES = 20
const MAX_DESCRIPTION = 255

const FILTERS = {
  scope: { where: (active) => sql`${featureFlags.active} = ${active}::boolean`, value: ({ scope }) => scope && String(scope === 'enabled') },
} satisfies Filters<FlagFilter, FilterNames<FlagFilter>>

const selectFlags = statement('feature flags', (db, filters: (keyof typeof FILTERS)[]) =>
  db
    .select({ flag: featureFlags, total: totalCount() })
    .from(featureFlags)
    .where(and(eq(featureFlags.project_id, sql.placeholder('project')), ...conditionsOf(FILTERS, filters, null)))
    .orderBy(asc(featureFlags.name))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const { id: listId, iid, name: listName, user_xids } = featureFlagUserLists
const listColumns = { id: listId, iid, name: listName, user_xids }

type Reader = Pick<Transaction, 'select'>

async function withStrategies(db: Reader, rows: Row[]): Promise<FeatureFlag[]> {
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return []
  const found = await db
    .select({ strategy: featureFlagStrategies, user_list: listColumns })
    .from(featureFlagStrategies)
    .leftJoin(featureFlagUserLists, eq(featureFlagUserLists.id, featureFlagStrategies.user_list_id))
    .where(inArray(featureFlagStrategies.feature_flag_id, ids))
    .orderBy(asc(featureFlagStrategies.id))
  const scopes = await db
    .select({ scope: featureFlagScopes })
    .from(featureFlagScopes)
    .innerJoin(featureFlagStrategies, eq(featureFlagStrategies.id, featureFlagScopes.strategy_id))
    .where(inArray(featureFlagStrategies.feature_flag_id, ids))
    .orderBy(asc(featureFlagScopes.id))
  const scopesOf = groupedBy(scopes, ({ scope }) => scope.strategy_id)
  const strategiesOf = groupedBy(found, ({ strategy }) => strategy.feature_flag_id)
  return rows.map((row) => ({
    ...row,
    strategies: (strategiesOf.get(row.id) ?? []).map(({ strategy: { id, name, parameters }, user_list }) => ({
      id,
      name,
      parameters,
      user_list,
      scopes: (scopesOf.get(id) ?? []).map(({ scope }) => ({ id: scope.id, environment_scope: scope.environment_scope })),
    })),
  }))
}

/** The flags of a project by name (FF-3). */
export async function listFlags(ctx: Context, { project }: ProjectSubject, filter: FlagFilter): Promise<Page<FeatureFlag>> {
  const used = usedFilters(FILTERS, filter)
  const { items, total } = await pageFrom(selectFlags(ctx.db, used.names), { ...used.values, project: project.id }, filter)
  const rows = items.map(({ flag }) => flag)
  return { items: await withStrategies(ctx.db.read, rows), total }
}

/** By its name, as the API names it, or by its number, as pages do. */
type FlagKey = string | number

const byKey = ({ project }: ProjectSubject, key: FlagKey) =>
  and(eq(featureFlags.project_id, project.id), typeof key === 'number' ? eq(featureFlags.iid, key) : eq(featureFlags.name, key))

async function find(db: Reader, subject: ProjectSubject, key: FlagKey): Promise<FeatureFlag> {
  const [flag] = await withStrategies(db, await db.select().from(featureFlags).where(byKey(subject, key)))
  if (!flag) throw notFound()
  return flag
}

export const getFlag = (ctx: Context, subject: ProjectSubject, key: FlagKey): Promise<FeatureFlag> => find(ctx.db.write, subject, key)

/** A strategy as it is to be stored; without an id a new one. */
interface Planned {
  id: number | undefined
  name: StrategyName
  parameters: Record<string, string>
  user_list_id: number | null
  scopes: { id: number | undefined; environment_scope: string }[]
}

/** What the strategies become: those that are not named stay as they are (FF-5). */
function planned(before: FlagStrategy[], given: GivenStrategy[]): Planned[] {
  const named = new Map(given.flatMap((each) => (each.id === undefined ? [] : [[each.id, each] as const])))
  const unknown = [...named.keys()].some((id) => !before.some((each) => each.id === id))
  if (unknown) throw notFound('Strategy')
  const kept = before.flatMap((each) => {
    const change = named.get(each.id)
    if (change?._destroy) return []
    const name = change?.name ?? each.name
    // another kind of strategy has no list
    const list = name === each.name ? (each.user_list?.id ?? null) : null
    return [
      {
        id: each.id as number | undefined,
        name,
        parameters: change?.parameters ?? each.parameters,
        user_list_id: change?.user_list_id ?? list,
        scopes: plannedScopes(each.scopes, change?.scopes ?? []),
      },
    ]
  })
  const added = given.flatMap(({ id, name = '', parameters = {}, user_list_id = null, _destroy, scopes = [] }) =>
    id !== undefined || _destroy ? [] : [{ id, name, parameters, user_list_id, scopes: plannedScopes([], scopes) }],
  )
  return [...kept, ...added] as Planned[]
}

function plannedScopes(before: Scope[], given: NonNullable<GivenStrategy['scopes']>): Planned['scopes'] {
  const named = new Map(given.flatMap((each) => (each.id === undefined ? [] : [[each.id, each] as const])))
  if ([...named.keys()].some((id) => !before.some((each) => each.id === id))) throw notFound('Scope')
  const kept = before.flatMap(({ id, environment_scope }) => {
    const change = named.get(id)
    return change?._destroy ? [] : [{ id, environment_scope: change?.environment_scope ?? environment_scope }]
  })
  const added = given.flatMap(({ id, environment_scope = '', _destroy }) => (id !== undefined || _destroy ? [] : [{ id, environment_scope }]))
  return [...kept, ...added]
}

function strategyFaults({ name, parameters, user_list_id, scopes }: Planned): Record<string, string[]> {
  if (!STRATEGIES.includes(name)) return { 'strategies.name': ['strategy name is invalid'] }
  const faults: Record<string, string[]> = {}
  const wrong = parameterFaults(name, parameters)
  if (wrong.length > 0) faults['strategies.parameters'] = wrong
  if (name === 'gitlabUserList' && user_list_id === null) faults['strategies.user_list'] = ["can't be blank"]
  if (name !== 'gitlabUserList' && user_list_id !== null) faults['strategies.user_list'] = ['must be blank']
  if (scopes.length > MAX_SCOPES) faults['strategies.scopes'] = [`are too many (maximum is ${MAX_SCOPES})`]
  const texts = scopes.map(({ environment_scope }) => environment_scope)
  const outside = texts.flatMap(scopeFaults)
  if (outside.length > 0) faults['strategies.scopes.environment_scope'] = [...new Set(outside)]
  else if (new Set(texts).size < texts.length) faults['strategies.scopes.environment_scope'] = ['has already been taken']
  return faults
}

function check({ name, description }: GivenFlag, strategies: Planned[]): void {
  const faults: Record<string, string[]> = {}
  const wrong = name === undefined ? [] : flagNameFaults(name)
  if (wrong.length > 0) faults['name'] = wrong
  if (lengthOf(description ?? '') > MAX_DESCRIPTION) faults['description'] = [tooLong(MAX_DESCRIPTION)]
  if (strategies.length > MAX_STRATEGIES) faults['strategies'] = [`are too many (maximum is ${MAX_STRATEGIES})`]
  else for (const each of strategies) Object.assign(faults, strategyFaults(each))
  if (Object.keys(faults).length > 0) throw refusedAsSentences(faults)
}

async function checkLists(tx: Transaction, { project }: ProjectSubject, strategies: Planned[]): Promise<void> {
  const ids = [...new Set(strategies.flatMap(({ user_list_id }) => user_list_id ?? []))]
  if (ids.length === 0) return
  const known = await tx.$count(featureFlagUserLists, and(eq(featureFlagUserLists.project_id, project.id), inArray(featureFlagUserLists.id, ids)))
  if (known < ids.length) throw notFound()
}

const gone = (before: { id: number }[], after: { id: number | undefined }[]): number[] => {
  const kept = new Set(after.map(({ id }) => id))
  return before.flatMap(({ id }) => (kept.has(id) ? [] : id))
}

/** Makes the stored strategies of a flag what is planned. */
async function storeStrategies(tx: Transaction, flag: number, before: FlagStrategy[], after: Planned[]): Promise<void> {
  const strategies = gone(before, after)
  const scopes = gone(
    before.flatMap((each) => each.scopes),
    after.flatMap((each) => each.scopes),
  )
  if (strategies.length > 0) await tx.delete(featureFlagStrategies).where(inArray(featureFlagStrategies.id, strategies))
  if (scopes.length > 0) await tx.delete(featureFlagScopes).where(inArray(featureFlagScopes.id, scopes))
  for (const { id: known, scopes: planned, ...values } of after) {
    if (known !== undefined) await tx.update(featureFlagStrategies).set(values).where(eq(featureFlagStrategies.id, known))
    const strategy_id =
      known ??
      onlyRow(
        await tx
          .insert(featureFlagStrategies)
          .values({ ...values, feature_flag_id: flag })
          .returning(),
      ).id
    for (const { id, environment_scope } of planned)
      if (id !== undefined) await tx.update(featureFlagScopes).set({ environment_scope }).where(eq(featureFlagScopes.id, id))
    const added = planned.flatMap(({ id, environment_scope }) => (id === undefined ? [{ strategy_id, environment_scope }] : []))
    if (added.length > 0) await tx.insert(featureFlagScopes).values(added)
  }
}

const TAKEN = () => refusedAsSentences({ name: ['has already been taken'] })

/** What the audit log has of strategies: no names of users. */
const summary = (strategies: Pick<Planned, 'name' | 'scopes'>[]) =>
  strategies.map(({ name, scopes }) => `${name}: ${scopes.map(({ environment_scope }) => environment_scope).join(', ')}`)

export async function createFlag(ctx: Context, subject: ProjectSubject, given: GivenFlag & { name: string }): Promise<FeatureFlag> {
  const strategies = planned([], given.strategies ?? [])
  check(given, strategies)
  const project_id = subject.project.id
  const { name, description = null, active = true } = given
  const create = () =>
    changingFlags(ctx, subject, async (tx) => {
      if ((await tx.$count(featureFlags, eq(featureFlags.project_id, project_id))) >= MAX_FLAGS)
        throw refusedAsSentences({ base: [`Maximum number of project feature flags (${MAX_FLAGS}) exceeded`] })
      await checkLists(tx, subject, strategies)
      const iid = await nextIid(tx, project_id, 'feature_flag')
      const values = { project_id, iid, name, description, active, ...createdNow(ctx) }
      const made = onlyRow(await tx.insert(featureFlags).values(values).returning())
      await storeStrategies(tx, made.id, [], strategies)
      await auditFlags(ctx, tx, subject, 'feature_flag_created', { name, active, strategies: summary(strategies) })
      return find(tx, subject, name)
    })
  return unlessUniqueViolation(create, TAKEN)
}

/** Changes a flag, those of its strategies that are named by their ids, and adds those without one (FF-5). */
export async function updateFlag(ctx: Context, subject: ProjectSubject, key: FlagKey, given: GivenFlag): Promise<FeatureFlag> {
  const update = () =>
    changingFlags(ctx, subject, async (tx) => {
      await tx.select({ id: featureFlags.id }).from(featureFlags).where(byKey(subject, key)).for('update')
      const before = await find(tx, subject, key)
      const strategies = planned(before.strategies, given.strategies ?? [])
      check(given, strategies)
      await checkLists(tx, subject, strategies)
      const { name = before.name, description = before.description, active = before.active } = given
      const changes = changesOf(before, { name, description, active })
      if (given.strategies === undefined && Object.keys(changes).length === 0) return before
      await actAs(tx, ctx.origin?.caller.user?.id ?? null)
      await tx.update(featureFlags).set({ name, description, active, updated_at: ctx.now() }).where(eq(featureFlags.id, before.id))
      if (given.strategies) await storeStrategies(tx, before.id, before.strategies, strategies)
      const audited = { flag: before.name, ...changes, ...(given.strategies && { strategies: summary(strategies) }) }
      await auditFlags(ctx, tx, subject, 'feature_flag_updated', audited)
      return find(tx, subject, before.iid)
    })
  return unlessUniqueViolation(update, TAKEN)
}

/** Deletes a flag, and answers what it was. */
export async function deleteFlag(ctx: Context, subject: ProjectSubject, key: FlagKey): Promise<FeatureFlag> {
  return changingFlags(ctx, subject, async (tx) => {
    const flag = await find(tx, subject, key)
    await tx.delete(featureFlags).where(eq(featureFlags.id, flag.id))
    await auditFlags(ctx, tx, subject, 'feature_flag_deleted', { name: flag.name })
    return flag
  })
}
