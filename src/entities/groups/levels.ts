/** Feature access levels as the API spells them (AC-10). */
export const FEATURE_LEVELS = ['disabled', 'private', 'enabled'] as const

export const featureName = (level: number): (typeof FEATURE_LEVELS)[number] => (level >= 20 ? 'enabled' : level >= 10 ? 'private' : 'disabled')
