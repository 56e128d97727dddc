import type { Caller } from '../../access/actor.js'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { usedFilters } from '../../db/filters.js'
import { fuzzy } from '../../db/fuzzy.js'
import { limits, type Paging } from '../core/page.js'
import type { IssuableFilter } from './filters.js'
import { type IssuableKind, type ListStatements, listStatements, type Order, type Shape } from './list-statements.js'

/** What is listed: one project, the projects of a group and its descendants, or all projects. */
export type IssuableSource = { project: ProjectSubject } | { group: GroupSubject } | 'everywhere'

type Total = Awaited<ReturnType<Context['caches']['lists']['total']>>

/** From this offset on, a page in the second half of a list is read in reverse order from its end. */
const READ_BACKWARDS_FROM = 1_000
/** A request for one page of a list. */
interface ListRequest {
  shape: Shape
  values: Record<string, unknown>
  /** Cache key of the total: everything that it depends on besides the version. Null: the total is not cacheable. */
  key: string | null
  order: Omit<Order, 'reversed'>
  paging: Paging
}

/** Creates a function that reads the ids of a page, in order, and the total. */
function pageReaderOf({ selectVersion, selectIds, selectTotal }: ListStatements, list: 'issues' | 'merge_requests') {
  /** Reads the total before the page. */
  async function totalOf(ctx: Context, { shape, values, key }: ListRequest): Promise<Total> {
    const [now] = await selectVersion(ctx.db, shape.in).execute(values)
    return ctx.caches.lists.total(list, key, now?.version ?? null, () => selectTotal(ctx.db, shape).execute(values))
  }

  /** Reads a page backwards from the end of the list; null if the start is nearer, or if the list changes meanwhile. */
  async function readBackwards(ctx: Context, { shape, values, paging }: ListRequest, order: Order, { total, version }: Total) {
    const { limit, offset } = limits(paging)
    const here = Math.min(limit, total - offset)
    if (here <= 0 || total - offset > offset) return null
    const backwards = { ...shape, ...order, reversed: true }
    const rows = await selectIds(ctx.db, backwards).execute({ ...values, limit: here, offset: total - offset - here })
    return rows.length === here && rows.every((row) => row.version === version) ? rows.reverse() : null
  }

  return async <T>(ctx: Context, request: ListRequest, load: (ids: number[]) => Promise<T[]>): Promise<{ items: T[]; total: number }> => {
    const { shape, values, key, paging } = request
    const far = limits(paging).offset >= READ_BACKWARDS_FROM && key !== null
    const known = far ? await totalOf(ctx, request) : null
    const order = { ...request.order, reversed: false }
    const rows =
      (far && known && (await readBackwards(ctx, request, order, known))) ||
      (await selectIds(ctx.db, { ...shape, ...order }).execute({ ...values, ...limits(paging) }))
    const count = async () => (known && known.version === rows[0]?.version ? [known] : selectTotal(ctx.db, shape).execute(values))
    const [{ total }, items] = await Promise.all([ctx.caches.lists.page(list, key, rows, paging, count), load(rows.map((row) => row.id))])
    return { items, total }
  }
}

/**
 * Creates the list function of one kind: it returns a page and the total. The caller must already be authorised for the
 * source and, in a project, to read this kind.
 */
export function listerOf<Reach extends string, Filter extends IssuableFilter>(kind: IssuableKind<Reach, Filter>) {
  const statements = listStatements(kind)
  const { filters, selectLabelIds } = statements
  const page = pageReaderOf(statements, kind.list)

  /**
   * Values of the label filters. Within one project these are ids, for which Postgres has statistics. Null: a label
   * does not exist, so nothing matches.
   */
  async function labelValues(ctx: Context, at: IssuableSource, titles: string[]): Promise<Record<string, unknown> | null> {
    if (at === 'everywhere' || 'group' in at || titles.length === 0) return Object.fromEntries(titles.map((title, i) => [`label${i}`, title]))
    const found = await selectLabelIds(ctx.db, null).execute({ titles, project: at.project.project.id })
    const ids = titles.map((title) => found.filter((label) => label.title === title).map((label) => label.id))
    return ids.some((each) => each.length === 0) ? null : Object.fromEntries(ids.map((each, i) => [`label${i}`, each]))
  }

  const scopeOf = (at: IssuableSource, viewer: Caller['user']): Pick<Shape, 'in' | 'access'> & { id: number } => {
    if (at === 'everywhere') return { in: 'everywhere', access: viewerKindOf(viewer), id: 0 }
    if ('group' in at) return { in: 'group', access: viewerKindOf(viewer), id: at.group.group.id }
    return { in: 'project', access: kind.reach(at.project), id: at.project.project.id }
  }

  return async <T>(
    ctx: Context,
    { user: viewer }: Pick<Caller, 'user'>,
    at: IssuableSource,
    filter: Filter,
    load: (ids: number[]) => Promise<T[]>,
  ): Promise<{ items: T[]; total: number }> => {
    if (!viewer && filter.scope !== 'all') return { items: [], total: 0 }
    const { id, ...where } = scopeOf(at, viewer)
    const words = fuzzy(filter.search, where.in === 'project' ? 'part' : 'whole')
    const used = usedFilters(filters, { ...filter, now: ctx.now() })
    const wanted = Array.isArray(filter.labels) ? [...new Set(filter.labels)] : []
    const shape: Shape = { ...where, filters: used.names, labels: wanted.length, search: words.shape, fields: words.shape === 'all' ? [] : filter.in }
    const labelIdValues = await labelValues(ctx, at, wanted)
    if (!labelIdValues) return { items: [], total: 0 }
    const values = { ...used.values, ...words.values, ...labelIdValues, source: id, user: viewer?.id ?? 0 }
    // the version does not cover titles of labels
    const cacheable = (where.in === 'project' || wanted.length === 0) && used.cacheable
    const order = { by: filter.order_by, descending: filter.sort === 'desc' }
    return page(ctx, { shape, values, key: cacheable ? JSON.stringify([shape, values]) : null, order, paging: filter }, load)
  }
}
