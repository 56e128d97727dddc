import type { FastifyReply } from 'fastify'
import { shortBytes, withBody } from '../../http/body/paced.js'
import { Content, sendContent } from '../../http/content.js'
import { textOfRouter } from '../../lib/text/byte-path.js'
import { digestOf, oidOf } from '../../rules/registry/names.js'
import {
  appendUpload,
  beginUpload,
  cancelUpload,
  findBlob,
  finishUpload,
  mountBlob,
  openBlob,
  type Piece,
  storeBlob,
  uploadSize,
  uploadUnknown,
} from '../../services/registry/blobs.js'
import { blobUnknown, digestInvalid, manifestUnknown, nameUnknown, RegistryFailure } from '../../services/registry/failures.js'
import { deleteBlob, deleteManifest, getManifest, MAX_MANIFEST_BYTES, putManifest, referrersOf } from '../../services/registry/manifests.js'
import { ensureRepository, findRepository, type Repository, tagNames } from '../../services/registry/repositories.js'
import { type RegistryCall, subjectOf } from './call.js'

/** Milliseconds without traffic after which a download ends. */
const DOWNLOAD_STALL_MS = 60_000
/** The most tags of one answer. */
const MAX_TAGS = 10_000

/** What an address below `/v2/` is about. */
interface Target {
  name: string
  kind: 'blobs' | 'uploads' | 'manifests' | 'tags' | 'referrers'
  /** A digest, a tag or the id of an upload; empty for the uploads of a repository. */
  reference: string
}

/** Reads an address from its end, as names have slashes; null if there is nothing there. */
export function targetOf(path: string): Target | null {
  const parts = path.split('/')
  const last = parts.pop() ?? ''
  const before = parts.pop() ?? ''
  const name = () => parts.join('/')
  if (before === 'uploads' && parts.at(-1) === 'blobs') {
    parts.pop()
    return { name: name(), kind: 'uploads', reference: last }
  }
  if (last === 'uploads' && before === 'blobs') return { name: name(), kind: 'uploads', reference: '' }
  if (last === 'list' && before === 'tags') return { name: name(), kind: 'tags', reference: '' }
  if ((before === 'blobs' || before === 'manifests' || before === 'referrers') && last !== '') return { name: name(), kind: before, reference: last }
  return null
}

type Method = 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
type Handler = (call: RegistryCall, target: Target) => Promise<FastifyReply>

const oidIn = (digest: string): string => {
  const oid = oidOf(digest)
  if (oid === null) throw digestInvalid(`${digest.slice(0, 100)} is no SHA-256 digest`)
  return oid
}

const parameter = ({ request }: RegistryCall, name: string): string | undefined => {
  const value = (request.query as Record<string, unknown>)[name]
  // no text of the database has a NUL
  return typeof value === 'string' && value !== '' ? value.replaceAll('\0', '') : undefined
}

/** A repository that the caller may read. */
async function readable(call: RegistryCall, name: string) {
  const { subject, rest } = await subjectOf(call, name, 'pull')
  const repository = await findRepository(call.ctx, subject, rest)
  if (!repository) throw nameUnknown()
  return { subject, repository }
}

/** A repository that the caller may push to; it is made by what is pushed to it first. */
async function writable(call: RegistryCall, name: string): Promise<() => Promise<Repository>> {
  const { subject, rest } = await subjectOf(call, name, 'push')
  return () => ensureRepository(call.ctx, subject, rest)
}

/** The repository of an upload that has begun. */
async function uploadedTo(call: RegistryCall, name: string): Promise<Repository> {
  const { subject, rest } = await subjectOf(call, name, 'push')
  const repository = await findRepository(call.ctx, subject, rest)
  if (!repository) throw uploadUnknown()
  return repository
}

async function deletable(call: RegistryCall, name: string): Promise<Repository> {
  const { subject, rest } = await subjectOf(call, name, 'delete')
  const repository = await findRepository(call.ctx, subject, rest)
  if (!repository) throw nameUnknown()
  return repository
}

const at = ({ ctx }: RegistryCall, name: string, rest: string) => `${ctx.links.prefix}/v2/${name}/${rest}`
const uploading = (call: RegistryCall, name: string, upload: string, size: number) =>
  call.reply.headers({ location: at(call, name, `blobs/uploads/${upload}`), range: `0-${Math.max(size - 1, 0)}`, 'docker-upload-uuid': upload })
const stored = (call: RegistryCall, name: string, oid: string) =>
  call.reply
    .code(201)
    .headers({ location: at(call, name, `blobs/${digestOf(oid)}`), 'docker-content-digest': digestOf(oid) })
    .send()

const HANDLERS: Record<Target['kind'], Partial<Record<Method, Handler>>> = {
  blobs: {
    async GET(call, { name, reference }) {
      const oid = oidIn(reference)
      const { subject, repository } = await readable(call, name)
      const blob = await findBlob(call.ctx, repository, oid)
      if (!blob) throw blobUnknown()
      const { request, reply } = call
      reply.raw.setTimeout(DOWNLOAD_STALL_MS, () => reply.raw.destroy())
      const headers = {
        'content-type': 'application/octet-stream',
        'docker-content-digest': reference,
        'content-security-policy': "default-src 'none'; sandbox",
      }
      const open = (part?: { start: number; end: number }) => openBlob(call.ctx, subject, oid, part)
      return sendContent(request, reply, new Content({ etag: `"${reference}"`, size: blob.size, headers, open }))
    },
    async DELETE(call, { name, reference }) {
      const oid = oidIn(reference)
      if (!(await deleteBlob(call.ctx, await deletable(call, name), oid))) throw blobUnknown()
      return call.reply.code(202).send()
    },
  },
  uploads: {
    async POST(call, { name, reference }) {
      if (reference !== '') throw uploadUnknown()
      const repository = await writable(call, name)
      const digest = parameter(call, 'digest')
      if (digest !== undefined) {
        const oid = oidIn(digest)
        await withBody(call, (body) => storeBlob(call.ctx, repository, body, oid))
        return stored(call, name, oid)
      }
      const mounted = await mount(call, repository)
      if (mounted) return stored(call, name, mounted)
      return uploading(call, name, await beginUpload(call.ctx, await repository()), 0)
        .code(202)
        .send()
    },
    async GET(call, { name, reference }) {
      const size = await uploadSize(call.ctx, await uploadedTo(call, name), reference)
      return uploading(call, name, reference, size).code(204).send()
    },
    async PATCH(call, { name, reference }) {
      const repository = await uploadedTo(call, name)
      const piece = pieceOf(call)
      const size = await withBody(call, (body) => appendUpload(call.ctx, repository, reference, body, piece))
      return uploading(call, name, reference, size).code(202).send()
    },
    async PUT(call, { name, reference }) {
      const digest = parameter(call, 'digest')
      if (digest === undefined) throw digestInvalid('the digest is missing')
      const oid = oidIn(digest)
      const repository = await uploadedTo(call, name)
      const piece = pieceOf(call)
      await withBody(call, (body) => finishUpload(call.ctx, repository, reference, { body, piece }, oid))
      return stored(call, name, oid)
    },
    async DELETE(call, { name, reference }) {
      await cancelUpload(call.ctx, await uploadedTo(call, name), reference)
      return call.reply.code(204).send()
    },
  },
  manifests: {
    async GET(call, { name, reference }) {
      const { repository } = await readable(call, name)
      const { oid, media_type, content } = await getManifest(call.ctx, repository, reference)
      const headers = { 'content-type': media_type, 'docker-content-digest': digestOf(oid), 'content-security-policy': "default-src 'none'; sandbox" }
      return sendContent(
        call.request,
        call.reply,
        new Content({ etag: `"${digestOf(oid)}"`, size: content.length, headers, open: async () => content }),
      )
    },
    async PUT(call, { name, reference }) {
      const { subject: project, rest } = await subjectOf(call, name, 'push')
      const bytes = await shortBytes(call, MAX_MANIFEST_BYTES)
      const media_type = (call.request.headers['content-type'] ?? '').split(';', 1)[0]?.trim() ?? ''
      const { oid, subject } = await putManifest(call.ctx, { subject: project, name: rest }, reference, { bytes, media_type })
      return call.reply
        .code(201)
        .headers({
          location: at(call, name, `manifests/${digestOf(oid)}`),
          'docker-content-digest': digestOf(oid),
          ...(subject && { 'oci-subject': digestOf(subject) }),
        })
        .send()
    },
    async DELETE(call, { name, reference }) {
      await deleteManifest(call.ctx, await deletable(call, name), reference)
      return call.reply.code(202).send()
    },
  },
  tags: {
    async GET(call, { name }) {
      const { repository } = await readable(call, name)
      const asked = Number(parameter(call, 'n') ?? MAX_TAGS)
      const limit = Number.isInteger(asked) && asked >= 0 ? Math.min(asked, MAX_TAGS) : MAX_TAGS
      const tags = limit === 0 ? [] : await tagNames(call.ctx, repository.id, { after: parameter(call, 'last') ?? '', limit: limit + 1 })
      const page = tags.slice(0, limit)
      if (tags.length > limit) {
        const next = new URLSearchParams({ n: String(limit), last: page.at(-1) ?? '' })
        call.reply.header('link', `<${at(call, name, 'tags/list')}?${next}>; rel="next"`)
      }
      return call.reply.send({ name, tags: page })
    },
  },
  referrers: {
    async GET(call, { name, reference }) {
      const oid = oidIn(reference)
      const { subject, rest } = await subjectOf(call, name, 'pull')
      const repository = await findRepository(call.ctx, subject, rest)
      const artifactType = parameter(call, 'artifactType')
      const after = Number(parameter(call, 'last') ?? 0)
      if (!Number.isSafeInteger(after)) throw new RegistryFailure(400, 'UNSUPPORTED', 'last is invalid')
      const { manifests, next } = repository ? await referrersOf(call.ctx, repository, oid, { artifactType, after }) : { manifests: [], next: null }
      if (next !== null) {
        const query = new URLSearchParams({ last: String(next), ...(artifactType !== undefined && { artifactType }) })
        call.reply.header('link', `<${at(call, name, `referrers/${reference}`)}?${query}>; rel="next"`)
      }
      if (artifactType !== undefined) call.reply.header('oci-filters-applied', 'artifactType')
      return call.reply
        .serializer((text: string) => text)
        .header('content-type', 'application/vnd.oci.image.index.v1+json')
        .send(JSON.stringify({ schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests }))
    },
  },
}

/** The repository of `from` gives its blob, if the caller may read it; the id of the blob, or null: it has to be uploaded. */
async function mount(call: RegistryCall, repository: () => Promise<Repository>): Promise<string | null> {
  const [digest, from] = [parameter(call, 'mount'), parameter(call, 'from')]
  const oid = digest === undefined ? null : oidOf(digest)
  if (oid === null || from === undefined) return null
  const source = await readable(call, from).catch((refusal: unknown) => {
    if (refusal instanceof RegistryFailure) return null
    throw refusal
  })
  const blob = source && (await findBlob(call.ctx, source.repository, oid))
  if (!blob) return null
  await mountBlob(call.ctx, await repository(), blob)
  return oid
}

/** The bytes that a piece says it has; null if it does not say so. */
function pieceOf({ request }: RegistryCall): Piece | null {
  const range = request.headers['content-range']
  if (range === undefined) return null
  const [, first, last] = /^(?:bytes[= ])?(\d{1,15})-(\d{1,15})(?:\/[\d*]{1,15})?$/.exec(range) ?? []
  if (first === undefined) throw new RegistryFailure(416, 'BLOB_UPLOAD_INVALID', 'Content-Range is invalid')
  return { first: Number(first), last: Number(last) }
}

/** Serves what is below `/v2/` (OCI-4 to OCI-7). */
export async function serve(call: RegistryCall): Promise<FastifyReply> {
  const method = call.request.method as Method
  const path = textOfRouter((call.request.params as { '*': string })['*'])
  const target = targetOf(path)
  if (!target) throw manifestUnknown()
  const handlers = HANDLERS[target.kind]
  const handler = handlers[method === 'HEAD' ? 'GET' : method]
  if (!handler) throw new RegistryFailure(405, 'UNSUPPORTED', 'this is not possible here')
  return handler(call, target)
}
