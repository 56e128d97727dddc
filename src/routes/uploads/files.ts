import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { getProjectFor, onProjectSignedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { presentUpload, UploadedFile } from '../../entities/projects/upload.js'
import { notFound } from '../../failures.js'
import { addressKind, pathBelow } from '../../http/address-kinds.js'
import { callerOf } from '../../http/caller.js'
import { Content, type Range, sendContent } from '../../http/content.js'
import { attachment } from '../../http/disposition.js'
import { endpoint } from '../../http/endpoint.js'
import { file } from '../../http/params.js'
import { findUpload, inlineType, readUpload, storeUpload } from '../../services/projects/uploads.js'

/** Uploads (UP-1). */
export const uploads = [
  endpoint({
    method: 'POST',
    path: '/projects/:id/uploads',
    summary: 'Upload a file to a project',
    access: onProjectSignedIn('upload_file'),
    input: z.object({ file: file() }),
    output: UploadedFile,
    largeBody: true,
    async handler({ ctx, caller, subject, input }) {
      const upload = await storeUpload(ctx, caller, subject, input.file)
      return presentUpload(upload, inlineType(upload.filename) !== null)
    },
  }),
]

const ADDRESS = /^((?![\s\S]*\/-\/)[^\0]+)\/uploads\/([0-9a-f]{32})\/([\p{L}\p{M}\p{N}._+-]+)$/u

/** Uploaded files. */
export const uploadedFiles = addressKind({
  find(request): UploadAddress | null {
    const [, path, secret, filename] = ADDRESS.exec(pathBelow(request)) ?? []
    return path && secret && filename ? { path, secret, filename } : null
  },
  answer: serveUpload,
})

type UploadAddress = Parameters<typeof findUpload>[1]

/**
 * Uploaded files, at the URLs returned by UP-1 (UP-2): images and videos for anyone with the URL, everything else
 * for users who can see the project.
 */
async function serveUpload(ctx: Context, { path, secret, filename }: UploadAddress, request: FastifyRequest, reply: FastifyReply) {
  const upload = await findUpload(ctx, { path, secret, filename })
  if (!upload) throw notFound()
  const type = inlineType(filename)
  if (type === null) {
    const caller = await callerOf(ctx, request, '/projects/:id')
    await getProjectFor(ctx, caller, String(upload.project_id)).catch(() => {
      throw notFound()
    })
  }
  const headers = {
    'content-type': type ?? 'application/octet-stream',
    'content-disposition': type === null ? attachment(filename) : 'inline',
    'content-security-policy': "default-src 'none'; sandbox",
  }
  const open = async (part?: Range) => {
    const stream = await readUpload(ctx, upload.project_id, secret, part)
    if (!stream) throw notFound()
    return stream
  }
  // the secret is unique to the file and the file never changes, so the secret can be the ETag
  return sendContent(request, reply, new Content({ etag: `"${secret}"`, size: upload.size, headers, open }))
}
