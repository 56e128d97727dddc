import { asc, eq, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { membershipCounts, shareCounts } from '../../access/roles.js'
import { type ViewerKind, viewerKindOf, visibleGroups } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { decoded, totalCount } from '../../db/decoded.js'
import { substring } from '../../db/fuzzy.js'
import { groupShares, members, namespaceAncestry, namespaces, projectShares, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { type MemberRecord, type MemberSource, userColumns } from './members.js'

/**
 * How people become members of a project or group: by themselves, by a group above, by a group below (which gives no
 * access, and says who works there), or by a group that it is shared with.
 */
export const MEMBER_RELATIONS = ['direct', 'inherited', 'descendants', 'shared'] as const
export type MemberRelation = (typeof MEMBER_RELATIONS)[number]

/** A member, and the membership that gives them the highest level among those that were asked for. */
export interface RelatedMember extends MemberRecord {
  id: number
  /** One of the two is null. */
  project_id: number | null
  namespace_id: number | null
}

interface Shape {
  kind: MemberSource['kind']
  relations: MemberRelation[]
  viewerKind: ViewerKind
  search: boolean
}

const source = sql.placeholder('source')
const columns = sql`m.id, m.user_id, m.access_level, m.expires_at, m.created_at, m.project_id, m.namespace_id`
const sharedColumns = sql`m.id, m.user_id, least(m.access_level, s.group_access), m.expires_at, m.created_at, m.project_id, m.namespace_id`
const group = { id: sql`n.id`, visibility: sql`n.visibility`, marked_for_deletion_at: sql`n.marked_for_deletion_at` }

/** The groups above a project or group, and for a group itself. */
const above = (kind: Shape['kind']) =>
  kind === 'group'
    ? sql`select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${source}`
    : sql`select a.ancestor_id from ${projects} p join ${namespaceAncestry} a on a.descendant_id = p.namespace_id where p.id = ${source}`

function memberships({ kind, viewerKind }: Shape, relation: MemberRelation): SQL {
  const isGroup = kind === 'group'
  switch (relation) {
    case 'direct':
      return sql`select ${columns} from ${members} m where ${isGroup ? sql`m.namespace_id` : sql`m.project_id`} = ${source} and ${membershipCounts}`
    case 'inherited':
      return sql`select ${columns} from ${members} m where m.namespace_id in (${above(kind)})
        ${isGroup ? sql`and m.namespace_id <> ${source}` : sql``} and ${membershipCounts}`
    case 'descendants':
      return isGroup
        ? sql`select ${columns} from ${namespaceAncestry} a join ${namespaces} n on n.id = a.descendant_id join ${members} m on m.namespace_id = n.id
            where a.ancestor_id = ${source} and a.descendant_id <> ${source} and ${membershipCounts}
            and ${visibleGroups(viewerKind, group, sql`${sql.placeholder('user')}::bigint`)}`
        : sql`select ${columns} from ${members} m where false`
    case 'shared':
      return isGroup
        ? sql`select ${sharedColumns} from ${groupShares} s join ${members} m on m.namespace_id = s.shared_with_group_id
            where s.group_id in (${above(kind)}) and ${membershipCounts} and ${shareCounts}`
        : sql`select ${sharedColumns} from ${projectShares} s join ${namespaceAncestry} a on a.descendant_id = s.group_id
            join ${members} m on m.namespace_id = a.ancestor_id where s.project_id = ${source} and ${membershipCounts} and ${shareCounts}`
  }
}

const selectMembers = statement('members by relation', (db, shape: Shape) => {
  const all = sql.join(
    shape.relations.map((relation) => memberships(shape, relation)),
    sql` union all `,
  )
  const best = sql`(select distinct on (r.user_id) r.* from (${all}) r (id, user_id, access_level, expires_at, created_at, project_id, namespace_id)
    order by r.user_id, r.access_level desc, r.id) best`
  return db
    .select({
      user: userColumns,
      kind: users.kind,
      id: decoded(sql<number>`best.id`, Number),
      access_level: decoded(sql<number>`best.access_level`, Number),
      expires_at: sql<string | null>`best.expires_at::text`,
      created_at: decoded(sql<Date>`best.created_at`, members.created_at),
      project_id: decoded(sql<number | null>`best.project_id`, (id) => (id === null ? null : Number(id))),
      namespace_id: decoded(sql<number | null>`best.namespace_id`, (id) => (id === null ? null : Number(id))),
      total: totalCount(),
    })
    .from(users)
    .innerJoin(best, eq(sql`best.user_id`, users.id))
    .where(shape.search ? sql`(${users.name} ilike ${sql.placeholder('search')} or ${users.username} ilike ${sql.placeholder('search')})` : undefined)
    .orderBy(asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/**
 * Who is a member of a project or group in one of these ways, each user once, with their highest level (GQL-14); of
 * groups below, only those of groups that the caller sees.
 */
export async function listRelatedMembers(
  ctx: Context,
  { user }: SignedIn,
  { kind, id }: Pick<MemberSource, 'kind' | 'id'>,
  { relations, search, ...paging }: Paging & { relations: readonly MemberRelation[]; search?: string | undefined },
): Promise<Page<RelatedMember>> {
  const wanted = MEMBER_RELATIONS.filter((each) => relations.includes(each))
  if (wanted.length === 0) return { items: [], total: 0 }
  const text = search?.trim()
  const shape = { kind, relations: wanted, viewerKind: viewerKindOf(user), search: Boolean(text) }
  return pageFrom(selectMembers(ctx.db, shape), { source: id, user: user.id, search: text ? substring(text) : '' }, paging)
}
