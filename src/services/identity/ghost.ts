import { eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { isUniqueViolation } from '../../db/errors.js'
import { onlyRow } from '../../db/only-row.js'
import { namespaces, users } from '../../db/schema/index.js'
import { claimRoute, isRouteTaken } from './namespaces.js'

/** The id of the ghost user, who owns the content of deleted users; created on first use (G-70). */
export async function ghostId(ctx: Context): Promise<number> {
  const known = () => ctx.db.write.select({ id: users.id }).from(users).where(eq(users.kind, 'ghost'))
  const [ghost] = await known()
  if (ghost) return ghost.id
  try {
    return await createGhost(ctx)
  } catch (error) {
    // another process was faster
    const [other] = isUniqueViolation(error) ? await known() : []
    if (!other) throw error
    return other.id
  }
}

async function createGhost(ctx: Context): Promise<number> {
  return ctx.db.transaction(async (tx) => {
    let username = 'ghost'
    for (let n = 1; await isRouteTaken(tx, username); n++) username = `ghost${n}`
    const now = ctx.now()
    const ghost = onlyRow(
      await tx
        .insert(users)
        .values({
          username,
          name: 'Ghost User',
          // a reserved domain without mailboxes
          email: `${username}@users.invalid`,
          kind: 'ghost',
          projects_limit: 0,
          can_create_group: false,
          created_at: now,
          updated_at: now,
        })
        .returning({ id: users.id }),
    )
    const id = ghost.id
    const namespace = onlyRow(
      await tx
        .insert(namespaces)
        .values({ kind: 'user', name: username, path: username, full_path: username, full_name: username, owner_id: id, visibility: 20 })
        .returning({ id: namespaces.id }),
    )
    await claimRoute(tx, username, { namespace_id: namespace.id })
    return id
  })
}
