import { z } from 'zod'
import type { SshKey as SshKeyRecord } from '../../services/identity/keys.js'

export const SshKey = z
  .strictObject({ id: z.int(), title: z.string(), key: z.string(), created_at: z.iso.datetime() })
  .meta({ id: 'SSHKey', description: 'An SSH key of a user.' })

export function presentSshKey(key: SshKeyRecord): z.infer<typeof SshKey> {
  return { id: key.id, title: key.title, key: key.key, created_at: key.created_at.toISOString() }
}
