/** In which order the jobs of a resource group run. */
export const PROCESS_MODES = ['unordered', 'oldest_first', 'newest_first'] as const
export type ProcessMode = (typeof PROCESS_MODES)[number]
