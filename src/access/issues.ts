import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../context.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../db/long-text.js'
import { issues } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { forbidden, invalidInput, notFound } from '../failures.js'
import type { ProjectAbility } from './abilities/project.js'
import type { Access } from './access.js'
import type { Caller } from './actor.js'
import { canIssue, seesIssue } from './can.js'
import { pathNumber } from './path-number.js'
import { getProjectFor, type ProjectSubject } from './rules.js'

export type Issue = typeof issues.$inferSelect

/** An issue, with the caller's level and abilities on its project. */
export interface IssueSubject extends ProjectSubject {
  issue: Issue
  may(ability: ProjectAbility): boolean
}

const selectIssue = statement('issue by number', (db) =>
  db
    .select(READ_COLUMNS.issues)
    .from(issues)
    .where(and(eq(issues.project_id, sql.placeholder('project')), eq(issues.iid, sql.placeholder('iid')))),
)

/** An issue of the project by its iid; null if it does not exist or the caller may not see it (AC-14). */
export async function findIssueFor(ctx: Context, caller: Pick<Caller, 'user'>, subject: ProjectSubject, iid: number): Promise<IssueSubject | null> {
  const [issue] = await selectIssue(ctx.db, null).execute({ project: subject.project.id, iid })
  const input = { ...subject, user: caller.user }
  if (!issue || !seesIssue(input, issue)) return null
  await completeTexts(ctx, LONG_TEXTS.issues, [issue], 'whole')
  return { ...subject, issue, may: (ability) => canIssue(input, ability, issue) }
}

function issueAccess(ability: ProjectAbility, signed: boolean, kind?: string): Access<IssueSubject, boolean> {
  return {
    rule: `${signed ? 'signed in, ' : ''}issue: ${ability}`,
    signedIn: signed,
    early: true,
    path: z.object({ id: z.string(), issue_iid: z.string() }),
    async find(ctx, caller, params) {
      const subject = await getProjectFor(ctx, caller, params['id'] as string)
      if (!subject.can('read_issue')) throw forbidden()
      const iid = pathNumber(params['issue_iid'] as string)
      if (iid === null) throw invalidInput('issue_iid is invalid')
      const found = await findIssueFor(ctx, caller, subject, iid)
      if (!found) throw notFound(kind)
      if (!found.may(ability)) throw forbidden()
      return found
    },
  }
}

/**
 * Requires an ability on an issue: 404 if the project or issue is not visible, 403 without the ability.
 */
export const onIssue = (ability: ProjectAbility): Access<IssueSubject, false> => issueAccess(ability, false) as Access<IssueSubject, false>

/** Like `onIssue`, but 401 without a credential. `kind` is the name in a 404 message. */
export const onIssueSignedIn = (ability: ProjectAbility, kind?: string): Access<IssueSubject, true> =>
  issueAccess(ability, true, kind) as Access<IssueSubject, true>
