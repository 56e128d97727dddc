import { and, eq } from 'drizzle-orm'
import type { Namespace, ProjectSubject } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { members, namespaces, projectShares, projects, users } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { MAX_PROJECT_DESCRIPTION } from '../../rules/descriptions.js'
import { projectNameFaults, projectPathFaults } from '../../rules/path.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { readSettings } from '../core/settings.js'
import { findVisibleProject } from '../identity/acting-users.js'
import { claimRoute, lockNamespace } from '../identity/namespaces.js'
import { addTakenFaults, pickStorage } from '../projects/create.js'
import { linkFork } from '../projects/forks.js'
import { cancelReservation, endReservation, lockReservation, reserveProject } from '../projects/reservations.js'
import { CannotImport, fetchList, importItem, readList, refuseIfFaults, type Write } from './items.js'
import { usableName } from './names.js'
import { IMPORTER, type ImportedItem, type Run } from './run.js'
import { WHOLE_SERVER } from './source/dialect.js'
import type { ProjectRecord } from './source/records.js'
import { personId } from './users.js'

/** The selected projects, forks last. */
export async function selectProjects(run: Run, groups: string[]): Promise<ProjectRecord[]> {
  const { groups: wanted = [], projects: named = [] } = run.options
  const found = new Map<string, ProjectRecord>()
  const add = async (records: ProjectRecord[]) => {
    for (const record of records) found.set(record.key, record)
  }
  if (wanted.length === 0 && named.length === 0) await readList(run, 'project', { ...WHOLE_SERVER, groups }, add)
  const within = (path: string) => wanted.some((group) => `${path}/`.toLowerCase().startsWith(`${group.toLowerCase()}/`))
  for (const { key, path } of run.groups.values()) if (within(path)) await add(await fetchList(run, 'project of a group', { key, path }))
  for (const path of named) await add(await fetchList(run, 'one project', { key: path, path }))
  const all = [...found.values()]
  return [...all.filter(({ forked_from }) => forked_from === null), ...all.filter(({ forked_from }) => forked_from !== null)]
}

/** Creates the row and the empty repository of a project; null if it could not be imported. */
export async function findOrImportProject(run: Run, record: ProjectRecord): Promise<ImportedItem | null> {
  const { key, full_path } = record
  const known = (await run.ledger.findImported('project', [key])).get(key)
  const here = known ?? (await importProject(run, record))
  return here === null ? null : { key, path: full_path, localId: here }
}

/** Reserves the id first, as the repository is created before the row is committed. */
async function importProject(run: Run, record: ProjectRecord): Promise<number | null> {
  const { ctx } = run
  const item = { kind: 'project', key: record.key, name: record.full_path }
  if (run.ledger.dry) {
    await importItem(run, item, () => prepareProject(run, record, { id: 0, storage: '' }))
    return (await run.ledger.findImported('project', [record.key])).get(record.key) ?? null
  }
  const storage = pickStorage(ctx, await readSettings(ctx))
  const id = await reserveProject(ctx, storage)
  let imported: number | null = null
  try {
    imported = await importItem(run, item, () => prepareProject(run, record, { id, storage }))
  } finally {
    if (imported === null) await cancelReservation(ctx, id)
  }
  return imported
}

async function prepareProject(run: Run, record: ProjectRecord, reserved: { id: number; storage: string }): Promise<Write> {
  const { ctx } = run
  const path = record.full_path.split('/').at(-1) as string
  const namespaceId = await namespaceFor(run, record)
  const creator_id = await creatorOf(run, record)
  const name = await usableName(run, 'project', record, projectNameFaults)
  if (run.ledger.dry) refuseIfFaults('path', projectPathFaults(path))
  return async (tx) => {
    await lockReservation(tx, reserved.id)
    const namespace = await lockNamespace(tx, namespaceId)
    if (!namespace) throw new CannotImport('its namespace has been deleted here')
    const { full_path } = namespace
    await refuseFaults(tx, namespace, { name, path })
    const branch = record.default_branch ?? ctx.config.defaultBranch
    await tx
      .insert(projects)
      .overridingSystemValue()
      .values({
        ...columnsOf({ ...record, name }, ctx.now()),
        ...reserved,
        namespace_id: namespaceId,
        creator_id,
        path,
        visibility: visibilityIn(namespace, record),
        default_branch: branch,
      })
    await claimRoute(tx, `${full_path}/${path}`, { project_id: reserved.id })
    if (namespace.owner_id !== null) await tx.insert(members).values({ user_id: namespace.owner_id, project_id: reserved.id, access_level: 40 })
    // before the commit: a project whose row exists has its repository
    await ctx.git.create({ storage: reserved.storage, id: reserved.id, kind: 'project' }, branch)
    await endReservation(tx, reserved.id)
    const target = { type: 'project', id: reserved.id, name: `${full_path}/${path}` } as const
    await audit(ctx, tx, { action: 'project_created', target, changes: { imported: true } })
    return reserved.id
  }
}

/** Some servers also return the group of a project as its owner. */
async function creatorOf(run: Run, { full_path, owner, creator }: ProjectRecord): Promise<number | null> {
  const isPersonal = owner !== null && full_path.toLowerCase().startsWith(`${owner.username.toLowerCase()}/`)
  if (isPersonal && !run.groups.has(owner.username.toLowerCase())) return personId(run, owner)
  return (creator && run.userIdsByKey.get(creator)) || null
}

/** Not more visible than its group. */
const visibilityIn = (namespace: Namespace, { visibility }: ProjectRecord) =>
  Math.min(VISIBILITY_LEVEL[visibility], namespace.kind === 'user' ? VISIBILITY_LEVEL.public : namespace.visibility)

function columnsOf({ name, description, archived, features, settings, ...times }: ProjectRecord, now: Date) {
  const created_at = times.created_at ?? now
  return {
    ...settings,
    ...(Object.fromEntries(Object.entries(features).map(([feature, level]) => [`${feature}_access_level`, level])) as Pick<
      typeof projects.$inferInsert,
      'issues_access_level' | 'merge_requests_access_level' | 'wiki_access_level' | 'snippets_access_level' | 'builds_access_level'
    >),
    name,
    archived,
    description: description && [...description].slice(0, MAX_PROJECT_DESCRIPTION).join(''),
    created_at,
    updated_at: times.updated_at ?? created_at,
    last_activity_at: times.last_activity_at ?? created_at,
  }
}

async function refuseFaults(tx: Transaction, { id, full_path }: Namespace, { name, path }: { name: string; path: string }): Promise<void> {
  const faults: Record<string, string[]> = {}
  const add = (field: string, texts: string[]) => {
    if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
  }
  add('name', projectNameFaults(name))
  add('path', projectPathFaults(path))
  await addTakenFaults(tx, { id, full_path }, { name, path }, null, add)
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** The local namespace: its imported group, or the personal namespace of its owner. */
async function namespaceFor(run: Run, { full_path, owner }: ProjectRecord): Promise<number> {
  const above = full_path.split('/').slice(0, -1).join('/')
  const group = run.groups.get(above.toLowerCase())
  if (group) return group.localId
  if (above === '' || above.includes('/') || run.failedGroups.has(above.toLowerCase())) throw new CannotImport('its group was not imported')
  const ownerId = await personId(run, owner?.username.toLowerCase() === above.toLowerCase() ? owner : { username: above, name: above, email: null })
  if (run.ledger.dry) return 0
  const [namespace] = await run.ctx.db.write
    .select({ id: namespaces.id })
    .from(namespaces)
    .innerJoin(users, eq(users.id, namespaces.owner_id))
    .where(and(eq(users.id, ownerId), eq(users.kind, 'human')))
  // no human account: personId fell back to the ghost user
  if (!namespace) throw new CannotImport('its owner was not imported')
  return namespace.id
}

/** Loads an imported project; null if it was deleted since. In a dry run, a placeholder. */
export async function loadSubject(run: Run, { key, path, localId }: ImportedItem): Promise<ProjectSubject | null> {
  if (run.ledger.dry) return { project: { id: 0, storage: '' } } as ProjectSubject
  const subject = await findVisibleProject(run.ctx, IMPORTER, localId)
  if (subject === null) await run.ledger.reportLeftOut('contents of a project', key, path, 'the project has been deleted here since it was imported')
  return subject
}

/** Imports a project's fork link and its shares. Requires that all projects have been imported. */
export async function importForkAndShares(run: Run, record: ProjectRecord, subject: ProjectSubject): Promise<void> {
  const { forked_from, shares, key, full_path } = record
  const item = (kind: string, name: string) => ({ kind, key: `${key}/${name}`, name: `${full_path}: ${name}` })
  const isNew = async ({ kind, key }: ReturnType<typeof item>) => (await run.ledger.findImported(kind, [key])).size === 0
  const fork = forked_from === null ? null : item('fork', forked_from)
  if (fork && (await isNew(fork))) await importItem(run, fork, () => prepareForkLink(run, subject, forked_from as string))
  for (const { group, level, expires_at } of shares) {
    const share = item('share with a group', group)
    if (await isNew(share)) await importItem(run, share, () => prepareShare(run, subject, { group, level, expires_at }))
  }
}

async function prepareForkLink(run: Run, subject: ProjectSubject, path: string): Promise<Write> {
  const source = [...run.projects.values()].find((project) => project.path.toLowerCase() === path.toLowerCase())
  if (!source) throw new CannotImport('the project it was forked from was not imported')
  const { id, updated_at } = subject.project
  return async (tx, ctx) => {
    await linkFork(ctx, IMPORTER, subject, String(source.localId))
    await tx.update(projects).set({ updated_at }).where(eq(projects.id, id))
    return null
  }
}

async function prepareShare(run: Run, { project }: ProjectSubject, { group, level, expires_at }: ProjectRecord['shares'][number]): Promise<Write> {
  const place = run.groups.get(group.toLowerCase())
  if (!place) throw new CannotImport('the group was not imported')
  return async (tx) => {
    await tx.insert(projectShares).values({ project_id: project.id, group_id: place.localId, group_access: Math.min(level, 40), expires_at })
    return null
  }
}
