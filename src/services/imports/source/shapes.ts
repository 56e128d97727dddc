import { z } from 'zod'
import type { Person } from './records.js'

/** Postgres stores no NUL. */
const clean = (given: string) => given.replaceAll('\0', '\ufffd')

/** A text of at most so many characters; null and nothing at all are an empty one. */
export const text = (most: number) =>
  z
    .string()
    .max(most)
    .nullish()
    .transform((given) => clean(given ?? ''))
/** The same, where nothing stays nothing. */
export const maybeText = (most: number) =>
  z
    .string()
    .max(most)
    .nullish()
    .transform((given) => (given ? clean(given) : null))
export const name = z.string().min(1).max(255).transform(clean)
export const LONG = 1_000_000

export const flag = (usual: boolean) =>
  z
    .boolean()
    .nullish()
    .transform((given) => given ?? usual)
export const id = z.int().positive().transform(String)
/** A number of an issue or a merge request. */
export const number = z.int().positive().max(2_147_483_647)
export const count = z
  .int()
  .min(0)
  .max(2_147_483_647)
  .nullish()
  .transform((given) => given ?? 0)
export const moment = z.iso
  .datetime({ offset: true })
  .nullish()
  .transform((given) => momentOf(given ?? null))
export const day = z.iso
  .date()
  .nullish()
  .transform((given) => given ?? null)
export const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
export const maybeOid = oid.nullish().transform((given) => given ?? null)
export const visibility = z.enum(['private', 'internal', 'public'])
/** Names joined by slashes, none of which says to go up. */
export const fullPath = z
  .string()
  .max(4_096)
  .regex(/^[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*$/, 'is no path')
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'), 'is no path')

/** Years outside of these stand for "never" or "unknown" in some servers. */
const momentOf = (given: string | null): Date | null => {
  const at = given === null ? null : new Date(given)
  return at && at.getUTCFullYear() > 1969 && at.getUTCFullYear() < 9_999 ? at : null
}
/** The day of a moment in the time zone that the server writes it in: it is the end of that day there. */
export const dayOfMoment = z.iso
  .datetime({ offset: true })
  .nullish()
  .transform((given) => (given && momentOf(given) ? given.slice(0, 10) : null))

const address = z
  .string()
  .max(255)
  .nullish()
  .transform((given) => given || null)

/** Somebody in an answer of the v4 API. */
export const person = z
  .object({ username: name, name: text(255), email: address.optional(), public_email: address.optional() })
  .transform(({ username, name, email, public_email }): Person => ({ username, name: name || username, email: email ?? public_email ?? null }))
export const maybePerson = person.nullish().transform((given) => given ?? null)
