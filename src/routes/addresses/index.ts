import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { onMergeRequest } from '../../access/merge-requests.js'
import { anyone, onProject, onProjectSignedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { noSuchRoute, notFound, unauthenticated } from '../../failures.js'
import { addressKind, pathBelow } from '../../http/address-kinds.js'
import { callerOf } from '../../http/caller.js'
import { Content, downloadOf, PICTURE_POLICY, sendContent } from '../../http/content.js'
import { archiveHeaders, attachment } from '../../http/disposition.js'
import { countRequest, disconnectSignal, forCall } from '../../http/mount.js'
import { pathOfRouter } from '../../lib/text/byte-path.js'
import { isReservedBelow, MAX_PATH_PARTS } from '../../rules/path.js'
import { badgeOf } from '../../services/ci/badges.js'
import { getProjectSnippet, getSnippet } from '../../services/content/snippets.js'
import { openWikiFile } from '../../services/content/wikis.js'
import { armoredKeys } from '../../services/identity/gpg-keys.js'
import { authorizedKeys } from '../../services/identity/keys.js'
import { rangeOfRequest } from '../../services/issuables/merge-requests/reading/contents.js'
import { openExport } from '../../services/projects/archives/export.js'
import { type ArchiveFormat, openArchive, planArchive } from '../../services/repository/archive.js'
import { type CommitRange, openPatch, patchName, rangeOfCommit, rangeOfComparison } from '../../services/repository/patches.js'
import { openRaw, type RawFile } from '../../services/repository/raw.js'

interface Call<Subject, Signed extends boolean> {
  ctx: Context
  caller: Parameters<Access<Subject, Signed>['find']>[1]
  subject: Subject
  /** The named groups of the pattern. */
  params: Record<string, string>
  query: Record<string, unknown>
  signal: AbortSignal
}

/** An address outside /api/v4 that programs read. */
interface Address<Subject = unknown, Signed extends boolean = boolean> {
  /** The first part of the path below a project; null: the address is at the root. */
  part: string | null
  /** What follows. The named groups, and the project's path as `id`, are the parameters of the access rule and answer. */
  pattern: RegExp
  /** The GET of the API whose credentials and scopes it takes. */
  like: string
  access: Access<Subject, Signed>
  /** Crawlers are asked to leave all of its addresses alone. */
  robots?: 'disallow'
  answer(call: Call<Subject, Signed>): Promise<Content>
}

const address = <Subject, Signed extends boolean>(declared: Address<Subject, Signed>) => declared as Address<unknown, Signed> as Address

/** No browser runs what is in a file. */
const INERT = { 'content-security-policy': "default-src 'none'; sandbox" }
const DRAWN = { 'content-security-policy': PICTURE_POLICY, 'content-type': 'image/svg+xml' }
const TEXT = { ...INERT, 'content-type': 'text/plain; charset=utf-8' }

function textContent(text: string, type: string = TEXT['content-type']): Content {
  const bytes = Buffer.from(text)
  const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`
  return new Content({
    etag,
    size: bytes.length,
    headers: { ...TEXT, 'content-type': type },
    open: async (part) => (part ? bytes.subarray(part.start, part.end + 1) : bytes),
  })
}

function rawContent({ id, path, size, type, open }: RawFile, query: Record<string, unknown>): Content {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const kind = /\.svg$/i.test(name) ? DRAWN : { ...INERT, 'content-type': type }
  const headers = { ...kind, 'content-disposition': query['inline'] === 'false' ? attachment(name) : 'inline' }
  return new Content({ etag: `"${id}"`, size, headers, open })
}

const keys = async (found: string[] | null) => {
  if (!found) throw notFound('User')
  return textContent(found.map((key) => `${key}\n`).join(''))
}

const patchContent = (
  { ctx, subject, signal }: Call<Parameters<typeof openPatch>[1], boolean>,
  kind: string | undefined,
  range: CommitRange | null,
): Content => {
  if (kind !== 'diff' && kind !== 'patch') throw noSuchRoute()
  if (!range) return textContent('')
  return new Content({ etag: `W/"${patchName(kind, range)}"`, headers: TEXT, open: () => openPatch(ctx, subject, { kind, range, signal }) })
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

const archiveAt = (part: string, pattern: RegExp) =>
  address({
    part,
    pattern,
    like: '/projects/:id/repository/archive',
    access: onProject('download_code'),
    async answer({ ctx, subject, params, query, signal }) {
      const { ref, name, format } = params
      const plan = await planArchive(ctx, subject, {
        sha: ref ?? textOf(query['ref']),
        format: format as ArchiveFormat,
        path: textOf(query['path']),
        name,
      })
      return new Content({ etag: `W/"${plan.name}"`, headers: archiveHeaders(plan), open: () => openArchive(ctx, subject, plan, signal) })
    },
  })

/** The addresses of WA-2 to WA-6. */
export const addresses: Address[] = [
  address({
    part: 'raw',
    pattern: /^(?<file>[\s\S]+)$/,
    like: '/projects/:id/repository/files/:file_path/raw',
    access: onProject('download_code'),
    robots: 'disallow',
    async answer({ ctx, subject, params, query, signal }) {
      return rawContent(await openRaw(ctx, subject, params['file'] as string, signal), query)
    },
  }),
  address({
    part: 'wikis',
    pattern: /^raw\/(?<file>[\s\S]+)$/,
    like: '/projects/:id/wikis/:slug',
    access: onProject('read_wiki'),
    async answer({ ctx, subject, params, query, signal }) {
      const file = { path: params['file'] as string, version: textOf(query['version_id']), signal }
      return rawContent(await openWikiFile(ctx, subject, file), query)
    },
  }),
  {
    ...archiveAt('archive', /^(?<ref>[\s\S]+)\/(?<name>[^/]+?)\.(?<format>tar\.gz|tar\.bz2|tbz2|tbz|tb2|tgz|bz2|tar|zip|gz)$/),
    robots: 'disallow',
  },
  archiveAt('repository', /^(?:(?<ref>[\s\S]+)\/)?archive\.(?<format>tar\.gz|tar\.bz2|tbz2|tbz|tb2|tgz|bz2|tar|zip|gz)$/),
  address({
    part: 'merge_requests',
    pattern: /^(?<merge_request_iid>\d+)\.(?<kind>diff|patch)$/,
    like: '/projects/:id/merge_requests/:merge_request_iid',
    access: onMergeRequest('read_merge_request'),
    answer: async (call) => patchContent(call, call.params['kind'], await rangeOfRequest(call.ctx, call.subject.request)),
  }),
  address({
    part: 'commit',
    pattern: /^(?<sha>[0-9a-f]{7,40})\.(?<kind>diff|patch)$/,
    like: '/projects/:id/repository/commits/:sha',
    access: onProject('download_code'),
    answer: async (call) => patchContent(call, call.params['kind'], await rangeOfCommit(call.ctx, call.subject, call.params['sha'] as string)),
  }),
  address({
    part: 'compare',
    pattern: /^(?=[\s\S]+\.(?:diff|patch)$)(?<from>[\s\S]+?)(?<dots>\.{2,3})(?<to>[\s\S]+)$/,
    like: '/projects/:id/repository/compare',
    access: onProject('download_code'),
    async answer(call) {
      const { from, to: named, dots } = call.params as { from: string; to: string; dots: string }
      const end = named.lastIndexOf('.')
      const range = await rangeOfComparison(call.ctx, call.subject, { from, to: named.slice(0, end), straight: dots === '..' })
      return patchContent(call, named.slice(end + 1), range)
    },
  }),
  address({
    part: 'exports',
    pattern: /^archive\.tar\.gz$/,
    like: '/projects/:id/export/download',
    access: onProjectSignedIn('manage_project'),
    answer: async ({ ctx, subject }) => downloadOf(await openExport(ctx, subject), 'application/gzip'),
  }),
  address({
    part: 'badges',
    pattern: /^(?<ref>[\s\S]+)\/(?<kind>pipeline|build|coverage)\.svg$/,
    like: '/projects/:id',
    access: onProject('read_project'),
    async answer({ ctx, subject, params }) {
      const kind = params['kind'] === 'coverage' ? 'coverage' : 'pipeline'
      return textContent(await badgeOf(ctx, subject, params['ref'] as string, kind), 'image/svg+xml')
    },
  }),
  address({
    part: 'snippets',
    pattern: /^(?<snippet_id>\d+)\/raw$/,
    like: '/projects/:id/snippets/:snippet_id/raw',
    access: onProjectSignedIn('read_snippet'),
    answer: async ({ ctx, caller, subject, params }) =>
      textContent((await getProjectSnippet(ctx, subject, caller, Number(params['snippet_id']))).snippet.content),
  }),
  address({
    part: null,
    pattern: /^(?:-\/)?snippets\/(?<id>\d{1,15})\/raw$/,
    like: '/snippets/:id/raw',
    access: { ...anyone, path: z.object({}) },
    answer: async ({ ctx, caller, params }) => textContent((await getSnippet(ctx, caller, Number(params['id']))).snippet.content),
  }),
  address({
    part: null,
    pattern: /^(?<username>[^/]+)\.keys$/,
    like: '/users/:id/keys',
    access: anyone,
    answer: async ({ ctx, params }) => keys(await authorizedKeys(ctx, params['username'] as string)),
  }),
  address({
    part: null,
    pattern: /^(?<username>[^/]+)\.gpg$/,
    like: '/users/:id/gpg_keys',
    access: anyone,
    answer: async ({ ctx, params }) => keys(await armoredKeys(ctx, params['username'] as string)),
  }),
]

interface FoundAddress {
  address: Address
  params: Record<string, string>
}

/** What programs read beside the API. */
export const programAddresses = addressKind({
  find: (request) => addressOf(pathOfRouter(pathBelow(request))),
  answer: serveAddress,
  robots: addresses.flatMap(({ part, robots }) => (robots ? [`/*/-/${part}/`] : [])),
})

/** The address of a path that the router has decoded, with its parameters. Null for any other path. */
export function addressOf(path: string): FoundAddress | null {
  if (path.includes('\0')) return null
  const at = (part: string | null, rest: string, params = {}) => {
    for (const address of addresses) {
      const found = address.part === part ? address.pattern.exec(rest) : null
      if (found) return { address, params: { ...params, ...found.groups } }
    }
    return null
  }
  const parts = path.split('/')
  // a project's path is a namespace and a name at least; the older form of an address has no `-/`
  for (let end = 2; end < Math.min(parts.length, MAX_PATH_PARTS); end++) {
    const [part = '', ...rest] = parts.slice(parts[end] === '-' ? end + 1 : end)
    const found = rest.length > 0 && at(part, rest.join('/'), { id: parts.slice(0, end).join('/') })
    if (found) return found
    if (isReservedBelow(parts[end] as string)) break
  }
  return at(null, path)
}

/** Serves an address with the permissions, credentials and limits of the API (WA-1). */
async function serveAddress(
  ctx: Context,
  { address: { like, access, answer }, params }: FoundAddress,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const caller = await callerOf(ctx, request, like)
  await countRequest(ctx, caller.user?.id ?? null, request, reply)
  if (access.signedIn && !caller.user) throw unauthenticated()
  const call = forCall(ctx, request, caller)
  const signedIn = caller as Parameters<typeof access.find>[1]
  const subject = await access.find(call, signedIn, params)
  const query = request.query as Record<string, unknown>
  // the URL may have a token in its query
  reply.header('referrer-policy', 'no-referrer')
  return sendContent(request, reply, await answer({ ctx: call, caller: signedIn, subject, params, query, signal: disconnectSignal(reply) }))
}
