import { z } from 'zod'
import type { CommitSignature } from '../../services/repository/commits/signature.js'
import { presentSshKey, SshKey } from '../identity/key.js'

const status = z.enum(['verified', 'unverified', 'same_user_different_email', 'other_user', 'unverified_key', 'unknown_key'])

/** The signature of a commit, by an OpenPGP or an SSH key (RE-11). */
export const Signature = z
  .union([
    z.strictObject({
      signature_type: z.literal('PGP'),
      verification_status: status,
      gpg_key_id: z.int().nullable(),
      gpg_key_primary_keyid: z.string().nullable(),
      gpg_key_user_name: z.string().nullable(),
      gpg_key_user_email: z.string().nullable(),
      gpg_key_subkey_id: z.null(),
    }),
    z.strictObject({ signature_type: z.literal('SSH'), verification_status: status, key: SshKey.nullable() }),
  ])
  .meta({ id: 'CommitSignature', description: 'The signature of a commit, and whether it could be verified.' })

export function presentSignature(signature: CommitSignature): z.infer<typeof Signature> {
  if (signature.type === 'SSH')
    return { signature_type: 'SSH', verification_status: signature.status, key: signature.key && presentSshKey(signature.key) }
  const { status, keyid, key, user } = signature
  return {
    signature_type: 'PGP',
    verification_status: status,
    gpg_key_id: key?.id ?? null,
    gpg_key_primary_keyid: key?.primary_keyid ?? keyid,
    gpg_key_user_name: user?.name ?? null,
    gpg_key_user_email: user?.email ?? null,
    gpg_key_subkey_id: null,
  }
}
