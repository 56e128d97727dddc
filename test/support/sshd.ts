import { mkdirSync } from 'node:fs'

const SSHD = '/usr/sbin/sshd'

/** The path of OpenSSH's server, which as root wants a folder that only the start of the machine makes. */
export function sshdProgram(): string {
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true })
  return SSHD
}
