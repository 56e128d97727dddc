import { z } from 'zod'
import type { Context } from '../../../../context.js'
import { defineJob } from '../../../../jobs/kinds.js'
import { updateDueLinks } from '../writing/issue-links.js'
import { findReadyDeferredMerges, runDeferredMerges } from './accept.js'
import { resumeMergeChecks } from './checks.js'

/**
 * Does the deferred merges whose pipelines have succeeded (MR-66). The process in which a pipeline changes does them at
 * once; this finds them where it was killed (SEC-185).
 */
export const deferredMerges = defineJob({
  kind: 'deferred merges',
  input: z.object({}),
  run: async (ctx: Context) => runDeferredMerges(ctx, await findReadyDeferredMerges(ctx, null)),
  priority: 'high',
  every: 8_000,
})

/** Does what rows say is due for merge requests: whether they can be merged, and what they close (SEC-158, SEC-185). */
export const dueMergeRequests = defineJob({
  kind: 'due merge requests',
  input: z.object({}),
  async run(ctx: Context) {
    await resumeMergeChecks(ctx)
    await updateDueLinks(ctx)
  },
  every: 8_000,
  deadline: 3_600_000,
})
