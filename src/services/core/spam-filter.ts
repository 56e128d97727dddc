import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { heldTexts, users } from '../../db/schema/index.js'
import { Failure } from '../../failures.js'
import { NoAnswer, post } from '../../lib/outgoing-post.js'
import { BadTarget, checkTarget } from '../../lib/ssrf-guard.js'
import { readSettings, type Settings, settingPurpose } from './settings.js'
import { unsealed } from './unsealed.js'

export type HeldText = typeof heldTexts.$inferSelect

/** A text that is about to be published. */
export interface NewText {
  kind: HeldText['kind']
  text: string
  project_id: number | null
  noteable_type?: HeldText['noteable_type']
  noteable_id?: number | null
  /** What the text is made from when it is released. */
  data: Record<string, unknown>
  /** Whether anybody can read it: what is not public is sent nowhere. */
  isPublic: boolean
  /** Whether its author is a member of the project. */
  byMember: boolean
}

/** Whose texts are checked: accounts up to this age (WB-202). */
const NEW_MS = 30 * 86_400_000
/** How long the filter may take; then the text passes. */
const TIMEOUT_MS = 3_000
/** Characters of a text that are sent. */
const MAX_SENT = 20_000
/** Texts of a user that are held; further ones are only refused. */
const MAX_HELD = 20
const TYPES = { issue: 'forum-post', note: 'comment', snippet: 'forum-post' } as const

/**
 * Holds a public text of a new user that the spam filter marks, and throws the refusal (WB-202). A filter that does not
 * answer marks nothing.
 */
export async function checkSpam(ctx: Context, { user }: SignedIn, found: NewText): Promise<void> {
  const { origin } = ctx
  if (!origin || origin.released || !found.isPublic || found.byMember || user.admin) return
  const settings = await readSettings(ctx)
  if (!settings.spamfilter_enabled) return
  const [author] = await ctx.db.read.select({ created_at: users.created_at }).from(users).where(eq(users.id, user.id))
  if (!author || ctx.now().getTime() - author.created_at.getTime() > NEW_MS) return
  const { address, userAgent: user_agent } = origin
  const { isPublic, byMember, noteable_type = null, noteable_id = null, ...text } = found
  const held = { ...text, noteable_type, noteable_id, user_id: user.id, address, user_agent, created_at: ctx.now() }
  if ((await ask(ctx, settings, 'comment-check', held, user)) !== 'true') return
  if ((await ctx.db.write.$count(heldTexts, eq(heldTexts.user_id, user.id))) < MAX_HELD) await ctx.db.write.insert(heldTexts).values(held)
  throw new Failure('invalid', { message: { error: 'Spam detected' } }, {}, { base: [HELD] })
}

const HELD = 'looks like spam. An administrator will read it, and publish it if it is none: there is no need to send it again'

/** Tells the filter that it was wrong or right. */
export async function teachFilter(ctx: Context, held: HeldText, spam: boolean): Promise<void> {
  const settings = await readSettings(ctx)
  if (!settings.spamfilter_enabled) return
  const [author] = await ctx.db.read.select({ username: users.username, email: users.email }).from(users).where(eq(users.id, held.user_id))
  if (author) await ask(ctx, settings, spam ? 'submit-spam' : 'submit-ham', held, author)
}

type Asked = 'comment-check' | 'submit-ham' | 'submit-spam'
type Sent = Pick<HeldText, 'kind' | 'text' | 'address' | 'user_agent' | 'created_at'>

/** What the filter answers; null if it does not. */
async function ask(
  ctx: Context,
  settings: Settings,
  what: Asked,
  sent: Sent,
  author: { username: string; email: string | null },
): Promise<string | null> {
  const key = settings.spamfilter_api_key === null ? null : unsealed(ctx, settings.spamfilter_api_key, settingPurpose('spamfilter_api_key'))
  if (!key) {
    ctx.log.error('spamfilter_enabled is on, and spamfilter_api_key is not set: no text is checked')
    return null
  }
  const body = new URLSearchParams({
    api_key: key,
    blog: ctx.links.base,
    user_ip: sent.address,
    user_agent: sent.user_agent,
    comment_type: TYPES[sent.kind],
    comment_author: author.username,
    ...(author.email !== null && { comment_author_email: author.email }),
    comment_content: sent.text.slice(0, MAX_SENT),
    comment_date_gmt: sent.created_at.toISOString(),
    blog_charset: 'UTF-8',
  }).toString()
  try {
    // the address is configuration, so it may be on the local network
    const target = await checkTarget(`${ctx.config.spamFilter.replaceAll('%{key}', encodeURIComponent(key))}/${what}`, {
      protocols: ['http:', 'https:'],
      allowLocal: true,
    })
    const answer = await post(target, { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body, verify: true, timeout: TIMEOUT_MS })
    const text = answer.body.trim()
    if (answer.status === 200 && text !== 'invalid') return text
    ctx.log.error({ status: answer.status }, 'the spam filter does not take the request')
  } catch (error) {
    if (!(error instanceof NoAnswer || error instanceof BadTarget)) throw error
    ctx.log.error({ err: error }, 'the spam filter does not answer')
  }
  return null
}
