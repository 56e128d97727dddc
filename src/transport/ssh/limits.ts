/** What clients may take before and after they have logged in. */
export interface SshLimits {
  /** Milliseconds to log in. */
  login: number
  /** Keys that a client may offer, signatures included. */
  attempts: number
  /** Connections in all, from one address (of IPv6: one network), and of those not logged in yet. */
  connections: number
  connectionsPerAddress: number
  waiting: number
  channels: number
  /** Milliseconds without a byte sent after which a fetch is ended. */
  stall: number
  /** Milliseconds without a byte of a command. */
  idle: number
  /** Bytes that a connection may have pending before its commands wait. */
  pending: number
}

export const SSH_LIMITS: SshLimits = {
  login: 60_000,
  attempts: 12,
  connections: 1_000,
  connectionsPerAddress: 100,
  waiting: 300,
  channels: 10,
  stall: 60_000,
  idle: 1_800_000,
  pending: 1_048_576,
}
