import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { ViewerKind } from '../../access/visible.js'
import { count } from '../../db/decoded.js'
import { conditionsOf, type Filters } from '../../db/filters.js'
import { type Fuzzy, fuzzyMatch, planFor } from '../../db/fuzzy.js'
import { labels, namespaceAncestry, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { everywhereVersionOf, projectVersionOf } from '../core/list-cache.js'
import { type At, filtersOf, hasLabels, type IssuableFilter, type IssuableOrder, type IssuableTables } from './filters.js'

/** How lists of issues and lists of merge requests differ. */
export interface IssuableKind<Reach extends string, Filter extends IssuableFilter> extends IssuableTables {
  list: 'issues' | 'merge_requests'
  /** Filters that only this kind has. */
  filters: Filters<At<Filter>>
  /** Which issuables of a project the caller sees, given that they may read some there. */
  reach(subject: ProjectSubject): Reach
  /** The condition for that, if one is needed. */
  inReach(reach: Reach, user: SQL): SQL | undefined
  /** What the rows are ordered by, other than by a time that all kinds have. */
  orderKey?(by: IssuableOrder, descending: boolean): SQL | undefined
  /** The condition for issuables that the caller sees across projects. */
  visible(viewerKind: ViewerKind, user: SQL): SQL
}

/** Everything that the SQL of a list depends on. */
export interface Shape {
  in: 'project' | 'group' | 'everywhere'
  /** A `Reach` within one project, a `ViewerKind` across projects. */
  access: string
  filters: string[]
  /** The number of labels that must all be present. */
  labels: number
  search: Fuzzy['shape']
  fields: ('title' | 'description')[]
}

/** The order of a list. */
export interface Order {
  by: IssuableOrder
  descending: boolean
  /** Reads the rows in the opposite order, which rows without a value do not change. */
  reversed: boolean
}

const user = sql`${sql.placeholder('user')}::bigint`
const value = (name: string) => sql.placeholder(name)

export type ListStatements = Omit<ReturnType<typeof listStatements>, 'filters'>

/** The prepared statements for lists of one kind. */
export function listStatements<Reach extends string, Filter extends IssuableFilter>(kind: IssuableKind<Reach, Filter>) {
  const { issuables, issuableLabels, list } = kind
  const filters: Filters<At<Filter>> = { ...filtersOf(kind), ...kind.filters }
  const conditions = conditionBuilder(kind, filters)

  const versionIn = (source: Shape['in']) =>
    source === 'project' ? projectVersionOf(list, sql`${value('source')}::bigint`) : everywhereVersionOf(list)

  const selectVersion = statement(`version of ${list}`, (db, source: Shape['in']) =>
    db.select({ version: versionIn(source) }).from(sql`(select 1) as one`),
  )

  /**
   * The ids of one page. A separate statement joins what is shown of them: in a single statement, Postgres would plan
   * seven joins anew for each call, which takes longer than running them.
   */
  const selectIds = statement(
    `ids of ${list}`,
    (db, { by, descending, reversed, ...shape }: Shape & Order) => {
      const direction = descending === reversed ? asc : desc
      const key = kind.orderKey?.(by, descending) ?? issuables[by === 'updated_at' ? by : 'created_at']
      const from = db
        .select({ id: issuables.id, version: versionIn(shape.in) })
        .from(issuables)
        .$dynamic()
      return (shape.in === 'project' ? from : from.innerJoin(projects, eq(projects.id, issuables.project_id)))
        .where(conditions(shape))
        .orderBy(direction(key), direction(issuables.id))
        .limit(value('limit'))
        .offset(value('offset'))
    },
    ({ search }) => planFor(search),
  )

  const selectTotal = statement(
    `number of ${list}`,
    (db, shape: Shape) => {
      const from = db
        .select({ total: count(), version: versionIn(shape.in) })
        .from(issuables)
        .$dynamic()
      return (shape.in === 'project' ? from : from.innerJoin(projects, eq(projects.id, issuables.project_id))).where(conditions(shape))
    },
    ({ search }) => planFor(search),
  )

  const selectLabelIds = statement(`labels of ${list} in a project`, (db) =>
    db
      .select({ id: labels.id, title: labels.title })
      .from(labels)
      .where(
        sql`${labels.title} = any(${value('titles')}::text[]) and (${labels.project_id} = ${value('project')}
          or ${labels.namespace_id} is not null and exists (select 1 from ${issuableLabels} where ${issuableLabels.label_id} = ${labels.id} and ${issuableLabels.project_id} = ${value('project')}))`,
      ),
  )

  return { filters, selectVersion, selectIds, selectTotal, selectLabelIds }
}

/** Returns a function that builds the `where` condition of a list. */
function conditionBuilder<Reach extends string, Filter extends IssuableFilter>(kind: IssuableKind<Reach, Filter>, filters: Filters<At<Filter>>) {
  const { issuables, issuableLabels, labelled_id } = kind

  return ({ in: source, access, filters: names, labels: labelCount, search, fields }: Shape) =>
    and(
      source === 'project' ? eq(issuables.project_id, value('source')) : kind.visible(access as ViewerKind, user),
      source === 'project' ? kind.inReach(access as Reach, user) : undefined,
      source === 'group'
        ? sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${value('source')})`
        : undefined,
      ...conditionsOf(filters, names, null),
      ...Array.from({ length: labelCount }, (_, i) =>
        source === 'project'
          ? sql`${issuables.id} in (select ${labelled_id} from ${issuableLabels} where ${issuableLabels.label_id} = any(${value(`label${i}`)}::bigint[]))`
          : sql`${issuables.id} in (${hasLabels(kind, sql`l.title = ${value(`label${i}`)}`)})`,
      ),
      fuzzyMatch(
        fields.map((field) => issuables[field]),
        search,
      ),
    )
}
