import { z } from 'zod'
import type { Context } from '../../../../context.js'
import { defineJob } from '../../../../jobs/kinds.js'
import { updateDueLinks } from '../writing/issue-links.js'
import { findReadyDeferredMerges, runDeferredMerges } from './accept.js'
import { resumeMergeChecks } from './checks.js'

/**
 * Performs deferred merges whose pipelines have succeeded (MR-66). The process that updates a pipeline does this at
 * once; the job covers crashes of that process (SEC-185).
 */
export const deferredMerges = defineJob({
  kind: 'deferred merges',
  input: z.object({}),
  run: async (ctx: Context) => runDeferredMerges(ctx, await findReadyDeferredMerges(ctx, null)),
  priority: 'high',
  every: 8_000,
})

/** Resumes pending work on merge requests: merge status and links to issues (SEC-158, SEC-185). */
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
