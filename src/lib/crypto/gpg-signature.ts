/** A parsed OpenPGP signature. */
export interface GpgSignature {
  /** The id of the signing key or subkey in upper-case hex; null if the signature has none. */
  keyid: string | null
  /** Whether this key or a subkey of it signed the text and was valid then; null if another key signed it. */
  madeBy(armoredKey: string, text: Buffer): Promise<{ valid: boolean; users: GpgUser[] } | null>
}

/** A user id of a key. */
export interface GpgUser {
  name: string
  email: string
}

/** Parses an armored signature by one key; null for anything else. */
export async function readGpgSignature(armored: string): Promise<GpgSignature | null> {
  // loaded on demand, because the module is large and rarely needed
  const { createMessage, readKey, readSignature, verify } = await import('openpgp')
  const signature = await readSignature({ armoredSignature: armored }).catch(() => null)
  const [packet, ...more] = signature?.packets ?? []
  if (!signature || !packet || more.length > 0) return null
  const { issuerKeyID } = packet
  return {
    keyid: issuerKeyID.toHex().toUpperCase() || null,
    async madeBy(armoredKey, text) {
      const key = await readKey({ armoredKey }).catch(() => null)
      if (!key || key.getKeys(issuerKeyID).length === 0) return null
      const message = await createMessage({ binary: new Uint8Array(text) })
      const { signatures } = await verify({ message, signature, verificationKeys: key, format: 'binary' })
      const valid = await (signatures[0]?.verified ?? Promise.resolve(false)).catch(() => false)
      const users = key.users.flatMap(({ userID }) => (userID ? [{ name: userID.name ?? '', email: (userID.email ?? '').toLowerCase() }] : []))
      return { valid, users }
    },
  }
}
