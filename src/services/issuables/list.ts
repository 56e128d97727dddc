import type { Caller } from '../../access/actor.js'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { fuzzy } from '../../db/fuzzy.js'
import { dayOf } from '../../lib/text/day.js'
import { limits, type Paging } from '../core/page.js'
import { type IssuableFilter, UNKEPT, valuesOf } from './filters.js'
import { type Kind, type ListStatements, listStatements, type Order, type Shape } from './list-statements.js'

/** The things of one project, of the projects of a group and its descendants, or of all projects. */
export type Place = { project: ProjectSubject } | { group: GroupSubject } | 'everywhere'

type Total = Awaited<ReturnType<Context['listCache']['total']>>
/** A total, and the number of the newest thing of the one project that is listed. */
type Known = Total & { newest: number | null }

/** From this row on a page may be read from the end of the list. */
const FAR = 1_000
/**
 * Up to so many matches of a search are sorted: a walk in order may pass over a million others until it meets them.
 * Unless most things match: then there are fewer others than would be sorted.
 */
const FEW = 20_000
const isSorted = ({ total, newest }: Known) => total <= FEW && (newest === null || newest > 2 * total)

/** A list that was asked for. */
interface Asked {
  shape: Shape
  values: Record<string, unknown>
  /** Names everything that the total depends on besides the version; null: that cannot be named. */
  key: string | null
  order: Omit<Order, 'sorted'>
  paging: Paging
}

/** Reads the ids of a page, in order, and the total. */
function pagerOf({ versioned, listed, counted }: ListStatements, list: Kind<string>['list']) {
  /** The total of a list before its page is read. */
  async function totalOf(ctx: Context, { shape, values, key }: Asked): Promise<Known> {
    const [now] = await versioned(ctx.db, shape.in).execute(values)
    const total = await ctx.listCache.total(list, key, now?.version ?? null, () => counted(ctx.db, shape).execute(values))
    return { ...total, newest: now?.newest ?? null }
  }

  /**
   * A page that is nearer to the end of the list, read from there; null: it is not, or the list has changed meanwhile.
   */
  async function fromTheEnd(ctx: Context, { shape, values, paging }: Asked, order: Order, { total, version }: Total) {
    const { limit, offset } = limits(paging)
    const here = Math.min(limit, total - offset)
    if (here <= 0 || total - offset > offset) return null
    const backwards = { ...shape, ...order, descending: !order.descending }
    const rows = await listed(ctx.db, backwards).execute({ ...values, limit: here, offset: total - offset - here })
    return rows.length === here && rows.every((row) => row.version === version) ? rows.reverse() : null
  }

  return async <T>(ctx: Context, asked: Asked, load: (ids: number[]) => Promise<T[]>): Promise<{ items: T[]; total: number }> => {
    const { shape, values, key, paging } = asked
    const searched = shape.search !== 'all'
    const far = limits(paging).offset >= FAR && key !== null
    const known = far || searched ? await totalOf(ctx, asked) : null
    const order = { ...asked.order, sorted: searched && known !== null && isSorted(known) }
    const rows =
      (far && known && (await fromTheEnd(ctx, asked, order, known))) ||
      (await listed(ctx.db, { ...shape, ...order }).execute({ ...values, ...limits(paging) }))
    const count = async () => (known && known.version === rows[0]?.version ? [known] : counted(ctx.db, shape).execute(values))
    const [{ total }, items] = await Promise.all([ctx.listCache.page(list, key, rows, paging, count), load(rows.map((row) => row.id))])
    return { items, total }
  }
}

/**
 * Creates the function that lists one kind of things: a page, and the total. `more` are the values of the filters that
 * only this kind has. The caller must be known to see the place and, for one project, to read such things there.
 */
export function listerOf<Reach extends string>(kind: Kind<Reach>) {
  const statements = listStatements(kind)
  const { labelIds } = statements
  const page = pagerOf(statements, kind.list)

  /**
   * Values of the label filters: ids within one project, for which Postgres has statistics. Null: there is no such
   * label, so nothing matches.
   */
  async function labelValues(ctx: Context, at: Place, titles: string[]): Promise<Record<string, unknown> | null> {
    if (at === 'everywhere' || 'group' in at || titles.length === 0) return Object.fromEntries(titles.map((title, i) => [`label${i}`, title]))
    const found = await labelIds(ctx.db, null).execute({ titles, project: at.project.project.id })
    const ids = titles.map((title) => found.filter((label) => label.title === title).map((label) => label.id))
    return ids.some((each) => each.length === 0) ? null : Object.fromEntries(ids.map((each, i) => [`label${i}`, each]))
  }

  const placeOf = (at: Place, viewer: Caller['user']): Pick<Shape, 'in' | 'sight'> & { id: number } => {
    if (at === 'everywhere') return { in: 'everywhere', sight: viewerKindOf(viewer), id: 0 }
    if ('group' in at) return { in: 'group', sight: viewerKindOf(viewer), id: at.group.group.id }
    return { in: 'project', sight: kind.reach(at.project), id: at.project.project.id }
  }

  return async <T>(
    ctx: Context,
    { user: viewer }: Pick<Caller, 'user'>,
    at: Place,
    filter: IssuableFilter,
    more: Record<string, unknown>,
    load: (ids: number[]) => Promise<T[]>,
  ): Promise<{ items: T[]; total: number }> => {
    if (!viewer && filter.scope !== 'all') return { items: [], total: 0 }
    const { id, ...where } = placeOf(at, viewer)
    const words = fuzzy(filter.search)
    const given = { ...valuesOf(filter, dayOf(ctx.now())), ...more }
    const filters = Object.keys(given).filter((name) => given[name] !== undefined)
    const wanted = Array.isArray(filter.labels) ? [...new Set(filter.labels)] : []
    const shape: Shape = { ...where, filters, labels: wanted.length, search: words.shape, fields: words.shape === 'all' ? [] : filter.in }
    const wearers = await labelValues(ctx, at, wanted)
    if (!wearers) return { items: [], total: 0 }
    const values = { ...given, ...words.values, ...wearers, place: id, user: viewer?.id ?? 0 }
    // titles of labels are no part of the version
    const kept = (where.in === 'project' || wanted.length === 0) && !filters.some((name) => UNKEPT.includes(name))
    const order = { by: filter.order_by, descending: filter.sort === 'desc' }
    return page(ctx, { shape, values, key: kept ? JSON.stringify([shape, values]) : null, order, paging: filter }, load)
  }
}
