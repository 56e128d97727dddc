import { and, asc, eq, gt, lte } from 'drizzle-orm'
import { z } from 'zod'
import { LEVELS } from '../../access/can.js'
import { getProjectAtLevel } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { containerRepositories, projects } from '../../db/schema/index.js'
import { nullOnFailure } from '../../failures.js'
import { defineJob } from '../../jobs/kinds.js'
import { compilePattern } from '../../rules/ci/regex.js'
import { type ExpirationPolicy, policyOf, secondsOf } from '../../rules/registry/expiration.js'
import { removeLoose } from './manifests.js'
import { deleteSomeTags } from './repositories.js'

/** Projects whose time has come that one run looks at. */
const BATCH = 100

/** Every ten minutes: the tags that policies do not keep go, in the projects whose time has come (OCI-81). */
export const expireTags = defineJob({
  kind: 'remove tags of images',
  input: z.object({}),
  priority: 'low',
  slots: 'upkeep',
  every: 600_000,
  async run(ctx: Context) {
    const now = ctx.now()
    const due = await ctx.db.write
      .select({ id: projects.id, policy: projects.container_expiration_policy })
      .from(projects)
      .where(lte(projects.container_expiration_next_run_at, now))
      .orderBy(asc(projects.container_expiration_next_run_at))
      .limit(BATCH)
    for (const { id, policy: given } of due) {
      if (ctx.process.stopping.aborted) return undefined
      const policy = policyOf(given)
      await expire(ctx, id, policy)
      const next = new Date(now.getTime() + secondsOf(policy.cadence) * 1_000)
      // one that was changed meanwhile has a time of its own
      const unchanged = and(eq(projects.id, id), lte(projects.container_expiration_next_run_at, now))
      await ctx.db.write.update(projects).set({ container_expiration_next_run_at: next }).where(unchanged)
    }
    return due.length === BATCH ? now : undefined
  },
})

async function expire(ctx: Context, project: number, policy: ExpirationPolicy): Promise<void> {
  const subject = await nullOnFailure(getProjectAtLevel(ctx, null, String(project), async () => LEVELS.maintainer))
  const wanted = compilePattern(policy.name_regex)
  // nothing goes while the registry is off or the project archived
  if (!policy.enabled || !wanted || !subject?.can('destroy_image_repository')) return
  const selection = {
    name_regex_delete: wanted,
    name_regex_keep: policy.name_regex_keep ? compilePattern(policy.name_regex_keep) : null,
    keep_n: policy.keep_n ?? 0,
    older_than: policy.older_than === null ? null : new Date(ctx.now().getTime() - secondsOf(policy.older_than) * 1_000),
  }
  for (let last = 0; !ctx.process.stopping.aborted; ) {
    const [repository] = await ctx.db.write
      .select()
      .from(containerRepositories)
      .where(and(eq(containerRepositories.project_id, project), gt(containerRepositories.id, last)))
      .orderBy(asc(containerRepositories.id))
      .limit(1)
    if (!repository) return
    last = repository.id
    for (let manifests = [0]; manifests.length > 0 && !ctx.process.stopping.aborted; ) {
      manifests = await deleteSomeTags(ctx, subject, repository.id, selection)
      await removeLoose(ctx, repository, manifests)
    }
  }
}
