import { timingSafeEqual } from 'node:crypto'
import type { Context } from '../../../context.js'
import type { Notification } from '../notification.js'

/** What an answer is about: an issue, a merge request, or a note and its thread. */
export interface ReplyTarget {
  user: number
  kind: 'issue' | 'merge_request' | 'note'
  id: number
}

/** How long an answer is taken, in days. */
export const REPLY_DAYS = 180

const PURPOSE = 'reply by mail'
/** Hexadecimal digits of the signature: the local part of an address has 64 characters at most. */
const SIGNATURE = 24
const LETTERS = { issue: 'i', merge_request: 'm', note: 'n' } as const
const KINDS = new Map(Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as ReplyTarget['kind']]))

const MS_PER_DAY = 86_400_000
const today = ({ now }: Pick<Context, 'now'>) => Math.floor(now().getTime() / MS_PER_DAY)
const signatureOf = ({ encryption }: Pick<Context, 'encryption'>, text: string) =>
  Buffer.from(encryption.sign(text, PURPOSE), 'base64url').toString('hex').slice(0, SIGNATURE)

/**
 * The address to which a user answers a mail; null if answers are not configured, or such a mail has none. Its key is
 * signed, and in lower case, as mail servers may change the case (ML-621).
 */
export function replyAddress(
  ctx: Pick<Context, 'config' | 'encryption' | 'now'>,
  user: number,
  { target, id, note }: Pick<Notification, 'target' | 'id' | 'note'>,
): string | null {
  const { replies } = ctx.config
  if (!replies) return null
  const about =
    note !== null
      ? `n${note.toString(36)}`
      : id !== null && target === 'Issue'
        ? `i${id.toString(36)}`
        : id !== null && target === 'MergeRequest'
          ? `m${id.toString(36)}`
          : null
  if (about === null) return null
  const text = `${about}-${user.toString(36)}-${today(ctx).toString(36)}`
  return `${replies.before}${text}-${signatureOf(ctx, text)}${replies.after}`
}

const KEY = /^([imn])([0-9a-z]{1,10})-([0-9a-z]{1,10})-([0-9a-z]{1,6})-([0-9a-f]{24})$/

/** The key in an address of answers; null for any other address. */
export function keyIn({ config: { replies } }: Pick<Context, 'config'>, address: string): string | null {
  const given = address.trim().toLowerCase()
  const [before = '', after = ''] = [replies?.before.toLowerCase(), replies?.after.toLowerCase()]
  if (!replies || given.length > 320 || !given.startsWith(before) || !given.endsWith(after)) return null
  const key = given.slice(before.length, given.length - after.length)
  return KEY.test(key) ? key : null
}

/** What a key stands for, and whether it is too old by now; null if it is none of this service. */
export function readKey(ctx: Pick<Context, 'encryption' | 'now'>, key: string): { target: ReplyTarget; expired: boolean } | null {
  const [, letter = '', id = '', user = '', day = '', signature = ''] = KEY.exec(key) ?? []
  const kind = KINDS.get(letter as 'i')
  const expected = signatureOf(ctx, `${letter}${id}-${user}-${day}`)
  if (!kind || signature.length !== expected.length || !timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return null
  const [target, since] = [{ user: Number.parseInt(user, 36), kind, id: Number.parseInt(id, 36) }, today(ctx) - Number.parseInt(day, 36)]
  return { target, expired: since > REPLY_DAYS }
}
