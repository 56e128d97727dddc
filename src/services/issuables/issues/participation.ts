import { sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { IssueSubject } from '../../../access/issues.js'
import type { Context } from '../../../context.js'
import type { Target } from '../../activity/subscriptions.js'
import type { Page, Paging } from '../../core/page.js'
import type { UserRefRecord } from '../../identity/user-ref.js'
import { addTodo, participants, participantsOf, subscribeTo } from '../participation.js'
import { ISSUABLE_PARAMETERS, PROJECT_PARAMETERS } from '../readers.js'
import { loadIssue } from './list.js'
import { issueReaders } from './readers.js'

const targetOf = ({ issue: { id, project_id } }: IssueSubject): Target => ({ type: 'Issue', id, project_id })

/** Subscribes the caller to an issue, or unsubscribes them; null when nothing changes (IS-9). */
export const subscribeToIssue = async (ctx: Context, caller: SignedIn, subject: IssueSubject, subscribed: boolean) =>
  subscribeTo(ctx, caller, targetOf(subject), await loadIssue(ctx, caller, subject.issue.id), subscribed)

/** Adds a todo on an issue for the caller; null when they have a pending one (IS-10). */
export const addIssueTodo = (ctx: Context, caller: SignedIn, subject: IssueSubject) => addTodo(ctx, caller, targetOf(subject))

const selectParticipants = participants('Issue', (candidates) =>
  issueReaders(PROJECT_PARAMETERS, { ...ISSUABLE_PARAMETERS, confidential: sql`${sql.placeholder('confidential')}` }, candidates),
)

/** The participants of an issue: author, assignees, note authors, mentioned users (IS-16). */
export const listParticipants = (ctx: Context, { project, issue }: IssueSubject, paging: Paging): Promise<Page<UserRefRecord>> =>
  participantsOf(ctx, selectParticipants, { ...project, feature: project.issues_access_level }, issue, paging)
