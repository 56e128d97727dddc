import { eq } from 'drizzle-orm'
import type { Caller, SignedIn } from '../access/actor.js'
import { findIssueFor, type IssueSubject } from '../access/issues.js'
import { findProjectFor, fullPathOf, type ProjectSubject } from '../access/rules.js'
import type { Context } from '../context.js'
import { refIntents, users } from '../db/schema/index.js'
import { Failure } from '../failures.js'
import { type GitRepository, type RefUpdate, ZERO } from '../git/types.js'
import { closingReferences, type IssueReference } from '../lib/references.js'
import { closeIssue } from './issues/update.js'
import { actorOf } from './users.js'

/** References of one text beyond which none is followed. */
const MOST = 1_000

/** Finds the projects that references name, as a reader sees them, each looked up once: a name alone is of the same group, and no name is the project itself. Null: out of sight. */
export function projectsMeant(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
): (named: string | null) => Promise<ProjectSubject | null> {
  const { project } = subject
  const projects = new Map<string, Promise<ProjectSubject | null>>()
  return (named) => {
    if (named === null) return Promise.resolve(subject)
    const path = named.includes('/') ? named : `${project.namespace.full_path}/${named}`
    const known =
      projects.get(path) ?? (path.toLowerCase() === fullPathOf(project).toLowerCase() ? Promise.resolve(subject) : visible(ctx, caller, path))
    projects.set(path, known)
    return known
  }
}

/** The issues that these references mean to a reader, each once; those out of his sight, and those of the project a fork came from, mean nothing (MR-82, MR-83, MR-85, SEC-122). */
export async function issuesMeant(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  references: Pick<IssueReference, 'project' | 'number'>[],
): Promise<IssueSubject[]> {
  const { project } = subject
  const projectOf = projectsMeant(ctx, caller, subject)
  const meant = new Map<number, IssueSubject>()
  for (const { project: named, number } of references.slice(0, MOST)) {
    const where = await projectOf(named)
    if (!where || where.project.id === project.forked_from_id || !where.can('read_issue')) continue
    const found = await findIssueFor(ctx, caller, where, number)
    if (found) meant.set(found.issue.id, found)
  }
  return [...meant.values()]
}

async function visible(ctx: Context, caller: Pick<Caller, 'user'>, path: string): Promise<ProjectSubject | null> {
  try {
    return await findProjectFor(ctx, caller, path)
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** Commits of one push that are read for what they close (PU-5). */
const MOST_COMMITS = 100

/** PU-5, IS-22: closes what new commits on the default branch say they close, in the name of who moved it. A second time changes nothing. */
export async function closeIssuesByCommits(
  ctx: Context,
  projectId: number,
  moves: RefUpdate[],
  intent: number | null,
  repository: Pick<GitRepository, 'commit' | 'headBranch' | 'log'>,
): Promise<void> {
  const pushed = moves.filter(({ ref, old, new: to }) => ref.startsWith('refs/heads/') && old !== ZERO && to !== ZERO)
  if (pushed.length === 0 || intent === null) return
  const branch = await repository.headBranch()
  const move = pushed.find(({ ref }) => ref === `refs/heads/${branch}`)
  if (!move) return
  const commits = await newCommits(repository, move)
  const closed = commits.flatMap(({ oid, message }) => closingReferences(message, ctx.links.base).map((reference) => ({ oid, reference })))
  if (closed.length === 0) return
  const caller = await actorOfIntent(ctx, intent)
  const subject = caller && (await findProjectFor(ctx, caller, String(projectId)).catch(() => null))
  if (!caller || !subject) return
  for (const { oid, reference } of closed.slice(0, MOST)) {
    for (const issue of await issuesMeant(ctx, caller, subject, [reference])) {
      if (issue.issue.state === 'opened' && issue.may('update_issue')) await closeIssue(ctx, caller, issue, ` by commit ${oid}`)
    }
  }
}

async function newCommits(repository: Pick<GitRepository, 'commit' | 'log'>, { old, new: to }: RefUpdate) {
  const tip = await repository.commit(to)
  if (tip && tip.parents.length === 1 && tip.parents[0] === old) return [tip]
  const known = await repository.commit(old)
  return (await repository.log({ from: [to], ...(known && { exclude: [old] }), skip: 0, limit: MOST_COMMITS })).commits
}

/** Who caused the moves of an intent, unless he is gone meanwhile. */
async function actorOfIntent(ctx: Context, intent: number): Promise<SignedIn | null> {
  const [row] = await ctx.db.write
    .select({ user: users })
    .from(refIntents)
    .innerJoin(users, eq(users.id, refIntents.actor_id))
    .where(eq(refIntents.id, intent))
  // no token stands behind it: the push was let in already
  return row ? { user: actorOf(row.user), token: { id: 0, kind: 'personal', scopes: ['api'] } } : null
}
