import { describe, expect, it } from 'vitest'
import { cronFault, cronLine, cronZoneFault, nextRun } from '../../../src/rules/ci/cron.js'
import { ZONE_NAMES } from '../../../src/rules/ci/named-zones.js'

const at = (text: string) => new Date(text)
const NOW = at('2026-03-28T00:00:00Z')
const next = (cron: string, cron_timezone = 'UTC', now = NOW, ranFor?: Date) => nextRun({ cron, cron_timezone }, now, ranFor)?.toISOString()

describe('cron lines (CI-225)', () => {
  it.each([
    '* * * * *',
    '0 4 * * MON-FRI',
    '*/10 */6 */10 */10 *',
    '3-59/10 * * * *',
    '0 0 L * *',
    '0 0 * * 7',
    '@daily',
    '@Weekly',
    '@noon',
    '0 0 29 2 *',
  ])('takes %s', (line) => expect(cronFault(line, NOW)).toBeNull())

  it.each([
    '',
    'x',
    '* * * * * *',
    '* * * *',
    "'0 * * * *'",
    'every 3h',
    '*********',
    '61 * * * *',
    '*/0 * * * *',
    '0 12 31 2 *',
    '@reboot',
    '2027-01-01T00:00:00',
    `${'1,'.repeat(200)}1 * * * *`,
  ])('refuses %s', (line) => expect(cronFault(line, NOW)).toBe('is invalid syntax'))

  it('has single spaces', () => expect(cronLine(' 0\t1  * * *\n')).toBe('0 1 * * *'))

  it('takes names of the IANA database, and those that clients of the v4 API use (RX-4)', () => {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', ...ZONE_NAMES]) expect(cronZoneFault(zone)).toBeNull()
    for (const zone of ['', 'Oslo', 'berlin', '+01:00', 'constructor', 'x'.repeat(1_000)]) expect(cronZoneFault(zone)).toMatch(/^is not known/)
    expect(next('0 12 * * *', 'Eastern Time (US & Canada)')).toBe(next('0 12 * * *', 'America/New_York'))
  })
})

describe('the next run (CI-225)', () => {
  it('is in the time of the zone, also when the clock changes', () => {
    expect(next('30 2 * * *', 'Europe/Berlin')).toBe('2026-03-28T01:30:00.000Z')
    expect(next('30 2 * * *', 'Europe/Berlin', at('2026-03-28T12:00:00Z'))).toBe('2026-03-29T01:00:00.000Z')
    expect(next('@noon')).toBe('2026-03-28T12:00:00.000Z')
  })

  it('is at least five minutes after the one before, and leaves out what has passed', () => {
    expect(next('* * * * *', 'UTC', at('2026-03-28T00:00:20Z'), at('2026-03-28T00:00:00Z'))).toBe('2026-03-28T00:05:00.000Z')
    expect(next('*/5 * * * *', 'UTC', at('2026-03-28T00:00:40Z'), at('2026-03-28T00:00:00Z'))).toBe('2026-03-28T00:05:00.000Z')
    expect(next('0 * * * *', 'UTC', at('2026-03-28T09:30:00Z'), at('2026-03-28T00:00:00Z'))).toBe('2026-03-28T10:00:00.000Z')
  })
})
