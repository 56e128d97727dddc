import type { Variable } from '../types.js'

/** Bytes and variables of a report, as the original has them. */
export const MAX_DOTENV = 5_120
const MAX_VARIABLES = 50

/** The variables that a job leaves to later ones (CI-252); a text says what is wrong. */
export function readDotenv(text: string): Variable[] | string {
  const variables = new Map<string, Variable>()
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const at = line.indexOf('=')
    if (at < 0) return 'Invalid Format'
    const [key, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    if (!/^[A-Za-z0-9_]{1,255}$/.test(key)) return "Validation failed: Key can contain only letters, digits and '_'."
    variables.set(key, { key, value })
  }
  return variables.size > MAX_VARIABLES ? `Dotenv files cannot have more than ${MAX_VARIABLES} variables` : [...variables.values()]
}
