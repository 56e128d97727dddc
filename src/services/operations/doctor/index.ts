import type { Context } from '../../../context.js'
import type { Check } from './fault.js'
import { leftovers } from './leftovers.js'
import { type DoctorOptions, orphans, repositories } from './repositories.js'
import { avatars, counters } from './rows.js'

/** Checks rows against repositories and against each other, beside a running service or without one. Of objects it looks whether those that refs reach are there; with `full` it reads them all to their end. What is left over goes first: its repair may mend what comes after. */
export async function* faults(ctx: Context, options: DoctorOptions = {}): Check {
  yield* leftovers(ctx)
  yield* repositories(ctx, options)
  yield* orphans(ctx)
  yield* counters(ctx)
  yield* avatars(ctx)
}
