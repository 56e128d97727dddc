import { z } from 'zod'
import type { Email as EmailRecord } from '../../services/identity/emails.js'

export const Email = z.strictObject({ id: z.int(), email: z.string() }).meta({ id: 'Email', description: 'An e-mail address of a user.' })

export function presentEmail({ id, email }: EmailRecord): z.infer<typeof Email> {
  return { id, email }
}
