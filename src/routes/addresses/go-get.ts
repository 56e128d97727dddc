import type { FastifyReply, FastifyRequest } from 'fastify'
import { fullPathOf, getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { nullOnFailure } from '../../failures.js'
import { addressKind, pathBelow } from '../../http/address-kinds.js'
import { callerOf } from '../../http/caller.js'
import { countRequest, forCall } from '../../http/mount.js'
import { escapeHtml } from '../../lib/text/html.js'
import { MAX_PATH_PARTS } from '../../rules/path.js'

/** What `go` asks about an import path. */
export const goImports = addressKind({
  find: (request) => ((request.query as Record<string, unknown>)['go-get'] === '1' ? pathBelow(request) : null),
  answer: sendGoImport,
})

/**
 * Names the repository of an import path (WA-7): that of the project which the path begins with and the caller may read,
 * otherwise that of its first two parts, so that nothing is said about what exists.
 */
async function sendGoImport(ctx: Context, importPath: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const parts = importPath.split('/').filter((part) => part !== '')
  const caller = await callerOf(ctx, request, '/projects/:id')
  await countRequest(ctx, caller.user?.id ?? null, request, reply)
  const project = await readableProject(forCall(ctx, request, caller), caller, parts)
  const path = project ?? parts.slice(0, 2).join('/')
  const { host, pathname } = new URL(ctx.links.project(path))
  const text = `${host}${pathname} git ${ctx.links.http(path)}`
  return reply.type('text/html; charset=utf-8').send(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="go-import" content="${escapeHtml(text)}"><title>${escapeHtml(path)}</title></head></html>
`)
}

async function readableProject(ctx: Context, caller: Parameters<typeof getProjectFor>[1], parts: string[]): Promise<string | null> {
  for (let count = Math.min(parts.length, MAX_PATH_PARTS); count > 1; count--) {
    const found = await nullOnFailure(getProjectFor(ctx, caller, parts.slice(0, count).join('/')))
    if (found?.can('download_code')) return fullPathOf(found.project)
  }
  return null
}
