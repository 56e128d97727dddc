/** Visibility as the wire spells it (G-65). */
export const VISIBILITIES = ['private', 'internal', 'public'] as const
export type Visibility = (typeof VISIBILITIES)[number]

export const visibilityName = (level: number): Visibility => (level >= 20 ? 'public' : level >= 10 ? 'internal' : 'private')

/** Feature switches as the wire spells them (AC-10). */
export const FEATURE_LEVELS = ['disabled', 'private', 'enabled'] as const

export const featureName = (level: number): (typeof FEATURE_LEVELS)[number] => (level >= 20 ? 'enabled' : level >= 10 ? 'private' : 'disabled')
