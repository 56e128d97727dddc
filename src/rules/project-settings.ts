/** How a job gets the code (FD-11). */
export const GIT_STRATEGIES = ['fetch', 'clone'] as const
export type GitStrategy = (typeof GIT_STRATEGIES)[number]

/** Commits of history that a job fetches (FD-12). */
export const DEFAULT_GIT_DEPTH = 20
export const MAX_GIT_DEPTH = 1_000

/** Seconds that a job may run which does not say so itself (FD-10). */
export const MIN_BUILD_TIMEOUT_S = 600
export const MAX_BUILD_TIMEOUT_S = 30 * 86_400

/** Who may see the pages of a project, of which there are none (PR-61). */
export const PAGES_LEVELS = ['disabled', 'private', 'enabled', 'public'] as const
export type PagesLevel = (typeof PAGES_LEVELS)[number]
