import { createHash } from 'node:crypto'

export const TIERS = ['production', 'staging', 'testing', 'development', 'other'] as const
export type Tier = (typeof TIERS)[number]

export const ENVIRONMENT_STATES = ['available', 'stopping', 'stopped'] as const
export const DEPLOYMENT_STATES = ['created', 'running', 'success', 'failed', 'canceled', 'skipped'] as const
export type DeploymentState = (typeof DEPLOYMENT_STATES)[number]

const MAX_NAME = 255
const NAME = /^[a-zA-Z0-9_\-${}. ](?:[a-zA-Z0-9_\-/${}. ]*[a-zA-Z0-9_\-${}. ])?$/
const NAME_FAULT = "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'"

/** What is wrong with the name of an environment; null if nothing is. */
export function environmentNameFault(name: string): string | null {
  if (name === '') return "can't be blank"
  if (name.length > MAX_NAME) return `is too long (maximum is ${MAX_NAME} characters)`
  return NAME.test(name) ? null : NAME_FAULT
}

/** Words by which the name of an environment tells its tier, in the order in which they are looked for. */
const GUESSES: [Tier, RegExp][] = [
  ['development', /dev|review|trunk/i],
  ['testing', /test|tst|int|ac(?:ce|)pt|qa|qc|control|quality/i],
  ['staging', /st(?:a|)g|mod(?:e|)l|pre|demo|non/i],
  ['production', /pr(?:o|)d|live/i],
]

export const tierOf = (name: string): Tier => GUESSES.find(([, words]) => words.test(name))?.[0] ?? 'other'

/** Characters of a slug. */
const SLUG = 24

/** `CI_ENVIRONMENT_SLUG` (CI-281): what names of hosts may have; a name that it does not show whole gets six characters of its digest. */
export function environmentSlug(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '-')
  const slug = (/^[a-z]/.test(plain) ? plain : `env-${plain}`).replace(/-+/g, '-')
  if (slug.length <= SLUG && slug === name) return slug.replace(/-$/, '')
  const digest = BigInt(`0x${createHash('sha256').update(name).digest('hex')}`)
  const start = slug.slice(0, 17)
  return `${start}${start.endsWith('-') ? '' : '-'}${digest.toString(36).slice(-6)}`
}
