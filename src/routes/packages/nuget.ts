import { Readable } from 'node:stream'
import type { MultipartFile } from '@fastify/multipart'
import { z } from 'zod'
import { invalidInput } from '../../failures.js'
import { withBody } from '../../http/body/paced.js'
import { refusingMalformed } from '../../http/uploads.js'
import type { ReceivedObject } from '../../lib/files/object-store.js'
import { packageGroup, packageProject } from '../../services/packages/caller.js'
import { receiveFile } from '../../services/packages/files.js'
import {
  type NugetRow,
  nugetFile,
  nugetFileName,
  nugetNumbers,
  nugetVersion,
  nugetVersions,
  publishNuget,
  searchNuget,
  unpublishNuget,
} from '../../services/packages/nuget.js'
import { type Nuspec, readNuspec } from '../../services/packages/nuspec.js'
import type { PackagePlace } from '../../services/packages/place.js'
import { inPath, type PackageCall, sendFile, sendPieces } from './call.js'

const JSON_TYPE = 'application/json'
const json = JSON.stringify

interface Place {
  place: PackagePlace
  /** The address of the feed. */
  base: string
}

const feedOf = ({ ctx }: PackageCall, project: number) => `${ctx.links.base}/api/v4/projects/${project}/packages/nuget`

/** The project or group of the address. */
async function placeOf(call: PackageCall): Promise<Place> {
  const { ctx, who, request } = call
  const id = inPath(call, 'id')
  if (request.routeOptions.url?.includes('/groups/')) {
    const group = await packageGroup(ctx, who, id)
    return { place: { group, who }, base: `${ctx.links.base}/api/v4/groups/${group}/-/packages/nuget` }
  }
  const project = (await packageProject(ctx, who, id, 'read_package')).project.id
  return { place: { project }, base: feedOf(call, project) }
}

const TYPES: Record<string, string[]> = {
  query: ['SearchQueryService', 'SearchQueryService/3.0.0-beta', 'SearchQueryService/3.0.0-rc'],
  metadata: ['RegistrationsBaseUrl', 'RegistrationsBaseUrl/3.0.0-beta', 'RegistrationsBaseUrl/3.0.0-rc'],
  download: ['PackageBaseAddress/3.0.0'],
  '': ['PackagePublish/2.0.0'],
}
/** What a group has no address for is fetched from its projects. */
const OF_GROUP = ['query', 'metadata']

/** Which services the feed has, and where (PK-82). */
export async function index(call: PackageCall) {
  const { place, base } = await placeOf(call)
  const names = 'group' in place ? OF_GROUP : Object.keys(TYPES)
  const resources = names.flatMap((name) => (TYPES[name] ?? []).map((type) => ({ '@id': name ? `${base}/${name}` : base, '@type': type })))
  return call.reply.send({ version: '3.0.0', resources })
}

/** Publishes a package, which says itself what it is (PK-83). */
export async function publish(call: PackageCall) {
  const { ctx, who, request, reply } = call
  const subject = await packageProject(ctx, who, inPath(call, 'id'), 'create_package')
  if (!request.isMultipart()) throw invalidInput('package is missing')
  let sent: { nuspec: Nuspec; received: ReceivedObject } | undefined
  try {
    await withBody(call, async () => {
      const limits = { parts: 2, files: 2, fileSize: Number.POSITIVE_INFINITY }
      const parts = request.parts({ isPartAFile: () => true, limits }) as AsyncIterable<MultipartFile>
      for await (const part of refusingMalformed(parts)) {
        if (sent || part.fieldname !== 'package') throw invalidInput('the body must have one part, package')
        const nuspecs: Nuspec[] = []
        const inspect = async (file: string) => {
          nuspecs.push(await readNuspec(file))
        }
        const received = await receiveFile(ctx, 'nuget', Readable.from(refusingMalformed(part.file)), ['md5', 'sha1', 'sha512'], inspect)
        sent = { received, nuspec: nuspecs[0] as Nuspec }
      }
    })
    if (!sent) throw invalidInput('package is missing')
    await publishNuget(ctx, subject, who, sent.nuspec, sent.received)
  } finally {
    await sent?.received.discard()
  }
  return reply.code(201).send({ message: '201 Created' })
}

/** Deletes a version, as `nuget delete` does (PK-83). */
export async function remove(call: PackageCall) {
  const subject = await packageProject(call.ctx, call.who, inPath(call, 'id'), 'destroy_package')
  await unpublishNuget(call.ctx, subject, inPath(call, 'package_name'), inPath(call, 'package_version'))
  return call.reply.code(204).send()
}

/** A version as clients read it, in pieces: what is stored of its description is JSON already. */
function describe(call: PackageCall, base: string, { project, name, version, entry, created_at }: NugetRow): string {
  const self = `${base}/metadata/${name.toLowerCase()}/${version.toLowerCase()}`
  const content = `${feedOf(call, project)}/download/${name.toLowerCase()}/${version.toLowerCase()}/${nugetFileName(name, version)}`
  const own = { '@id': self, id: name, version, packageContent: content, published: created_at, listed: true }
  const rest = entry === '{}' ? '}' : `,${entry.slice(1)}`
  return `{"@id":${json(self)},"@type":"Package","packageContent":${json(content)},"catalogEntry":${json(own).slice(0, -1)}${rest}}`
}

/** All versions of a package with what each depends on (PK-82). */
export async function metadata(call: PackageCall) {
  const { place, base } = await placeOf(call)
  const name = inPath(call, 'package_name')
  const versions = await nugetVersions(call.ctx, place, name)
  const self = `${base}/metadata/${encodeURIComponent(name.toLowerCase())}/index`
  const page = { '@id': self, lower: versions[0]?.version, upper: versions.at(-1)?.version, count: versions.length }
  const head = `{"@id":${json(self)},"count":1,"items":[${json(page).slice(0, -1)},"items":[`
  return sendPieces(call, JSON_TYPE, [head, ...versions.map((row, at) => `${at > 0 ? ',' : ''}${describe(call, base, row)}`), ']}]}'])
}

/** One version of a package (PK-82). */
export async function version(call: PackageCall) {
  const { place, base } = await placeOf(call)
  const asked = inPath(call, 'package_version').replace(/\.json$/, '')
  return sendPieces(call, JSON_TYPE, [describe(call, base, await nugetVersion(call.ctx, place, inPath(call, 'package_name'), asked))])
}

/** The numbers of the versions of a package. */
export async function numbers(call: PackageCall) {
  const subject = await packageProject(call.ctx, call.who, inPath(call, 'id'), 'read_package')
  return call.reply.send({ versions: (await nugetNumbers(call.ctx, subject, inPath(call, 'package_name'))).map((each) => each.toLowerCase()) })
}

export async function download(call: PackageCall) {
  const subject = await packageProject(call.ctx, call.who, inPath(call, 'id'), 'read_package')
  const at = { name: inPath(call, 'package_name'), version: inPath(call, 'package_version'), file: inPath(call, 'file_name') }
  return sendFile(call, await nugetFile(call.ctx, subject, at))
}

/** The most packages that one response of a search has. */
const MAX_TAKE = 100
const number = (byDefault: number) => z.coerce.number().int().min(0).max(1_000_000_000).default(byDefault)
const Query = z.object({
  q: z.string().max(255).default(''),
  skip: number(0),
  take: number(20),
  prerelease: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['true', 'false']))
    .default('false'),
})

/** Packages by a part of their names (PK-84). */
export async function search(call: PackageCall) {
  const { place, base } = await placeOf(call)
  const query = Query.safeParse({ ...(call.request.query as object) })
  if (!query.success) throw invalidInput(`${query.error.issues[0]?.path.join('.')} does not have a valid value`)
  const { q, skip, take, prerelease } = query.data
  const { total, found } = await searchNuget(call.ctx, place, {
    ...{ q: q.replaceAll('\0', ''), skip },
    ...{ prerelease: prerelease === 'true', take: Math.min(take, MAX_TAKE) },
  })
  const shown = found.map(({ name, entry, versions }) => {
    const at = `${base}/metadata/${name.toLowerCase()}`
    const each = versions.map((version) => ({ '@id': `${at}/${version.toLowerCase()}`, version, downloads: 0 }))
    const own = { '@type': 'Package', id: name, version: versions[0], registration: `${at}/index`, totalDownloads: 0, verified: true, versions: each }
    return `${json(own).slice(0, -1)}${entry === '{}' ? '}' : `,${entry.slice(1)}`}`
  })
  return sendPieces(call, JSON_TYPE, [`{"totalHits":${total},"data":[`, shown.join(','), ']}'])
}
