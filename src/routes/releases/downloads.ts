import type { FastifyReply, FastifyRequest } from 'fastify'
import { fullPathOf, getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { forbidden, notFound } from '../../failures.js'
import { addressKind, pathBelow } from '../../http/address-kinds.js'
import { callerOf } from '../../http/caller.js'
import { redirect, WholeAddress } from '../../http/redirect.js'
import { tagInAddress } from '../../rules/path.js'
import { findLatestRelease, findLinkUrl } from '../../services/content/releases.js'

const RELEASES = '/-/releases/'
const LATEST = 'permalink/latest'

interface ReleaseAddress {
  /** The path of the project. */
  path: string
  rest: string
}

/** The address of a release file or of the latest release; null for any other. */
function addressOf(text: string): ReleaseAddress | null {
  const at = text.indexOf('/-/', 1)
  if (!text.startsWith(RELEASES, at)) return null
  const rest = text.slice(at + RELEASES.length)
  const isFile = rest.includes('/downloads/') || rest === LATEST || rest.startsWith(`${LATEST}/`)
  return at < 0 || !isFile || text.includes('\0') ? null : { path: text.slice(0, at), rest }
}

/** The files of releases. */
export const releaseFiles = addressKind({ find: (request) => addressOf(pathBelow(request)), answer: serveReleaseFile })

/**
 * Redirects the permanent URL of a release link to the file, and that of the latest release to the release itself
 * (RL-7). Requires read access to releases.
 */
async function serveReleaseFile(ctx: Context, { path, rest }: ReleaseAddress, request: FastifyRequest, reply: FastifyReply) {
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
