import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { fullPathOf, getGroupFor, getProjectFor, type ProjectSubject } from '../../access/rules.js'
import { type ViewerKind, viewerKindOf, visibleGroups, visibleProject } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { totalCount } from '../../db/decoded.js'
import { jobTokenAllowlist, namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { notFound, refused } from '../../failures.js'
import { audit } from '../core/audit.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { loadProjects, type ProjectRecord } from './load.js'

/** Projects and groups that a project may allow. */
const MAX_ALLOWED = 200

const targetOf = ({ project }: ProjectSubject) => ({ type: 'project' as const, id: project.id, name: fullPathOf(project) })

/** Sets whether only jobs of the projects on the list may use a project with their token (CI-244); 400 where the settings say so (RX-32). */
export async function setJobTokenScope(ctx: Context, subject: ProjectSubject, enabled: boolean): Promise<void> {
  if (!enabled && (await ctx.caches.settings.read()).enforce_ci_inbound_job_token_scope_enabled)
    throw refused('The job token scope is enforced by the settings of the service')
  await ctx.db.transaction(async (tx) => {
    const changed = await tx
      .update(projects)
      .set({ job_token_scope_enabled: enabled })
      .where(and(eq(projects.id, subject.project.id), eq(projects.job_token_scope_enabled, !enabled)))
      .returning({ id: projects.id })
    if (changed.length > 0) await audit(ctx, tx, { action: 'job_token_scope_changed', target: targetOf(subject), changes: { enabled } })
  })
}

const selectAllowedProjects = statement('projects whose jobs may use a project', (db, viewer: ViewerKind) =>
  db
    .select({ id: projects.id, total: totalCount() })
    .from(projects)
    .leftJoin(
      jobTokenAllowlist,
      and(eq(jobTokenAllowlist.project_id, sql.placeholder('project')), eq(jobTokenAllowlist.allowed_project_id, projects.id)),
    )
    .where(
      and(
        sql`${projects.id} = any(array(select allowed_project_id from job_token_allowlist where project_id = ${sql.placeholder('project')}) || ${sql.placeholder('project')}::bigint)`,
        visibleProject(viewer, sql`${sql.placeholder('user')}::bigint`),
      ),
    )
    // the project itself has no row, and comes first
    .orderBy(sql`${jobTokenAllowlist.id} nulls first`)
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The projects whose jobs may use a project, itself first, as far as the caller may see them (RX-7). */
export async function listAllowedProjects(
  ctx: Context,
  { user }: SignedIn,
  { project }: ProjectSubject,
  paging: Paging,
): Promise<Page<ProjectRecord>> {
  const { items, total } = await pageFrom(selectAllowedProjects(ctx.db, viewerKindOf(user)), { project: project.id, user: user.id }, paging)
  const ids = items.map(({ id }) => id)
  const found = new Map((await loadProjects(ctx, user, ids)).map((record) => [record.id, record]))
  return { items: ids.flatMap((id) => found.get(id) ?? []), total }
}

const selectAllowedGroups = statement('groups whose jobs may use a project', (db, viewer: ViewerKind) =>
  db
    .select({ group: namespaces, total: totalCount() })
    .from(jobTokenAllowlist)
    .innerJoin(namespaces, eq(namespaces.id, jobTokenAllowlist.allowed_group_id))
    .where(
      and(
        eq(jobTokenAllowlist.project_id, sql.placeholder('project')),
        isNull(namespaces.marked_for_deletion_at),
        visibleGroups(viewer, namespaces, sql`${sql.placeholder('user')}::bigint`),
      ),
    )
    .orderBy(asc(jobTokenAllowlist.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The groups whose projects' jobs may use a project, as far as the caller may see them. */
export async function listAllowedGroups(
  ctx: Context,
  { user }: SignedIn,
  { project }: ProjectSubject,
  paging: Paging,
): Promise<Page<typeof namespaces.$inferSelect>> {
  const { items, total } = await pageFrom(selectAllowedGroups(ctx.db, viewerKindOf(user)), { project: project.id, user: user.id }, paging)
  return { items: items.map(({ group }) => group), total }
}

/** One of the two. */
export type Allowed = { project: number } | { group: number }

/** Lets the jobs of another project, or of all projects of a group, use a project. */
export async function allowJobs(ctx: Context, caller: SignedIn, subject: ProjectSubject, allowed: Allowed): Promise<void> {
  const found =
    'project' in allowed
      ? { allowed_project_id: (await getProjectFor(ctx, caller, String(allowed.project))).project.id }
      : { allowed_group_id: (await getGroupFor(ctx, caller, String(allowed.group))).group.id }
  if (found.allowed_project_id === subject.project.id) throw refused('A project is always allowed to use itself')
  const project_id = subject.project.id
  await unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        // locked, so that concurrent calls count each other
        await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, project_id)).for('no key update')
        if ((await tx.$count(jobTokenAllowlist, eq(jobTokenAllowlist.project_id, project_id))) >= MAX_ALLOWED)
          throw refused(`At most ${MAX_ALLOWED} projects and groups can be allowed`)
        await tx.insert(jobTokenAllowlist).values({ project_id, ...found, added_by: caller.user.id, created_at: ctx.now() })
        await audit(ctx, tx, { action: 'job_token_access_added', target: targetOf(subject), changes: found })
      }),
    () => refused(`This ${'project' in allowed ? 'project' : 'group'} is already in the job token allowlist`),
  )
}

/** Ends that; 404 if it is not allowed. */
export async function disallowJobs(ctx: Context, subject: ProjectSubject, allowed: Allowed): Promise<void> {
  const found =
    'project' in allowed ? eq(jobTokenAllowlist.allowed_project_id, allowed.project) : eq(jobTokenAllowlist.allowed_group_id, allowed.group)
  await ctx.db.transaction(async (tx) => {
    const [removed] = await tx
      .delete(jobTokenAllowlist)
      .where(and(eq(jobTokenAllowlist.project_id, subject.project.id), found))
      .returning({ allowed_project_id: jobTokenAllowlist.allowed_project_id, allowed_group_id: jobTokenAllowlist.allowed_group_id })
    if (!removed) throw notFound()
    await audit(ctx, tx, { action: 'job_token_access_removed', target: targetOf(subject), changes: removed })
  })
}
