import { or, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Plan } from './client.js'

/**
 * A parsed search text (G-76 to G-78): it matches everything, all of some words anywhere in a field, or the whole
 * field.
 */
export interface Fuzzy {
  /** What determines the SQL of the condition; a number is the number of words. */
  shape: 'all' | 'whole' | number
  /** Values of the placeholders `word0`, `word1` and so on. */
  values: Record<string, string>
}

const MAX_WORDS = 32

/**
 * Parses a search text. White space is folded, and a quoted part is one word. If all words are single letters, the field
 * must equal the whole text or, in a short list (`part`), contain each of them: no index finds letters.
 */
export function fuzzy(text: string | undefined, letters: 'whole' | 'part' = 'whole'): Fuzzy {
  const folded = (text ?? '').trim().replace(/\s+/g, ' ')
  if (folded === '') return { shape: 'all', values: {} }
  const words: string[] = []
  const rest = folded.replace(/"([^"]*)"/g, (_, quoted: string) => {
    if (quoted.trim() !== '') words.push(quoted.trim())
    return ' '
  })
  words.push(...rest.split(' ').filter((word) => word !== ''))
  if (words.length === 0 || (letters === 'whole' && words.every(isLetter))) return { shape: 'whole', values: { word0: folded } }
  const counted = words.slice(0, MAX_WORDS)
  return { shape: counted.length, values: Object.fromEntries(counted.map((word, i) => [`word${i}`, substring(word)])) }
}

const isLetter = (word: string) => [...word].length === 1

/** A LIKE pattern for "contains", with wildcards escaped (G-79). */
export const substring = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** The plan for statements with such a condition. */
export const planFor = (shape: Fuzzy['shape']): Plan => (shape === 'all' ? 'auto' : 'each')

/** Matches rows in which a single field contains all words (G-80); undefined if there is no filter. */
export function fuzzyMatch(fields: SQLWrapper[], shape: Fuzzy['shape']): SQL | undefined {
  if (shape === 'all') return undefined
  if (shape === 'whole') return or(...fields.map((field) => sql`lower(${field}) = lower(${sql.placeholder('word0')})`))
  return or(
    ...fields.map(
      (field) =>
        sql`(${sql.join(
          Array.from({ length: shape }, (_, i) => sql`${field} ilike ${sql.placeholder(`word${i}`)}`),
          sql` and `,
        )})`,
    ),
  )
}
