import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.js'
import { sendPage } from '../../http/html-page.js'
import { threadOf, unsubscribe } from '../../services/mail/unsubscribe.js'
import { BAD_LINK, countBadLink, textOf } from './parameters.js'

const PATH = '/sent_notifications/unsubscribe'

/** The unsubscribe link of mails, for mail clients (one-click POST) and for people (ML-17). */
export function unsubscribePage(app: FastifyInstance, ctx: Context) {
  const config = { policy: 'anyone' }
  app.get(PATH, { config }, async (request, reply) => {
    const token = textOf(request, 'token')
    if (!(await threadOf(ctx, token))) {
      await countBadLink(ctx, request)
      return sendPage(reply, 404, BAD_LINK)
    }
    const form = { action: ctx.links.prefix + PATH, fields: [{ name: 'token', value: token }], button: 'Unsubscribe' }
    return sendPage(reply, 200, { title: 'Unsubscribe', text: 'Do you want no more mail about this?', form })
  })
  app.post(PATH, { config }, async (request, reply) => {
    const thread = await threadOf(ctx, textOf(request, 'token'))
    if (!thread) {
      await countBadLink(ctx, request)
      return sendPage(reply, 404, BAD_LINK)
    }
    await unsubscribe(ctx, thread)
    return sendPage(reply, 200, { title: 'Unsubscribed', text: 'You get no more mail about this.' })
  })
}
