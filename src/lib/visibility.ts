/** The names of visibilities in the API, and the levels they stand for (G-65). */
export const VISIBILITY_LEVEL = { private: 0, internal: 10, public: 20 } as const
export type Visibility = keyof typeof VISIBILITY_LEVEL

export const visibilityWord = (level: number): Visibility => (level >= 20 ? 'public' : level >= 10 ? 'internal' : 'private')
