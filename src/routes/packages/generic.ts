import { z } from 'zod'
import { fullPathOf } from '../../access/rules.js'
import { presentPackageFile } from '../../entities/projects/package.js'
import { invalidInput } from '../../failures.js'
import { withBody } from '../../http/body/paced.js'
import { packageProject } from '../../services/packages/caller.js'
import { receiveFile } from '../../services/packages/files.js'
import { checkGeneric, type GenericFile, genericFile, publishGeneric } from '../../services/packages/generic.js'
import { inPath, type PackageCall, sendFile } from './call.js'

const Query = z.strictObject({ status: z.enum(['default', 'hidden']).default('default'), select: z.literal('package_file').optional() })

function addressOf(call: PackageCall): GenericFile {
  const at = { name: inPath(call, 'package_name'), version: inPath(call, 'package_version'), file: inPath(call, 'file_name') }
  checkGeneric(at)
  return at
}

/** Publishes a file (PK-10). */
export async function publish(call: PackageCall) {
  const { ctx, who, request, reply } = call
  const subject = await packageProject(ctx, who, inPath(call, 'id'), 'create_package')
  const at = addressOf(call)
  const query = Query.safeParse({ ...(request.query as object) })
  if (!query.success) throw invalidInput(`${query.error.issues[0]?.path.join('.') || 'a parameter'} does not have a valid value`)
  const { status, select } = query.data
  const received = await withBody(call, (body) => receiveFile(ctx, 'generic', body))
  try {
    const file = await publishGeneric(ctx, subject, who, at, { received, status })
    const download = `${ctx.links.project(fullPathOf(subject.project))}/-/package_files/${file.id}/download`
    return reply.code(201).send(select ? { ...presentPackageFile(file), file: { url: download } } : { message: '201 Created' })
  } finally {
    await received.discard()
  }
}

/** Sends a file, or a part of it (PK-10). */
export async function download(call: PackageCall) {
  const subject = await packageProject(call.ctx, call.who, inPath(call, 'id'), 'read_package')
  return sendFile(call, await genericFile(call.ctx, subject, addressOf(call)))
}
