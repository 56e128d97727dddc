import { z } from 'zod'
import type { Context } from '../../../context.js'
import { refused } from '../../../failures.js'
import { NoAnswer, post } from '../../../lib/outgoing-post.js'
import { BadTarget, checkTarget } from '../../../lib/ssrf-guard.js'
import { readSettings, settingPurpose } from '../../core/settings.js'
import { unsealed } from '../../core/unsealed.js'

/** What a page needs to show the captcha. */
export interface Captcha {
  script: string
  /** The class of its element, and the beginning of the name of its field. */
  widget: string
  siteKey: string
  /** Where the script, its frames and its calls come from. */
  sources: readonly string[]
}

const MAX_RESPONSE = 10_000
const TIMEOUT_MS = 5_000
const Answer = z.looseObject({ success: z.boolean() })

const unavailable = () => refused('Signing up is not possible now: the captcha cannot be checked. Try again later')

/** The captcha of the settings; null while it is off. */
export async function findCaptcha(ctx: Context): Promise<Captcha | null> {
  const { captcha_enabled, captcha_site_key } = await readSettings(ctx)
  const { captcha } = ctx.config
  if (!captcha_enabled || !captcha || captcha_site_key === null) return null
  const { script, widget, sources } = captcha
  return { script, widget, sources, siteKey: unsealed(ctx, captcha_site_key, settingPurpose('captcha_site_key')) ?? '' }
}

/** Throws unless the captcha is off, or its service says that the visitor has solved it (WB-29). */
export async function checkCaptcha(ctx: Context, response: string): Promise<void> {
  const { captcha_enabled, captcha_private_key } = await readSettings(ctx)
  if (!captcha_enabled) return
  const { captcha } = ctx.config
  const secret = captcha_private_key === null ? null : unsealed(ctx, captcha_private_key, settingPurpose('captcha_private_key'))
  if (!captcha || secret === null) {
    ctx.log.error('captcha_enabled is on, and ROOST_CAPTCHA_URL, ROOST_CAPTCHA_SCRIPT or the keys are not set: no one can sign up')
    throw unavailable()
  }
  if (response === '' || response.length > MAX_RESPONSE || !(await isSolved(ctx, captcha.url, { secret, response })))
    throw refused('The captcha is not solved')
}

async function isSolved(ctx: Context, address: string, given: { secret: string; response: string }): Promise<boolean> {
  const body = new URLSearchParams({ ...given, ...(ctx.origin?.address && { remoteip: ctx.origin.address }) }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  try {
    // the address is configuration, so it may be on the local network
    const target = await checkTarget(address, { protocols: ['http:', 'https:'], allowLocal: true })
    const answer = await post(target, { headers, body, verify: true, timeout: TIMEOUT_MS })
    return Answer.parse(JSON.parse(answer.body)).success
  } catch (error) {
    if (!(error instanceof NoAnswer || error instanceof BadTarget || error instanceof SyntaxError || error instanceof z.ZodError)) throw error
    ctx.log.error({ err: error }, 'the captcha service does not answer')
    throw unavailable()
  }
}
