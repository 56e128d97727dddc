import { createHash } from 'node:crypto'
import { and, asc, eq, gt, inArray, lt, ne, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { containerBlobs, containerManifests, containerReferences, containerTags } from '../../db/schema/index.js'
import { defineJob } from '../../jobs/kinds.js'
import { digestOf, isTagName, oidOf } from '../../rules/registry/names.js'
import { lockName } from '../core/lock-name.js'
import { digestInvalid, manifestUnknown, RegistryFailure } from './failures.js'
import { ensureRepository, findRepository, type Repository } from './repositories.js'

export type Manifest = typeof containerManifests.$inferSelect

/** The most bytes of a manifest, as other registries have it. */
export const MAX_MANIFEST_BYTES = 4 * 1_048_576
/** The most layers of an image, and manifests and tags of a repository (OCI-8). */
const MAX_LAYERS = 1_000
const MAX_MANIFESTS = 100_000
const MAX_TAGS = 100_000
const MAX_REFERRERS = 1_000
/** The most bytes of manifests that one list of referrers is read from, but for a first one that has more. */
const MAX_REFERRING_BYTES = 4 * 1_048_576

/** A media type as rows have it. */
const MediaType = z
  .string()
  .max(255)
  .refine((text) => !text.includes('\0'))

const Descriptor = z.object({
  digest: z.string(),
  size: z.number().int().nonnegative(),
  mediaType: MediaType.optional(),
  urls: z.array(z.string()).optional(),
})

/** What is read of a manifest or index; the rest is kept as it is. */
const Content = z.object({
  schemaVersion: z.literal(2),
  mediaType: z.string().optional(),
  artifactType: MediaType.optional(),
  config: Descriptor.optional(),
  layers: z.array(Descriptor).max(MAX_LAYERS).optional(),
  manifests: z.array(Descriptor).max(MAX_LAYERS).optional(),
  subject: Descriptor.optional(),
  annotations: z.record(z.string(), z.string()).optional(),
})
type Content = z.infer<typeof Content>

const MEDIA_TYPES = new Set([
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
])

const invalid = (why: string) => new RegistryFailure(400, 'MANIFEST_INVALID', why)

function parse(bytes: Buffer): Content {
  try {
    return Content.parse(JSON.parse(bytes.toString('utf8')))
  } catch {
    throw invalid('this is no manifest of an image or index')
  }
}

const isByDigest = (reference: string) => reference.includes(':')

/** The condition for a manifest by its tag or digest. */
function byReference(repository: number, reference: string) {
  const of = eq(containerManifests.repository_id, repository)
  if (isByDigest(reference)) return and(of, eq(containerManifests.oid, oidOf(reference) ?? ''))
  return and(
    of,
    sql`${containerManifests.id} = (select t.manifest_id from ${containerTags} t where t.repository_id = ${repository} and t.name = ${reference})`,
  )
}

/** A manifest by its tag or digest; throws MANIFEST_UNKNOWN. */
export async function getManifest(ctx: Context, { id }: Repository, reference: string): Promise<Manifest> {
  const [found] = await ctx.db.write.select().from(containerManifests).where(byReference(id, reference))
  if (!found) throw manifestUnknown()
  return found
}

/**
 * Stores a manifest, all of whose blobs are there, under its digest and the tag that is given. A repository is made for one
 * that needs no blobs (OCI-6).
 */
export async function putManifest(
  ctx: Context,
  { subject: of, name }: { subject: ProjectSubject; name: string },
  reference: string,
  { bytes, media_type }: { bytes: Buffer; media_type: string },
): Promise<{ oid: string; subject: string | null }> {
  if (!isByDigest(reference) && !isTagName(reference)) throw invalid('the tag is invalid')
  const oid = createHash('sha256').update(bytes).digest('hex')
  if (isByDigest(reference) && oidOf(reference) !== oid) throw digestInvalid()
  const content = parse(bytes)
  if (!MEDIA_TYPES.has(media_type) || (content.mediaType !== undefined && content.mediaType !== media_type))
    throw invalid('the media type is not taken')
  const isIndex = content.manifests !== undefined
  if (!isIndex && (!content.config || !content.layers)) throw invalid('a manifest has a configuration and layers')
  const needed = [...(content.config ? [content.config] : []), ...(content.layers ?? [])].filter(({ urls }) => !urls?.length)
  const oids = [...new Set(needed.map(({ digest }) => oidOf(digest) ?? invalidDigest(digest)))]
  const subject = content.subject ? (oidOf(content.subject.digest) ?? invalidDigest(content.subject.digest)) : null
  const values = {
    media_type,
    content: bytes,
    config: content.config ? oidOf(content.config.digest) : null,
    subject,
    artifact_type: content.artifactType ?? (content.config?.mediaType || null),
  }
  const found = await findRepository(ctx, of, name)
  if (!found && oids[0] !== undefined) throw noBlob(oids[0])
  const repository = found ?? (await ensureRepository(ctx, of, name))
  await ctx.db.transaction(async (tx) => {
    await lockRepository(tx, repository)
    const total_size = oids.length > 0 ? await sizeOf(tx, repository, oids) : 0
    const others = and(eq(containerManifests.repository_id, repository.id), ne(containerManifests.oid, oid))
    if ((await tx.$count(containerManifests, others)) >= MAX_MANIFESTS) throw invalid(`a repository may have ${MAX_MANIFESTS} manifests`)
    const made = await tx
      .insert(containerManifests)
      .values({ repository_id: repository.id, oid, created_at: ctx.now(), total_size, ...values })
      .onConflictDoUpdate({ target: [containerManifests.repository_id, containerManifests.oid], set: { media_type } })
      .returning({ id: containerManifests.id })
    const { id: manifest_id } = onlyRow(made)
    if (oids.length > 0)
      await tx
        .insert(containerReferences)
        .values(oids.map((each) => ({ manifest_id, oid: each })))
        .onConflictDoNothing()
    if (!isByDigest(reference)) await putTag(ctx, tx, repository, { name: reference, manifest_id })
  })
  return { oid, subject }
}

async function putTag(
  ctx: Context,
  tx: Transaction,
  { id }: Repository,
  { name, manifest_id }: { name: string; manifest_id: number },
): Promise<void> {
  const others = and(eq(containerTags.repository_id, id), ne(containerTags.name, name))
  if ((await tx.$count(containerTags, others)) >= MAX_TAGS) throw invalid(`a repository may have ${MAX_TAGS} tags`)
  await tx
    .insert(containerTags)
    .values({ repository_id: id, name, manifest_id, created_at: ctx.now(), updated_at: ctx.now() })
    .onConflictDoUpdate({ target: [containerTags.repository_id, containerTags.name], set: { manifest_id, updated_at: ctx.now() } })
}

function invalidDigest(digest: string): never {
  throw digestInvalid(`${digest.slice(0, 100)} is no SHA-256 digest`)
}

/** The bytes of blobs together, whatever a manifest says; throws MANIFEST_BLOB_UNKNOWN if one is not there. */
async function sizeOf(tx: Transaction, repository: Repository, oids: string[]): Promise<number> {
  const found = await tx
    .select({ oid: containerBlobs.oid, size: containerBlobs.size })
    .from(containerBlobs)
    .where(and(eq(containerBlobs.repository_id, repository.id), inArray(containerBlobs.oid, oids)))
  const there = new Set(found.map(({ oid }) => oid))
  const missing = oids.find((oid) => !there.has(oid))
  if (missing) throw noBlob(missing)
  return found.reduce((sum, { size }) => sum + size, 0)
}

const noBlob = (oid: string) => new RegistryFailure(404, 'MANIFEST_BLOB_UNKNOWN', `the repository has no blob ${digestOf(oid)}`)

/** Removes a tag, or by its digest a manifest with its tags; throws MANIFEST_UNKNOWN. */
export async function deleteManifest(ctx: Context, { id }: Repository, reference: string): Promise<void> {
  const deleted = isByDigest(reference)
    ? await ctx.db.write.delete(containerManifests).where(byReference(id, reference)).returning({ id: containerManifests.id })
    : await ctx.db.write
        .delete(containerTags)
        .where(and(eq(containerTags.repository_id, id), eq(containerTags.name, reference)))
        .returning({ id: containerTags.manifest_id })
  if (deleted.length === 0) throw manifestUnknown()
}

/** Media types of what lists images. */
const INDEXES = ['application/vnd.docker.distribution.manifest.list.v2+json', 'application/vnd.oci.image.index.v1+json']
/** Indexes that are read in one step. */
const INDEX_BATCH = 50

/** The digests that a manifest lists, in hex. */
const listedBy = (content: Buffer): string[] => (parse(content).manifests ?? []).flatMap(({ digest }) => oidOf(digest) ?? [])

/** Those of some digests that the indexes of a repository list. */
async function listedIn(tx: Transaction, { id }: Repository, oids: Set<string>): Promise<Set<string>> {
  const listed = new Set<string>()
  for (let last = 0; ; ) {
    const indexes = await tx
      .select({ id: containerManifests.id, content: containerManifests.content })
      .from(containerManifests)
      .where(and(eq(containerManifests.repository_id, id), inArray(containerManifests.media_type, INDEXES), gt(containerManifests.id, last)))
      .orderBy(asc(containerManifests.id))
      .limit(INDEX_BATCH)
    for (const { content } of indexes) for (const oid of listedBy(content)) if (oids.has(oid)) listed.add(oid)
    if (indexes.length < INDEX_BATCH) return listed
    last = indexes.at(-1)?.id ?? 0
  }
}

/**
 * Removes those of some manifests that have no tag and are in no index, then in the same way what only they listed, and what
 * is about them, such as signatures (OCI-81).
 */
export async function removeLoose(ctx: Context, repository: Repository, ids: number[]): Promise<void> {
  const untagged = sql`not exists (select from ${containerTags} t where t.manifest_id = ${containerManifests.id})`
  let next = inArray(containerManifests.id, ids)
  for (let found = ids.length; found > 0; )
    await ctx.db.transaction(async (tx) => {
      await lockRepository(tx, repository)
      const candidates = await tx
        .select({ id: containerManifests.id, oid: containerManifests.oid, media_type: containerManifests.media_type })
        .from(containerManifests)
        .where(and(eq(containerManifests.repository_id, repository.id), untagged, next))
        .limit(MAX_LAYERS)
      const listed = candidates.length > 0 ? await listedIn(tx, repository, new Set(candidates.map(({ oid }) => oid))) : new Set()
      const gone = candidates.filter(({ oid }) => !listed.has(oid))
      const children = new Set<string>()
      for (const { id, media_type } of gone) {
        const where = eq(containerManifests.id, id)
        const [deleted] = INDEXES.includes(media_type)
          ? await tx.delete(containerManifests).where(where).returning({ content: containerManifests.content })
          : await tx.delete(containerManifests).where(where).returning({ id: containerManifests.id })
        if (deleted && 'content' in deleted) for (const oid of listedBy(deleted.content)) children.add(oid)
      }
      const oids = gone.map(({ oid }) => oid)
      next = sql`(${inArray(containerManifests.oid, [...children])} or ${inArray(containerManifests.subject, oids)})`
      found = gone.length
    })
}

/** Removes a blob that no manifest needs; false if there is none. */
export async function deleteBlob(ctx: Context, repository: Repository, oid: string): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    await lockRepository(tx, repository)
    const where = and(eq(containerBlobs.repository_id, repository.id), eq(containerBlobs.oid, oid))
    if ((await tx.$count(containerBlobs, and(where, isNeeded))) > 0) throw new RegistryFailure(405, 'UNSUPPORTED', 'a manifest needs this blob')
    return (await tx.delete(containerBlobs).where(where).returning({ oid: containerBlobs.oid })).length > 0
  })
}

/**
 * The manifests that are about one, as an index lists them, the oldest first: those after the manifest `after`, as far as
 * a few MiB of them go. `next` is the last of them if there are more (OCI-7).
 */
export async function referrersOf(
  ctx: Context,
  { id }: Repository,
  oid: string,
  { artifactType, after }: { artifactType: string | undefined; after: number },
): Promise<{ manifests: object[]; next: number | null }> {
  const sizes = await ctx.db.write
    .select({ id: containerManifests.id, size: decoded(sql`octet_length(${containerManifests.content})`, Number) })
    .from(containerManifests)
    .where(
      and(
        eq(containerManifests.repository_id, id),
        eq(containerManifests.subject, oid),
        gt(containerManifests.id, after),
        artifactType === undefined ? undefined : eq(containerManifests.artifact_type, artifactType),
      ),
    )
    .orderBy(asc(containerManifests.id))
    .limit(MAX_REFERRERS + 1)
  let bytes = 0
  const fitting = sizes.slice(0, MAX_REFERRERS).filter(({ size }, at) => {
    bytes += size
    return at === 0 || bytes <= MAX_REFERRING_BYTES
  })
  const ids = fitting.map(({ id: each }) => each)
  const found = await ctx.db.write.select().from(containerManifests).where(inArray(containerManifests.id, ids)).orderBy(asc(containerManifests.id))
  const manifests = found.map(({ media_type, oid: own, content, artifact_type }) => {
    const { annotations } = parse(content)
    return {
      mediaType: media_type,
      digest: digestOf(own),
      size: content.length,
      ...(artifact_type && { artifactType: artifact_type }),
      ...(annotations && { annotations }),
    }
  })
  return { manifests, next: fitting.length < sizes.length ? (ids.at(-1) ?? null) : null }
}

const lockRepository = (tx: Transaction, { id }: Pick<Repository, 'id'>) => lockName(tx, `container repository ${id}`)

/** Whether a manifest of its repository needs a row of `container_blobs`. */
const isNeeded = sql`exists (select from ${containerReferences} r join ${containerManifests} m on m.id = r.manifest_id
  where r.oid = ${containerBlobs.oid} and m.repository_id = ${containerBlobs.repository_id})`

/** Milliseconds after which a blob is removed that no manifest needs: a push sends it before its manifest. */
const UNUSED_MS = 86_400_000

/** Every hour: blobs that no manifest needs leave their repositories; the job of packages removes their bytes (OCI-9). */
export const removeUnusedBlobs = defineJob({
  kind: 'remove unused layers',
  input: z.object({}),
  priority: 'low',
  slots: 'upkeep',
  every: 3_600_000,
  async run(ctx: Context) {
    const unused = and(lt(containerBlobs.created_at, new Date(ctx.now().getTime() - UNUSED_MS)), sql`not ${isNeeded}`)
    const repositories = await ctx.db.write.selectDistinct({ id: containerBlobs.repository_id }).from(containerBlobs).where(unused).limit(1_000)
    for (const repository of repositories) {
      if (ctx.process.stopping.aborted) return
      await ctx.db.transaction(async (tx) => {
        await lockRepository(tx, repository)
        await tx.delete(containerBlobs).where(and(eq(containerBlobs.repository_id, repository.id), unused))
      })
    }
  },
})
