import { and, asc, eq, or, type SQL, sql } from 'drizzle-orm'
import type { Viewer } from '../../../access/actor.js'
import { fullPathOf, type GroupSubject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { totalCount } from '../../../db/decoded.js'
import { onlyRow } from '../../../db/only-row.js'
import { badges, namespaceAncestry } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { invalidRecord, notFound } from '../../../failures.js'
import { isUrl } from '../../../lib/url.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { type AuditAction, audit, changesOf } from '../../core/audit.js'
import { lockName } from '../../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'
import { exampleOf, rendererFor, withoutPlaceholders } from './placeholders.js'

/** What badges belong to. */
export type BadgeSource = { project: ProjectSubject } | { group: GroupSubject }

type Row = typeof badges.$inferSelect

export interface BadgeAttributes {
  name: string | null
  link_url: string
  image_url: string
}

/** A badge as it is shown with one project. */
export interface RenderedBadge extends BadgeAttributes {
  rendered_link_url: string
  rendered_image_url: string
}

export interface Badge extends RenderedBadge {
  id: number
  kind: 'project' | 'group'
  /** Not of a group above. */
  isOwn: boolean
}

type Given = { [Name in keyof BadgeAttributes]?: BadgeAttributes[Name] | undefined }

/** The most badges of a project or group, without those of the groups above it. */
export const MAX_BADGES = 50
const MAX_NAME = 255
const MAX_URL = 2_048

const kindOf = (source: BadgeSource) => ('project' in source ? 'project' : 'group')
const idOf = (source: BadgeSource) => ('project' in source ? source.project.project.id : source.group.group.id)
const own = (source: BadgeSource): SQL => eq('project' in source ? badges.project_id : badges.namespace_id, idOf(source))

interface Shape {
  of: 'project' | 'group'
  byName: boolean
}

const selectBadges = statement('badges', (db, { of, byName }: Shape) => {
  const inherited = sql`${badges.namespace_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${sql.placeholder('group')})`
  return db
    .select({ badge: badges, total: totalCount() })
    .from(badges)
    .where(
      and(
        of === 'project' ? or(eq(badges.project_id, sql.placeholder('project')), inherited) : inherited,
        byName ? eq(badges.name, sql.placeholder('name')) : undefined,
      ),
    )
    .orderBy(asc(badges.created_at), asc(badges.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** The badges with the project that they are shown with. */
async function shown(ctx: Context, caller: Viewer, source: BadgeSource, rows: Row[]): Promise<Badge[]> {
  const rendered = await renderAll(ctx, caller, source, rows)
  return rows.map(({ id, project_id, namespace_id }, i) => ({
    ...(rendered[i] as RenderedBadge),
    id,
    kind: project_id === null ? 'group' : 'project',
    isOwn: ('project' in source ? project_id : namespace_id) === idOf(source),
  }))
}

async function renderAll(ctx: Context, caller: Viewer, source: BadgeSource, list: BadgeAttributes[]): Promise<RenderedBadge[]> {
  if (list.length === 0) return []
  const example = 'project' in source ? source.project : await exampleOf(ctx, caller, source.group)
  const rendered = await rendererFor(
    ctx,
    example,
    list.flatMap(({ link_url, image_url }) => [link_url, image_url]),
  )
  return list.map(({ name, link_url, image_url }) => ({
    name,
    link_url,
    image_url,
    rendered_link_url: rendered(link_url),
    rendered_image_url: rendered(image_url),
  }))
}

/** The badges of a project or group with those of the groups above it, the oldest first (BD-4). */
export async function listBadges(
  ctx: Context,
  caller: Viewer,
  source: BadgeSource,
  { name, ...paging }: { name?: string | undefined } & Paging,
): Promise<Page<Badge>> {
  const group = 'project' in source ? source.project.project.namespace_id : source.group.group.id
  const values = { project: idOf(source), group, name }
  const { items, total } = await pageFrom(selectBadges(ctx.db, { of: kindOf(source), byName: name !== undefined }), values, paging)
  const rows = items.map(({ badge }) => badge)
  return { items: await shown(ctx, caller, source, rows), total }
}

async function find(db: Pick<Transaction, 'select'>, source: BadgeSource, id: number): Promise<Row> {
  const [found] = await db
    .select()
    .from(badges)
    .where(and(own(source), eq(badges.id, id)))
  if (!found) throw notFound('Badge')
  return found
}

const present = async (ctx: Context, caller: Viewer, source: BadgeSource, row: Row): Promise<Badge> =>
  onlyRow(await shown(ctx, caller, source, [row]))

/** A badge of the project or group itself. */
export const getBadge = async (ctx: Context, caller: Viewer, source: BadgeSource, id: number): Promise<Badge> =>
  present(ctx, caller, source, await find(ctx.db.write, source, id))

/** What is wrong with a URL; it must be one of the web whatever the placeholders become, since pages link to it. */
function urlFault(url: string): string | null {
  if (url === '') return 'must be a valid URL'
  if (lengthOf(url) > MAX_URL) return tooLong(MAX_URL)
  const plain = withoutPlaceholders(url)
  if (!/^https?:/i.test(plain)) return 'is blocked: Only allowed schemes are http, https'
  return isUrl(plain, ['http', 'https']) ? null : 'is blocked: URI is invalid'
}

/** The attributes as they are stored; throws what is wrong with them (BD-2). */
export function badgeColumns<Attributes extends Given>(given: Attributes): Attributes {
  const trimmed = { ...given, link_url: given.link_url?.trim(), image_url: given.image_url?.trim() }
  const faults: Record<string, string[]> = {}
  for (const key of ['link_url', 'image_url'] as const) {
    const url = trimmed[key]
    const fault = url === undefined ? null : urlFault(url)
    if (fault) faults[key] = [fault]
  }
  if (lengthOf(given.name ?? '') > MAX_NAME) faults['name'] = [tooLong(MAX_NAME)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return trimmed
}

/** A badge that is not made, as it would be shown (BD-2). */
export async function renderBadge(ctx: Context, caller: Viewer, source: BadgeSource, given: BadgeAttributes): Promise<RenderedBadge> {
  return onlyRow(await renderAll(ctx, caller, source, [badgeColumns(given)]))
}

const auditBadge = (
  ctx: Context,
  tx: Transaction,
  source: BadgeSource,
  action: Extract<AuditAction, `badge_${string}`>,
  changes: Record<string, unknown>,
) => {
  const name = 'project' in source ? fullPathOf(source.project.project) : source.group.group.full_path
  return audit(ctx, tx, { action, target: { type: kindOf(source), id: idOf(source), name }, changes })
}

/** Makes a badge. */
export async function createBadge(ctx: Context, caller: Viewer, source: BadgeSource, given: BadgeAttributes): Promise<Badge> {
  const attributes = badgeColumns(given)
  const row = await ctx.db.transaction(async (tx) => {
    await lockName(tx, `badges of ${kindOf(source)} ${idOf(source)}`)
    if ((await tx.$count(badges, own(source))) >= MAX_BADGES) throw invalidRecord({ base: [`there are already ${MAX_BADGES} badges`] })
    const of = 'project' in source ? { project_id: idOf(source) } : { namespace_id: idOf(source) }
    const made = onlyRow(
      await tx
        .insert(badges)
        .values({ ...attributes, ...of, created_at: ctx.now() })
        .returning(),
    )
    await auditBadge(ctx, tx, source, 'badge_added', { badge_id: made.id, ...attributes })
    return made
  })
  return present(ctx, caller, source, row)
}

/** Changes a badge of the project or group itself. */
export async function updateBadge(ctx: Context, caller: Viewer, source: BadgeSource, id: number, given: Given): Promise<Badge> {
  const row = await ctx.db.transaction(async (tx) => {
    const before = await find(tx, source, id)
    const changes = changesOf(before, badgeColumns(given) as Partial<Row>)
    if (Object.keys(changes).length === 0) return before
    const [after] = await tx
      .update(badges)
      .set(badgeColumns(given))
      .where(and(own(source), eq(badges.id, id)))
      .returning()
    if (!after) throw notFound('Badge')
    await auditBadge(ctx, tx, source, 'badge_updated', { badge_id: id, ...changes })
    return after
  })
  return present(ctx, caller, source, row)
}

/** Deletes a badge of the project or group itself. */
export async function deleteBadge(ctx: Context, source: BadgeSource, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [gone] = await tx
      .delete(badges)
      .where(and(own(source), eq(badges.id, id)))
      .returning({ name: badges.name })
    if (!gone) throw notFound('Badge')
    await auditBadge(ctx, tx, source, 'badge_removed', { badge_id: id, name: gone.name })
  })
}
