import type { DiffLimits } from '../../git/types.js'

/**
 * Limits of the diff of a commit, a comparison and a version of a merge request: 1,000 files and 50,000 lines (MR-91),
 * 102,400 bytes per file (C-57), and as many bytes in total as a response may have (SEC-146, SEC-147).
 */
export const DIFF_LIMITS: DiffLimits = { files: 1_000, lines: 50_000, bytes: 5_000_000, fileBytes: 102_400 }
