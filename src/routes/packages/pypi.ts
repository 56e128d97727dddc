import { basename } from 'node:path'
import { Readable } from 'node:stream'
import type { MultipartFile } from '@fastify/multipart'
import { invalidInput, tooLarge } from '../../failures.js'
import { withBody } from '../../http/body/paced.js'
import { refusingMalformed } from '../../http/uploads.js'
import type { ReceivedObject } from '../../lib/files/object-store.js'
import { escapeHtml } from '../../lib/text/html.js'
import { packageGroup, packageProject } from '../../services/packages/caller.js'
import { receiveFile } from '../../services/packages/files.js'
import type { PackagePlace } from '../../services/packages/place.js'
import { publishPypi, pypiFile, pypiFiles, pypiNames } from '../../services/packages/pypi.js'
import { inPath, type PackageCall, sendFile, sendPieces } from './call.js'

const MAX_PARTS = 500
/** Bytes of a field that are kept: what is longer is none that is read. */
const MAX_FIELD = 4_096
const MAX_FIELDS = 8 * 1_048_576

/** Publishes a file, as `twine` sends it (PK-31). */
export async function publish(call: PackageCall) {
  const { ctx, who, request, reply } = call
  const subject = await packageProject(ctx, who, inPath(call, 'id'), 'create_package')
  if (!request.isMultipart()) throw invalidInput('content is missing')
  let content: { file: string; received: ReceivedObject } | undefined
  const fields: Record<string, string> = {}
  let size = 0
  try {
    await withBody(call, async () => {
      const limits = { parts: MAX_PARTS, files: MAX_PARTS, fileSize: Number.POSITIVE_INFINITY }
      const parts = request.parts({ isPartAFile: () => true, limits }) as AsyncIterable<MultipartFile>
      for await (const part of refusingMalformed(parts)) {
        if (part.fieldname === 'content') {
          if (content) throw invalidInput('content is given twice')
          content = {
            file: basename(part.filename ?? ''),
            received: await receiveFile(ctx, 'pypi', Readable.from(refusingMalformed(part.file)), ['md5']),
          }
          continue
        }
        const kept: Buffer[] = []
        let length = 0
        for await (const chunk of refusingMalformed<Buffer>(part.file)) {
          size += chunk.length
          if (size > MAX_FIELDS) throw tooLarge()
          if (length < MAX_FIELD) kept.push(chunk)
          length += chunk.length
        }
        // classifiers and others come several times; none of them is kept
        fields[part.fieldname] ??= Buffer.concat(kept).toString('utf8')
      }
    })
    if (!content) throw invalidInput('content is missing')
    await publishPypi(ctx, subject, who, fields, content)
  } finally {
    await content?.received.discard()
  }
  return reply.code(201).send({ message: '201 Created' })
}

/** The project or group of the address (PK-32). */
async function placeOf(call: PackageCall): Promise<PackagePlace> {
  const { ctx, who, request } = call
  const id = inPath(call, 'id')
  if (request.routeOptions.url?.includes('/groups/')) return { group: await packageGroup(ctx, who, id), who }
  return { project: (await packageProject(ctx, who, id, 'read_package')).project.id }
}

const page = (title: string, links: string[]) => [
  `<!DOCTYPE html>\n<html>\n<head><meta name="pypi:repository-version" content="1.0"><title>${escapeHtml(title)}</title></head>\n<body>\n`,
  ...links.map((link) => `${link}<br>\n`),
  '</body>\n</html>\n',
]
const HTML = 'text/html; charset=utf-8'

/** The names of all packages (PK-32). */
export async function index(call: PackageCall) {
  const names = await pypiNames(call.ctx, await placeOf(call))
  return sendPieces(
    call,
    HTML,
    page(
      'Simple index',
      names.map((name) => `<a href="${encodeURIComponent(name)}/">${escapeHtml(name)}</a>`),
    ),
  )
}

/** The files of a package (PK-30). */
export async function simple(call: PackageCall) {
  const name = inPath(call, 'package_name')
  const files = await pypiFiles(call.ctx, await placeOf(call), name)
  // without a host, so that clients send the credentials that they have for this one
  const base = `${call.ctx.links.prefix}/api/v4/projects`
  const links = files.map(({ project, file, sha256, requires_python }) => {
    const needs = requires_python ? ` data-requires-python="${escapeHtml(requires_python)}"` : ''
    const href = `${base}/${project}/packages/pypi/files/${sha256}/${encodeURIComponent(file)}#sha256=${sha256}`
    return `<a href="${href}"${needs}>${escapeHtml(file)}</a>`
  })
  return sendPieces(call, HTML, page(`Links for ${name}`, links))
}

export async function download(call: PackageCall) {
  const at = { sha256: inPath(call, 'sha256'), file: inPath(call, 'file_name') }
  return sendFile(call, await pypiFile(call.ctx, await placeOf(call), at))
}
