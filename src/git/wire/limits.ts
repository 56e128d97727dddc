export interface TransportLimits {
  /** Milliseconds one fetch or push may take. */
  deadline: number
  /** Bytes of a received pack (GH-24, SEC-88). */
  packBytes: number
  /** Bytes of a single received object. */
  objectBytes: number
  /** Refs one push may update. */
  commands: number
  /** Milliseconds without a byte sent after which a fetch is ended. */
  stall: number
}

export const TRANSPORT_LIMITS: TransportLimits = {
  deadline: 3_600_000,
  packBytes: 5 * 1024 ** 3,
  objectBytes: 1024 ** 3,
  commands: 10_000,
  stall: 60_000,
}
