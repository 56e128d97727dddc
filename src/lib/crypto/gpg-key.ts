/** What identifies an OpenPGP key, in upper-case hex. */
export interface GpgKey {
  fingerprint: string
  /** The last 16 digits of it. */
  primary_keyid: string
  subkey_ids: string[]
}

/**
 * Reads an armored block of one public key; null when it contains none, several, or a private one (K-14, SEC-129).
 * Whether the key has expired or was revoked does not matter here.
 */
export async function parseGpgKey(armored: string): Promise<GpgKey | null> {
  // loaded on demand: it is large, and rarely needed
  const { readKeys } = await import('openpgp')
  try {
    const keys = await readKeys({ armoredKeys: armored })
    const [key, ...more] = keys
    if (!key || more.length > 0 || key.isPrivate()) return null
    const idOf = (each: { getKeyID(): { toHex(): string } }) => each.getKeyID().toHex().toUpperCase()
    return { fingerprint: key.getFingerprint().toUpperCase(), primary_keyid: idOf(key), subkey_ids: key.getSubkeys().map(idOf) }
  } catch {
    return null
  }
}
