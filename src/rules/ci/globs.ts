import { Minimatch } from 'minimatch'
import { RE2JS } from 're2js'
import { MAX_COMPARISONS } from './limits.js'
import { compilePattern } from './regex.js'

/** Longer patterns, and those with more alternatives, match nothing. */
const MAX_LENGTH = 1_000
const OPTIONS = { dot: true, nocomment: true, nonegate: true, noext: true, braceExpandMax: 100 }

/**
 * Whether any path matches any pattern, by the rules of Ruby's `fnmatch` (CI-23): `**` crosses folders only as a whole
 * segment before another, everywhere else it is `*`. Beyond so many comparisons the answer is true.
 */
export function anyMatches(patterns: readonly string[], paths: readonly string[], kind: keyof typeof MAX_COMPARISONS): boolean {
  const plain = new Set(patterns.filter((each) => !/[*?[{\\]/.test(each)))
  if (plain.size > 0 && paths.some((path) => plain.has(path))) return true
  const globs = patterns.filter((each) => !plain.has(each) && each.length <= MAX_LENGTH)
  if (globs.length === 0) return false
  if (globs.length * paths.length > MAX_COMPARISONS[kind]) return true
  const matchers = globs.map((glob) => new Minimatch(asMinimatch(glob), OPTIONS))
  return paths.some((path) => matchers.some((each) => each.match(path)))
}

/** The paths that a `local` include names: there `**` is any text, `*` any text without a slash, and all else itself. */
export function pathsThatMatch(pattern: string, paths: readonly string[]): string[] {
  const parts = pattern.split(/(\*\*|\*)/).map((each) => (each === '**' ? '.*' : each === '*' ? '[^/]*' : RE2JS.quote(each)))
  const expression = compilePattern(parts.join(''), 's')
  return expression ? paths.filter((path) => expression.matches(path)) : []
}

function asMinimatch(glob: string): string {
  const segments = glob.split('/')
  return segments.map((each, at) => (each === '**' && at < segments.length - 1 ? each : each.replaceAll(/\*{2,}/g, '*'))).join('/')
}
