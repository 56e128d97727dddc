import { and, asc, eq, or, sql } from 'drizzle-orm'
import type { Caller, SignedIn } from '../../../access/actor.js'
import { findIssueFor, type IssueSubject } from '../../../access/issues.js'
import { getProjectFor } from '../../../access/rules.js'
import { type ViewerKind, viewerKindOf, visibleIssues } from '../../../access/visible.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { onlyRow } from '../../../db/only-row.js'
import { issueLinks, issues, projects } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { unlessUniqueViolation } from '../../../db/unique-violation.js'
import { conflict, forbidden, invalidRecord, notFound } from '../../../failures.js'
import { recordCrossReferences } from '../../activity/cross-references.js'
import { writeSystemNotes } from '../../activity/system-notes.js'
import { lockName } from '../../core/lock-name.js'
import { actAs } from '../../outbox/acting.js'
import { type IssueRecord, loadIssues } from './list.js'

export type IssueLink = typeof issueLinks.$inferSelect

/** Maximum number of links of an issue. */
const MAX_LINKS = 100

const viewer = sql`${sql.placeholder('user')}::bigint`
const here = sql`${sql.placeholder('issue')}::bigint`

const selectLinks = statement('links of an issue', (db, viewerKind: ViewerKind) =>
  db
    .select({ link: issueLinks, other: issues.id })
    .from(issueLinks)
    .innerJoin(
      issues,
      sql`(${issueLinks.source_id} = ${here} and ${issues.id} = ${issueLinks.target_id}) or (${issueLinks.target_id} = ${here} and ${issues.id} = ${issueLinks.source_id})`,
    )
    .innerJoin(projects, eq(projects.id, issues.project_id))
    .where(and(or(eq(issueLinks.source_id, here), eq(issueLinks.target_id, here)), visibleIssues(viewerKind, viewer)))
    .orderBy(asc(issueLinks.id))
    .limit(MAX_LINKS),
)

/** The issues that an issue is linked with and that the caller sees, with the links, oldest first (PT-20). */
export async function listLinks(ctx: Context, { user }: Pick<Caller, 'user'>, issueId: number): Promise<{ link: IssueLink; issue: IssueRecord }[]> {
  const found = await selectLinks(ctx.db, viewerKindOf(user)).execute({ issue: issueId, user: user?.id ?? 0 })
  const records = await loadIssues(
    ctx,
    { user },
    found.map(({ other }) => other),
  )
  const byId = new Map(records.map((record) => [record.issue.id, record]))
  return found.flatMap(({ link, other }) => {
    const issue = byId.get(other)
    return issue ? [{ link, issue }] : []
  })
}

/** A link with both of its issues, the source first. */
export interface LinkRecord {
  link: IssueLink
  source: IssueRecord
  target: IssueRecord
}

async function withIssues(ctx: Context, caller: Pick<Caller, 'user'>, link: IssueLink): Promise<LinkRecord> {
  const found = await loadIssues(ctx, caller, [link.source_id, link.target_id])
  const [source, target] = [link.source_id, link.target_id].map((id) => found.find(({ issue }) => issue.id === id))
  if (!source || !target) throw notFound()
  return { link, source, target }
}

/** One link of an issue, whose other issue the caller sees. */
export async function getLink(ctx: Context, caller: Pick<Caller, 'user'>, issueId: number, id: number): Promise<LinkRecord> {
  const found = (await listLinks(ctx, caller, issueId)).find(({ link }) => link.id === id)
  if (!found) throw notFound()
  return withIssues(ctx, caller, found.link)
}

const placeOf = ({ id, project_id }: Pick<typeof issues.$inferSelect, 'id' | 'project_id'>) => ({ type: 'Issue' as const, id, project_id })

/** The issue to link with: 404 if the caller does not see it. */
export async function issueToLink(ctx: Context, caller: SignedIn, project: string, iid: number): Promise<IssueSubject> {
  const subject = await getProjectFor(ctx, caller, project)
  const found = subject.can('read_issue') ? await findIssueFor(ctx, caller, subject, iid) : null
  if (!found) throw notFound()
  return found
}

/** Links two issues, which the caller must both be able to manage (PT-21). */
export async function linkIssues(ctx: Context, caller: SignedIn, { issue: source }: IssueSubject, target: IssueSubject): Promise<LinkRecord> {
  if (!target.may('manage_issue')) throw forbidden()
  if (target.issue.id === source.id) throw invalidRecord({ target: ['cannot be related to itself'] })
  const taken = () => conflict('Issue(s) already assigned')
  const link = await unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        await actAs(tx, caller.user.id)
        // always in the same order, so that concurrent calls do not deadlock
        for (const id of [source.id, target.issue.id].sort((a, b) => a - b)) await checkLimit(tx, id)
        const now = ctx.now()
        const made = onlyRow(await tx.insert(issueLinks).values({ source_id: source.id, target_id: target.issue.id, created_at: now }).returning())
        await noteOn(tx, [source, target.issue], caller, 'linked this issue with another one', now)
        const [one, other] = [placeOf(source), placeOf(target.issue)]
        await recordCrossReferences(tx, { ...one, sha: null }, [other], caller.user.id, now)
        await recordCrossReferences(tx, { ...other, sha: null }, [one], caller.user.id, now)
        return made
      }),
    taken,
  )
  return withIssues(ctx, caller, link)
}

async function checkLimit(tx: Transaction, id: number): Promise<void> {
  await lockName(tx, `links of issue ${id}`)
  if ((await tx.$count(issueLinks, or(eq(issueLinks.source_id, id), eq(issueLinks.target_id, id)))) >= MAX_LINKS)
    throw invalidRecord({ base: [`there are already ${MAX_LINKS} links`] })
}

/** Neither note names the other issue: readers of one need not see the other. */
async function noteOn(tx: Transaction, on: Parameters<typeof placeOf>[0][], caller: SignedIn, text: string, now: Date): Promise<void> {
  for (const issue of on) await writeSystemNotes(tx, placeOf(issue), caller.user.id, [text], now)
}

/** Removes a link of two issues, which the caller must both be able to manage (PT-22). */
export async function unlinkIssues(ctx: Context, caller: SignedIn, { issue }: IssueSubject, id: number): Promise<LinkRecord> {
  const record = await getLink(ctx, caller, issue.id, id)
  const other = record.source.issue.id === issue.id ? record.target : record.source
  if (!(await issueToLink(ctx, caller, String(other.issue.project_id), other.issue.iid)).may('manage_issue')) throw forbidden()
  await ctx.db.transaction(async (tx) => {
    await actAs(tx, caller.user.id)
    const gone = await tx.delete(issueLinks).where(eq(issueLinks.id, id)).returning({ id: issueLinks.id })
    if (gone.length === 0) throw notFound()
    await noteOn(tx, [issue, other.issue], caller, 'removed a link with another issue', ctx.now())
  })
  return record
}

/** Gives the links of an issue to its copy in another project. */
export async function moveLinks(tx: Transaction, from: number, to: number): Promise<void> {
  await tx.update(issueLinks).set({ source_id: to }).where(eq(issueLinks.source_id, from))
  await tx.update(issueLinks).set({ target_id: to }).where(eq(issueLinks.target_id, from))
}
