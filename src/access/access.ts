import type { z } from 'zod'
import type { Context } from '../context.js'
import type { Caller, SignedIn } from './actor.js'

/**
 * The access rule of an endpoint, and how its subject is loaded. `find` returns the subject, or throws 404 when the
 * caller does not see it and 403 when the ability is missing.
 */
export interface Access<Subject = unknown, Signed extends boolean = boolean> {
  /** The rule as text, for the list of policies and for OpenAPI. */
  rule: string
  /** If true, a call without a credential gets 401 before anything is looked up. */
  signedIn: Signed
  /** If true, `find` runs before the other parameters are parsed (G-10). */
  early: boolean
  /** The path parameters that `find` reads. */
  path: z.ZodObject
  find(ctx: Context, caller: Signed extends true ? SignedIn : Caller, params: Record<string, unknown>): Promise<Subject>
}
