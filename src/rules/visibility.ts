/** The visibilities of the API, with their levels (G-65). */
export const VISIBILITY_LEVEL = { private: 0, internal: 10, public: 20 } as const
export type Visibility = keyof typeof VISIBILITY_LEVEL
export const VISIBILITIES = ['private', 'internal', 'public'] as const satisfies Visibility[]

export const visibilityName = (level: number): Visibility => (level >= 20 ? 'public' : level >= 10 ? 'internal' : 'private')
