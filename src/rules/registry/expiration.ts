import { parsePeriod } from '../ci/periods.js'
import { compilePattern } from '../ci/regex.js'

export const CADENCES = ['1d', '7d', '14d', '1month', '3month'] as const
export const KEPT: readonly number[] = [1, 5, 10, 25, 50, 100]
export const AGES = ['7d', '14d', '30d', '60d', '90d'] as const
const isOneOf = (words: readonly string[], given: string) => words.includes(given)

/** Which tags of the images of a project go by themselves, and how often (OCI-81). */
export interface ExpirationPolicy {
  enabled: boolean
  cadence: string
  /** How many of the newest stay in each repository; null: none because it is new. */
  keep_n: number | null
  /** Younger ones stay; null: none because of its age. */
  older_than: string | null
  name_regex: string
  name_regex_keep: string | null
}

const DEFAULT: ExpirationPolicy = { enabled: false, cadence: '1d', keep_n: 10, older_than: '90d', name_regex: '.*', name_regex_keep: null }

/** A policy with what was not given. */
export const policyOf = (given: Partial<ExpirationPolicy> | null): ExpirationPolicy => ({ ...DEFAULT, ...given })

/** Seconds of a policy's word for a time. */
export const secondsOf = (period: string): number => parsePeriod(period) ?? 0

/** What is wrong with the given parts of a policy, by their names. */
export function policyFaults({ cadence, keep_n, older_than, name_regex, name_regex_keep }: Partial<ExpirationPolicy>): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  const add = (name: string, text: string) => {
    faults[`container_expiration_policy.${name}`] = [text]
  }
  if (cadence !== undefined && !isOneOf(CADENCES, cadence)) add('cadence', 'is not included in the list')
  if (keep_n != null && !KEPT.includes(keep_n)) add('keep_n', 'is not included in the list')
  if (older_than != null && !isOneOf(AGES, older_than)) add('older_than', 'is not included in the list')
  if (name_regex === '') add('name_regex', "can't be blank")
  else if (name_regex !== undefined && !compilePattern(name_regex)) add('name_regex', 'not valid RE2 syntax')
  if (name_regex_keep && !compilePattern(name_regex_keep)) add('name_regex_keep', 'not valid RE2 syntax')
  return faults
}
