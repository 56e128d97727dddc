import type { Choice } from '../form.js'

const NAMES: Record<number, string> = { 10: 'Guest', 20: 'Reporter', 30: 'Developer', 40: 'Maintainer', 50: 'Owner' }

export const levelName = (level: number): string => NAMES[level] ?? String(level)

export const levelChoices = (levels: readonly number[]): Choice[] => levels.map((level) => ({ value: String(level), label: levelName(level) }))
