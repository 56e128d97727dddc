import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { canGroup } from '../../access/can.js'
import { membershipCounts } from '../../access/roles.js'
import type { GroupSubject, Namespace } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { groupShares, members, namespaceAncestry, namespaces, projectShares, projects } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { type Failure, notFound } from '../../failures.js'
import { namespacePathFaults } from '../../rules/path.js'
import { visibilityName } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { lockName } from '../core/lock-name.js'
import { hasSibling } from '../groups/attributes.js'
import { MAX_ANCESTORS } from '../groups/create.js'
import { isRouteTaken, moveNamespace } from '../identity/namespaces.js'
import { lowerForks } from '../projects/fork-network.js'
import { transferLabels } from '../projects/transfer-labels.js'
import { lockTree } from './group-deletion.js'

/** The most groups and projects that one transfer moves (GR-63). */
const MAX_MOVED = 2_000

const FAULTS = {
  rights: "You don't have enough permissions.",
  top: 'Group is already a root group.',
  same: 'Group is already associated to the parent group.',
  below: 'Cannot transfer group to one of its subgroup.',
  path: 'The parent group already has a subgroup or a project with the same path.',
  reserved: 'The path of the group is a reserved name there.',
  name: 'The parent group already has a subgroup with the same name.',
  depth: 'The group would have too deep level of nesting.',
  size: `The group has more than ${MAX_MOVED} subgroups and projects.`,
} as const

/**
 * Moves a group with all subgroups and projects below `target`, or to the top with null, in one transaction (GR-61 to
 * GR-63). `refuse` makes the error from a message. The caller manages the group and sees the target.
 */
export async function transferGroup(
  ctx: Context,
  caller: SignedIn,
  { group: { id } }: GroupSubject,
  target: GroupSubject | null,
  refuse: (text: string) => Failure,
): Promise<void> {
  if (target ? !canGroup(target, 'create_subgroup') : !caller.user.can_create_group) throw refuse(FAULTS.rights)
  const transfer = () =>
    ctx.db.transaction(async (tx) => {
      // one at a time, so that no two transfers together make a cycle
      await lockName(tx, 'group transfers')
      await lockAncestors(tx, [id, ...(target ? [target.group.id] : [])])
      const tree = await lockTree(tx, id)
      const group = await find(tx, id)
      const parent = target && ((await find(tx, target.group.id)) ?? null)
      if (!group) throw notFound('Group')
      if (target && !parent) throw notFound('Group')
      const fault = await faultOf(tx, group, parent, tree)
      if (fault) throw refuse(FAULTS[fault])
      const former = group.parent_id === null ? null : await find(tx, group.parent_id)
      await moveNamespace(tx, group, parent)
      const lowered = parent ? await lower(ctx, tx, tree, parent.visibility) : []
      await leaveFormerParent(ctx, tx, tree)
      // a group at the top needs a direct owner
      if (!parent) await ensureOwner(tx, id, caller.user.id)
      await tx.update(namespaces).set({ updated_at: ctx.now() }).where(eq(namespaces.id, id))
      await audit(ctx, tx, {
        action: 'group_transferred',
        target: { type: 'group', id, name: group.full_path },
        changes: {
          parent: [former?.full_path ?? null, parent?.full_path ?? null],
          groups: tree.length,
          ...(parent &&
            parent.visibility < group.visibility && { visibility: [visibilityName(group.visibility), visibilityName(parent.visibility)] }),
        },
      })
      if (parent) for (const project of lowered) await lowerForks(ctx, tx, project, parent.visibility)
    })
  await retryOnUniqueViolation(transfer)
}

const find = async (tx: Transaction, id: number): Promise<Namespace | undefined> =>
  (
    await tx
      .select()
      .from(namespaces)
      .where(and(eq(namespaces.id, id), isNull(namespaces.marked_for_deletion_at)))
  )[0]

/** Locks groups and those above them from the top down, as everything that changes what is above a group does. */
async function lockAncestors(tx: Transaction, ids: number[]): Promise<void> {
  await tx.execute(sql`select n.id from ${namespaces} n
    where n.id in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = any(${sql.param(ids)}::bigint[]))
    order by (select count(*) from ${namespaceAncestry} d where d.descendant_id = n.id), n.id for update of n`)
}

async function faultOf(tx: Transaction, group: Namespace, parent: Namespace | null, tree: number[]): Promise<keyof typeof FAULTS | null> {
  if (!parent && group.parent_id === null) return 'top'
  if (parent?.id === group.parent_id) return 'same'
  if (parent && tree.includes(parent.id)) return 'below'
  if (namespacePathFaults(group.path, parent ? 'below' : 'top').length > 0) return 'reserved'
  if (await isRouteTaken(tx, parent ? `${parent.full_path}/${group.path}` : group.path)) return 'path'
  if (parent && (await hasSibling(tx, parent, group.name, group.id))) return 'name'
  const moved = sql`any(${sql.param(tree)}::bigint[])`
  const { rows } = await tx.execute<{ height: number; above: number; projects: number }>(sql`select
    (select max(d.count) from (select count(*)::integer from ${namespaceAncestry} a
      where a.descendant_id = ${moved} and a.ancestor_id = ${moved} group by a.descendant_id) d) as height,
    (select count(*)::integer from ${namespaceAncestry} a where a.descendant_id = ${parent?.id ?? 0}) as above,
    (select count(*)::integer from (select from ${projects} p where p.namespace_id = ${moved} limit ${MAX_MOVED + 1}) p) as projects`)
  const found = rows[0]
  if (!found || found.height + found.above > MAX_ANCESTORS + 1) return 'depth'
  return tree.length + found.projects > MAX_MOVED ? 'size' : null
}

/** Lowers groups and projects to a visibility; returns the ids of the projects that were above it. */
async function lower(ctx: Context, tx: Transaction, tree: number[], visibility: number): Promise<number[]> {
  const updated_at = ctx.now()
  await tx
    .update(namespaces)
    .set({ visibility, updated_at })
    .where(and(inArray(namespaces.id, tree), sql`${namespaces.visibility} > ${visibility}`))
  const lowered = await tx
    .update(projects)
    .set({ visibility, updated_at })
    .where(and(inArray(projects.namespace_id, tree), sql`${projects.visibility} > ${visibility}`))
    .returning({ id: projects.id })
  return lowered.map(({ id }) => id).sort((a, b) => a - b)
}

/**
 * Ends what projects had of groups that are no longer above them: labels are recreated in the project (GR-43, SEC-31).
 * Neither a project nor a group can be shared with a group above it (PR-23, WB-351).
 */
async function leaveFormerParent(ctx: Context, tx: Transaction, tree: number[]): Promise<void> {
  const ids = sql`any(${sql.param(tree)}::bigint[])`
  await tx.execute(sql`delete from ${projectShares} s using ${projects} p, ${namespaceAncestry} a
    where p.id = s.project_id and p.namespace_id = ${ids} and a.descendant_id = p.namespace_id and a.ancestor_id = s.group_id`)
  await tx.execute(sql`delete from ${groupShares} s using ${namespaceAncestry} a
    where s.group_id = ${ids} and a.descendant_id = s.group_id and a.ancestor_id = s.shared_with_group_id`)
  const { rows } = await tx.execute<{ id: string; namespace_id: string }>(sql`select p.id, p.namespace_id from ${projects} p
    where p.namespace_id = ${ids} and exists (select from (select w.project_id, w.label_id from issue_labels w union all
        select w.project_id, w.label_id from merge_request_labels w union all
        select w.project_id, w.label_id from resource_events w where w.label_id is not null union all
        select b.project_id, h.label_id from board_lists h join boards b on b.id = h.board_id) w join labels l on l.id = w.label_id
      where w.project_id = p.id and l.namespace_id is not null
        and l.namespace_id not in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = p.namespace_id)) order by p.id`)
  for (const project of rows) await transferLabels(tx, Number(project.id), Number(project.namespace_id), ctx.now())
}

/** Makes the caller an owner, if the group has none (GR-61). */
async function ensureOwner(tx: Transaction, id: number, userId: number): Promise<void> {
  const { rows } = await tx.execute(
    sql`select from ${members} m where m.namespace_id = ${id} and m.access_level >= 50 and ${membershipCounts} limit 1`,
  )
  if (rows.length > 0) return
  const membership = { access_level: 50, expires_at: null, requested_at: null }
  await tx
    .insert(members)
    .values({ user_id: userId, namespace_id: id, created_by_id: userId, ...membership })
    .onConflictDoUpdate({ target: [members.user_id, members.namespace_id], targetWhere: sql`${members.namespace_id} is not null`, set: membership })
}
