import { and, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { builds, commitStatuses, jobTokenAllowlist, namespaceAncestry, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { digestOf } from '../../lib/crypto/secret.js'
import type { ActorUser, CallingJob } from '../actor.js'
import { actorColumns } from './actor-columns.js'

const selectJob = statement('job that runs, by its token', (db) =>
  db
    .select({ user: actorColumns, job: { id: builds.job_id, project: commitStatuses.project_id } })
    .from(builds)
    .innerJoin(commitStatuses, eq(commitStatuses.id, builds.job_id))
    .innerJoin(users, eq(users.id, commitStatuses.user_id))
    .where(and(eq(builds.digest, sql.placeholder('digest')), eq(commitStatuses.status, 'running'), eq(users.state, 'active'))),
)

/** The job that runs with a token, and its user; null for any other token (CI-117). */
export async function findCallingJob(ctx: Context, token: string): Promise<{ user: ActorUser; job: CallingJob } | null> {
  const [found] = await selectJob(ctx.db, null).execute({ digest: digestOf(token) })
  return found ?? null
}

const selectAllowed = statement('whether jobs of a project may use another', (db) =>
  db
    .select({ id: jobTokenAllowlist.id })
    .from(jobTokenAllowlist)
    .where(
      and(
        eq(jobTokenAllowlist.project_id, sql.placeholder('project')),
        sql`(${jobTokenAllowlist.allowed_project_id} = ${sql.placeholder('from')} or ${jobTokenAllowlist.allowed_group_id} in (
          select a.ancestor_id from ${namespaceAncestry} a join ${projects} f on f.namespace_id = a.descendant_id where f.id = ${sql.placeholder('from')}))`,
      ),
    )
    .limit(1),
)

/** Whether a project, or the settings for all of them, keeps out jobs of projects that it does not allow (CI-244, RX-32). */
export const hasJobTokenScope = async (ctx: Pick<Context, 'caches'>, project: { job_token_scope_enabled: boolean }): Promise<boolean> =>
  project.job_token_scope_enabled || (await ctx.caches.settings.read()).enforce_ci_inbound_job_token_scope_enabled

/** Whether a job may use a project with its token: its own, one that allows its project, or one that allows all (CI-244). */
export const allowsJob = async (
  ctx: Context,
  project: { id: number; job_token_scope_enabled: boolean },
  { project: from }: Pick<CallingJob, 'project'>,
): Promise<boolean> =>
  project.id === from ||
  !(await hasJobTokenScope(ctx, project)) ||
  (await selectAllowed(ctx.db, null).execute({ project: project.id, from })).length > 0
