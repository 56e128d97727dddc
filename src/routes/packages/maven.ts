import { notFound } from '../../failures.js'
import { withBody } from '../../http/body/paced.js'
import { packageGroup, packageProject } from '../../services/packages/caller.js'
import { receiveFile } from '../../services/packages/files.js'
import { checkMaven, type MavenFile, mavenContent, mavenFile, publishMaven } from '../../services/packages/maven.js'
import type { PackagePlace } from '../../services/packages/place.js'
import { inPath, type PackageCall, sendFile, sendPieces, shortBody } from './call.js'

/** Publishes a file, or compares the checksum of one that came before (PK-40). */
export async function publish(call: PackageCall) {
  const { ctx, who, reply } = call
  const subject = await packageProject(ctx, who, inPath(call, 'id'), 'create_package')
  const at = mavenFile(inPath(call, '*'))
  if (at.digest !== null) {
    await checkMaven(ctx, subject, at, await shortBody(call, 1_024))
    return reply.code(200).send()
  }
  const received = await withBody(call, (body) => receiveFile(ctx, 'maven', body, ['md5', 'sha1', 'sha512']))
  try {
    await publishMaven(ctx, subject, who, at, received)
  } finally {
    await received.discard()
  }
  return reply.code(200).send()
}

/** The project or group of the address, or the project whose path the package is named after (PK-42). */
async function placeOf(call: PackageCall, at: MavenFile): Promise<PackagePlace> {
  const { ctx, who, request } = call
  const id = inPath(call, 'id')
  if (id && request.routeOptions.url?.includes('/groups/')) return { group: await packageGroup(ctx, who, id), who }
  return { project: (await packageProject(ctx, who, id || at.name, 'read_package')).project.id }
}

export async function download(call: PackageCall) {
  const path = inPath(call, '*')
  if (path === '') throw notFound('Package')
  const at = mavenFile(path)
  const found = await mavenContent(call.ctx, await placeOf(call, at), at)
  if ('text' in found) return sendPieces(call, found.type, [found.text])
  const { md5, sha1 } = found.stored
  return sendFile(call, found.stored, { ...(sha1 && { 'x-checksum-sha1': sha1 }), ...(md5 && { 'x-checksum-md5': md5 }) })
}
