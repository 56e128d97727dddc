import { and, eq, isNull } from 'drizzle-orm'
import { namespaces } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { MAX_GROUP_DESCRIPTION } from '../../rules/descriptions.js'
import { groupNameFaults, namespacePathFaults } from '../../rules/path.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { readSettings } from '../core/settings.js'
import { groupFaults } from '../groups/attributes.js'
import { insertGroup, isTooDeep } from '../groups/create.js'
import { lockNamespace } from '../identity/namespaces.js'
import { importHooks, importMembers, importVariables } from './configuration.js'
import { CannotImport, fetchFirst, fetchList, importItem, readList, refuseIfFaults, type Write } from './items.js'
import { usableName } from './names.js'
import { importGroupPlanning } from './planning.js'
import { IMPORTER, type ImportedItem, type Run } from './run.js'
import { type Scope, WHOLE_SERVER } from './source/dialect.js'
import type { GroupRecord } from './source/records.js'

/** Nesting depth that is followed; deeper groups cannot be created here either. */
const MAX_DEPTH = 21

/** Imports the selected groups with their contents, parents first, and returns their source paths. */
export async function importGroups(run: Run, users: string[]): Promise<string[]> {
  const found = (await selectGroups(run, users)).sort((a, b) => depthOf(a) - depthOf(b))
  for (const record of found) {
    const key = record.full_path.toLowerCase()
    if (run.groups.has(key)) continue
    const imported = await findOrImportGroup(run, record)
    if (imported === null) run.failedGroups.add(key)
    else {
      run.groups.set(key, imported)
      await importGroupContents(run, imported)
    }
  }
  return found.map(({ full_path }) => full_path)
}

const depthOf = ({ full_path }: Pick<GroupRecord, 'full_path'>) => full_path.split('/').length
const parentOf = (path: string) => path.split('/').slice(0, -1).join('/')

/** All groups, or the named ones with their descendants, and the ancestors of named groups and projects. */
async function selectGroups(run: Run, users: string[]): Promise<GroupRecord[]> {
  const { groups = [], projects = [] } = run.options
  if (groups.length === 0 && projects.length === 0) {
    const all: GroupRecord[] = []
    await readList(run, 'group', { ...WHOLE_SERVER, users }, async (records) => void all.push(...records))
    return all
  }
  const found = new Map<string, GroupRecord>()
  for (const path of groups) for (const group of await fetchList(run, 'one group', { key: path, path })) await addWithSubgroups(run, found, group)
  const above = new Set([...groups, ...projects].flatMap((path) => ancestorsOf(path)))
  for (const path of above) {
    const group = found.has(path) ? null : await fetchFirst(run, 'one group', { key: path, path })
    if (group && (await isGroup(run, group))) found.set(group.full_path, group)
  }
  return [...found.values()]
}

/** The namespace of a project may be a user, which some servers return as a group; only groups have teams. */
const isGroup = async (run: Run, { key, full_path: path }: GroupRecord): Promise<boolean> =>
  run.source.dialect.lists.team === undefined || (await fetchFirst(run, 'team', { key, path })) !== null

const ancestorsOf = (path: string): string[] => (path.includes('/') ? [...ancestorsOf(parentOf(path)), parentOf(path)] : [])

/** Adds a group and its descendants; guards against cycles in the server's answers. */
async function addWithSubgroups(run: Run, found: Map<string, GroupRecord>, group: GroupRecord): Promise<void> {
  if (found.has(group.full_path) || depthOf(group) > MAX_DEPTH) return
  found.set(group.full_path, group)
  if (run.source.dialect.lists.subgroup === undefined) return
  for (const below of await fetchList(run, 'subgroup', { key: group.key, path: group.full_path })) await addWithSubgroups(run, found, below)
}

async function findOrImportGroup(run: Run, record: GroupRecord): Promise<ImportedItem | null> {
  const { key, full_path } = record
  const known = (await run.ledger.findImported('group', [key])).get(key)
  const here = known ?? (await importItem(run, { kind: 'group', key, name: full_path }, () => prepareGroup(run, record)))
  if (run.ledger.dry) return (await run.ledger.findImported('group', [key])).size > 0 ? { key, path: full_path, localId: 0 } : null
  if (here === null) return null
  const isThere = (await run.ctx.db.write.$count(namespaces, and(eq(namespaces.id, here), isNull(namespaces.marked_for_deletion_at)))) > 0
  if (!isThere) await run.ledger.reportLeftOut('contents of a group', key, full_path, 'the group has been deleted here since it was imported')
  return isThere ? { key, path: full_path, localId: here } : null
}

/** The id of the local parent; null for a top-level group. */
async function localParentId(run: Run, path: string): Promise<number | null> {
  const above = parentOf(path)
  if (above !== '') {
    const parent = run.groups.get(above.toLowerCase())
    if (!parent) throw new CannotImport('its parent group was not imported')
    return parent.localId
  }
  return run.into
}

async function prepareGroup(run: Run, record: GroupRecord): Promise<Write> {
  const { ctx } = run
  const { full_path, description, lfs_enabled, request_access_enabled, settings: attributes, created_at } = record
  const parentId = await localParentId(run, full_path)
  const settings = await readSettings(ctx)
  const name = await usableName(run, 'group', record, groupNameFaults)
  const path = full_path.split('/').at(-1) as string
  // whether the path is taken is checked when the group is written
  if (run.ledger.dry) refuseIfFaults('path', namespacePathFaults(path, full_path.includes('/') || run.into !== null ? 'below' : 'top'))
  return async (tx) => {
    const parent = parentId === null ? null : await lockNamespace(tx, parentId)
    if (parentId !== null && !parent) throw new CannotImport('its parent group has been deleted here')
    // not more visible than its parent
    const level = Math.min(VISIBILITY_LEVEL[record.visibility], parent?.visibility ?? VISIBILITY_LEVEL.public)
    const faults = await groupFaults(tx, { user: IMPORTER.user, settings, parent, self: null }, { name, path, level })
    if (parent && (await isTooDeep(tx, parent))) faults['parent_id'] = ['has too deep level of nesting']
    if (Object.keys(faults).length > 0) throw invalidRecord(faults)
    const at = created_at ?? ctx.now()
    const values = {
      name,
      path,
      description: [...description].slice(0, MAX_GROUP_DESCRIPTION).join(''),
      visibility: level,
      lfs_enabled,
      request_access_enabled,
      ...attributes,
    }
    const made = await insertGroup(tx, parent, { ...values, created_at: at, updated_at: at })
    await audit(ctx, tx, { action: 'group_created', target: { type: 'group', id: made.id, name: made.full_path }, changes: { imported: true } })
    return made.id
  }
}

async function importGroupContents(run: Run, imported: ImportedItem): Promise<void> {
  const scope: Scope = { key: imported.key, path: imported.path }
  const owner = { kind: 'group' as const, id: imported.localId, fullPath: imported.path }
  await importMembers(run, scope, owner)
  await importGroupPlanning(run, scope, imported.localId)
  await importVariables(run, 'group variable', scope, owner)
  await importHooks(run, 'group hook', scope, owner)
}
