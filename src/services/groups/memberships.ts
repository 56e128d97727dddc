import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import { membershipCounts } from '../../access/roles.js'
import type { Context } from '../../context.js'
import { decoded, totalCount } from '../../db/decoded.js'
import { members, namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'

/** A project or group that a user is a direct member of. */
export interface Membership {
  source_id: number
  source_name: string
  source_type: 'Project' | 'Namespace'
  access_level: number
}

const m = sql.identifier('m')

const selectMemberships = statement('memberships of a user', (db, type: Membership['source_type'] | null) =>
  db
    .select({
      source_id: decoded(sql<number>`coalesce(${members.project_id}, ${members.namespace_id})`, Number),
      source_name: sql<string>`coalesce(${projects.name}, ${namespaces.name})`,
      source_type: sql<Membership['source_type']>`case when ${members.project_id} is null then 'Namespace' else 'Project' end`,
      access_level: members.access_level,
      total: totalCount(),
    })
    .from(members)
    .leftJoin(projects, eq(projects.id, members.project_id))
    .leftJoin(namespaces, eq(namespaces.id, members.namespace_id))
    .where(
      and(
        eq(members.user_id, sql.placeholder('user')),
        sql`${members.id} in (select ${m}.id from members ${m} where ${m}.user_id = ${sql.placeholder('user')}::bigint and ${membershipCounts})`,
        type === null ? undefined : type === 'Project' ? isNotNull(members.project_id) : isNull(members.project_id),
      ),
    )
    .orderBy(asc(members.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The direct memberships of a user that give rights, oldest first (PT-34). */
export async function listMemberships(
  ctx: Context,
  user: number,
  { type = null, ...paging }: { type?: Membership['source_type'] | null | undefined } & Paging,
): Promise<Page<Membership>> {
  const { items, total } = await pageFrom(selectMemberships(ctx.db, type), { user }, paging)
  return { items: items.map(({ total: _, ...membership }) => membership), total }
}
