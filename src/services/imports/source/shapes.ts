import { z } from 'zod'
import type { Person } from './records.js'

/** Postgres stores no NUL. */
const clean = (given: string) => given.replaceAll('\0', '\ufffd')

/** A text of at most `maxLength` characters; null and undefined become ''. */
export const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .nullish()
    .transform((given) => clean(given ?? ''))
/** The same, but an empty text becomes null. */
export const maybeText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .nullish()
    .transform((given) => (given ? clean(given) : null))
export const name = z.string().min(1).max(255).transform(clean)
export const LONG = 1_000_000

export const flag = (fallback: boolean) =>
  z
    .boolean()
    .nullish()
    .transform((given) => given ?? fallback)
export const id = z.int().positive().transform(String)
/** The iid of an issue or merge request. */
export const number = z.int().positive().max(2_147_483_647)
export const count = z
  .int()
  .min(0)
  .max(2_147_483_647)
  .nullish()
  .transform((given) => given ?? 0)
export const timestamp = z.iso
  .datetime({ offset: true })
  .nullish()
  .transform((given) => parseTimestamp(given ?? null))
export const day = z.iso
  .date()
  .nullish()
  .transform((given) => given ?? null)
export const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
export const maybeOid = oid.nullish().transform((given) => given ?? null)
export const visibility = z.enum(['private', 'internal', 'public'])
/** Names joined by slashes, without `.` and `..`. */
export const fullPath = z
  .string()
  .max(4_096)
  .regex(/^[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*$/, 'is not a path')
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'), 'is not a path')

/** Some servers write years outside this range for "never" or "unknown". */
const parseTimestamp = (given: string | null): Date | null => {
  const at = given === null ? null : new Date(given)
  return at && at.getUTCFullYear() > 1969 && at.getUTCFullYear() < 9_999 ? at : null
}
/** The date part in the server's own time zone: due dates are sent as the end of that day. */
export const dayOfTimestamp = z.iso
  .datetime({ offset: true })
  .nullish()
  .transform((given) => (given && parseTimestamp(given) ? given.slice(0, 10) : null))

const address = z
  .string()
  .max(255)
  .nullish()
  .transform((given) => given || null)

/** A user embedded in a response of the v4 API. */
export const person = z
  .object({ username: name, name: text(255), email: address.optional(), public_email: address.optional() })
  .transform(({ username, name, email, public_email }): Person => ({ username, name: name || username, email: email ?? public_email ?? null }))
export const maybePerson = person.nullish().transform((given) => given ?? null)
