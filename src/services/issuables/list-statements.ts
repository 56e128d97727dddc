import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { ViewerKind } from '../../access/visible.js'
import { count } from '../../db/decoded.js'
import { type Fuzzy, fuzzyMatch, planFor } from '../../db/fuzzy.js'
import { iidCounters, labels, namespaceAncestry, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { IidKind } from '../core/iids.js'
import { everywhereVersionOf, projectVersionOf } from '../core/list-cache.js'
import { type Conditions, conditionsOf, hasLabels, type ORDERS, type Tables } from './filters.js'

/** What is listed, and how it differs from other kinds. */
export interface Kind<Reach extends string> extends Tables {
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
  visible(viewerKind: ViewerKind, user: SQL): SQL
}

/** What the text of the list query depends on. */
export interface Shape {
  in: 'project' | 'group' | 'everywhere'
  sight: string
  filters: string[]
  /** The number of labels that must all be present. */
  labels: number
  search: Fuzzy['shape']
  fields: ('title' | 'description')[]
}

/** The order of a list, and how it is brought about. */
export interface Order {
  by: (typeof ORDERS)[number]
  descending: boolean
  /** Finds the matches first and sorts them, instead of walking an index in the order of the list. */
  sorted: boolean
}

const KINDS = { issues: 'issue', merge_requests: 'merge_request' } as const satisfies Record<string, IidKind>

const user = sql`${sql.placeholder('user')}::bigint`
const value = (name: string) => sql.placeholder(name)

export type ListStatements = ReturnType<typeof listStatements>

/** The prepared reads of the lists of one kind. */
export function listStatements<Reach extends string>(kind: Kind<Reach>) {
  const { thing, labelling, list } = kind
  const conditions = conditionsIn(kind)

  const versionIn = (place: Shape['in']) => (place === 'project' ? projectVersionOf(list, sql`${value('place')}::bigint`) : everywhereVersionOf(list))

  /** The number of the newest thing of a project, which has no more of them than that. */
  const newestIn = (place: Shape['in']) =>
    place === 'project'
      ? sql<number | null>`(select c.last from ${iidCounters} c where c.project_id = ${value('place')} and c.kind = ${KINDS[list]})`
      : sql<null>`null::integer`

  const versioned = statement(`version of ${list}`, (db, place: Shape['in']) =>
    db.select({ version: versionIn(place), newest: newestIn(place) }).from(sql`(select 1) as one`),
  )

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

  const labelIds = statement(`labels of ${list} in a project`, (db) =>
    db
      .select({ id: labels.id, title: labels.title })
      .from(labels)
      .where(
        sql`${labels.title} = any(${value('titles')}::text[]) and (${labels.project_id} = ${value('project')}
          or ${labels.namespace_id} is not null and exists (select 1 from ${labelling.issue_id.table} where ${labelling.label_id} = ${labels.id} and ${labelling.project_id} = ${value('project')}))`,
      ),
  )

  return { versioned, listed, counted, labelIds }
}

/** The condition of a list for each shape of it. */
function conditionsIn<Reach extends string>(kind: Kind<Reach>) {
  const { thing, labelling } = kind
  const known = { ...conditionsOf(kind), ...kind.filters }

  return ({ in: place, sight, filters, labels: wanted, search, fields }: Shape) =>
    and(
      place === 'project' ? eq(thing.project_id, value('place')) : kind.visible(sight as ViewerKind, user),
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
}
