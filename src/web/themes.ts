/** The colours of pages that a viewer can choose; otherwise they are those of their system. */
export const THEMES = ['light', 'dark'] as const
export type Theme = (typeof THEMES)[number]
