import type { z } from 'zod'
import type { Context } from '../context.js'
import type { Caller, SignedIn } from './actor.js'

/**
 * Who may make a call, and what the call is about. `find` returns the subject, or throws 404 when the caller does not
 * see it and 403 when the ability is missing.
 */
export interface Access<Subject = unknown, Signed extends boolean = boolean> {
  /** In words, for the printed list of policies and for OpenAPI. */
  rule: string
  /** True: without a credential the call ends with 401 before anything is looked up. */
  signedIn: Signed
  /** True: `find` runs before the other parameters are read (the family gate of G-10). */
  early: boolean
  /** The path parameters it reads. */
  path: z.ZodObject
  find(ctx: Context, caller: Signed extends true ? SignedIn : Caller, params: Record<string, unknown>): Promise<Subject>
}
