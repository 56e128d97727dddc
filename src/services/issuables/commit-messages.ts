import { eq } from 'drizzle-orm'
import { actingAs, actorOf, type SignedIn } from '../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context, PushEvent } from '../../context.js'
import { refIntents, users } from '../../db/schema/index.js'
import { type Commit, type GitRepository, type Oid, type RefUpdate, ZERO } from '../../git/types.js'
import { closingReferences, type IssueReference } from '../../rules/references.js'
import { issueReferencesIn, recordCrossReferences, resolveMentions } from '../activity/cross-references.js'
import { resolveIssues } from '../activity/referenced-issues.js'
import { closeIssue } from './issues/update.js'

type Repository = Pick<GitRepository, 'commit' | 'headBranch' | 'log' | 'ref'>

const HEADS = 'refs/heads/'
/** The most commits of one push whose messages are read (PU-5). */
const MAX_COMMITS = 100
/** The most references of one push that are resolved; further ones are ignored. */
const MAX_REFERENCES = 1_000
/** The most branches of one push that are read. */
const MAX_BRANCHES = 20

interface CommitReference {
  oid: Oid
  reference: IssueReference
}

/**
 * Closes the issues that new commits on the default branch say they close, and records what new commits on any branch
 * mention, on behalf of the user who pushed (PU-5, PU-6, IS-22, IS-23). Idempotent.
 */
export async function processCommitMessages(ctx: Context, { projectId, moves, intent, repository: repositoryOf }: PushEvent): Promise<void> {
  const pushed = moves.filter(({ ref, new: to }) => ref.startsWith(HEADS) && to !== ZERO)
  if (pushed.length === 0 || intent === null) return
  const repository = await repositoryOf()
  if (!repository) return
  const main = `${HEADS}${await repository.headBranch()}`
  const closing: CommitReference[] = []
  const mentions: CommitReference[] = []
  for (const move of pushed.slice(0, MAX_BRANCHES)) {
    for (const commit of await newCommits(repository, move, main)) {
      const { oid, message, parents } = commit
      const references = await issueReferencesIn(ctx, message)
      if (references.length === 0) continue
      if (move.ref === main) {
        for (const reference of await closingReferences(ctx.cpu.slices, message, ctx.links.base)) closing.push({ oid, reference })
      }
      // a merge commit mentions its merge request, which already has a note about the merge
      mentions.push(...references.filter(({ kind }) => parents.length < 2 || kind === 'issue').map((reference) => ({ oid, reference })))
    }
  }
  if (closing.length + mentions.length === 0) return
  const caller = await actorOfIntent(ctx, intent)
  const subject = caller && (await getProjectFor(ctx, caller, String(projectId)).catch(() => null))
  if (!caller || !subject) return
  await closeReferencedIssues(ctx, caller, subject, closing)
  await recordCommitMentions(ctx, caller, subject, mentions)
}

/**
 * The commits that a push added to a branch; for a new branch, those that the default branch does not have. The first
 * push to a project counts as none: its commits were made elsewhere.
 */
async function newCommits(repository: Repository, { ref, old, new: to }: RefUpdate, main: string): Promise<Commit[]> {
  const before = old !== ZERO ? old : ref === main ? null : await repository.ref(main)
  if (!before || before === to) return []
  const tip = await repository.commit(to)
  if (tip && tip.parents.length === 1 && tip.parents[0] === before) return [tip]
  const known = await repository.commit(before)
  return (await repository.log({ from: [to], ...(known && { exclude: [before] }), skip: 0, limit: MAX_COMMITS })).commits
}

async function closeReferencedIssues(ctx: Context, caller: SignedIn, subject: ProjectSubject, closing: CommitReference[]): Promise<void> {
  for (const { oid, reference } of closing.slice(0, MAX_REFERENCES)) {
    for (const issue of await resolveIssues(ctx, caller, subject, [reference])) {
      if (issue.project.autoclose_referenced_issues && issue.issue.state === 'opened' && issue.may('update_issue'))
        await closeIssue(ctx, caller, issue, ` by commit ${oid}`)
    }
  }
}

async function recordCommitMentions(ctx: Context, caller: SignedIn, subject: ProjectSubject, mentions: CommitReference[]): Promise<void> {
  const { id: project_id, forked_from_id } = subject.project
  const byCommit = new Map<Oid, IssueReference[]>()
  for (const { oid, reference } of mentions.slice(0, MAX_REFERENCES)) byCommit.set(oid, [...(byCommit.get(oid) ?? []), reference])
  for (const [sha, references] of byCommit) {
    // the parent of a fork has these commits already, or records their mentions once it gets them
    const targets = (await resolveMentions(ctx, caller, subject, references)).filter((target) => target.project_id !== forked_from_id)
    if (targets.length > 0)
      await ctx.db.transaction((tx) => recordCrossReferences(tx, { type: 'Commit', project_id, id: null, sha }, targets, caller.user.id, ctx.now()))
  }
}

/** The user who moved the refs of an intent; null if that user has been removed since. */
async function actorOfIntent(ctx: Context, intent: number): Promise<SignedIn | null> {
  const [row] = await ctx.db.write
    .select({ user: users })
    .from(refIntents)
    .innerJoin(users, eq(users.id, refIntents.actor_id))
    .where(eq(refIntents.id, intent))
  // without a token, because the push has been authorised already
  return row ? actingAs(actorOf(row.user)) : null
}
