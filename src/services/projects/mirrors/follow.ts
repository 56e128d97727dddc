import { and, eq } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { mirrors, projects } from '../../../db/schema/index.js'
import { forbidden, invalidRecord, nullOnFailure, refused } from '../../../failures.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { parseUrl } from '../../../lib/url.js'
import { changesOf } from '../../core/audit.js'
import { readSettings } from '../../core/settings.js'
import { getUser } from '../../identity/users.js'
import type { Mirror } from './address.js'
import { soonest } from './backoff.js'
import { addressColumns, auditMirror, FRESH, type MirroredProject, requireMirroring } from './mirrors.js'
import { pullMirror } from './pull.js'

/** Attributes of a project that make it follow another repository (PM-20). */
export interface PullMirrorAttributes {
  mirror?: boolean | undefined
  import_url?: string | undefined
  mirror_user_id?: number | undefined
  mirror_trigger_builds?: boolean | undefined
  only_mirror_protected_branches?: boolean | undefined
  mirror_overwrites_diverged_branches?: boolean | undefined
}

const NAMES = [
  'mirror',
  'import_url',
  'mirror_user_id',
  'mirror_trigger_builds',
  'only_mirror_protected_branches',
  'mirror_overwrites_diverged_branches',
] as const

type Address = Pick<Mirror, 'url' | 'sealed_url'>

/** A checked change of what a project follows. */
export interface PullMirrorChange {
  given: PullMirrorAttributes
  /** A new address, as it is stored. */
  address: Address | null
  userId: number
}

const ofProject = (id: number) => and(eq(mirrors.project_id, id), eq(mirrors.direction, 'pull'))

/** The mirror that a project follows or has followed; null if there is none. */
export async function findPullMirror(ctx: Pick<Context, 'db'>, projectId: number): Promise<Mirror | null> {
  const [found] = await ctx.db.write.select().from(mirrors).where(ofProject(projectId))
  return found ?? null
}

/** An address without user and password, for `import_url` of a project. */
export function withoutCredentials(text: string): string {
  const url = parseUrl(text.trim())
  if (!url) return ''
  url.username = ''
  url.password = ''
  return url.href
}

/**
 * Checks what a call says about the repository that a project follows (PM-20); null if it says nothing. `id` and
 * `import_url` are those of the project, which may be about to be created.
 */
export async function readPullMirror(
  ctx: Context,
  caller: SignedIn,
  { id, import_url }: { id: number; import_url: string | null },
  given: PullMirrorAttributes,
): Promise<PullMirrorChange | null> {
  if (NAMES.every((name) => given[name] === undefined)) return null
  const row = await findPullMirror(ctx, id)
  const follows = given.mirror ?? row?.enabled ?? false
  if (!follows && given.import_url !== undefined) throw invalidRecord({ import_url: ['can only be changed for a mirror'] })
  if (!follows && !row) {
    const wanted = NAMES.find((name) => given[name])
    if (wanted) throw invalidRecord({ [wanted]: ['needs a mirror'] })
    return null
  }
  if (follows) await requireMirroring(ctx, caller.user)
  const text = given.import_url ?? (row ? undefined : (import_url ?? ''))
  if (text === '') throw invalidRecord({ import_url: ["can't be blank"] })
  if (text !== undefined && !(await readSettings(ctx)).import_sources.includes('git'))
    throw invalidRecord({ import_url: ['is not allowed: imports by URL are switched off'] })
  const isNew = text !== undefined && text.trim() !== row?.url
  const address = isNew ? await addressColumns(ctx, id, text, 'import_url') : null
  const { id: self, admin } = caller.user
  const userId = given.mirror_user_id ?? (address || !row?.enabled ? self : (row.user_id ?? self))
  if (given.mirror_user_id !== undefined && given.mirror_user_id !== self && given.mirror_user_id !== row?.user_id) {
    if (!admin) throw forbidden()
    if (!(await nullOnFailure(getUser(ctx, userId)))) throw invalidRecord({ mirror_user_id: ['is invalid'] })
  }
  return { given, address, userId }
}

/** Writes a checked change, in the transaction that changes or creates the project. */
export async function writePullMirror(ctx: Context, tx: Transaction, project: MirroredProject, change: PullMirrorChange): Promise<void> {
  const { given, address, userId } = change
  const project_id = project.id
  const [before] = await tx.select().from(mirrors).where(ofProject(project_id)).for('update')
  const enabled = given.mirror ?? before?.enabled ?? false
  const now = ctx.now()
  const begins = enabled && (!before?.enabled || address !== null)
  const columns = {
    enabled,
    user_id: userId,
    only_protected_branches: given.only_mirror_protected_branches ?? before?.only_protected_branches ?? false,
    overwrites_diverged: given.mirror_overwrites_diverged_branches ?? before?.overwrites_diverged ?? false,
    trigger_builds: given.mirror_trigger_builds ?? before?.trigger_builds ?? false,
    ...address,
    ...(begins && { ...FRESH, next_update_at: now }),
    ...(!enabled && { next_update_at: null }),
    updated_at: now,
  }
  // without a row there is an address: `readPullMirror` has seen to that
  const added = { project_id, direction: 'pull', created_at: now, ...columns, ...(address as Address) } as const
  const [after] = before
    ? await tx.update(mirrors).set(columns).where(eq(mirrors.id, before.id)).returning()
    : await tx.insert(mirrors).values(added).returning()
  if (!after) return
  if (before?.enabled && !enabled) await enqueue(tx, pullMirror, { mirror: after.id }, { key: String(after.id) })
  const url = given.import_url === undefined ? {} : { import_url: withoutCredentials(given.import_url) }
  await tx
    .update(projects)
    .set({ mirror: enabled, ...url })
    .where(eq(projects.id, project_id))
  const shown = ({ url: shownUrl, enabled: on, only_protected_branches, overwrites_diverged, trigger_builds, user_id }: Mirror) => ({
    url: shownUrl,
    enabled: on,
    only_protected_branches,
    overwrites_diverged,
    trigger_builds,
    user_id,
  })
  const changed = before ? changesOf(shown(before), shown(after)) : shown(after)
  if (Object.keys(changed).length > 0)
    await auditMirror(ctx, tx, project, before ? 'mirror_updated' : 'mirror_added', { mirror_id: after.id, direction: 'pull', ...changed })
}

/** The mirror that a project follows; 400 if it follows none (PM-25). */
export async function getPullMirror(ctx: Context, { project }: ProjectSubject): Promise<Mirror> {
  const mirror = await findPullMirror(ctx, project.id)
  if (!mirror?.enabled) throw refused('The project is not mirrored')
  return mirror
}

/** Pulls soon, also when it has failed too often to go on by itself (PM-25). */
export async function startPull(ctx: Context, subject: ProjectSubject): Promise<void> {
  const { id, ...mirror } = await getPullMirror(ctx, subject)
  await ctx.db.transaction(async (tx) => {
    const status = mirror.update_status === 'started' ? {} : { update_status: 'scheduled' as const }
    await tx
      .update(mirrors)
      .set({ ...status, ...(mirror.next_update_at === null && { failures: 0 }) })
      .where(eq(mirrors.id, id))
    await enqueue(tx, pullMirror, { mirror: id }, { key: String(id), runAt: soonest({ id, ...mirror }, 'asked') })
  })
}
