import type { Context } from '../../context.js'
import { findActiveUser, findVisibleProject } from '../identity/acting-users.js'

/**
 * Whether a user may read a project's code now, by the current rows and not by those loaded at the start of a request.
 * Blocked users may not.
 */
export async function mayReadCode(ctx: Context, userId: number, projectId: number): Promise<boolean> {
  const user = await findActiveUser(ctx, userId)
  const subject = user && (await findVisibleProject(ctx, user, projectId))
  return subject?.can('download_code') ?? false
}
