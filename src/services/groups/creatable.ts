import { asc, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { LEVELS } from '../../access/can.js'
import { groupLevel, groupsWithLevel } from '../../access/roles.js'
import type { Context } from '../../context.js'
import { namespaces } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'

/** The most groups that are offered; others are named by their path. */
export const MAX_OFFERED = 100

const user = sql`${sql.placeholder('user')}::bigint`

const demanded = {
  project: sql`case ${namespaces.project_creation_level} when 'developer' then ${LEVELS.developer}::integer when 'maintainer' then ${LEVELS.maintainer}::integer end`,
  subgroup: sql`case ${namespaces.subgroup_creation_level} when 'maintainer' then ${LEVELS.maintainer}::integer else ${LEVELS.owner}::integer end`,
}

const selectGroups = statement('groups to create in', (db, { what, admin }: { what: 'project' | 'subgroup'; admin: boolean }) => {
  const level = admin ? sql`${LEVELS.owner}::integer` : groupLevel(namespaces.id, user)
  const known = admin ? sql`true` : sql`${namespaces.id} in ${groupsWithLevel(user, sql`${LEVELS.developer}::integer`)}`
  return db
    .select({ id: namespaces.id, full_path: namespaces.full_path })
    .from(namespaces)
    .where(sql`${namespaces.kind} = 'group' and ${namespaces.marked_for_deletion_at} is null and ${known} and ${level} >= ${demanded[what]}`)
    .orderBy(asc(namespaces.full_path))
    .limit(MAX_OFFERED)
})

/** The first groups by path in which the caller may create projects, or subgroups (GR-50, GR-51). */
export const groupsToCreateIn = (ctx: Context, caller: SignedIn, what: 'project' | 'subgroup'): Promise<{ id: number; full_path: string }[]> =>
  selectGroups(ctx.db, { what, admin: caller.user.admin }).execute({ user: caller.user.id })
