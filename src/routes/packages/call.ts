import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ANONYMOUS, type Caller } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import { shortBytes } from '../../http/body/paced.js'
import { Content, type Range, sendContent } from '../../http/content.js'
import { attachment } from '../../http/disposition.js'
import { countRequest, forCall } from '../../http/mount.js'
import type { MinimumRate } from '../../lib/async/minimum-rate.js'
import { textOfRouter } from '../../lib/text/byte-path.js'
import { type PackageCaller, packageCaller } from '../../services/packages/caller.js'
import type { PackageFile } from '../../services/packages/files.js'

/** A download ends after this time without traffic, in milliseconds. */
const DOWNLOAD_STALL_MS = 60_000

/** A request of a package manager, whose caller is known. */
export interface PackageCall {
  ctx: Context
  request: FastifyRequest
  reply: FastifyReply
  who: PackageCaller
  minimumRate: MinimumRate
}

/** Identifies the caller, and counts the request once. */
export async function openCall(ctx: Context, request: FastifyRequest, reply: FastifyReply, minimumRate: MinimumRate): Promise<PackageCall> {
  const who = await packageCaller(ctx, request.headers, request.ip).catch(async (refusal: unknown) => {
    await countRequest(ctx, null, request, reply)
    throw refusal
  })
  const caller: Caller = who.user
    ? { user: who.user, token: { id: 0, kind: who.job ? 'job' : 'personal', scopes: [] }, ...(who.job && { job: who.job }) }
    : ANONYMOUS
  request.caller = caller
  await countRequest(ctx, who.user?.id ?? null, request, reply)
  return { ctx: forCall(ctx, request, caller), request, reply, who, minimumRate }
}

/** A parameter of the path. */
export const inPath = ({ request }: Pick<PackageCall, 'request'>, name: string): string =>
  textOfRouter((request.params as Record<string, string>)[name] ?? '')

/** A short body as text; throws 413 for a longer one. */
export const shortBody = async (call: PackageCall, limit: number): Promise<string> => (await shortBytes(call, limit)).toString('utf8')

/** Sends a stored file, or the part that is asked for; a browser neither runs nor shows it (PK-5). */
export function sendFile({ ctx, request, reply }: PackageCall, file: PackageFile, headers: Record<string, string> = {}): Promise<FastifyReply> {
  reply.raw.setTimeout(DOWNLOAD_STALL_MS, () => reply.raw.destroy())
  const open = async (part?: Range) => {
    const stream = await ctx.packages.get(file.oid, part)
    if (stream) return stream
    ctx.log.error({ oid: file.oid, project: file.project_id }, 'a file of a package is missing: see roost doctor')
    throw notFound('Package')
  }
  const kept = {
    'content-type': 'application/octet-stream',
    'content-disposition': attachment(file.file_name),
    'content-security-policy': "default-src 'none'; sandbox",
    ...headers,
  }
  return sendContent(request, reply, new Content({ etag: `"${file.oid}"`, size: file.size, headers: kept, open }))
}

/** Sends a text in pieces, with its length. */
export function sendPieces({ reply }: PackageCall, type: string, pieces: string[]): FastifyReply {
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  return reply.headers({ 'content-type': type, 'content-length': length }).send(Readable.from(pieces.map((piece) => Buffer.from(piece))))
}
