import { and, eq, inArray } from 'drizzle-orm'
import { fullPathOf } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { commitStatuses, labels, subscriptions, users } from '../../db/schema/index.js'
import { wholeEnd } from '../../lib/text/whole-end.js'
import { listed } from '../../rules/texts/listed.js'
import { type MailMessage, type MailPart, mailHost, messageId, sendMessage } from '../core/mail.js'
import { actingUser, findVisibleProject } from '../identity/acting-users.js'
import type { User } from '../identity/users.js'
import type { Notification, Reason } from './notification.js'
import { replyAddress } from './replies/keys.js'
import { mailAddressOf } from './settings.js'
import { findNotes, findTarget, MAX_NOTES, type MailNote, type MailTarget } from './targets.js'
import { unsubscribeLink } from './unsubscribe.js'

/** A mail to send. */
export interface DueMail {
  user: number
  reason: Reason
  notification: Notification
}

/** The attempt of the job that sends a mail. */
interface SendAttempt {
  id: number
  signal: AbortSignal
}

/** The maximum length of a user's text in a mail, in characters (ML-14). */
const MAX_TEXT = 20_000

/** Sends a mail if its recipient sees the target at this time (ML-11). */
export async function sendNotification(ctx: Context, { user: userId, reason, notification }: DueMail, { id, signal }: SendAttempt): Promise<void> {
  const recipient = await recipientOf(ctx, userId, notification)
  if (!recipient) return
  const { user, address } = recipient
  const subject = await findVisibleProject(ctx, actingUser(user), notification.project)
  if (!subject) return
  const path = fullPathOf(subject.project)
  const page = ctx.links.project(path)
  const thing = await findTarget(ctx, { ...subject, user }, page, notification)
  const about = await findNotes(ctx, subject, notification)
  const [note] = about
  // a review that only had notes says nothing without them
  const isEmpty = !note && (notification.note !== null || (notification.notes.length > 0 && notification.verdict === 'commented'))
  if (!thing || isEmpty) return
  const name = notification.actor === null ? undefined : await nameOf(ctx, notification.actor)
  const actor = name ?? 'Somebody'
  const parts = await partsOf(ctx, notification, { thing, notes: about, actor, page })
  const startsThread = THREAD_STARTERS.includes(notification.event)
  const thread = messageId(ctx, thing.thread)
  const message: MailMessage = {
    kind: notification.event,
    to: { name: user.name, address },
    fromName: name,
    subject: `${startsThread || notification.target === 'Pipeline' ? '' : 'Re: '}${subject.project.name} | ${thing.title}`,
    messageId: startsThread ? thread : messageId(ctx, `mail-${id}`),
    thread,
    replyTo: replyAddress(ctx, user.id, notification) ?? undefined,
    heading: {
      place: { text: path.replaceAll('/', ' / '), link: page },
      title: { text: thing.title, link: thing.url },
      lead: leadOf(notification, actor, thing),
    },
    parts: [...parts, { text: 'View it', link: note ? `${thing.url}#note_${note.id}` : thing.url, button: true }],
    ...footerAndHeaders(ctx, user, { notification, reason }),
  }
  const project = { 'X-Roost-Project': path, 'X-Roost-Project-Id': String(notification.project), 'List-Id': listId(ctx, path) }
  await sendMessage(ctx, { ...message, headers: { ...message.headers, ...project } }, signal)
}

/** The recipient with their address; null if they get no mail, or have unsubscribed meanwhile. */
async function recipientOf(ctx: Context, userId: number, { target, id }: Notification): Promise<{ user: User; address: string } | null> {
  const [user] = await ctx.db.write.select().from(users).where(eq(users.id, userId))
  if (user?.state !== 'active' || user.kind !== 'human' || user.removal !== null) return null
  const address = await mailAddressOf(ctx, user)
  if (address === null) return null
  if ((target !== 'Issue' && target !== 'MergeRequest') || id === null) return { user, address }
  const [choice] = await ctx.db.write
    .select({ subscribed: subscriptions.subscribed })
    .from(subscriptions)
    .where(and(eq(subscriptions.target_type, target), eq(subscriptions.target_id, id), eq(subscriptions.user_id, userId)))
  return choice?.subscribed === false ? null : { user, address }
}

const nameOf = async (ctx: Context, id: number): Promise<string | undefined> =>
  (await ctx.db.write.select({ name: users.name }).from(users).where(eq(users.id, id)))[0]?.name

/** The names of users, in the order of their ids. */
async function namesOf(ctx: Context, ids: readonly number[]): Promise<string[]> {
  if (ids.length === 0) return []
  const found = await ctx.db.write
    .select({ id: users.id, name: users.name })
    .from(users)
    .where(inArray(users.id, [...ids]))
  return ids.flatMap((id) => found.find((user) => user.id === id)?.name ?? [])
}

const peopleLine = (role: string, names: string[]): string[] =>
  names.length === 0 ? [] : [`${role}${names.length === 1 ? '' : 's'}: ${names.join(', ')}`]

/** Events whose mail starts a thread (ML-16). */
const THREAD_STARTERS: Notification['event'][] = ['new_issue', 'new_merge_request', 'new_release']

/** The `List-Id` of the project (ML-15). */
const listId = ({ links }: Context, path: string) => `${path} <${path.split('/').reverse().join('.').toLowerCase()}.${mailHost(links.base)}>`

const REASON: Record<Reason, string> = {
  assigned: 'it is or was assigned to you',
  review_requested: 'your review is or was requested',
  mentioned: 'you were mentioned',
  subscribed: 'you subscribed to it',
  label_subscribed: 'you subscribed to one of its labels',
  own_pipeline: 'the pipeline, or the merge request that it checks, is yours',
  participating: 'you take part in it',
  watching: 'you watch the project',
  custom: 'of your notification settings',
}

/** The footer of a mail, and headers with the same information. */
function footerAndHeaders(
  ctx: Context,
  user: User,
  { notification, reason }: { notification: Notification; reason: Reason },
): Pick<MailMessage, 'footer' | 'headers'> {
  const { target: type, id, event } = notification
  const answers = replyAddress(ctx, user.id, notification) === null ? [] : ['Answer this mail to comment.']
  const footer: MailPart[] = [...answers, `You get this mail because ${REASON[reason]}.`]
  const headers = { 'X-Roost-Event': event, 'X-Roost-Reason': reason }
  if ((type !== 'Issue' && type !== 'MergeRequest') || id === null) return { footer, headers }
  const link = unsubscribeLink(ctx, { user: user.id, type, id })
  const unsubscribe = { 'List-Unsubscribe': `<${link}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  return { footer: [...footer, { text: 'Unsubscribe', link }], headers: { ...headers, ...unsubscribe } }
}

interface MailContent {
  thing: MailTarget
  notes: MailNote[]
  actor: string
  page: string
}

/** Who wrote what follows; null if a part says what was done. */
function leadOf({ event }: Notification, actor: string, thing: MailTarget): string | null {
  if (event === 'new_note') return `${actor} wrote:`
  return event === 'new_issue' || event === 'new_merge_request' ? `${actor} created ${thing.name}:` : null
}

/** The body of a mail. */
async function partsOf(
  ctx: Context,
  { event, labels: added, project, id, verdict }: Notification,
  { thing, notes, actor, page }: MailContent,
): Promise<MailPart[]> {
  const markdown = (text: string): MailPart[] => (text.trim() === '' ? [] : [{ markdown: shortened(text), base: page }])
  const [assignees, reviewers] = await Promise.all([namesOf(ctx, thing.assignees), namesOf(ctx, thing.reviewers)])
  switch (event) {
    case 'new_note':
      return [...notes.flatMap(({ location, lines, text }) => [...(location ? [`On ${location}:`] : []), ...excerptOf(lines), ...markdown(text)])]
    case 'review':
      return [
        `${actor} ${{ commented: 'reviewed', requested_changes: 'requested changes in', approved: 'approved' }[verdict]} ${thing.name}.`,
        ...notes
          .slice(0, MAX_NOTES)
          .flatMap(({ id, location, lines, text }) => [
            ...(location ? [{ text: location, link: `${thing.url}#note_${id}` }] : []),
            ...excerptOf(lines),
            ...markdown(text),
          ]),
        ...(notes.length > MAX_NOTES ? ['The review has more comments.'] : []),
      ]
    case 'new_issue':
    case 'new_merge_request':
      return [
        ...[...(thing.changes ? [thing.changes] : []), ...markdown(thing.text)],
        ...[...peopleLine('Assignee', assignees), ...peopleLine('Reviewer', reviewers)],
      ]
    case 'new_release':
      return markdown(thing.text)
    case 'mention':
      return [`${actor} mentioned you in ${thing.name}.`, ...markdown(thing.text)]
    case 'relabel':
      return [`${actor} put labels on ${thing.name}: ${(await labelNames(ctx, added)).join(', ')}`]
    case 'reassign_issue':
    case 'reassign_merge_request':
      return [assignees.length > 0 ? `${actor} assigned ${thing.name} to ${listed(assignees)}.` : `${actor} removed the assignee of ${thing.name}.`]
    case 'change_reviewer_merge_request':
      return [
        reviewers.length > 0
          ? `${actor} requested a review of ${thing.name} from ${listed(reviewers)}.`
          : `${actor} removed the reviewer of ${thing.name}.`,
      ]
    case 'failed_pipeline':
      return [`${thing.title} has failed.`, ...(await failedJobs(ctx, project, id))]
    case 'success_pipeline':
      return [`${thing.title} has passed.`]
    default:
      return [`${thing.name} was ${STATE_VERBS[event]} by ${actor}.`]
  }
}

const excerptOf = (lines: string | null): MailPart[] => (lines ? [{ diff: lines }] : [])

/** The most failed jobs that a mail names. */
const MAX_JOBS = 20

/** The failed jobs of a pipeline with description and address (ML-33). */
async function failedJobs({ db }: Context, projectId: number, pipelineId: number | null): Promise<MailPart[]> {
  const { project_id, pipeline_id, name, description, target_url, status, latest, id } = commitStatuses
  const failed = await db.write
    .select({ name, description, target_url })
    .from(commitStatuses)
    .where(and(eq(project_id, projectId), eq(pipeline_id, pipelineId ?? 0), eq(status, 'failed'), latest))
    .orderBy(id)
    .limit(MAX_JOBS + 1)
  const parts = failed
    .slice(0, MAX_JOBS)
    .flatMap((job): MailPart[] => [
      job.description ? `Failed: ${job.name}: ${job.description}` : `Failed: ${job.name}`,
      ...(job.target_url ? [{ text: `Details of ${job.name}`, link: job.target_url }] : []),
    ])
  return failed.length > MAX_JOBS ? [...parts, 'More jobs have failed.'] : parts
}

const STATE_VERBS = {
  close_issue: 'closed',
  reopen_issue: 'reopened',
  close_merge_request: 'closed',
  reopen_merge_request: 'reopened',
  merge_merge_request: 'merged',
  approved: 'approved',
  unapproved: 'unapproved',
}

/** Cuts a long text, but not within a surrogate pair. */
const shortened = (text: string) =>
  text.length <= MAX_TEXT ? text : `${text.slice(0, wholeEnd(text, MAX_TEXT))}…\n\n(The rest is not in this mail.)`

async function labelNames(ctx: Context, ids: number[]): Promise<string[]> {
  const rows = await ctx.db.write.select({ title: labels.title }).from(labels).where(inArray(labels.id, ids)).orderBy(labels.title)
  return rows.map(({ title }) => title)
}
