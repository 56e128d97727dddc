import type { FastifyRequest } from 'fastify'
import { ANONYMOUS } from '../../access/actor.js'
import { countBadToken } from '../../access/authenticate.js'
import type { Context } from '../../context.js'
import { tooMany } from '../../failures.js'
import { emptyParameterBag, type ParameterBag } from '../../http/form.js'
import type { HtmlPage } from '../../http/html-page.js'
import { forCall } from '../../http/mount.js'

/** A text parameter of the query or the form; '' if it is missing. */
export function textOf({ query, body }: FastifyRequest, name: string): string {
  const bag: ParameterBag = Object.assign(emptyParameterBag(), query, body)
  const value = bag[name]
  return typeof value === 'string' && !value.includes('\0') ? value : ''
}

/** The context of an anonymous request. */
export const forPage = (ctx: Context, request: FastifyRequest): Context => forCall(ctx, request, ANONYMOUS)

export const BAD_LINK: HtmlPage = { title: 'This link does not work', text: 'It was used before, has expired, or is not complete.' }

/** Counts an invalid link against the client's IP address; 429 after too many (ML-27). */
export const countBadLink = (ctx: Context, { ip }: FastifyRequest): Promise<void> => countBadToken(ctx, ip)

/** Counts a request for a mail like a failed sign-in; 429 after too many (ML-27). */
export async function countLinkRequest(ctx: Pick<Context, 'access'>, { ip }: FastifyRequest, email: string): Promise<void> {
  const account = `mail ${email}`
  const wait = await ctx.access.throttle.wait(ip, account)
  if (wait > 0) await ctx.access.throttle.refuse(tooMany(wait))
  await ctx.access.throttle.failed(ip, account)
}
