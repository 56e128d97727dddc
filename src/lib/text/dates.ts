/** A parsed date: the day as written, and the point in time: midnight without a time, UTC without a zone. */
export interface ParsedDate {
  /** `YYYY-MM-DD`, in the zone of the text. */
  day: string
  moment: Date
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ')

/** Offsets of zones in minutes east of UTC: those of RFC 2822, and others with a single offset. */
const ZONES: Record<string, number> = {
  z: 0,
  ut: 0,
  utc: 0,
  gmt: 0,
  wet: 0,
  west: 60,
  cet: 60,
  cest: 120,
  eet: 120,
  eest: 180,
  msk: 180,
  jst: 540,
  est: -300,
  edt: -240,
  cst: -360,
  cdt: -300,
  mst: -420,
  mdt: -360,
  pst: -480,
  pdt: -420,
}

const WEEKDAY = '(?:(?:mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday),?\\s+)?'
const MONTH = '(?<month>[a-z]{3,9})'
const DAY = '(?<day>\\d{1,2})'
const YEAR = '(?<year>\\d{4})'
const TIME = '(?<hour>\\d{1,2}):(?<minute>\\d{2})(?::(?<second>\\d{2})(?:\\.(?<fraction>\\d{1,9}))?)?'
const ZONE = '(?<zone>[+-]\\d{2}:?\\d{2}|[a-z]{1,4}(?:[+-]\\d{1,2}(?::?\\d{2})?)?)'
/** Browsers append the name of the zone in words. */
const WORDS = '(?:\\s+\\([^()]{1,60}\\))?'

const FORMS = [
  // 2018-1-1, 2018/01/01
  /^(?<year>\d{4})(?<mark>[-/])(?<month>\d{1,2})\k<mark>(?<day>\d{1,2})$/,
  // 20180101, 2018-01-01T00:00:00.000Z, 2018-01-01 00:00:00 UTC, 2018-01-01T00:00+01:00[Europe/Paris], and
  // 2018-01-01T00:00:00 01:00, which a query makes of a `+` that is not escaped
  /^(?<year>\d{4})(?<mark>[-/]?)(?<month>\d{2})\k<mark>(?<day>\d{2})(?:[t ](?<hour>\d{2})(?::?(?<minute>\d{2})(?::?(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?)?(?:\s*(?<zone>z|utc|gmt|[+-]\d{2}(?::?\d{2})?)| {1,2}(?<east>\d{2}:?\d{2}))?(?:\[[\w/+-]{1,40}\])?)?$/i,
  // 1 Jan 2018, 1-Jan-2018, Mon, 01 Jan 2018 00:00:00 +0000
  new RegExp(`^${WEEKDAY}${DAY}[ -]${MONTH}[ -]${YEAR}(?:,?\\s+${TIME}(?:\\s*${ZONE})?${WORDS})?$`, 'i'),
  // January 1, 2018, Mon Jan 01 2018 00:00:00 GMT+0000 (Coordinated Universal Time)
  new RegExp(`^${WEEKDAY}${MONTH}\\s+${DAY},?\\s+${YEAR}(?:,?\\s+${TIME}(?:\\s*${ZONE})?${WORDS})?$`, 'i'),
  // Mon Jan 01 00:00:00 UTC 2018
  new RegExp(`^${WEEKDAY}${MONTH}\\s+${DAY}\\s+${TIME}(?:\\s+${ZONE})?\\s+${YEAR}$`, 'i'),
  // Mon Jan 1 00:00:00 2018 +0000
  new RegExp(`^${WEEKDAY}${MONTH}\\s+${DAY}\\s+${TIME}\\s+${YEAR}\\s+${ZONE}$`, 'i'),
]

/** Longer texts are not parsed. */
const MAX_LENGTH = 120

/** Parses a date in one of several unambiguous forms (G-50, SEC-59); undefined for anything else. */
export function readDate(text: string): ParsedDate | undefined {
  if (text.length > MAX_LENGTH) return undefined
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups
    if (parts) return dateOf(parts)
  }
  return undefined
}

function dateOf(parts: Record<string, string | undefined>): ParsedDate | undefined {
  const number = (name: string) => Number(parts[name] ?? 0)
  const [year, month, day] = [number('year'), monthOf(parts['month'] ?? ''), number('day')] as const
  const [hour, minute, second] = [number('hour'), number('minute'), number('second')] as const
  const offset = offsetOf(parts['east'] === undefined ? parts['zone'] : `+${parts['east']}`)
  if (!isRealDay(year, month, day) || hour > 23 || minute > 59 || second > 59 || offset === undefined) return undefined
  const milliseconds = Math.trunc(Number(`0.${parts['fraction'] ?? '0'}`) * 1000)
  const moment = new Date(midnight(year, month, day).getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1000 + milliseconds)
  if (moment.getUTCFullYear() < 1 || moment.getUTCFullYear() > 9999) return undefined
  const pad = (n: number) => String(n).padStart(2, '0')
  return { day: `${String(year).padStart(4, '0')}-${pad(month)}-${pad(day)}`, moment }
}

/** A month by number, or by its full name or first three letters; 0 for anything else. */
function monthOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  const name = text.toLowerCase()
  return MONTHS.findIndex((month) => name === month || name === month.slice(0, 3)) + 1
}

/** The offset in minutes of `+0100`, `+01:00`, `+01`, `CET`, `GMT+1` or no zone. */
function offsetOf(zone: string | undefined): number | undefined {
  if (zone === undefined) return 0
  const [, name = '', sign, digits = ''] = /^([a-z]*)(?:([+-])([\d:]+))?$/i.exec(zone) ?? []
  const base = name === '' ? 0 : Object.hasOwn(ZONES, name.toLowerCase()) ? ZONES[name.toLowerCase()] : undefined
  if (base === undefined || (sign && base !== 0)) return undefined
  if (!sign) return base
  const plain = digits.replace(':', '')
  const [hours, minutes] = plain.length > 2 ? [Number(plain.slice(0, -2)), Number(plain.slice(-2))] : [Number(plain), 0]
  return hours > 23 || minutes > 59 ? undefined : (hours * 60 + minutes) * (sign === '-' ? -1 : 1)
}

function isRealDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}

/** Midnight UTC, also for years below 100, which Date.UTC maps to 19xx. */
function midnight(year: number, month: number, day: number): Date {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date
}
