import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { canGroup } from '../../access/can.js'
import { getGroupFor, type Namespace } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { members, namespaceAncestry, namespaces } from '../../db/schema/index.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { failedTo, forbidden, notFound } from '../../failures.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { readSettings } from '../core/settings.js'
import { storeAvatar } from '../identity/avatars.js'
import { claimRoute, lockNamespace } from '../identity/namespaces.js'
import { type GroupAttributes, groupFaults, settingsOf } from './attributes.js'

export interface NewGroup extends GroupAttributes {
  name: string
  path: string
  parent_id?: number | undefined
}

/** The error for any fault of the group (GR-34). */
const saveFailed = (faults: Record<string, string[]>) => failedTo('save group', faults)

export const MAX_ANCESTORS = 20

/**
 * Creates a group with its creator as owner and returns its id (GR-21 to GR-34); what `also` does is in the same
 * transaction.
 */
export async function createGroup(
  ctx: Context,
  caller: SignedIn,
  given: NewGroup,
  also?: (tx: Transaction, id: number) => Promise<void>,
): Promise<number> {
  const parentSubject = given.parent_id === undefined ? null : await getGroupFor(ctx, caller, String(given.parent_id))
  if (parentSubject ? !canGroup(parentSubject, 'create_subgroup') : !caller.user.can_create_group) throw forbidden()
  const settings = await readSettings(ctx)
  const level = VISIBILITY_LEVEL[given.visibility ?? settings.default_group_visibility]
  const create = () =>
    ctx.db.transaction(async (tx) => {
      const parent = parentSubject && (await lockNamespace(tx, parentSubject.group.id))
      if (parentSubject && !parent) throw notFound('Group')
      const faults = await groupFaults(tx, { user: caller.user, settings, parent, self: null }, { ...given, level })
      if (parent && (await isTooDeep(tx, parent))) faults['parent_id'] = ['has too deep level of nesting']
      if (Object.keys(faults).length > 0) throw saveFailed(faults)
      const { id, full_path } = await insertGroup(tx, parent, {
        name: given.name,
        path: given.path,
        description: given.description ?? '',
        visibility: level,
        ...settingsOf(given),
        ...createdNow(ctx),
      })
      // a bot is an owner through the group above, and a member there alone (PT-3)
      if (caller.user.kind !== 'bot')
        await tx.insert(members).values({ user_id: caller.user.id, namespace_id: id, access_level: 50, created_by_id: caller.user.id })
      await audit(ctx, tx, { action: 'group_created', target: { type: 'group', id, name: full_path } })
      await also?.(tx, id)
      return id
    })
  const id = await unlessUniqueViolation(create, () => saveFailed({ path: ['has already been taken'] }))
  if (given.avatar) {
    const avatar = await storeAvatar(ctx, 'group', id, given.avatar.data)
    await ctx.db.write.update(namespaces).set({ avatar }).where(eq(namespaces.id, id))
  }
  return id
}

/** Inserts a group. The caller has checked the attributes and locked the parent. */
export async function insertGroup(
  tx: Transaction,
  parent: Namespace | null,
  values: Omit<typeof namespaces.$inferInsert, 'kind' | 'full_path' | 'full_name' | 'parent_id'>,
): Promise<{ id: number; full_path: string }> {
  const { name, path } = values
  const full_path = parent ? `${parent.full_path}/${path}` : path
  const full_name = parent ? `${parent.full_name} / ${name}` : name
  const { id } = onlyRow(
    await tx
      .insert(namespaces)
      .values({ ...values, kind: 'group', full_path, full_name, parent_id: parent?.id ?? null })
      .returning({ id: namespaces.id }),
  )
  await claimRoute(tx, full_path, { namespace_id: id })
  return { id, full_path }
}

/** Whether a child of this parent would be nested too deeply (GR-32). */
export async function isTooDeep(tx: Transaction, parent: Namespace) {
  const [depth] = await tx.select({ count: count() }).from(namespaceAncestry).where(eq(namespaceAncestry.descendant_id, parent.id))
  return (depth?.count ?? 0) > MAX_ANCESTORS
}
