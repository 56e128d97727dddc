import { z } from 'zod'
import type { GpgKey as GpgKeyRecord } from '../../services/identity/gpg-keys.js'

export const GpgKey = z
  .strictObject({ id: z.int(), key: z.string(), created_at: z.iso.datetime() })
  .meta({ id: 'GPGKey', description: 'A GPG key of a user.' })

export function presentGpgKey(key: GpgKeyRecord): z.infer<typeof GpgKey> {
  return { id: key.id, key: key.key, created_at: key.created_at.toISOString() }
}
