import { createHash } from 'node:crypto'
import { and, eq, lt, sql } from 'drizzle-orm'
import type { Email } from 'postal-mime'
import type { SignedIn } from '../../../access/actor.js'
import type { Context } from '../../../context.js'
import { receivedMails } from '../../../db/schema/index.js'
import { Failure, failureText } from '../../../failures.js'
import { htmlToText } from '../../../lib/mail/html-to-text.js'
import { parseMail, UnreadableMail } from '../../../lib/mail/parsed-mail.js'
import { replyIn } from '../../../lib/mail/reply.js'
import { Unavailable } from '../../../lib/unavailable.js'
import { textOfUpload } from '../../../rules/texts/uploads.js'
import { readOnlyNow } from '../../core/maintenance.js'
import { readSettings } from '../../core/settings.js'
import { findActiveUser } from '../../identity/acting-users.js'
import { findUsersByAddress } from '../../identity/user-ref.js'
import { replyTo } from '../../notes/discussions.js'
import { createNote } from '../../notes/write.js'
import { inlineType, storeUpload } from '../../projects/uploads.js'
import { noteWithCommands } from '../../quick-actions/notes.js'
import { isAutomatic, recipientsOf, senderOf } from './automatic.js'
import { keyIn, REPLY_DAYS, type ReplyTarget, readKey } from './keys.js'
import { refuseByMail } from './refusal.js'
import { findAnswered } from './target.js'

/** The largest message, in bytes: room for an attachment of the default limit in base64. */
export const MAX_MESSAGE_BYTES = 25 * 1024 * 1024
/** The most files of one answer. */
const MAX_FILES = 20
/** The longest text that is looked through, in characters; the rest is left out. */
const MAX_TEXT = 1_000_000
/** The longest HTML. */
const MAX_HTML = 500_000
/** After this many milliseconds an attempt counts as ended. */
const ATTEMPT_MS = 600_000
/** How long it is known that a mail has been taken, in days. */
const KEPT_DAYS = REPLY_DAYS

/** What became of a message; `ignored` and `refused` say why. */
export type Outcome = { taken: number | null } | { ignored: string } | { refused: string }

/**
 * Takes an answer by mail: a comment of the user whose key it was sent to, with the permissions that they have now
 * (ML-620 to ML-627). A mail of a program, without a key or of another sender is ignored; what cannot be done is said by
 * one mail. Throws only what may succeed later. `envelope`: the recipients that the mail server knows.
 */
export async function receiveMail(ctx: Context, source: Buffer, envelope: readonly string[] = []): Promise<Outcome> {
  if (!ctx.config.replies || !ctx.mail) return { ignored: 'answers by mail are not configured' }
  const readOnly = await readOnlyNow(ctx)
  if (readOnly !== null) throw new Unavailable(readOnly, 60)
  if (source.length > MAX_MESSAGE_BYTES) return { ignored: 'it is too large' }
  const mail = await parseMail(source).catch((error: unknown) => {
    if (error instanceof UnreadableMail) return null
    throw error
  })
  if (!mail) return { ignored: 'it cannot be read' }
  if (isAutomatic(mail, ctx.mail.from.address)) return { ignored: 'a program has written it' }
  const key = recipientsOf(mail, envelope)
    .map((address) => keyIn(ctx, address))
    .find((found) => found !== null)
  const found = key ? readKey(ctx, key) : null
  if (!found) return { ignored: 'it was sent to no address of this service' }
  const from = senderOf(mail)
  if ((await findUsersByAddress(ctx, [from])).get(from)?.id !== found.target.user) return { ignored: 'its sender is another' }
  const caller = await findActiveUser(ctx, found.target.user)
  if (!caller) return { ignored: 'its sender is blocked' }
  const digest = createHash('sha256')
    .update(`${found.target.user} ${mail.messageId ?? ''} ${mail.messageId ? '' : createHash('sha256').update(source).digest('hex')}`)
    .digest('hex')
  if (!(await claim(ctx, digest))) return { ignored: 'it has been taken before' }
  try {
    const outcome = await answer(ctx, caller, mail, found).catch((error: unknown) => {
      if (error instanceof Failure && error.kind === 'unavailable') throw new Unavailable(failureText(error.body), 60)
      if (error instanceof Failure) return { refused: reasonOf(error) }
      throw error
    })
    if ('refused' in outcome)
      await refuseByMail(ctx, { user: found.target.user, address: from, subject: mail.subject, thread: mail.messageId, why: outcome.refused })
    await ctx.db.write.update(receivedMails).set({ done: true }).where(eq(receivedMails.digest, digest))
    return outcome
  } catch (error) {
    await ctx.db.write.delete(receivedMails).where(eq(receivedMails.digest, digest))
    throw error
  }
}

/** Whether nobody else has taken the mail, or takes it now. Forgets old ones. */
async function claim(ctx: Context, digest: string): Promise<boolean> {
  const now = ctx.now()
  const before = (ms: number) => new Date(now.getTime() - ms)
  await ctx.db.write.delete(receivedMails).where(lt(receivedMails.received_at, before(KEPT_DAYS * 86_400_000)))
  const claimed = await ctx.db.write
    .insert(receivedMails)
    .values({ digest, received_at: now })
    .onConflictDoUpdate({
      target: receivedMails.digest,
      set: { received_at: now },
      setWhere: sql`${and(eq(receivedMails.done, false), lt(receivedMails.received_at, before(ATTEMPT_MS)))}`,
    })
    .returning({ digest: receivedMails.digest })
  return claimed.length > 0
}

const TEXTS: Partial<Record<Failure['kind'], string>> = {
  not_found: 'What you answered is not there any more, or you do not see it any more.',
  forbidden: 'You may not comment there.',
}
const reasonOf = (failure: Failure) => TEXTS[failure.kind] ?? failureText(failure.body)

async function answer(ctx: Context, caller: SignedIn, mail: Email, { target, expired }: { target: ReplyTarget; expired: boolean }): Promise<Outcome> {
  if (expired) return { refused: `The mail that you answered is older than ${REPLY_DAYS} days.` }
  const { subject, discussion } = await findAnswered(ctx, caller, target)
  const text = textOf(mail)
  const files = mail.attachments.filter(({ mimeType }) => !NO_FILES.has(mimeType))
  if (text === '' && files.length === 0) return { refused: 'It has no new text: write above the text that you quote.' }
  if (files.length > MAX_FILES) return { refused: `It has more than ${MAX_FILES} files.` }
  const { max_attachment_size } = await readSettings(ctx)
  const large = files.find(({ content }) => sizeOf(content) > max_attachment_size * 1024 * 1024)
  if (large) return { refused: `The file ${large.filename ?? 'without a name'} is larger than ${max_attachment_size} MiB.` }
  const links: string[] = []
  for (const [i, { filename, content }] of files.entries()) {
    const upload = await storeUpload(ctx, caller, subject, { filename: filename ?? `attachment-${i + 1}`, data: bufferOf(content) })
    links.push(textOfUpload(upload, inlineType(upload.filename) !== null).markdown)
  }
  const body = [text, links.join('\n')].filter((part) => part !== '').join('\n\n')
  const { made } = await noteWithCommands(ctx, caller, subject, { body, how: 'new' }, (written) =>
    discussion === null
      ? createNote(ctx, caller, subject, { body: written }, { type: null, position: null })
      : replyTo(ctx, caller, subject, discussion, { body: written }),
  )
  return { taken: made?.note.id ?? null }
}

/** Parts of a mail that are no files. */
const NO_FILES = new Set([
  'application/pgp-signature',
  'application/pkcs7-signature',
  'application/x-pkcs7-signature',
  'application/pgp-keys',
  'text/calendar',
])

/** What somebody wrote: of the text part, or else of the HTML part. */
function textOf({ text, html }: Email): string {
  if (text?.trim()) return replyIn(text.slice(0, MAX_TEXT))
  return html ? replyIn(htmlToText(html.slice(0, MAX_HTML))) : ''
}

const bufferOf = (content: Email['attachments'][number]['content']): Buffer =>
  typeof content === 'string' ? Buffer.from(content) : content instanceof Uint8Array ? Buffer.from(content) : Buffer.from(new Uint8Array(content))
const sizeOf = (content: Email['attachments'][number]['content']): number =>
  typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength
