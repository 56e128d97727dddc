import { describe, expect, it } from 'vitest'
import { parseDueDate } from '../../src/rules/due-date.js'

// a Wednesday
const NOW = new Date('2024-01-31T23:00:00Z')

describe('parseDueDate', () => {
  it.each([
    ['2030-1-2', '2030-01-02'],
    ['today', '2024-01-31'],
    ['Tomorrow', '2024-02-01'],
    ['in 2 days', '2024-02-02'],
    ['in  1 week', '2024-02-07'],
    ['in 1 month', '2024-02-29'],
    ['in 1 year', '2025-01-31'],
    ['next week', '2024-02-07'],
    ['next month', '2024-02-29'],
    ['this Friday', '2024-02-02'],
    ['wednesday', '2024-02-07'],
    ['next tuesday', '2024-02-06'],
    ['December 31st', '2024-12-31'],
    ['jan 30', '2025-01-30'],
    ['February 29', '2024-02-29'],
    ['Feb. 3, 2031', '2031-02-03'],
  ])('understands %j (QA-9)', (text, day) => {
    expect(parseDueDate(text, NOW)).toBe(day)
  })

  it.each(['', 'soon', '2030-02-30', '2030-13-01', 'April 31', 'in 0x1 days', 'this fridays', '0000-01-01', 'in 9999 years'])(
    'knows no day for %j (QA-9)',
    (text) => {
      expect(parseDueDate(text, NOW)).toBeNull()
    },
  )
})
