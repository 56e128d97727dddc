import { and, asc, desc, eq, getTableColumns, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count, totalCount } from '../../db/decoded.js'
import { completeTexts, LONG_TEXTS, prefixOf } from '../../db/long-text.js'
import { onlyRow } from '../../db/only-row.js'
import { releaseLinks, releases, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { conflict, Failure, invalidRecord, notFound, refused } from '../../failures.js'
import type { Commit } from '../../git/types.js'
import { checkRefName } from '../../lib/ref-name.js'
import { parseUrl } from '../../lib/url.js'
import { MAX_DESCRIPTION } from '../../rules/descriptions.js'
import { isFilepath, lengthOf, tooLong } from '../../rules/path.js'
import { descriptionHtml } from '../core/description-html.js'
import { type Page, type Paging, pageFrom, slice } from '../core/page.js'
import { userRefColumns } from '../identity/user-ref.js'
import type { MilestoneRecord } from '../issuables/milestones.js'
import { repositoryOf } from '../repository/repositories.js'
import { createTag, type TagRecord } from '../repository/tags.js'
import { milestonesOfReleases, milestonesOfTitles, setReleaseMilestones } from './release-milestones.js'

export const LINK_TYPES = ['other', 'runbook', 'image', 'package'] as const

export interface ReleaseLinkRecord {
  id: number
  name: string
  url: string
  filepath: string | null
  link_type: (typeof LINK_TYPES)[number]
}

const links = sql<ReleaseLinkRecord[]>`(select coalesce(json_agg(json_build_object('id', l.id, 'name', l.name, 'url', l.url,
  'filepath', l.filepath, 'link_type', l.link_type) order by l.id), '[]') from ${releaseLinks} l where l.release_id = ${releases.id})`

interface Shape {
  one: boolean
  order: 'released_at' | 'created_at'
  descending: boolean
}

const selectReleases = statement('releases', (db, { one, order, descending }: Shape) => {
  const direction = descending ? desc : asc
  return db
    .select({
      release: { ...getTableColumns(releases), description: prefixOf(releases.description), description_html: prefixOf(releases.description_html) },
      author: userRefColumns(users),
      links,
      total: totalCount(),
    })
    .from(releases)
    .innerJoin(users, eq(users.id, releases.author_id))
    .where(and(eq(releases.project_id, sql.placeholder('project')), one ? eq(releases.tag, sql.placeholder('tag')) : undefined))
    .orderBy(direction(releases[order]), direction(releases.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

type Selected = Awaited<ReturnType<ReturnType<typeof selectReleases>['execute']>>[number]

/** A release with everything that its entity shows. */
export interface ReleaseRecord extends Omit<Selected, 'total'> {
  /** Null if the tag does not point to a commit. */
  commit: Commit | null
  milestones: MilestoneRecord[]
}

const refOf = (tag: string) => `refs/tags/${tag}`

async function completeReleases(ctx: Context, { project, can }: ProjectSubject, rows: Selected[], size: 'whole' | 'page'): Promise<ReleaseRecord[]> {
  const repository = repositoryOf(ctx, project)
  const texts = rows.map(({ release }) => release)
  await Promise.all([completeTexts(ctx, LONG_TEXTS.releases, texts, size), completeTexts(ctx, LONG_TEXTS.releasePages, texts, size)])
  const milestones = await milestonesOfReleases(ctx, can('read_milestone') ? rows.map(({ release }) => release.id) : [])
  return Promise.all(
    rows.map(async ({ release, author, links }) => {
      const oid = await repository.ref(refOf(release.tag))
      const found = oid && (await repository.resolve(oid))
      return {
        release,
        author,
        links,
        commit: found ? await repository.commit(found.commit) : null,
        milestones: milestones.get(release.id) ?? [],
      }
    }),
  )
}

/** The releases of a project (RL-1). */
export async function listReleases(
  ctx: Context,
  subject: ProjectSubject,
  { order_by, sort, ...paging }: { order_by: Shape['order']; sort: 'asc' | 'desc' } & Paging,
): Promise<Page<ReleaseRecord>> {
  const query = selectReleases(ctx.db, { one: false, order: order_by, descending: sort === 'desc' })
  const { items, total } = await pageFrom(query, { project: subject.project.id }, paging)
  return { items: await completeReleases(ctx, subject, items, 'page'), total }
}

const noRelease = () => notFound('Release')

/** One release by its tag (RL-2). */
export async function getRelease(ctx: Context, subject: ProjectSubject, tag: string): Promise<ReleaseRecord> {
  const query = selectReleases(ctx.db, { one: true, order: 'released_at', descending: true })
  const [release] = await completeReleases(ctx, subject, await query.execute({ project: subject.project.id, tag, limit: 1, offset: 0 }), 'whole')
  if (!release) throw noRelease()
  return release
}

/** The attributes of a link; checked by `linkFaults`. */
export interface NewLink {
  name?: string | undefined
  url?: string | undefined
  filepath?: string | undefined
  link_type?: ReleaseLinkRecord['link_type'] | undefined
}

export interface ReleaseAttributes {
  name?: string | null | undefined
  description?: string | null | undefined
  /** Titles of milestones. */
  milestones?: string[] | undefined
  released_at?: Date | undefined
}

export interface NewRelease extends ReleaseAttributes {
  tag_name: string
  tag_message?: string | undefined
  ref?: string | undefined
  links?: NewLink[] | undefined
}

/**
 * Creates a release (RL-3). Everything is validated before a missing tag is created; then one transaction creates the
 * release and its links.
 */
export async function createRelease(ctx: Context, subject: ProjectSubject, caller: SignedIn, given: NewRelease): Promise<ReleaseRecord> {
  const { tag_name: tag, links = [] } = given
  checkAttributes(given)
  const milestones = await milestonesOfTitles(ctx.db.write, subject, given.milestones ?? [])
  checkLinks(links)
  if (await findRelease(ctx, subject, tag)) throw releaseExists()
  if (!(await tagExists(ctx, subject, tag))) {
    if (!given.ref) throw new Failure('unprocessable', { message: 'Ref is not specified' })
    await createTag(ctx, subject, caller, { tag_name: tag, ref: given.ref, message: given.tag_message })
  }
  await insertRelease(ctx, subject, caller, { ...given, tag, links, milestones })
  return getRelease(ctx, subject, tag)
}

/** Inserts a release with its original date; its tag must exist. */
export async function importRelease(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  given: NewRelease & { created_at: Date },
): Promise<void> {
  const { tag_name: tag, links = [] } = given
  checkAttributes(given)
  const milestones = await milestonesOfTitles(ctx.db.write, subject, given.milestones ?? [])
  checkLinks(links)
  if (!(await tagExists(ctx, subject, tag))) throw missing(NO_TAG)
  await insertRelease(ctx, subject, caller, { ...given, tag, links, milestones })
}

const releaseExists = () => conflict('Release already exists')
const missing = (message: string) => new Failure('not_found', { message })
const NO_TAG = 'Tag does not exist'

async function tagExists(ctx: Context, { project }: ProjectSubject, tag: string): Promise<boolean> {
  return checkRefName(refOf(tag)) && (await repositoryOf(ctx, project).ref(refOf(tag))) !== null
}

async function findRelease(ctx: Context, { project }: ProjectSubject, tag: string) {
  const [row] = await ctx.db.write.select({ id: releases.id }).from(releases).where(ofTag(project.id, tag))
  return row ?? null
}

const ofTag = (projectId: number, tag: string) => and(eq(releases.project_id, projectId), eq(releases.tag, tag))

async function insertRelease(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  {
    tag,
    links = [],
    milestones = [],
    ...given
  }: Omit<ReleaseAttributes, 'milestones'> & { tag: string; links?: NewLink[]; milestones?: number[]; created_at?: Date },
) {
  const now = given.created_at ?? ctx.now()
  const { project } = subject
  const description = given.description ?? ''
  const values = {
    project_id: project.id,
    tag,
    name: given.name || null,
    description,
    description_html: await descriptionHtml(ctx, description),
    author_id: caller.user.id,
    released_at: given.released_at ?? now,
    created_at: now,
    updated_at: now,
  }
  await unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const { id } = onlyRow(await tx.insert(releases).values(values).returning({ id: releases.id }))
        if (links.length > 0) await tx.insert(releaseLinks).values(links.map((link) => linkValues(id, link, now)))
        await setReleaseMilestones(tx, id, milestones)
      }),
    taken,
  )
  // a concurrent deletion of the tag removes only releases that exist at that time (PU-8)
  if (await tagExists(ctx, subject, tag)) return
  await ctx.db.write.delete(releases).where(ofTag(project.id, tag))
  throw missing(NO_TAG)
}

/** Creates a release that has only a description (TG-5). */
export async function createReleaseNote(ctx: Context, subject: ProjectSubject, caller: SignedIn, tag: string, description: string) {
  if (!(await tagExists(ctx, subject, tag))) throw missing(NO_TAG)
  checkNote(description)
  if (await findRelease(ctx, subject, tag)) throw releaseExists()
  await insertRelease(ctx, subject, caller, { tag, description })
  return { tag_name: tag, description }
}

/** Changes the description of a tag's release (TG-6). */
export async function updateReleaseNote(ctx: Context, subject: ProjectSubject, tag: string, description: string) {
  if (!(await tagExists(ctx, subject, tag))) throw missing(NO_TAG)
  checkNote(description)
  if (!(await update(ctx, subject, tag, { description }))) throw missing('Release does not exist')
  return { tag_name: tag, description }
}

/** Creates a tag together with its release description (TG-3). */
export async function createDescribedTag(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  given: { tag_name: string; ref: string; message?: string | undefined; release_description?: string | undefined },
): Promise<TagRecord> {
  const { release_description: description } = given
  if (!description) return createTag(ctx, subject, caller, given)
  checkNote(description)
  const tag = await createTag(ctx, subject, caller, given)
  await insertRelease(ctx, subject, caller, { tag: tag.name, description })
  return { ...tag, release: { tag_name: tag.name, description } }
}

/** Changes a release (RL-4). */
export async function updateRelease(ctx: Context, subject: ProjectSubject, tag: string, given: ReleaseAttributes): Promise<ReleaseRecord> {
  if (!(await findRelease(ctx, subject, tag))) throw noRelease()
  checkAttributes(given)
  // who does not see the milestones leaves them as they are
  const kept = given.milestones?.length === 0 && !subject.can('read_milestone')
  const milestones = kept ? undefined : given.milestones && (await milestonesOfTitles(ctx.db.write, subject, given.milestones))
  if (!(await update(ctx, subject, tag, given, milestones))) throw noRelease()
  return getRelease(ctx, subject, tag)
}

async function update(
  ctx: Context,
  { project }: ProjectSubject,
  tag: string,
  { name, description, released_at }: ReleaseAttributes,
  milestones?: number[],
): Promise<boolean> {
  const values = {
    ...(name !== undefined && { name: name || null }),
    ...(description !== undefined && { description: description ?? '', description_html: await descriptionHtml(ctx, description ?? '') }),
    ...(released_at !== undefined && { released_at }),
    updated_at: ctx.now(),
  }
  return ctx.db.transaction(async (tx) => {
    const [changed] = await tx.update(releases).set(values).where(ofTag(project.id, tag)).returning({ id: releases.id })
    if (changed && milestones) await setReleaseMilestones(tx, changed.id, milestones)
    return changed !== undefined
  })
}

/** Deletes a release and returns it; its tag stays (RL-5). */
export async function deleteRelease(ctx: Context, subject: ProjectSubject, tag: string): Promise<ReleaseRecord> {
  const release = await getRelease(ctx, subject, tag)
  const deleted = await ctx.db.write.delete(releases).where(eq(releases.id, release.release.id)).returning({ id: releases.id })
  if (deleted.length === 0) throw noRelease()
  return release
}

/** The links of a release, by id (RL-6). */
export async function listLinks(ctx: Context, subject: ProjectSubject, tag: string, paging: Paging): Promise<Page<ReleaseLinkRecord>> {
  return slice((await getRelease(ctx, subject, tag)).links, paging)
}

export async function getLink(ctx: Context, subject: ProjectSubject, tag: string, id: number): Promise<ReleaseLinkRecord> {
  const link = (await getRelease(ctx, subject, tag)).links.find((each) => each.id === id)
  if (!link) throw notFound()
  return link
}

const DOWNLOADS = '/downloads'

/**
 * The URL of the link at `<tag>/downloads<filepath>`, or null. Both tag and path may contain `/downloads/`, so all
 * splits are tried.
 */
export async function findLinkUrl(ctx: Context, { project }: ProjectSubject, named: string): Promise<string | null> {
  const splits = [...named.matchAll(/\/downloads(?=\/)/g)].map(({ index }) => [named.slice(0, index), named.slice(index + DOWNLOADS.length)])
  const [tags, paths] = [splits.map(([tag]) => tag), splits.map(([, path]) => path)]
  const isNamed = sql`(${releases.tag}, ${releaseLinks.filepath}) in (select * from unnest(${sql.param(tags)}::text[], ${sql.param(paths)}::text[]))`
  const [link] = await ctx.db.read
    .select({ url: releaseLinks.url })
    .from(releaseLinks)
    .innerJoin(releases, eq(releases.id, releaseLinks.release_id))
    .where(and(eq(releases.project_id, project.id), isNamed))
    .orderBy(asc(releases.id))
    .limit(1)
  return link?.url ?? null
}

const selectLatest = statement('latest release', (db) =>
  db
    .select({ tag: releases.tag, name: sql<string>`coalesce(${releases.name}, ${releases.tag})`, released_at: releases.released_at })
    .from(releases)
    .where(eq(releases.project_id, sql.placeholder('project')))
    .orderBy(desc(releases.released_at), desc(releases.id))
    .limit(1),
)

/** The latest release, which comes first in lists (RL-1); null without one. */
export async function findLatestRelease(ctx: Context, { project }: ProjectSubject) {
  const [latest] = await selectLatest(ctx.db, null).execute({ project: project.id })
  return latest ?? null
}

export async function createLink(ctx: Context, subject: ProjectSubject, tag: string, given: NewLink): Promise<ReleaseLinkRecord> {
  const { id } = await releaseFor(ctx, subject, tag)
  checkLinks([given])
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        await lockRelease(tx, id)
        const [{ held } = { held: 0 }] = await tx.select({ held: count() }).from(releaseLinks).where(eq(releaseLinks.release_id, id))
        if (held >= MAX_LINKS) throw refused(TOO_MANY_LINKS)
        return onlyRow(
          await tx
            .insert(releaseLinks)
            .values(linkValues(id, given, ctx.now()))
            .returning(),
        )
      }),
    taken,
  )
}

export async function updateLink(ctx: Context, subject: ProjectSubject, tag: string, id: number, given: NewLink): Promise<ReleaseLinkRecord> {
  const link = await getLink(ctx, subject, tag, id)
  const next = { ...link, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }
  checkLinks([{ ...next, filepath: next.filepath ?? undefined }])
  const { name, url, filepath, link_type } = next
  const [changed] = await unlessUniqueViolation(
    () =>
      ctx.db.write
        .update(releaseLinks)
        .set({ name, url, filepath: filepath || null, link_type })
        .where(eq(releaseLinks.id, id))
        .returning(),
    taken,
  )
  if (!changed) throw notFound()
  return changed
}

export async function deleteLink(ctx: Context, subject: ProjectSubject, tag: string, id: number): Promise<ReleaseLinkRecord> {
  const link = await getLink(ctx, subject, tag, id)
  const deleted = await ctx.db.write.delete(releaseLinks).where(eq(releaseLinks.id, id)).returning({ id: releaseLinks.id })
  if (deleted.length === 0) throw notFound()
  return link
}

async function releaseFor(ctx: Context, subject: ProjectSubject, tag: string) {
  const release = await findRelease(ctx, subject, tag)
  if (!release) throw noRelease()
  return release
}

/** Locks the release, so that concurrent calls cannot exceed the limit of links. */
async function lockRelease(tx: Transaction, id: number) {
  const [row] = await tx.select({ id: releases.id }).from(releases).where(eq(releases.id, id)).for('update')
  if (!row) throw noRelease()
}

const linkValues = (release_id: number, { name = '', url = '', filepath, link_type = 'other' }: NewLink, created_at: Date) => ({
  release_id,
  name,
  url,
  filepath: filepath || null,
  link_type,
  created_at,
})

/** Maximum lengths in characters (SEC-63). */
const MAX_NAME = 255
const MAX_URL = 2_048
const MAX_LINKS = 100
const TOO_MANY_LINKS = `A release has at most ${MAX_LINKS} links`
const BLANK = "can't be blank"

function checkAttributes({ name, description }: ReleaseAttributes) {
  const faults: Record<string, string[]> = {}
  if (name && lengthOf(name) > MAX_NAME) faults['name'] = [tooLong(MAX_NAME)]
  if (description && lengthOf(description) > MAX_DESCRIPTION) faults['description'] = [tooLong(MAX_DESCRIPTION)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

function checkNote(description: string) {
  if (description.trim() === '') throw invalidRecord({ description: [BLANK] })
  checkAttributes({ description })
}

/** Validates links; names, URLs and file paths must be unique within a release (RL-3, RL-6). */
function checkLinks(given: NewLink[]) {
  if (given.length > MAX_LINKS) throw refused(TOO_MANY_LINKS)
  const faults: Record<string, string[]> = {}
  const add = (field: string, text: string) => {
    const texts = faults[field] ?? []
    if (!texts.includes(text)) faults[field] = [...texts, text]
  }
  for (const { name = '', url = '', filepath } of given) {
    if (name.trim() === '') add('name', BLANK)
    if (lengthOf(name) > MAX_NAME) add('name', tooLong(MAX_NAME))
    if (url.trim() === '') add('url', BLANK)
    else if (url.length > MAX_URL) add('url', tooLong(MAX_URL))
    else if (!isWebUrl(url)) add('url', 'must be a valid URL')
    if (filepath && !isFilepath(filepath)) add('filepath', 'is invalid')
  }
  for (const field of ['name', 'url', 'filepath'] as const) {
    const values = given.map((link) => link[field]).filter(Boolean)
    if (new Set(values).size < values.length) add(field, 'has already been taken')
  }
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** An http(s) URL without user info, spaces and control characters, which excludes `javascript:` (SEC-64). */
const isWebUrl = (text: string) => /^https?:\/\/[^/?#@\s]+(?:[/?#]\S*)?$/i.test(text) && !/\p{Cc}/u.test(text) && parseUrl(text) !== null

/** The error for a unique violation by a concurrent call: 400 for a link, 409 for a release. */
function taken(index: string): Error {
  const field = (['name', 'url', 'filepath'] as const).find((each) => index === `release_links_release_id_${each}_key`)
  return field ? invalidRecord({ [field]: ['has already been taken'] }) : releaseExists()
}
