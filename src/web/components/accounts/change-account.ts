import type { Context } from '../../../context.js'
import { Failure, invalidRecord } from '../../../failures.js'
import { type UserChange, updateUser } from '../../../services/identity/user-update.js'

/** Changes an account; what the record refuses is a fault of a field, as in any other form. */
export async function changeAccount(ctx: Context, id: number, change: UserChange): Promise<void> {
  await updateUser(ctx, id, change).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.kind !== 'not_found' || typeof error.body === 'string') throw error
    const { message } = error.body as { message: Record<string, string[]> | string }
    throw invalidRecord(typeof message === 'string' ? { base: [message] } : message)
  })
}
