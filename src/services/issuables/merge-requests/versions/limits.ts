import type { DiffLimits } from '../../../../git/types.js'

/** MR-91, C-57; and as many bytes as an answer may well have (SEC-146, SEC-147). */
export const VERSION_LIMITS: DiffLimits = { files: 1_000, lines: 50_000, bytes: 5_000_000, fileBytes: 102_400 }
