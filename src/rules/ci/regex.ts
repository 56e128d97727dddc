import { RE2JS } from 're2js'
import { MAX_PATTERN } from './limits.js'

const DELIMITED = /^\/(.*)\/([ismU]*)$/s

/** A pattern of RE2, so that no text takes long (CI-20); null if the syntax is not its. */
export function compilePattern(source: string, flags = ''): RE2JS | null {
  if (source.length > MAX_PATTERN) return null
  try {
    return RE2JS.compile(flags === '' ? source : `(?${flags})${source}`)
  } catch {
    return null
  }
}

/** The pattern of `/re/i`; undefined if the text has another form, null if the syntax is wrong. */
export function delimitedPattern(text: string): RE2JS | null | undefined {
  const [, source, flags] = DELIMITED.exec(text) ?? []
  return source === undefined ? undefined : compilePattern(source, flags)
}
