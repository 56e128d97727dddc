import { t } from '../../language/language.js'
import type { Choice } from '../form.js'

const names = (): Record<number, string> => ({ 10: t('Guest'), 20: t('Reporter'), 30: t('Developer'), 40: t('Maintainer'), 50: t('Owner') })

export const levelName = (level: number): string => names()[level] ?? String(level)

export const levelChoices = (levels: readonly number[]): Choice[] => levels.map((level) => ({ value: String(level), label: levelName(level) }))
