const UNITS: Record<string, number> = {}
const defineUnit = (seconds: number, words: string) => {
  for (const word of words.split(' ')) UNITS[word] = seconds
}
defineUnit(31_557_600, 'y yr yrs year years')
defineUnit(2_592_000, 'mo mos month months')
defineUnit(604_800, 'w wk wks week weeks')
defineUnit(86_400, 'd dy day days')
defineUnit(3_600, 'h hr hrs hour hours')
defineUnit(60, 'm min mins minute minutes')
defineUnit(1, 's sec secs second seconds')

const PART = /\s+|,|(\d{1,9}(?:\.\d{1,9})?)\s*([a-z]*)|(and|with|plus)\b/iy

/**
 * Seconds of a text such as `3h 30m` or `1 week`; a number without a unit is in seconds (CI-13). A day has 24 hours here.
 * Null if it is no duration.
 */
export function parsePeriod(text: string): number | null {
  if (text.length > 255) return null
  let [total, parts] = [0, 0]
  PART.lastIndex = 0
  while (PART.lastIndex < text.length) {
    const match = PART.exec(text)
    if (!match) return null
    const [, amount, unit = ''] = match
    if (amount === undefined) continue
    const seconds = unit === '' ? 1 : UNITS[unit.toLowerCase()]
    if (seconds === undefined) return null
    total += Number(amount) * seconds
    parts++
  }
  return parts === 0 ? null : Math.floor(total)
}
