import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { actingAs, actorOf, type SignedIn } from '../../access/actor.js'
import { fullPathOf, getProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { users } from '../../db/schema/index.js'
import { nullOnFailure, refused } from '../../failures.js'
import { enqueue } from '../../jobs/enqueue.js'
import { type Attempt, defineJob } from '../../jobs/kinds.js'
import { MAIL_JOB, messageId, sendMessage } from '../core/mail.js'
import { type CsvKind, csvOf, MAX_ROWS } from '../issuables/csv.js'
import { type IssueFilter, listDueIssues } from '../issuables/issues/list.js'
import { listRequestIids, type MergeRequestFilter } from '../issuables/merge-requests/reading/list.js'

const NAMES: Record<CsvKind, string> = { issues: 'issues', merge_requests: 'merge requests' }
const READ = { issues: 'read_issue', merge_requests: 'read_merge_request' } as const
/** Tables are made two at a time, as each is held in memory. */
const LANE = 'tables as CSV'

/** Mails a table of issues or merge requests to who has asked for it, with what they see at that moment (RX-35). */
export const csvMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: table',
  perLane: 2,
  deadline: 600_000,
  input: z.object({ user: z.int(), project: z.int(), kind: z.enum(['issues', 'merge_requests']), iids: z.array(z.int()), total: z.int() }),
  async run(ctx: Context, { user: userId, project: projectId, kind, iids, total }, { id, signal }: Attempt) {
    const [user] = await ctx.db.write.select().from(users).where(eq(users.id, userId))
    if (user?.state !== 'active' || user.confirmed_at === null || user.removal !== null) return
    const caller = actingAs(actorOf(user))
    const subject = await nullOnFailure(getProjectFor(ctx, caller, String(projectId)))
    if (!subject?.can(READ[kind])) return
    const path = fullPathOf(subject.project)
    const { bytes, rows, whole } = await csvOf(ctx, caller, subject, { kind, iids })
    const list = `${ctx.links.base}/${path}/-/${kind}`
    const message = {
      kind: 'table',
      to: { name: user.name, address: user.email },
      subject: `${path} | ${NAMES[kind]} as CSV`,
      messageId: messageId(ctx, `mail-${id}`),
      parts: [
        `The ${NAMES[kind]} of ${path} that you have asked for are attached: ${rows} of ${total}.`,
        ...(whole && iids.length === total ? [] : ['The others would make the table too large. Filter the list to get them.']),
        { text: 'See the list', link: list, button: true },
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
      attachments: [{ filename: `${subject.project.path}_${kind}.csv`, content: bytes, contentType: 'text/csv; charset=utf-8' }],
    }
    await sendMessage(ctx, message, signal)
  },
})

type Asked = { kind: 'issues'; filter: IssueFilter } | { kind: 'merge_requests'; filter: MergeRequestFilter }

/** Has a list mailed to the caller as a table; 400 without mail, or without a confirmed address. Returns how many there are. */
export async function requestCsv(ctx: Context, caller: SignedIn, project: ProjectSubject, { kind, filter }: Asked): Promise<number> {
  if (ctx.mail === null) throw refused('No mail is sent by this service')
  const [user] = await ctx.db.write.select({ confirmed_at: users.confirmed_at }).from(users).where(eq(users.id, caller.user.id))
  if (!user?.confirmed_at) throw refused('Confirm your e-mail address first')
  const paged = { page: 1, per_page: MAX_ROWS }
  const { items, total } =
    kind === 'issues'
      ? await listDueIssues(ctx, caller, { project }, { ...filter, ...paged })
      : await listRequestIids(ctx, caller, { project }, { ...filter, ...paged })
  const input = { user: caller.user.id, project: project.project.id, kind, iids: items.map(({ iid }) => iid), total }
  // asked for again before it was made: the newer list alone
  await enqueue(ctx.db, csvMail, input, { lane: LANE, key: `${kind} ${input.project} ${input.user}` })
  return total
}
