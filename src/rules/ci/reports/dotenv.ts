import type { Variable } from '../types.js'

/** Bytes and variables of a report, as the original has them. */
export const MAX_DOTENV = 5_120
const MAX_VARIABLES = 50

/** The variables that a job leaves to later ones (CI-252); a text says what is wrong. */
export function readDotenv(text: string): Variable[] | string {
  const variables = new Map<string, Variable>()
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const [, key, value] = /^(.*?)=(.*)$/.exec(line.replace(/\r$/, '')) ?? []
    if (key === undefined || value === undefined) return 'Invalid Format'
    if (!/^[A-Za-z0-9_]{1,255}$/.test(key.trim())) return "Validation failed: Key can contain only letters, digits and '_'."
    variables.set(key.trim(), { key: key.trim(), value: value.trim() })
  }
  return variables.size > MAX_VARIABLES ? `Dotenv files cannot have more than ${MAX_VARIABLES} variables` : [...variables.values()]
}
