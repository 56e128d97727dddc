export interface TransportLimits {
  /** Maximum duration of a fetch or push, in milliseconds. */
  deadline: number
  /** Maximum size of a received pack in bytes (GH-24, SEC-88). */
  packBytes: number
  /** Maximum size of a received object in bytes. */
  objectBytes: number
  /** What a received pack may inflate to whatever its size, in bytes (SEC-220). */
  inflatedBytes: number
  /** Maximum number of refs updated by one push. */
  commands: number
  /** Milliseconds without progress after which a fetch is aborted. */
  stall: number
}

export const TRANSPORT_LIMITS: TransportLimits = {
  deadline: 3_600_000,
  packBytes: 5 * 1024 ** 3,
  objectBytes: 1024 ** 3,
  inflatedBytes: 256 * 1024 ** 2,
  commands: 10_000,
  stall: 60_000,
}
