import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticate } from '../../access/authenticate.js'
import { getGroupFor, getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { noSuchRoute, notFound } from '../../failures.js'
import { emptyParameterBag, type ParameterBag } from '../../http/form.js'
import { identicon } from '../../lib/identicon.js'
import { numericId } from '../../lib/numeric-id.js'
import { IDENTICON_FILE } from '../../rules/avatar-url.js'
import { type AvatarKind, readAvatar } from '../../services/identity/avatars.js'
import { getTopic } from '../../services/projects/topics.js'

const KINDS = ['user', 'project', 'group', 'topic'] as const

/** Generated avatars never change and are public (G-83). */
const GENERATED_CACHE_CONTROL = 'public, max-age=31536000'

const sendImage = (reply: FastifyReply, type: string, image: Buffer | string) =>
  reply.headers({ 'content-type': type, 'content-disposition': 'inline', 'content-security-policy': "default-src 'none'; sandbox" }).send(image)

/**
 * Uploaded avatars, and generated ones for users without an upload, at the URLs in `avatar_url` (UP-3). Plain routes,
 * as they are outside /api/v4.
 */
export function avatarRoutes(app: FastifyInstance, ctx: Context) {
  for (const kind of KINDS) {
    const url = `/uploads/-/system/${kind === 'topic' ? 'projects/topic' : kind}/avatar/:id/:file`
    const config = { policy: kind === 'user' ? 'anyone' : `who sees the ${kind}` }
    app.get<{ Params: { id: string; file: string } }>(url, { config }, async (request, reply) => {
      const { id, file } = request.params
      const number = numericId(id)
      if (number === null) throw noSuchRoute()
      if (kind === 'user' && file === IDENTICON_FILE)
        return sendImage(reply.header('cache-control', GENERATED_CACHE_CONTROL), 'image/svg+xml', identicon(`user ${number}`))
      await checkReadable(ctx, kind, id, request)
      const image = await readAvatar(ctx, kind, number, file)
      if (!image) throw notFound()
      return sendImage(reply, image.type, image.data)
    })
  }
}

/** Throws 404 if the caller cannot see what has the avatar. */
async function checkReadable(ctx: Context, kind: AvatarKind, id: string, { headers, query, ip }: FastifyRequest) {
  if (kind === 'user') return
  const bag: ParameterBag = Object.assign(emptyParameterBag(), query as ParameterBag)
  const caller = await authenticate(ctx, headers, bag, { method: 'GET', path: `/${kind}s/:id` }, ip)
  if (kind === 'topic') await getTopic(ctx, caller, Number(id))
  else await (kind === 'project' ? getProjectFor : getGroupFor)(ctx, caller, id)
}
