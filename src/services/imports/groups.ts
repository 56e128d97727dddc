import { eq } from 'drizzle-orm'
import { namespaces } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { groupNameFaults, namespacePathFaults } from '../../lib/path.js'
import { VISIBILITY_LEVEL } from '../../lib/visibility.js'
import { audit } from '../core/audit.js'
import { readSettings } from '../core/settings.js'
import { groupFaults } from '../groups/attributes.js'
import { insertGroup, isTooDeep } from '../groups/create.js'
import { lockNamespace } from '../identity/namespaces.js'
import { bringHooks, bringMembers, bringVariables } from './belongings.js'
import { bring, findOne, listAll, Refused, readAll, refuseIfFaults, type Write } from './bring.js'
import { usableName } from './names.js'
import { bringGroupPlan } from './planning.js'
import { IMPORTER, type Place, type Run } from './run.js'
import { EVERYTHING, type Scope } from './source/dialect.js'
import type { GroupRecord } from './source/records.js'

/** Levels of groups below each other that are followed; more cannot be made here either. */
const MAX_DEPTH = 21

/** Brings the groups that are wanted with what belongs to them, those above first, and returns their paths there. */
export async function bringGroups(run: Run, users: string[]): Promise<string[]> {
  const found = (await wantedGroups(run, users)).sort((a, b) => depthOf(a) - depthOf(b))
  for (const record of found) {
    const key = record.full_path.toLowerCase()
    if (run.groups.has(key)) continue
    const place = await placeGroup(run, record)
    if (place === null) run.refusedGroups.add(key)
    else {
      run.groups.set(key, place)
      await bringBelongings(run, place)
    }
  }
  return found.map(({ full_path }) => full_path)
}

const depthOf = ({ full_path }: Pick<GroupRecord, 'full_path'>) => full_path.split('/').length
const parentOf = (path: string) => path.split('/').slice(0, -1).join('/')

/** All of them, or those named with what is below them, and whatever is above. */
async function wantedGroups(run: Run, users: string[]): Promise<GroupRecord[]> {
  const { groups = [], projects = [] } = run.options
  if (groups.length === 0 && projects.length === 0) {
    const all: GroupRecord[] = []
    await readAll(run, 'group', { ...EVERYTHING, users }, async (records) => void all.push(...records))
    return all
  }
  const found = new Map<string, GroupRecord>()
  for (const path of groups) for (const group of await listAll(run, 'one group', { key: path, path })) await addBelow(run, found, group)
  const above = new Set([...groups, ...projects].flatMap((path) => ancestorsOf(path)))
  for (const path of above) {
    const group = found.has(path) ? null : await findOne(run, 'one group', { key: path, path })
    if (group && (await isGroup(run, group))) found.set(group.full_path, group)
  }
  return [...found.values()]
}

/** The first part of a project's path may be a user, whom some servers show as a group; only groups have teams. */
const isGroup = async (run: Run, { key, full_path: path }: GroupRecord): Promise<boolean> =>
  run.source.dialect.lists.team === undefined || (await findOne(run, 'team', { key, path })) !== null

const ancestorsOf = (path: string): string[] => (path.includes('/') ? [...ancestorsOf(parentOf(path)), parentOf(path)] : [])

/** A group and all below it; a server may say that groups are above themselves. */
async function addBelow(run: Run, found: Map<string, GroupRecord>, group: GroupRecord): Promise<void> {
  if (found.has(group.full_path) || depthOf(group) > MAX_DEPTH) return
  found.set(group.full_path, group)
  if (run.source.dialect.lists.subgroup === undefined) return
  for (const below of await listAll(run, 'subgroup', { key: group.key, path: group.full_path })) await addBelow(run, found, below)
}

async function placeGroup(run: Run, record: GroupRecord): Promise<Place | null> {
  const { key, full_path } = record
  const known = (await run.ledger.known('group', [key])).get(key)
  const here = known ?? (await bring(run, { kind: 'group', key, name: full_path }, () => newGroup(run, record)))
  if (run.ledger.dry) return (await run.ledger.known('group', [key])).size > 0 ? { key, path: full_path, here: 0 } : null
  if (here === null) return null
  const isThere = (await run.ctx.db.write.$count(namespaces, eq(namespaces.id, here))) > 0
  if (!isThere) await run.ledger.leftOut('contents of a group', key, full_path, 'the group has been deleted here since it came')
  return isThere ? { key, path: full_path, here } : null
}

/** The group here below which one goes; null: none. */
async function parentHere(run: Run, path: string): Promise<number | null> {
  const above = parentOf(path)
  if (above !== '') {
    const parent = run.groups.get(above.toLowerCase())
    if (!parent) throw new Refused('the group above it did not come')
    return parent.here
  }
  return run.into
}

async function newGroup(run: Run, record: GroupRecord): Promise<Write> {
  const { ctx } = run
  const { full_path, description, lfs_enabled, request_access_enabled, created_at } = record
  const parentId = await parentHere(run, full_path)
  const settings = await readSettings(ctx)
  const name = await usableName(run, 'group', record, groupNameFaults)
  const path = full_path.split('/').at(-1) as string
  // what is taken here is looked up when it is written
  if (run.ledger.dry) refuseIfFaults('path', namespacePathFaults(path, full_path.includes('/') || run.into !== null ? 'below' : 'top'))
  return async (tx) => {
    const parent = parentId === null ? null : await lockNamespace(tx, parentId)
    // not more visible than what it is in
    const level = Math.min(VISIBILITY_LEVEL[record.visibility], parent?.visibility ?? VISIBILITY_LEVEL.public)
    const faults = await groupFaults(tx, { user: IMPORTER.user, settings, parent, self: null }, { name, path, level })
    if (parent && (await isTooDeep(tx, parent))) faults['parent_id'] = ['has too deep level of nesting']
    if (Object.keys(faults).length > 0) throw invalidRecord(faults)
    const at = created_at ?? ctx.now()
    const values = {
      name,
      path,
      description: [...description].slice(0, MAX_DESCRIPTION).join(''),
      visibility: level,
      lfs_enabled,
      request_access_enabled,
    }
    const made = await insertGroup(tx, parent, { ...values, created_at: at, updated_at: at })
    await audit(ctx, tx, { action: 'group_created', target: { type: 'group', id: made.id, name: made.full_path }, changes: { imported: true } })
    return made.id
  }
}

const MAX_DESCRIPTION = 255

async function bringBelongings(run: Run, place: Place): Promise<void> {
  const scope: Scope = { key: place.key, path: place.path }
  const owner = { kind: 'group' as const, id: place.here, fullPath: place.path }
  await bringMembers(run, scope, owner)
  await bringGroupPlan(run, scope, place.here)
  await bringVariables(run, 'group variable', scope, owner)
  await bringHooks(run, 'group hook', scope, owner)
}
