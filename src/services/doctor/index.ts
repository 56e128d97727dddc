import type { Context } from '../../context.js'
import type { Check } from './fault.js'
import { leftovers } from './leftovers.js'
import { orphans, repositories } from './repositories.js'
import { avatars, counters } from './rows.js'

/** Checks rows against repositories and against each other, beside a running service or without one. What is left over goes first: its repair may mend what comes after. */
export async function* faults(ctx: Context): Check {
  yield* leftovers(ctx)
  yield* repositories(ctx)
  yield* orphans(ctx)
  yield* counters(ctx)
  yield* avatars(ctx)
}
