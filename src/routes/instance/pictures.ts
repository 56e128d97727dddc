import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.js'
import { PICTURE_POLICY } from '../../http/content.js'
import { disconnectSignal } from '../../http/mount.js'
import { MISSING_MS, proxiedAddress } from '../../services/core/external-pictures.js'
import { readSettings } from '../../services/core/settings.js'

/** Mails show pictures, too. */
const HEADERS = {
  'content-security-policy': PICTURE_POLICY,
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=600',
}

/** Pictures of other sites in texts, for whoever has an address that a page or mail of this service has (WB-460). */
export function pictureRoute(app: FastifyInstance, ctx: Context) {
  app.get<{ Params: { signature: string; address: string } }>(
    '/-/camo/:signature/:address',
    { config: { policy: 'anyone', robots: ['/-/camo/'], forPrograms: '/-/camo' } },
    async ({ params, ip }, reply) => {
      const address = (await readSettings(ctx)).external_images === 'proxy' ? proxiedAddress(ctx, params) : null
      const picture = address === null ? null : await ctx.caches.pictures.open(address, { holder: ip, signal: disconnectSignal(reply) })
      reply.headers(HEADERS)
      if (!picture) {
        // no page, which would lead to sign-in
        reply.code(404).headers({ 'content-type': 'text/plain', 'cache-control': `public, max-age=${MISSING_MS / 1000}` })
        return reply.send('404 Not Found\n')
      }
      if (picture.size !== null) reply.header('content-length', picture.size)
      return reply.header('content-type', picture.type).send(picture.stream)
    },
  )
}
