/** Seconds per unit (TT-11); a month has four weeks of five days of eight hours (TT-12). */
const UNITS: Record<string, number> = {}
const defineUnit = (seconds: number, words: string) => {
  for (const word of words.split(' ')) UNITS[word] = seconds
}
defineUnit(31_557_600, 'y yr yrs year years')
defineUnit(576_000, 'mo mos month months')
defineUnit(144_000, 'w wk wks week weeks')
defineUnit(28_800, 'd dy day days')
defineUnit(3_600, 'h hr hrs hour hours')
defineUnit(60, 'm min mins minute minutes')
defineUnit(1, 's sec secs second seconds')

/** Ignored words between parts. */
const FILLERS = new Set(['and', 'with', 'plus'])

const MAX_TEXT_LENGTH = 255
const MAX_SECONDS = 2n ** 31n - 1n
/** Fractions are exact to the billionth. */
const SCALE = 1_000_000_000n

const TOKEN = /\s+|,|(\d+):(\d\d)(?::(\d\d))?(?![\d:.])|(\d+)(?:\.(\d+))?(?![:.\d])|([a-z]+)/iy

/**
 * Parses a text such as `1w 2d 3h30m` to whole seconds (TT-11 to TT-13), rounded down; positive unless it starts with
 * `-`. Null if it is malformed or zero, or a part or the sum exceeds 32 bits (SEC-61).
 */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim()
  if (trimmed.length > MAX_TEXT_LENGTH) return null
  const negative = trimmed.startsWith('-')
  const total = sumOf(negative ? trimmed.slice(1) : trimmed)
  if (total === null) return null
  const seconds = Number(total / SCALE)
  return seconds === 0 ? null : negative ? -seconds : seconds
}

function sumOf(text: string): bigint | null {
  let total = 0n
  let pending: bigint | null = null
  let started = false
  const add = (amount: bigint) => {
    total += amount
    return amount <= MAX_SECONDS * SCALE && total <= MAX_SECONDS * SCALE
  }
  const flush = () => {
    const hours = pending
    pending = null
    return hours === null || add(hours * 3_600n)
  }
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const token = TOKEN.exec(text)
    if (!token) return null
    const [, first, second, third, whole, fraction, word] = token
    if (first !== undefined) {
      const [minutes, seconds] = [Number(third === undefined ? first : second), Number(third ?? second)]
      if (seconds > 59 || (third !== undefined && minutes > 59)) return null
      const amount = BigInt(third === undefined ? 0 : first) * 3_600n + BigInt(third === undefined ? first : (second ?? 0)) * 60n + BigInt(seconds)
      if (!flush() || !add(amount * SCALE)) return null
      started = true
    } else if (whole !== undefined) {
      if (!flush()) return null
      pending = BigInt(whole) * SCALE + BigInt((fraction ?? '').padEnd(9, '0').slice(0, 9))
      started = true
    } else if (word !== undefined && !FILLERS.has(word.toLowerCase())) {
      const unit = Object.hasOwn(UNITS, word.toLowerCase()) ? UNITS[word.toLowerCase()] : undefined
      if (unit === undefined || (pending === null && started)) return null
      if (!add((pending ?? SCALE) * BigInt(unit))) return null
      pending = null
      started = true
    }
  }
  return flush() ? total : null
}

const DISPLAY_UNITS = [
  ['mo', 576_000],
  ['w', 144_000],
  ['d', 28_800],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** Formats seconds in units, largest first (`1w 2d 3h 30m`); null for 0 (TT-14). */
export function humanDuration(seconds: number): string | null {
  let left = seconds
  const parts: string[] = []
  for (const [unit, size] of DISPLAY_UNITS) {
    const count = Math.floor(left / size)
    if (count > 0) parts.push(`${count}${unit}`)
    left -= count * size
  }
  return parts.length > 0 ? parts.join(' ') : null
}
