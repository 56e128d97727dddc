/** The levels that a rule may ask for, by their words; the last is that of administrators of the service (PK-90). */
export const PROTECTION_LEVELS = { maintainer: 40, owner: 50, admin: 60 } as const
export type ProtectionLevel = keyof typeof PROTECTION_LEVELS

/** The word of a level; null for null. */
export const wordOf = (level: number | null): ProtectionLevel | null => {
  const words = Object.keys(PROTECTION_LEVELS) as ProtectionLevel[]
  return words.find((word) => PROTECTION_LEVELS[word] === level) ?? null
}
