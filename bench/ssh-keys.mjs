import ssh2 from 'ssh2'

/** A new key pair, as OpenSSH writes it. */
export function sshKeyPair() {
  const made = ssh2.utils.generateKeyPairSync('ed25519')
  // ssh2 cannot parse 1 in 256 of the keys it generates
  return ssh2.utils.parseKey(made.private) instanceof Error ? sshKeyPair() : made
}
