import ical, { ICalEventTransparency } from 'ical-generator'

/** A day in a calendar. */
export interface CalendarEntry {
  /** Stays the same while the entry changes. */
  id: string
  title: string
  link: string
  /** `YYYY-MM-DD`. */
  day: string
  updated: Date
}

/** A calendar (RFC 5545) of entries that last a day and block no time. */
export function calendarOf({ title, entries }: { title: string; entries: CalendarEntry[] }): string {
  const calendar = ical({ name: title, prodId: { company: 'Roost', product: 'Roost', language: 'EN' }, timezone: 'UTC' })
  for (const { id, title: summary, link, day, updated } of entries) {
    calendar.createEvent({
      id,
      summary,
      description: link,
      url: link,
      start: new Date(`${day}T00:00:00Z`),
      allDay: true,
      stamp: updated,
      transparency: ICalEventTransparency.TRANSPARENT,
    })
  }
  return calendar.toString()
}
