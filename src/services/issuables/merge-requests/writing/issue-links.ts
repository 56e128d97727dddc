import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { ActorUser } from '../../../../access/actor.js'
import { getProjectFor } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { issues, mergeRequestIssues, mergeRequests, projects } from '../../../../db/schema/index.js'
import { type IssueReference, referencesIn } from '../../../../rules/references.js'
import { resolveIssues } from '../../../activity/referenced-issues.js'
import { issuesNamedBy, textsOf } from './closing-issues.js'

/**
 * The viewer that links are computed for: links include every reference, and reads filter them by what the caller sees.
 */
export const ALL_SEEING_VIEWER: ActorUser = {
  id: 0,
  username: '',
  name: '',
  email: '',
  kind: 'human',
  admin: true,
  external: false,
  can_create_group: false,
  projects_limit: 0,
}

type Row = typeof mergeRequests.$inferSelect

/** Whether a text contains anything that may refer to an issue. */
export const mentionsIssues = async (ctx: Pick<Context, 'cpu' | 'links'>, text: string): Promise<boolean> =>
  (await referencesIn(ctx.cpu.slices, text, ctx.links.base)).some(({ kind }) => kind === 'issue')

async function* mentionedIn(ctx: Context, texts: AsyncIterable<string>): AsyncGenerator<IssueReference> {
  for await (const text of texts) for (const each of await referencesIn(ctx.cpu.slices, text, ctx.links.base)) if (each.kind === 'issue') yield each
}

/**
 * Updates which issues a merge request mentions and closes, after its texts, target or commits have changed. The column
 * `links_due` says that this is pending, so that it survives a crash.
 */
export async function updateIssueLinks(ctx: Context, id: number): Promise<void> {
  const viewer = { user: ALL_SEEING_VIEWER }
  for (let stale = true; stale; ) {
    const [request] = await ctx.db.write
      .select()
      .from(mergeRequests)
      .where(and(eq(mergeRequests.id, id), mergeRequests.links_due))
    if (!request) return
    const subject = await getProjectFor(ctx, viewer, String(request.project_id)).catch(() => null)
    if (!subject) return
    const [closing, mentionedIssues] = await Promise.all([
      issuesNamedBy(ctx, viewer, subject, request),
      resolveIssues(ctx, viewer, subject, mentionedIn(ctx, textsOf(ctx, subject.project, request))),
    ])
    const closes = new Set(closing.map(({ issue }) => issue.id))
    const links = new Map([...mentionedIssues, ...closing].map(({ issue }) => [issue.id, closes.has(issue.id)]))
    stale = !(await ctx.db.transaction((tx) => storeLinks(tx, request, links)))
  }
}

/** Stores the links; false if the merge request has changed since it was read. */
async function storeLinks(tx: Transaction, read: Row, links: Map<number, boolean>): Promise<boolean> {
  const [current] = await tx.select().from(mergeRequests).where(eq(mergeRequests.id, read.id)).for('update')
  if (!current) return true
  const same = (['title', 'description', 'target_branch', 'version_id'] as const).every((name) => current[name] === read[name])
  if (!same) return false
  const before = await tx.delete(mergeRequestIssues).where(eq(mergeRequestIssues.merge_request_id, read.id)).returning()
  // an issue may have been deleted meanwhile
  const existing =
    links.size === 0
      ? []
      : await tx
          .select({ id: issues.id })
          .from(issues)
          .where(inArray(issues.id, [...links.keys()]))
          .for('key share')
  const rows = existing.map(({ id }) => ({ project_id: read.project_id, merge_request_id: read.id, issue_id: id, closes: links.get(id) === true }))
  if (rows.length > 0) await tx.insert(mergeRequestIssues).values(rows)
  await tx.update(mergeRequests).set({ links_due: false }).where(eq(mergeRequests.id, read.id))
  const counted = [...before, ...rows].filter(({ closes }) => closes).map(({ issue_id }) => issue_id)
  await countClosing(tx, counted)
  return true
}

/**
 * Updates `merge_requests_count` of issues: the merge requests that close them. Only merge requests of the issue's own
 * project count, so that the number reveals nothing about other projects.
 */
export async function countClosing(tx: Pick<Transaction, 'update'>, issueIds: number[]): Promise<void> {
  if (issueIds.length === 0) return
  const closing = sql`(select count(*) from ${mergeRequestIssues} l join ${mergeRequests} r on r.id = l.merge_request_id
    where l.issue_id = ${issues.id} and l.closes and r.project_id = ${issues.project_id} and r.deleted_at is null)`
  await tx.update(issues).set({ merge_requests_count: closing }).where(inArray(issues.id, issueIds))
}

/** Updates all pending links of a project in the background. After a crash, the job `due merge requests` does it. */
export const updateIssueLinksSoon = (ctx: Context, projectId: number): void =>
  ctx.jobs.coalesce(`links ${projectId}`, 0, 'links of merge requests', () => updateDueLinks(ctx, projectId))

/** Updates all pending links of one project, or of all projects. */
export async function updateDueLinks(ctx: Context, projectId?: number): Promise<void> {
  const due = await ctx.db.write
    .select({ id: mergeRequests.id })
    .from(mergeRequests)
    .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
    .where(
      and(mergeRequests.links_due, isNull(mergeRequests.deleted_at), projectId === undefined ? undefined : eq(mergeRequests.project_id, projectId)),
    )
    .orderBy(mergeRequests.id)
  for (const { id } of due) await updateIssueLinks(ctx, id)
}
