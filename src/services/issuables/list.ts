import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { type SqlViewer, sqlViewer } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { count } from '../../db/decoded.js'
import { type Fuzzy, fuzzy, fuzzyMatch, planFor } from '../../db/fuzzy.js'
import { labels, namespaceAncestry, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { dayOf } from '../../lib/text/day.js'
import { everywhereVersionOf, projectVersionOf } from '../core/list-cache.js'
import { limits, type Paging } from '../core/page.js'
import { type Conditions, conditionsOf, hasLabels, type IssuableFilter, type ORDERS, type Tables, UNKEPT, valuesOf } from './filters.js'

/** The things of one project, of the projects of a group and its descendants, or of all projects. */
export type Place = { project: ProjectSubject } | { group: GroupSubject } | 'everywhere'

/** What is listed, and how it differs from other kinds. */
interface Kind<Reach extends string> extends Tables {
  list: 'issues' | 'merge_requests'
  /** Conditions of filters that only this kind has. */
  filters: Conditions
  /**
   * Which of the things of a project the caller sees, where they may read such things there, and the condition for
   * these.
   */
  reach(subject: ProjectSubject): Reach
  within(reach: Reach, user: SQL): SQL | undefined
  /** The same for the things of all projects. */
  visible(eyes: SqlViewer, user: SQL): SQL
}

/** What the text of the list query depends on. */
interface Shape {
  in: 'project' | 'group' | 'everywhere'
  sight: string
  filters: string[]
  /** The number of labels that must all be present. */
  labels: number
  search: Fuzzy['shape']
  fields: ('title' | 'description')[]
}

/** The order of a list, and how it is brought about. */
interface Order {
  by: (typeof ORDERS)[number]
  descending: boolean
  /** The matches are found first and then sorted, instead of walking an index in the order of the list until the page is full. */
  sorted: boolean
}

type Total = Awaited<ReturnType<Context['listCache']['total']>>

/** From this row on a page may be read from the end of the list. */
const FAR = 1_000
/** Up to so many matches of a search are sorted: a walk in order may pass over a million others until it meets them. */
const FEW = 20_000

const user = sql`${sql.placeholder('user')}::bigint`
const value = (name: string) => sql.placeholder(name)

/**
 * Creates the function that lists one kind of things: the ids of a page, and the total. `more` are the values of the
 * filters that only this kind has. The caller must be known to see the place and, for one project, to read such things
 * there.
 */
export function listerOf<Reach extends string>(kind: Kind<Reach>) {
  const { thing, labelling, list } = kind
  const known = { ...conditionsOf(kind), ...kind.filters }

  const conditions = ({ in: place, sight, filters, labels: wanted, search, fields }: Shape) =>
    and(
      place === 'project' ? eq(thing.project_id, value('place')) : kind.visible(sight as SqlViewer, user),
      place === 'project' ? kind.within(sight as Reach, user) : undefined,
      place === 'group'
        ? sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${value('place')})`
        : undefined,
      ...filters.map((name) => known[name]?.()),
      ...Array.from({ length: wanted }, (_, i) =>
        place === 'project'
          ? sql`${thing.id} in (select ${labelling.issue_id} from ${labelling.issue_id.table} where ${labelling.label_id} = any(${value(`label${i}`)}::bigint[]))`
          : sql`${thing.id} in (${hasLabels(kind, sql`l.title = ${value(`label${i}`)}`)})`,
      ),
      fuzzyMatch(
        fields.map((field) => thing[field]),
        search,
      ),
    )

  const versionIn = (place: Shape['in']) => (place === 'project' ? projectVersionOf(list, sql`${value('place')}::bigint`) : everywhereVersionOf(list))

  const versioned = statement(`version of ${list}`, (db, place: Shape['in']) => db.select({ version: versionIn(place) }).from(sql`(select 1) as one`))

  /**
   * The ids of one page, by the filters alone. What is shown of them is joined in a separate statement: in a single one
   * Postgres would plan seven joins again for each call, which takes longer than running them.
   */
  const listed = statement(
    `ids of ${list}`,
    (db, { by, descending, sorted, ...shape }: Shape & Order) => {
      const direction = descending ? desc : asc
      // no index has the sum
      const key = sorted ? sql`(${thing[by]} + interval '0')` : thing[by]
      const from = db
        .select({ id: thing.id, version: versionIn(shape.in) })
        .from(thing)
        .$dynamic()
      return (shape.in === 'project' ? from : from.innerJoin(projects, eq(projects.id, thing.project_id)))
        .where(conditions(shape))
        .orderBy(direction(key), direction(thing.id))
        .limit(value('limit'))
        .offset(value('offset'))
    },
    ({ search }) => planFor(search),
  )

  const counted = statement(
    `number of ${list}`,
    (db, shape: Shape) => {
      const from = db
        .select({ total: count(), version: versionIn(shape.in) })
        .from(thing)
        .$dynamic()
      return (shape.in === 'project' ? from : from.innerJoin(projects, eq(projects.id, thing.project_id))).where(conditions(shape))
    },
    ({ search }) => planFor(search),
  )

  /** The total of a list before its page is read. */
  async function totalOf(ctx: Context, shape: Shape, values: Record<string, unknown>, key: string | null) {
    const [now] = await versioned(ctx.db, shape.in).execute(values)
    return ctx.listCache.total(list, key, now?.version ?? null, () => counted(ctx.db, shape).execute(values))
  }

  /** The ids of a page far from the start of a list, read from its end if that is nearer; null: better from the start. */
  async function fromTheEnd(ctx: Context, shape: Shape, order: Order, values: Record<string, unknown>, { total, version }: Total, paging: Paging) {
    const { limit, offset } = limits(paging)
    const here = Math.min(limit, total - offset)
    if (here <= 0 || total - offset > offset) return null
    const backwards = { ...shape, ...order, descending: !order.descending }
    const rows = await listed(ctx.db, backwards).execute({ ...values, limit: here, offset: total - offset - here })
    // nothing was added or removed meanwhile
    return rows.length === here && rows.every((row) => row.version === version) ? rows.reverse() : null
  }

  const labelIds = statement(`labels of ${list} in a project`, (db) =>
    db
      .select({ id: labels.id, title: labels.title })
      .from(labels)
      .where(
        sql`${labels.title} = any(${value('titles')}::text[]) and (${labels.project_id} = ${value('project')}
          or ${labels.namespace_id} is not null and exists (select 1 from ${labelling.issue_id.table} where ${labelling.label_id} = ${labels.id} and ${labelling.project_id} = ${value('project')}))`,
      ),
  )

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
    if (at === 'everywhere') return { in: 'everywhere', sight: sqlViewer(viewer), id: 0 }
    if ('group' in at) return { in: 'group', sight: sqlViewer(viewer), id: at.group.group.id }
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
    const key = kept ? JSON.stringify([shape, values]) : null
    const far = limits(filter).offset >= FAR && key !== null
    const known = far || words.shape !== 'all' ? await totalOf(ctx, shape, values, key) : null
    const sorted = words.shape !== 'all' && (known?.total ?? 0) <= FEW
    const order = { by: filter.order_by, descending: filter.sort === 'desc', sorted }
    const rows =
      (far && known && (await fromTheEnd(ctx, shape, order, values, known, filter))) ||
      (await listed(ctx.db, { ...shape, ...order }).execute({ ...values, ...limits(filter) }))
    const count = async () => (known && known.version === rows[0]?.version ? [known] : counted(ctx.db, shape).execute(values))
    const [{ total }, items] = await Promise.all([ctx.listCache.page(list, key, rows, filter, count), load(rows.map((row) => row.id))])
    return { items, total }
  }
}
