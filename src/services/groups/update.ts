import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { GroupSubject, Namespace } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { namespaces } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound } from '../../failures.js'
import { VISIBILITY_LEVEL, visibilityName } from '../../rules/visibility.js'
import { audit, changesOf } from '../core/audit.js'
import { readSettings } from '../core/settings.js'
import { removeAvatar, storeAvatar } from '../identity/avatars.js'
import { lockNamespace, renameNamespace } from '../identity/namespaces.js'
import { type GroupAttributes, groupFaults, settingsOf } from './attributes.js'

/** Changes the given attributes (GR-35 to GR-39). */
export async function updateGroup(ctx: Context, caller: SignedIn, { group }: GroupSubject, given: GroupAttributes): Promise<void> {
  const settings = await readSettings(ctx)
  const level = given.visibility === undefined ? undefined : VISIBILITY_LEVEL[given.visibility]
  const update = () =>
    ctx.db.transaction(async (tx) => {
      // the parent first: namespaces are always locked from the top down
      const parent = group.parent_id === null ? null : await lockNamespace(tx, group.parent_id)
      const self = await lockNamespace(tx, group.id)
      if (!self) throw notFound('Group')
      const faults = await groupFaults(tx, { user: caller.user, settings, parent, self }, { ...given, level })
      if (Object.keys(faults).length > 0) throw invalidRecord(faults)
      const { name = self.name, path = self.path } = given
      const next: Partial<Namespace> = {
        ...(given.description !== undefined && { description: given.description ?? '' }),
        ...(level !== undefined && { visibility: level }),
        ...settingsOf(given),
        ...(given.avatar === null && { avatar: null }),
      }
      const { visibility, ...changes } = changesOf(self, { ...next, name, path })
      if (visibility === undefined && Object.keys(changes).length === 0) return self
      if (name !== self.name || path !== self.path) await renameNamespace(tx, self.id, { path, name })
      await tx
        .update(namespaces)
        .set({ ...next, updated_at: ctx.now() })
        .where(eq(namespaces.id, self.id))
      const target = { type: 'group', id: self.id, name: self.full_path } as const
      if (Object.keys(changes).length > 0) await audit(ctx, tx, { action: 'group_updated', target, changes })
      if (visibility !== undefined)
        await audit(ctx, tx, {
          action: 'visibility_changed',
          target,
          changes: { visibility: [visibilityName(self.visibility), visibilityName(level ?? self.visibility)] },
        })
      return self
    })
  const before = await retryOnUniqueViolation(update)
  if (given.avatar) {
    const avatar = await storeAvatar(ctx, 'group', group.id, given.avatar.data)
    await ctx.db.write.update(namespaces).set({ avatar, updated_at: ctx.now() }).where(eq(namespaces.id, group.id))
    if (before.avatar && before.avatar !== avatar) await removeAvatar(ctx, 'group', group.id, before.avatar)
  } else if (given.avatar === null) await removeAvatar(ctx, 'group', group.id)
}
