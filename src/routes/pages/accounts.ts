import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import { Failure, failureText, noSuchRoute } from '../../failures.js'
import { type HtmlPage, sendPage } from '../../http/html-page.js'
import { emailFault, normaliseEmail } from '../../rules/email.js'
import { findLink } from '../../services/identity/links/links.js'
import { mailLink } from '../../services/identity/links/mail.js'
import { confirmAddress, setPassword } from '../../services/identity/links/redeem.js'
import { BAD_LINK, countBadLink, countLinkRequest, forPage, textOf } from './parameters.js'

const config = { policy: 'anyone' }
/** No token is longer. */
const MAX_TOKEN_LENGTH = 100

async function badLink(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  await countBadLink(ctx, request)
  return sendPage(reply, 404, BAD_LINK)
}

const tokenOf = (request: FastifyRequest, name: string) => textOf(request, name).slice(0, MAX_TOKEN_LENGTH)

/**
 * The pages behind mailed links, and those that request such mails (37.4). Plain routes, as they are outside /api/v4.
 */
export function accountPages(app: FastifyInstance, ctx: Context) {
  confirmation(app, ctx)
  password(app, ctx)
  linkRequestPage(app, ctx, {
    path: '/users/password/new',
    purpose: 'reset',
    title: 'Set a new password',
    text: 'Give your e-mail address, and a link to set a new password is mailed to it.',
  })
  linkRequestPage(app, ctx, {
    path: '/users/confirmation/new',
    purpose: 'confirm',
    title: 'Confirm an e-mail address',
    text: 'Give your e-mail address, and a link that confirms it is mailed to it.',
  })
}

/** Confirms an address with the single-use token of a link (ML-23). */
function confirmation(app: FastifyInstance, ctx: Context) {
  const path = '/users/confirmation'
  const name = 'confirmation_token'
  app.get(path, { config }, async (request, reply) => {
    const token = tokenOf(request, name)
    const link = await findLink(ctx, 'confirm', token)
    if (!link) return badLink(ctx, request, reply)
    const form = { action: ctx.links.prefix + path, fields: [{ name, value: token }], button: 'Confirm' }
    return sendPage(reply, 200, { title: 'Confirm an e-mail address', text: `Is ${link.email} your address?`, form })
  })
  app.post(path, { config }, async (request, reply) => {
    if (!(await confirmAddress(forPage(ctx, request), tokenOf(request, name)))) return badLink(ctx, request, reply)
    return sendPage(reply, 200, { title: 'Thank you', text: 'Your e-mail address is confirmed.' })
  })
}

/** Sets a password with the single-use token of a link (ML-24). */
function password(app: FastifyInstance, ctx: Context) {
  const path = '/users/password/edit'
  const name = 'reset_password_token'
  const page = (token: string, text: string): HtmlPage => {
    const fields = [
      { name, value: token },
      { name: 'password', label: 'New password', type: 'password' as const },
    ]
    return { title: 'Set a new password', text, form: { action: ctx.links.prefix + path, fields, button: 'Set the password' } }
  }
  app.get(path, { config }, async (request, reply) => {
    const token = tokenOf(request, name)
    if (!(await findLink(ctx, 'reset', token))) return badLink(ctx, request, reply)
    return sendPage(reply, 200, page(token, 'It must have 8 to 128 characters.'))
  })
  app.post(path, { config }, async (request, reply) => {
    const token = tokenOf(request, name)
    try {
      if (!(await setPassword(forPage(ctx, request), token, textOf(request, 'password')))) return badLink(ctx, request, reply)
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'invalid') throw error
      return sendPage(reply, 400, page(token, failureText(error.body)))
    }
    return sendPage(reply, 200, { title: 'Thank you', text: 'Your new password is set.' })
  })
}

interface LinkRequestPage {
  path: string
  purpose: 'reset' | 'confirm'
  title: string
  text: string
}

/** The response and its timing reveal nothing about the address (ML-25, ML-26). */
function linkRequestPage(app: FastifyInstance, ctx: Context, { path, purpose, title, text }: LinkRequestPage) {
  const action = ctx.links.prefix + path
  const page = (more: string): HtmlPage => ({
    title,
    text: more,
    form: { action, fields: [{ name: 'email', label: 'E-mail address' }], button: 'Send' },
  })
  app.get(path, { config }, async (_request, reply) => {
    if (!ctx.mail) throw noSuchRoute()
    return sendPage(reply, 200, page(text))
  })
  app.post(path, { config }, async (request, reply) => {
    if (!ctx.mail) throw noSuchRoute()
    const email = normaliseEmail(textOf(request, 'email'))
    if (emailFault(email) !== null) return sendPage(reply, 400, page('That is no e-mail address.'))
    await countLinkRequest(ctx, request, email)
    await mailLink(ctx, ctx.db, purpose, email)
    return sendPage(reply, 200, { title, text: 'If there is something to do for this address, a mail is on its way to it.' })
  })
}
