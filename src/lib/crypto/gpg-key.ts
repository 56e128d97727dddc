/** What identifies an OpenPGP key, in upper-case hex. */
export interface GpgKey {
  fingerprint: string
  /** The last 16 digits of the fingerprint. */
  primary_keyid: string
  subkey_ids: string[]
}

/**
 * Parses an armored block with one public key; null if it contains none, several, or a private one (K-14, SEC-129).
 * Expiry and revocation are not checked.
 */
export async function parseGpgKey(armored: string): Promise<GpgKey | null> {
  // loaded on demand, because the module is large and rarely needed
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
