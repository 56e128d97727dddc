import { z } from 'zod'
import type { ImpersonationToken as TokenRecord } from '../../services/identity/impersonation-tokens.js'

export const ImpersonationToken = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    /** Absent for a token without scope `api` (SEC-265). */
    token: z.string().optional(),
    active: z.boolean(),
    revoked: z.boolean(),
    impersonation: z.literal(true),
    scopes: z.array(z.string()),
    created_at: z.iso.datetime(),
    expires_at: z.string().nullable(),
  })
  .meta({ id: 'ImpersonationToken', description: 'A token with which an administrator acts as a user.' })

/** `shown`: whether the caller may see the value. */
export function presentImpersonationToken({ token, value, active }: TokenRecord, shown: boolean): z.infer<typeof ImpersonationToken> {
  return {
    id: token.id,
    name: token.name,
    ...(shown && { token: value }),
    active,
    revoked: token.revoked,
    impersonation: true,
    scopes: token.scopes,
    created_at: token.created_at.toISOString(),
    expires_at: token.expires_at,
  }
}
