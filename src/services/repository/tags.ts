import { and, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { completeTexts, LONG_TEXTS, prefixOf } from '../../db/long-text.js'
import { releases } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { conflict, notFound, refused } from '../../failures.js'
import { RefChanged } from '../../git/errors.js'
import { type Commit, type Ref, type Tag, ZERO } from '../../git/types.js'
import { checkRefName } from '../../lib/ref-name.js'
import { type Page, type Paging, slice } from '../core/page.js'
import { searchNames } from './branches.js'
import { protectionsOf } from './protection.js'
import { moveRefs } from './push/door.js'
import { orderByCommit } from './ref-order.js'
import { repositoryOf, signatureOf } from './repositories.js'
import { resolveRevision } from './revisions.js'

const TAGS = 'refs/tags/'

/** A tag with its commit (null for a tag of a tree or blob) and release. `tag` is null for a lightweight tag. */
export interface TagRecord {
  name: string
  target: string
  tag: Tag | null
  commit: Commit | null
  protected: boolean
  release: { tag_name: string; description: string } | null
}

/** The tags of a project, ordered by name or by date of their commits (TG-1). */
export async function listTags(
  ctx: Context,
  subject: ProjectSubject,
  { search, order_by, sort, ...paging }: { search?: string | undefined; order_by: 'name' | 'updated'; sort: 'asc' | 'desc' } & Paging,
): Promise<Page<TagRecord>> {
  const repository = repositoryOf(ctx, subject.project)
  const refs = await repository.refs(TAGS)
  let sorted = order_by === 'name' ? refs : await orderByCommit(ctx, repository, refs, { commitOf: ({ peeled }) => peeled, order: 'asc' })
  if (sort === 'desc') sorted = sorted.toReversed()
  const found = await ctx.cpu.slices.run(() => searchNames(sorted, search, ({ name }) => name.slice(TAGS.length)))
  const { items, total } = slice(found, paging)
  return { items: await records(ctx, subject, items, 'page'), total }
}

const selectReleases = statement('releases of tags', (db) =>
  db
    .select({ id: releases.id, tag_name: releases.tag, description: prefixOf(releases.description) })
    .from(releases)
    .where(and(eq(releases.project_id, sql.placeholder('project')), sql`${releases.tag} = any(${sql.placeholder('tags')}::text[])`)),
)

async function records(ctx: Context, { project }: ProjectSubject, refs: Ref[], size: 'whole' | 'page'): Promise<TagRecord[]> {
  const repository = repositoryOf(ctx, project)
  const names = refs.map(({ name }) => name.slice(TAGS.length))
  const commits = repository.commits(refs.map(({ peeled }) => peeled))
  const [protections, known, tags, releaseRows] = await Promise.all([
    protectionsOf(ctx, project.id),
    commits,
    commits.then((known) => Promise.all(refs.map(({ oid }, i) => (known[i]?.oid === oid ? null : repository.tag(oid))))),
    names.length > 0 ? selectReleases(ctx.db, null).execute({ project: project.id, tags: names }) : [],
  ])
  await completeTexts(ctx, LONG_TEXTS.releases, releaseRows, size)
  const byTag = new Map(releaseRows.map(({ tag_name, description }) => [tag_name, { tag_name, description }]))
  return refs.map((ref, i) => {
    const name = names[i] as string
    return {
      name,
      target: ref.oid,
      tag: tags[i] ?? null,
      commit: known[i] ?? null,
      protected: protections.isTagProtected(name),
      release: byTag.get(name) ?? null,
    }
  })
}

async function findRef(ctx: Context, { project }: ProjectSubject, name: string): Promise<Ref | null> {
  if (!checkRefName(TAGS + name)) return null
  const repository = repositoryOf(ctx, project)
  const oid = await repository.ref(TAGS + name)
  if (!oid) return null
  const peeled = (await repository.resolve(oid))?.commit ?? oid
  return { name: TAGS + name, oid, peeled }
}

/** One tag; 404 when there is none (TG-2). */
export async function getTag(ctx: Context, subject: ProjectSubject, name: string): Promise<TagRecord> {
  const ref = await findRef(ctx, subject, name)
  const [tag] = ref ? await records(ctx, subject, [ref], 'whole') : []
  if (!tag) throw notFound('Tag')
  return tag
}

/** Creates a tag; with a message an annotated one, with the caller as tagger (TG-3). */
export async function createTag(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { tag_name, ref, message }: { tag_name: string; ref: string; message?: string | undefined },
): Promise<TagRecord> {
  const repository = repositoryOf(ctx, subject.project)
  if (tag_name.startsWith('-') || tag_name.startsWith('refs/') || Buffer.byteLength(tag_name) > 244 || !checkRefName(TAGS + tag_name))
    throw refused('Tag name invalid')
  const exists = () => refused(`Tag ${tag_name} already exists`)
  if (await repository.ref(TAGS + tag_name)) throw exists()
  const target = await resolveRevision(ctx, subject, ref)
  if (!target) throw refused(`Target ${ref} is invalid`)
  let oid = target.commit
  if (message) {
    if (message.includes('\0')) throw refused('The tag message is invalid')
    const text = message.endsWith('\n') ? message : `${message}\n`
    oid = await repository.writeTag({ name: tag_name, target: target.commit, targetType: 'commit', tagger: signatureOf(ctx, caller), message: text })
  }
  try {
    await moveRefs(ctx, subject, caller.user.id, [{ ref: TAGS + tag_name, old: ZERO, new: oid }])
  } catch (error) {
    if (error instanceof RefChanged) throw exists()
    throw error
  }
  return getTag(ctx, subject, tag_name)
}

/** Deletes a tag and its release (TG-4). */
export async function deleteTag(ctx: Context, subject: ProjectSubject, caller: SignedIn, name: string): Promise<void> {
  const ref = await findRef(ctx, subject, name)
  if (!ref) throw notFound('Tag')
  try {
    await moveRefs(ctx, subject, caller.user.id, [{ ref: ref.name, old: ref.oid, new: ZERO }])
  } catch (error) {
    if (error instanceof RefChanged) throw conflict('The tag was changed by somebody else')
    throw error
  }
}
