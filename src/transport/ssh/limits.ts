/** Limits of SSH clients. */
export interface SshLimits {
  /** Time to log in, in milliseconds. */
  login: number
  /** Authentication attempts per connection, including signatures. */
  attempts: number
  /** Connections in total, per address (IPv6: per /64 network), and not logged in yet: of these the oldest makes room. */
  connections: number
  connectionsPerAddress: number
  waiting: number
  channels: number
  /** A fetch ends after this time without traffic, in milliseconds. */
  stall: number
  /** A connection ends after this time without traffic, in milliseconds. */
  idle: number
  /** Bytes buffered on a connection before its commands wait. */
  pending: number
}

export const SSH_LIMITS: SshLimits = {
  login: 20_000,
  attempts: 12,
  connections: 1_000,
  connectionsPerAddress: 100,
  waiting: 300,
  channels: 10,
  stall: 60_000,
  idle: 1_800_000,
  pending: 1_048_576,
}
