import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import { Failure, failureText, noSuchRoute } from '../../failures.js'
import { type HtmlPage, sendPage } from '../../http/html-page.js'
import { emailFault, normaliseEmail } from '../../lib/email.js'
import { findLink } from '../../services/identity/links/links.js'
import { mailLink } from '../../services/identity/links/mail.js'
import { confirmAddress, setPassword } from '../../services/identity/links/redeem.js'
import { BAD_LINK, countAsked, countBadLink, forPage, textOf } from './parameters.js'

const config = { policy: 'anyone' }
/** Longer texts are no tokens. */
const MAX_TOKEN = 100

async function badLink(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  await countBadLink(ctx, request)
  return sendPage(reply, 404, BAD_LINK)
}

const tokenOf = (request: FastifyRequest, name: string) => textOf(request, name).slice(0, MAX_TOKEN)

/** Pages that mailed links lead to, and those that ask for such mails (37.4): outside /api/v4, so plain routes. */
export function accountPages(app: FastifyInstance, ctx: Context) {
  confirmation(app, ctx)
  password(app, ctx)
  asking(app, ctx, {
    path: '/users/password/new',
    purpose: 'reset',
    title: 'Set a new password',
    text: 'Give your e-mail address, and a link to set a new password is mailed to it.',
  })
  asking(app, ctx, {
    path: '/users/confirmation/new',
    purpose: 'confirm',
    title: 'Confirm an e-mail address',
    text: 'Give your e-mail address, and a link that confirms it is mailed to it.',
  })
}

/** Confirms an address by the token of a link, which works once (ML-23). */
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

/** Sets a password by the token of a link, which works once (ML-24). */
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

interface Asking {
  path: string
  purpose: 'reset' | 'confirm'
  title: string
  text: string
}

/** ML-25, ML-26: what is answered, and the time it takes, say nothing about the address. */
function asking(app: FastifyInstance, ctx: Context, { path, purpose, title, text }: Asking) {
  const action = ctx.links.prefix + path
  const page = (more: string): HtmlPage => ({
    title,
    text: more,
    form: { action, fields: [{ name: 'email', label: 'E-mail address' }], button: 'Send' },
  })
  app.get(path, { config }, async (_request, reply) => {
    if (!ctx.mailer) throw noSuchRoute()
    return sendPage(reply, 200, page(text))
  })
  app.post(path, { config }, async (request, reply) => {
    if (!ctx.mailer) throw noSuchRoute()
    const email = normaliseEmail(textOf(request, 'email'))
    if (emailFault(email) !== null) return sendPage(reply, 400, page('That is no e-mail address.'))
    await countAsked(ctx, request, email)
    await mailLink(ctx, ctx.db, purpose, email)
    return sendPage(reply, 200, { title, text: 'If there is something to do for this address, a mail is on its way to it.' })
  })
}
