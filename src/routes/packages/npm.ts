import { Readable } from 'node:stream'
import type { ProjectSubject } from '../../access/rules.js'
import { invalidInput, noSuchRoute } from '../../failures.js'
import { withBody } from '../../http/body/paced.js'
import { missingPackage, type PackageAbility, packageProject } from '../../services/packages/caller.js'
import { receiveFile } from '../../services/packages/files.js'
import {
  deprecateNpm,
  isNpmName,
  npmFile,
  npmPackument,
  npmTags,
  projectOfNpm,
  publishNpm,
  readNpmDocument,
  tagNpm,
  untagNpm,
} from '../../services/packages/npm.js'
import { NpmBody } from '../../services/packages/npm-body.js'
import { unpublishAll, unpublishFile, unpublishMissing } from '../../services/packages/npm-unpublish.js'
import { inPath, type PackageCall, sendFile, sendPieces, shortBody } from './call.js'

/** What an address below `…/packages/npm/` is about. */
type Address = { name: string; revision?: string } & (
  | { kind: 'package' }
  | { kind: 'tags' }
  | { kind: 'tag'; tag: string }
  | { kind: 'file'; file: string }
)

function addressOf(call: PackageCall): Address {
  const [, before, revision] = /^(.+)\/-rev\/([^/]{1,100})$/.exec(inPath(call, '*')) ?? []
  const at = before === undefined || revision === undefined ? placeOf(inPath(call, '*')) : { ...placeOf(before), revision }
  if (!isNpmName(at.name)) throw call.request.method === 'PUT' ? invalidInput('name is invalid') : missingPackage()
  return at
}

function placeOf(path: string): Address {
  const [, tagged, tag] = /^-\/package\/(.+)\/dist-tags(?:\/([^/]+))?$/.exec(path) ?? []
  const at = path.indexOf('/-/', 1)
  const [packed, file] = at < 0 || at + 3 === path.length ? [] : [path.slice(0, at), path.slice(at + 3)]
  const name = tagged ?? (path.startsWith('-/') ? undefined : (packed ?? path))
  if (name === undefined) throw noSuchRoute()
  if (tagged !== undefined) return tag === undefined ? { name, kind: 'tags' } : { name, kind: 'tag', tag }
  return packed !== undefined && file !== undefined ? { name, kind: 'file', file } : { name, kind: 'package' }
}

/** The project of the address, or the one that has the package (PK-21). */
const projectOf = (call: PackageCall, name: string, ability: PackageAbility): Promise<ProjectSubject> => {
  const id = inPath(call, 'id')
  return id ? packageProject(call.ctx, call.who, id, ability) : projectOfNpm(call.ctx, call.who, name, ability)
}

export async function read(call: PackageCall) {
  const at = addressOf(call)
  if (at.revision !== undefined) throw noSuchRoute()
  const subject = await projectOf(call, at.name, 'read_package')
  if (at.kind === 'file') return sendFile(call, await npmFile(call.ctx, subject, at.name, at.file))
  if (at.kind === 'tags') return call.reply.send(await npmTags(call.ctx, subject, at.name))
  if (at.kind === 'tag') throw noSuchRoute()
  const { write } = call.request.query as { write?: unknown }
  return sendPieces(call, 'application/json', await npmPackument(call.ctx, subject, at.name, write === 'true'))
}

export async function write(call: PackageCall) {
  const { ctx, who, reply } = call
  const at = addressOf(call)
  if (at.revision !== undefined) return unpublishOne(call, at.name, at.revision, at.kind)
  const subject = await projectOf(call, at.name, 'create_package')
  if (at.kind === 'tag') {
    await tagNpm(ctx, subject, { name: at.name, tag: at.tag, version: versionIn(await shortBody(call, 1_024)) })
    return reply.code(204).send()
  }
  if (at.kind !== 'package') throw noSuchRoute()
  await withBody(call, async (raw) => {
    const body = new NpmBody(raw)
    const received = await receiveFile(ctx, 'npm', Readable.from(body.attachment()), ['sha1', 'sha512'])
    try {
      const document = readNpmDocument(body.document(), at.name)
      if (body.attachments > 0) await publishNpm(ctx, subject, who, at.name, { document, received })
      else await deprecateNpm(ctx, subject, at.name, document)
    } finally {
      await received.discard()
    }
  })
  return reply.code(201).send({ ok: true })
}

/** Removes the version that the description in the body is without (PK-23). */
async function unpublishOne(call: PackageCall, name: string, revision: string, kind: Address['kind']) {
  if (kind !== 'package') throw noSuchRoute()
  const subject = await projectOf(call, name, 'destroy_package')
  await withBody(call, async (raw) => {
    const body = new NpmBody(raw)
    for await (const _ of body.attachment()) throw invalidInput('a package is not published here')
    await unpublishMissing(call.ctx, subject, { name, revision }, readNpmDocument(body.document(), name))
  })
  return call.reply.code(201).send({ ok: true })
}

export async function remove(call: PackageCall) {
  const at = addressOf(call)
  const { name, revision } = at
  if (revision !== undefined) {
    if (at.kind !== 'package' && at.kind !== 'file') throw noSuchRoute()
    const subject = await projectOf(call, name, 'destroy_package')
    if (at.kind === 'package') await unpublishAll(call.ctx, subject, { name, revision })
    else await unpublishFile(call.ctx, subject, { name, revision }, at.file)
    return call.reply.send({ ok: true })
  }
  if (at.kind !== 'tag') throw noSuchRoute()
  const subject = await projectOf(call, at.name, 'create_package')
  await untagNpm(call.ctx, subject, at)
  return call.reply.code(204).send()
}

/** The version in the body of a tag: a JSON text. */
function versionIn(text: string): string {
  try {
    const version: unknown = JSON.parse(text)
    if (typeof version === 'string') return version
  } catch {
    // refused below
  }
  throw invalidInput('the body is no version')
}
