import type { FastifyReply, FastifyRequest } from 'fastify'
import { findProjectFor, fullPathOf } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { forbidden, notFound } from '../../failures.js'
import { callerOf } from '../../http/caller.js'
import { findLinkUrl, latestTag } from '../../services/content/releases.js'

const ADDRESS = /^([^\0]+?)\/-\/releases\/([^\0]+)$/
const LATEST = 'permalink/latest/'

const wildcardOf = (request: FastifyRequest) => (request.params as { '*': string })['*']

/** Whether a call outside /api/v4 asks for a file of a release. */
export const asksForReleaseFile = (request: FastifyRequest): boolean => ADDRESS.test(wildcardOf(request))

/**
 * Leads from the address of a link of a release to where the file is, and from that of the latest release to that of
 * the release (RL-7): for those who may read releases.
 */
export async function serveReleaseFile(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  const [, path = '', rest = ''] = ADDRESS.exec(wildcardOf(request)) ?? []
  const caller = await callerOf(ctx, request, '/projects/:id/releases')
  const subject = await findProjectFor(ctx, caller, path)
  if (!subject.can('download_code')) throw forbidden()
  // the address may have a token in its query
  reply.header('referrer-policy', 'no-referrer')
  if (!rest.startsWith(LATEST)) {
    const url = await findLinkUrl(ctx, subject, rest)
    if (url === null) throw notFound()
    return reply.redirect(new URL(url).href, 302)
  }
  const tag = await latestTag(ctx, subject)
  if (tag === null) throw notFound()
  const releases = `${ctx.links.project(fullPathOf(subject.project))}/-/releases`
  return reply.redirect(`${releases}/${encodeURIComponent(tag)}/${encodeURI(rest.slice(LATEST.length))}`, 302)
}
