import { and, asc, eq, sql } from 'drizzle-orm'
import type { ActorUser } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { totalCount } from '../../../db/decoded.js'
import { onlyRow } from '../../../db/only-row.js'
import { mirrors } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { forbidden, invalidRecord, notFound, refused } from '../../../failures.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { BadTarget } from '../../../lib/ssrf-guard.js'
import { type AuditAction, audit, changesOf } from '../../core/audit.js'
import { lockName } from '../../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'
import { readSettings } from '../../core/settings.js'
import { type Mirror, storedAddress } from './address.js'
import { soonest } from './backoff.js'
import { pushMirror } from './push.js'

/** Attributes of a push mirror in a call. */
export interface PushMirrorAttributes {
  url?: string | undefined
  enabled?: boolean | undefined
  only_protected_branches?: boolean | undefined
  keep_divergent_refs?: boolean | undefined
}

/** The most push mirrors of a project. */
const MAX_MIRRORS = 10

/** What a new address has not: anything of the one before. */
export const FRESH = {
  update_status: 'none',
  last_error: null,
  last_update_at: null,
  last_update_started_at: null,
  last_successful_update_at: null,
  failures: 0,
} as const satisfies Partial<Mirror>

const pushesOf = (project: number) => and(eq(mirrors.project_id, project), eq(mirrors.direction, 'push'))
const missing = () => notFound('Remote Mirror')

const selectMirrors = statement('push mirrors', (db) =>
  db
    .select({ mirror: mirrors, total: totalCount() })
    .from(mirrors)
    .where(and(eq(mirrors.project_id, sql.placeholder('project')), eq(mirrors.direction, 'push')))
    .orderBy(asc(mirrors.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The push mirrors of a project, the oldest first (PM-1). */
export async function listPushMirrors(ctx: Context, { project }: ProjectSubject, paging: Paging): Promise<Page<Mirror>> {
  const { items, total } = await pageFrom(selectMirrors(ctx.db, null), { project: project.id }, paging)
  return { items: items.map(({ mirror }) => mirror), total }
}

export async function getPushMirror(ctx: Context, { project }: ProjectSubject, id: number): Promise<Mirror> {
  const [found] = await ctx.db.write
    .select()
    .from(mirrors)
    .where(and(pushesOf(project.id), eq(mirrors.id, id)))
  if (!found) throw missing()
  return found
}

/** The columns of an address; 400 with what is wrong with it, under the name of the parameter. */
export async function addressColumns(ctx: Context, projectId: number, given: string, name: 'url' | 'import_url') {
  try {
    return await storedAddress(ctx, projectId, given)
  } catch (error) {
    if (error instanceof BadTarget) throw invalidRecord({ [name]: [error.message] })
    throw error
  }
}

/** A project by its id and full path. */
export interface MirroredProject {
  id: number
  name: string
}

/** Writes an audit row; addresses are masked. */
export const auditMirror = (
  ctx: Context,
  tx: Transaction,
  project: MirroredProject,
  action: Extract<AuditAction, `mirror_${string}`>,
  changes: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: 'project', ...project }, changes })

export const mirrored = ({ project }: ProjectSubject): MirroredProject => ({ id: project.id, name: fullPathOf(project) })

const columnsOf = ({ enabled, only_protected_branches, keep_divergent_refs }: PushMirrorAttributes) => ({
  ...(enabled !== undefined && { enabled }),
  ...(only_protected_branches !== undefined && { only_protected_branches }),
  ...(keep_divergent_refs !== undefined && { overwrites_diverged: !keep_divergent_refs }),
})

/** Whether somebody sets up mirrors of projects that they manage (RX-37). */
export const maySetUpMirrors = async (ctx: Context, user: Pick<ActorUser, 'admin'> | null): Promise<boolean> =>
  user?.admin === true || (await readSettings(ctx)).mirror_available

/** 403 for who does not. */
export async function requireMirroring(ctx: Context, user: Pick<ActorUser, 'admin'> | null): Promise<void> {
  if (!(await maySetUpMirrors(ctx, user))) throw forbidden('Only administrators set up mirrors')
}

/** Makes a push mirror; it is pushed to with the next push, or when that is asked for (PM-2). */
export async function createPushMirror(ctx: Context, subject: ProjectSubject, given: PushMirrorAttributes & { url: string }): Promise<Mirror> {
  await requireMirroring(ctx, subject.user)
  const project_id = subject.project.id
  const address = await addressColumns(ctx, project_id, given.url, 'url')
  const defaults = { project_id, direction: 'push', enabled: false, overwrites_diverged: true } as const
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `mirrors of project ${project_id}`)
    if ((await tx.$count(mirrors, pushesOf(project_id))) >= MAX_MIRRORS) throw refused(`Maximum number of remote mirrors (${MAX_MIRRORS}) exceeded`)
    const now = ctx.now()
    const values = { ...defaults, ...columnsOf(given), ...address, created_at: now, updated_at: now }
    const mirror = onlyRow(await tx.insert(mirrors).values(values).returning())
    await auditMirror(ctx, tx, mirrored(subject), 'mirror_added', {
      mirror_id: mirror.id,
      direction: 'push',
      url: mirror.url,
      enabled: mirror.enabled,
    })
    return mirror
  })
}

/** Changes a push mirror; the address as it is shown leaves it as it is, another begins anew (PM-3). */
export async function updatePushMirror(ctx: Context, subject: ProjectSubject, id: number, given: PushMirrorAttributes): Promise<Mirror> {
  await requireMirroring(ctx, subject.user)
  const shown = await getPushMirror(ctx, subject, id)
  const isNew = given.url !== undefined && given.url.trim() !== shown.url
  const address = isNew ? await addressColumns(ctx, shown.project_id, given.url ?? '', 'url') : null
  return ctx.db.transaction(async (tx) => {
    const [before] = await tx
      .select()
      .from(mirrors)
      .where(and(pushesOf(shown.project_id), eq(mirrors.id, id)))
      .for('update')
    if (!before) throw missing()
    const changes = { ...columnsOf(given), ...(address && { ...address, ...FRESH }) }
    const mirror = onlyRow(
      await tx
        .update(mirrors)
        .set({ ...changes, updated_at: ctx.now() })
        .where(eq(mirrors.id, id))
        .returning(),
    )
    const { url, enabled, only_protected_branches, overwrites_diverged } = mirror
    const changed = changesOf<Partial<Mirror>>(before, { url, enabled, only_protected_branches, overwrites_diverged })
    if (address || Object.keys(changed).length > 0)
      await auditMirror(ctx, tx, mirrored(subject), 'mirror_updated', { mirror_id: id, direction: 'push', ...changed })
    return mirror
  })
}

export async function deletePushMirror(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [gone] = await tx
      .delete(mirrors)
      .where(and(pushesOf(subject.project.id), eq(mirrors.id, id)))
      .returning()
    if (!gone) throw missing()
    await auditMirror(ctx, tx, mirrored(subject), 'mirror_removed', { mirror_id: id, direction: 'push', url: gone.url })
  })
}

/** Pushes to a mirror soon; 400 when it is off (PM-4). */
export async function syncPushMirror(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  const mirror = await getPushMirror(ctx, subject, id)
  if (!mirror.enabled) throw refused('Cannot proceed with the push mirroring. Please verify your mirror configuration.')
  await enqueue(ctx.db, pushMirror, { mirror: id }, { key: String(id), runAt: soonest(mirror, 'asked') })
}
