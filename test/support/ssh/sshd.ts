import { mkdirSync } from 'node:fs'

const SSHD = '/usr/sbin/sshd'

/** The path of `sshd`. As root, it needs `/run/sshd`, which is usually created at boot. */
export function sshdProgram(): string {
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true })
  return SSHD
}
