import type { DiffLimits } from '../../../../git/types.js'

/**
 * A version's diff has at most 1,000 files and 50,000 lines (MR-91), a file's text less than 102,400 bytes (C-57), and
 * all of them as many bytes as an answer may have (SEC-146, SEC-147).
 */
export const VERSION_LIMITS: DiffLimits = { files: 1_000, lines: 50_000, bytes: 5_000_000, fileBytes: 102_400 }
