import type { Context } from '../context.js'
import type { AnyJob } from '../jobs/kinds.js'
import { deliverHook, tellHooks } from '../services/hooks/jobs.js'

/** The kinds of jobs that this program knows; those that it does not know wait for one that does. */
export const kinds: AnyJob<Context>[] = [tellHooks, deliverHook]
