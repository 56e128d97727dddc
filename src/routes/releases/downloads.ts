import type { FastifyReply, FastifyRequest } from 'fastify'
import { fullPathOf, getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { forbidden, notFound } from '../../failures.js'
import { callerOf } from '../../http/caller.js'
import { redirect, WholeAddress } from '../../http/redirect.js'
import { tagInAddress } from '../../rules/path.js'
import { findLatestRelease, findLinkUrl } from '../../services/content/releases.js'

const RELEASES = '/-/releases/'
const LATEST = 'permalink/latest'

/** The path of the project and the rest of the address of a release file or of the latest release; null for any other. */
function addressOf(request: FastifyRequest): { path: string; rest: string } | null {
  const text = (request.params as { '*': string })['*']
  const at = text.indexOf(RELEASES, 1)
  const rest = text.slice(at + RELEASES.length)
  const isFile = rest.includes('/downloads/') || rest === LATEST || rest.startsWith(`${LATEST}/`)
  return at < 0 || !isFile || text.includes('\0') ? null : { path: text.slice(0, at), rest }
}

/** Whether a request outside /api/v4 is for a release file. */
export const asksForReleaseFile = (request: FastifyRequest): boolean => addressOf(request) !== null

/**
 * Redirects the permanent URL of a release link to the file, and that of the latest release to the release itself
 * (RL-7). Requires read access to releases.
 */
export async function serveReleaseFile(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  const { path, rest } = addressOf(request) ?? { path: '', rest: '' }
  const caller = await callerOf(ctx, request, '/projects/:id/releases')
  const subject = await getProjectFor(ctx, caller, path)
  if (!subject.can('download_code')) throw forbidden()
  // the request URL may have a token in its query
  reply.header('referrer-policy', 'no-referrer')
  if (rest !== LATEST && !rest.startsWith(`${LATEST}/`)) {
    const url = await findLinkUrl(ctx, subject, rest)
    if (url === null) throw notFound()
    return redirect(reply, { to: new WholeAddress(new URL(url).href), before: ctx.links.base, status: 302 })
  }
  const latest = await findLatestRelease(ctx, subject)
  if (!latest) throw notFound()
  const named = rest === LATEST ? tagInAddress(latest.tag) : latest.tag
  const to = `/${fullPathOf(subject.project)}/-/releases/${encodeURIComponent(named)}${encodeURI(rest.slice(LATEST.length))}`
  return redirect(reply, { to, before: ctx.links.base, status: 302 })
}
