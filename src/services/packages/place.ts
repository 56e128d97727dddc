import { and, eq, type SQL, sql } from 'drizzle-orm'
import { namespaceAncestry, packages, projects } from '../../db/schema/index.js'
import { type PackageCaller, type ReachShape, reachOf, reachValues, readableBy } from './caller.js'

/** Where packages are looked for: in a project, or in those of a group that the caller may read. */
export type PackagePlace = { project: number } | { group: number; who: PackageCaller }

/** What a statement about a place depends on; null for a project. */
export const shapeOf = (place: PackagePlace): ReachShape | null => ('group' in place ? reachOf(place.who) : null)

export const valuesOf = (place: PackagePlace) => ('group' in place ? { group: place.group, ...reachValues(place.who) } : { project: place.project })

/** Whether a row of `packages`, joined with `projects` and `namespaces`, is in the place, with the values of `valuesOf`. */
export const within = (reach: ReachShape | null): SQL | undefined =>
  reach
    ? and(
        sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${sql.placeholder('group')}::bigint)`,
        readableBy(reach),
      )
    : eq(packages.project_id, sql.placeholder('project'))
