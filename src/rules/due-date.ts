import { dayOf } from '../lib/text/day.js'

const DAY_MS = 86_400_000
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const MONTHS = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december']

const ISO = /^(\d{4})-(\d{1,2})-(\d{1,2})$/
const IN = /^in (\d{1,4}) (day|week|month|year)s?$/
const WEEKDAY = /^(?:(this|next) )?([a-z]{6,9})$/
const MONTH_DAY = /^([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?$/

/** The day, or null if the calendar has no such day. */
function dayAt(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month, day))
  return date.getUTCMonth() === month && date.getUTCDate() === day && year >= 1 && year <= 9999 ? dayOf(date) : null
}

/** As many months later; a day that the month does not have becomes its last. */
function monthsLater(from: Date, months: number): string | null {
  const first = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months, 1))
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  return dayAt(first.getUTCFullYear(), first.getUTCMonth(), Math.min(from.getUTCDate(), last))
}

/**
 * The day that a text such as `2030-01-31`, `tomorrow`, `in 2 days`, `this Friday` or `December 31st` means (QA-9), as
 * `YYYY-MM-DD`; null for any other text. A day without a year is the next one.
 */
export function parseDueDate(text: string, now: Date): string | null {
  const words = text.trim().toLowerCase().split(/\s+/).join(' ')
  const daysLater = (days: number) => dayOf(new Date(now.getTime() + days * DAY_MS))
  const iso = ISO.exec(words)
  if (iso) return dayAt(Number(iso[1]), Number(iso[2]) - 1, Number(iso[3]))
  if (words === 'today') return daysLater(0)
  if (words === 'tomorrow') return daysLater(1)
  if (words === 'next week') return daysLater(7)
  if (words === 'next month') return monthsLater(now, 1)
  const [, count, unit] = IN.exec(words) ?? []
  if (count !== undefined) {
    const number = Number(count)
    if (unit === 'day' || unit === 'week') return daysLater(unit === 'day' ? number : 7 * number)
    return monthsLater(now, unit === 'month' ? number : 12 * number)
  }
  const weekday = WEEKDAYS.indexOf(WEEKDAY.exec(words)?.[2] ?? '')
  if (weekday >= 0) return daysLater(((weekday - now.getUTCDay() + 6) % 7) + 1)
  const [, name = '', day, year] = MONTH_DAY.exec(words) ?? []
  const month = MONTHS.findIndex((each) => each === name || each.slice(0, 3) === name)
  if (day === undefined || month < 0) return null
  if (year !== undefined) return dayAt(Number(year), month, Number(day))
  const thisYear = dayAt(now.getUTCFullYear(), month, Number(day))
  return thisYear !== null && thisYear >= dayOf(now) ? thisYear : dayAt(now.getUTCFullYear() + 1, month, Number(day))
}
