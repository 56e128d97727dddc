import { compilePattern } from './regex.js'

/** The number in the last match of a pattern in a log, or in its first group; null if there is none (CI-115). */
export function coverageIn(pattern: string, log: string): number | null {
  const matcher = compilePattern(pattern)?.matcher(log)
  if (!matcher) return null
  let found: string | null = null
  while (matcher.find()) found = matcher.groupCount() > 0 ? matcher.group(1) : matcher.group(0)
  const number = /\d+(?:\.\d+)?/.exec(found ?? '')
  return number ? Number(number[0]) : null
}
