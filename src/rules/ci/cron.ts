import { Cron } from 'croner'
import { zoneOf } from './named-zones.js'

/** Minutes between two times of a schedule at the least: nearer ones are passed over (CI-225). */
export const MIN_INTERVAL_MIN = 5

const MAX_CRON = 255
/** Five fields, without seconds, or a short name of them. */
const FORMAT = /^(?:@(?:yearly|annually|monthly|weekly|daily|midnight|noon|hourly)|\S+(?: \S+){4})$/i
/** Names of the IANA database; offsets, which others take, are none. */
const ZONE = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** A cron line with single spaces, as it is stored. */
export const cronLine = (text: string) => text.trim().replace(/\s+/g, ' ')

export const cronZoneFault = (zone: string): string | null =>
  ZONE.test(zoneOf(zone)) && nextOf('0 0 * * *', zone, new Date(0)) !== null
    ? null
    : 'is not known: it must be a name of the IANA time zone database, such as America/New_York, or of a large city, such as London'

/** What is wrong with a line; also one whose time never comes. */
export const cronFault = (line: string, now: Date): string | null =>
  line.length <= MAX_CRON && FORMAT.test(line) && nextOf(line, 'UTC', now) !== null ? null : 'is invalid syntax'

const scheduleOf = (line: string, zone: string) =>
  new Cron(line.toLowerCase() === '@noon' ? '0 12 * * *' : line, { timezone: zoneOf(zone), mode: '5-part' })

/** The first time after a moment; null if there is none, or the line or the zone is wrong. */
function nextOf(line: string, zone: string, after: Date): Date | null {
  try {
    return scheduleOf(line, zone).nextRun(after)
  } catch {
    return null
  }
}

/** The last time before a moment, likewise. */
function lastOf(line: string, zone: string, before: Date): Date | null {
  try {
    return scheduleOf(line, zone).previousRuns(1, before)[0] ?? null
  } catch {
    return null
  }
}

/**
 * When a schedule runs next: the first time to come, and not within the shortest interval after the time for which it ran
 * last. Times that have passed meanwhile are left out.
 */
export function nextRun({ cron, cron_timezone }: { cron: string; cron_timezone: string }, now: Date, ranFor?: Date): Date | null {
  const free = ranFor ? new Date(ranFor.getTime() + MIN_INTERVAL_MIN * 60_000 - 1_000) : now
  return nextOf(cron, cron_timezone, free > now ? free : now)
}

/** Whether a moment is after a time of one line and before the next time of another, with no time of these between (FZ-1). */
export function isBetween(start: string, end: string, zone: string, now: Date): boolean {
  const [started, ended] = [lastOf(start, zone, now), lastOf(end, zone, now)]
  const [starts, ends] = [nextOf(start, zone, now), nextOf(end, zone, now)]
  // a line has had no time yet, or has none any more
  if (!started || !ends) return false
  return (!ended || ended < started) && (!starts || ends < starts)
}
