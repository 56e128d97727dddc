import type { SignedIn } from '../../../access/actor.js'
import type { IssueSubject } from '../../../access/issues.js'
import type { Context } from '../../../context.js'
import type { UserRefRecord } from '../../../entities/identity/user.js'
import type { Target } from '../../activity/subscriptions.js'
import type { Page, Paging } from '../../core/page.js'
import { addTodo, participantsOf, subscribeTo } from '../attention.js'
import { loadIssue } from './list.js'
import { readersAmong } from './readers.js'

const targetOf = ({ issue: { id, project_id } }: IssueSubject): Target => ({ type: 'Issue', id, project_id })

/** IS-9; null when nothing changes. */
export const subscribeToIssue = async (ctx: Context, caller: SignedIn, subject: IssueSubject, subscribed: boolean) =>
  subscribeTo(ctx, caller, targetOf(subject), await loadIssue(ctx, caller, subject.issue.id), subscribed)

/** IS-10. */
export const addIssueTodo = (ctx: Context, caller: SignedIn, subject: IssueSubject) => addTodo(ctx, caller, targetOf(subject))

/** IS-16. */
export const listParticipants = (ctx: Context, subject: IssueSubject, paging: Paging): Promise<Page<UserRefRecord>> =>
  participantsOf(ctx, targetOf(subject), subject.issue, (who) => readersAmong(ctx.db.write, subject.project, subject.issue, who), paging)
