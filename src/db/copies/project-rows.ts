import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StartFault } from '../../lib/start-fault.js'
import { formerPath, projectPathFaults } from '../../rules/path.js'
import { lastApplied } from '../migrate.js'
import { connectOnce } from '../servers.js'
import { TRANSACTION_SETTINGS } from '../sql/names.js'
import { type DatabaseDump, dumpFileName } from './dump.js'

/** A project of a dump that goes back into the database that the dump was made of. */
export interface ProjectRequest {
  /** Its full path at the time of the dump. */
  path: string
  /** Another full path for it. */
  as?: string | undefined
  /** The id of the ghost user, who becomes the author of what deleted users wrote. */
  ghost: number
  /** The storage for its repositories, by that of the dump. */
  storageFor(storage: string): string
}

export interface RestoredProject {
  id: number
  /** The storage of the dump, and the one of the project from now on. */
  from: string
  storage: string
  path: string
  lfsObjects: string[]
  /** The names of files of jobs in their store. */
  artifacts: string[]
  packages: string[]
}

/** A foreign key: column `column` of `table` refers to `key` of `target`. `action`: that of a deletion. */
interface ForeignKey {
  table: string
  column: string
  target: string
  key: string
  action: 'a' | 'c' | 'n' | 'r' | 'd'
  nullable: boolean
}

/** Tables whose rows are work in progress, or are made anew. */
const LEFT_OUT = new Set(['ref_intents', 'hook_deliveries', 'project_imports', 'routes', 'redirects'])
/** Tables that tell whether a row that is referred to is still the same. */
const IDENTITIES = ['users', 'namespaces']
/** Tables whose rows are restored because a row of the project refers to them. */
const SHARED = ['lfs_objects', 'ssh_keys']

const staged = (table: string) => `pg_temp.staged_${table}`

/**
 * Puts the rows of one project back with their ids, which are never used again, in one transaction. Belongs to it what
 * the deletion of the project removes; a reference to what has been deleted since is treated as that deletion would
 * have. `placeFiles` runs before the commit. Throws a StartFault if the project is still there or its path is taken.
 */
export async function loadProject(
  url: string,
  folder: string,
  dump: DatabaseDump,
  request: ProjectRequest,
  placeFiles: (project: RestoredProject) => Promise<void>,
): Promise<RestoredProject> {
  const client = await connectOnce(url, 'roost copy')
  try {
    if ((await lastApplied(client)) !== dump.schema)
      throw new StartFault('the backup was made by another version of Roost: restore all of it elsewhere, and import the project from there')
    await client.query(`begin; set local ${TRANSACTION_SETTINGS.silent} = 'yes'`)
    const foreignKeys = (await client.query<ForeignKey>(SELECT_FOREIGN_KEYS)).rows
    const owned = ownedTables(foreignKeys)
    for (const name of [...owned, ...IDENTITIES, ...SHARED, 'installation']) await stage(client, folder, dump, name)
    const project = await findProject(client, request)
    await keepOwnRows(client, foreignKeys, owned, project.id)
    await settleReferences(client, foreignKeys, owned, request.ghost)
    await settlePeople(client)
    await insertShared(client, dump)
    await insertRows(client, dump, foreignKeys, owned)
    await client.query('insert into routes (key, project_id) values (lower($1), $2)', [project.path, project.id])
    const objects = await client.query<{ oid: string }>('select oid from lfs_object_projects where project_id = $1', [project.id])
    const files = await client.query<{ oid: string }>('select distinct oid from artifacts where project_id = $1', [project.id])
    const published = await client.query<{ oid: string }>(
      'select oid from package_files where project_id = $1 union select oid from container_blobs where project_id = $1',
      [project.id],
    )
    const oids = ({ rows }: { rows: { oid: string }[] }) => rows.map(({ oid }) => oid)
    const restored = { ...project, lfsObjects: oids(objects), artifacts: oids(files), packages: oids(published) }
    await placeFiles(restored)
    await client.query('delete from pending_repository_deletions where project_id = $1', [project.id])
    await client.query('commit')
    return restored
  } catch (error) {
    if ((error as { code?: string }).code !== '23505') throw error
    throw new StartFault(`an id or a name of the project is taken: ${(error as { detail?: string }).detail ?? (error as Error).message}`)
  } finally {
    await client.end()
  }
}

/** The tables whose rows the deletion of a project removes, the projects first. */
function ownedTables(foreignKeys: ForeignKey[]): string[] {
  const owned = ['projects']
  for (const table of owned)
    for (const { table: below, target, action } of foreignKeys)
      if (target === table && action === 'c' && !owned.includes(below) && !LEFT_OUT.has(below)) owned.push(below)
  return owned
}

async function stage(client: pg.Client, folder: string, { tables }: DatabaseDump, name: string): Promise<void> {
  const columns = tables.find((table) => table.name === name)?.columns.join(', ')
  if (columns === undefined) throw new StartFault(`the backup has no table ${name}`)
  await client.query(`create temp table staged_${name} on commit drop as select ${columns} from public.${name} limit 0`)
  await pipeline(createReadStream(join(folder, dumpFileName(name))), client.query(copyFrom(`copy ${staged(name)} (${columns}) from stdin`)))
  await client.query(`alter table ${staged(name)} add column kept boolean not null default false`)
  await client.query(`analyze ${staged(name)}`)
}

interface Found {
  id: string
  storage: string
  path: string
  name: string
  namespace_id: string
}

type Row = Record<string, string>

/** Finds the project in the dump, and gives it its namespace, path and storage here. */
async function findProject(
  client: pg.Client,
  { path, as, storageFor }: ProjectRequest,
): Promise<Omit<RestoredProject, 'lfsObjects' | 'artifacts' | 'packages'>> {
  const one = async <R extends pg.QueryResultRow = Row>(text: string, values: unknown[] = []) => (await client.query<R>(text, values)).rows[0]
  if (await one(`select 1 from ${staged('installation')} s full join installation i using (bucket_owner) where s.id is null or i.id is null`))
    throw new StartFault('the backup is of another installation: restore it into an empty one, and import the project from there')
  const found = await findStaged(client, path)
  const id = Number(found.id)
  const present = await one(
    `select n.full_path || '/' || p.path as path, p.marked_for_deletion_at from projects p join namespaces n on n.id = p.namespace_id where p.id = $1`,
    [id],
  )
  if (present?.['marked_for_deletion_at']) throw new StartFault(`the project waits for its removal: roost project restore ${id}`)
  if (present)
    throw new StartFault(`the project is still here as ${present['path']}: to have both, restore the backup into an empty installation and import it`)
  const namespace = await findNamespace(client, found, as)
  const name = as?.slice(as.lastIndexOf('/') + 1) ?? formerPath(found.path)
  const fullPath = `${namespace.full_path}/${name}`
  const faults = projectPathFaults(name)
  if (faults.length > 0) throw new StartFault(`the path ${name} ${faults[0]}`)
  if (await one('select 1 from routes where key = lower($1)', [fullPath]))
    throw new StartFault(`the path ${fullPath} is taken: choose another path with --as group/${formerPath(found.path)}`)
  const storage = storageFor(found.storage)
  // triggers add the sizes of artifacts and packages when their rows are inserted
  await client.query(
    `update ${staged('projects')} s set namespace_id = n.id, path = $3, storage = $4, marked_for_deletion_at = null, deletion_due_at = null, job_artifacts_size = 0, packages_size = 0,
       name = case when exists (select 1 from projects o where o.namespace_id = n.id and lower(o.name) = lower($5)) then $3 else $5 end,
       visibility = case when n.kind = 'group' then least(s.visibility, n.visibility) else s.visibility end,
       import_status = case when import_status in ('scheduled', 'started') then 'failed' else import_status end
     from namespaces n where s.id = $1 and n.id = $2`,
    [id, namespace.id, name, storage, formerPath(found.name)],
  )
  return { id, from: found.storage, storage, path: fullPath }
}

/** The project with this path in the dump, or else a deleted one that had it. */
async function findStaged(client: pg.Client, path: string): Promise<Found> {
  const { rows } = await client.query<Found & { full_path: string }>(
    `select p.id, p.storage, p.path, p.name, p.namespace_id, n.full_path || '/' || p.path as full_path
     from ${staged('projects')} p join ${staged('namespaces')} n on n.id = p.namespace_id
     where starts_with(lower(p.path), lower($1)) order by p.marked_for_deletion_at desc nulls first`,
    [path.slice(path.lastIndexOf('/') + 1)],
  )
  const wanted = path.toLowerCase()
  const found = rows.find((row) => row.full_path.toLowerCase() === wanted) ?? rows.find((row) => formerPath(row.full_path).toLowerCase() === wanted)
  if (!found) throw new StartFault(`the backup has no project ${path}`)
  return found
}

/** The group or user that the project goes to, which is locked. */
async function findNamespace(client: pg.Client, found: Found, as: string | undefined): Promise<{ id: string; full_path: string }> {
  if (as !== undefined && !/^[^/]+(\/[^/]+)+$/.test(as)) throw new StartFault(`${as} is not the full path of a project`)
  const parent = as?.slice(0, as.lastIndexOf('/'))
  const { rows } = await client.query<{ id: string; full_path: string }>(
    `select n.id, n.full_path from namespaces n where n.marked_for_deletion_at is null and
       case when $1::text is null then n.id = $2 and exists (select 1 from ${staged('namespaces')} s where s.id = n.id and s.created_at = n.created_at)
       else lower(n.full_path) = lower($1) end for update`,
    [parent ?? null, found.namespace_id],
  )
  if (rows[0]) return rows[0]
  throw new StartFault(
    parent === undefined
      ? `the group or user of the project is not there any more: choose another with --as group/${formerPath(found.path)}`
      : `there is no group or user ${parent}`,
  )
}

/** Marks the rows that belong to the project, and removes all others. */
async function keepOwnRows(client: pg.Client, foreignKeys: ForeignKey[], owned: string[], id: number): Promise<void> {
  await client.query(`update ${staged('projects')} set kept = id = $1`, [id])
  const chains = foreignKeys.filter(
    ({ table, target, action }) => action === 'c' && table !== 'projects' && owned.includes(table) && owned.includes(target),
  )
  for (let changed = true; changed; ) {
    changed = false
    for (const { table, column, target, key } of chains) {
      const mark = `update ${staged(table)} t set kept = true from ${staged(target)} s where s.kept and not t.kept and s.${key} = t.${column}`
      if ((await client.query(mark)).rowCount) changed = true
    }
  }
  for (const table of owned) await client.query(`delete from ${staged(table)} where not kept`)
  await client.query(`update ${staged('lfs_objects')} o set kept = true from ${staged('lfs_object_projects')} l where l.oid = o.oid`)
  await client.query(
    `update ${staged('ssh_keys')} k set kept = true from ${staged('deploy_keys_projects')} d where d.key_id = k.id and k.user_id is null and not k.public`,
  )
}

/** Settles references to rows that are not there any more, as the deletion of those has settled other references. */
async function settleReferences(client: pg.Client, foreignKeys: ForeignKey[], owned: string[], ghost: number): Promise<void> {
  const tables = [...owned, 'ssh_keys']
  for (let changed = true; changed; ) {
    changed = false
    for (const { table, column, target, key, action, nullable } of foreignKeys.filter(({ table }) => tables.includes(table))) {
      const same = IDENTITIES.includes(target) ? ` join ${staged(target)} i on i.id = l.id and i.created_at = l.created_at` : ''
      const here = `exists (select 1 from public.${target} l${same} where l.${key} = t.${column})`
      const restored =
        owned.includes(target) || SHARED.includes(target)
          ? ` or exists (select 1 from ${staged(target)} s where s.kept and s.${key} = t.${column})`
          : ''
      // the namespace and the ghost have been chosen here
      const chosen = table === 'projects' && column === 'namespace_id' ? ' or true' : target === 'users' ? ` or t.${column} = ${ghost}` : ''
      const lost = `t.kept and t.${column} is not null and not (${here}${restored}${chosen})`
      const settle =
        action === 'n' && nullable
          ? `update ${staged(table)} t set ${column} = null where ${lost}`
          : action !== 'c' && target === 'users'
            ? `update ${staged(table)} t set ${column} = ${ghost} where ${lost}`
            : `delete from ${staged(table)} t where ${lost}`
      if ((await client.query(settle)).rowCount) changed = true
    }
  }
}

/** The columns with several users, and one that has a value for each of them. */
const PEOPLE = [
  { table: 'issues', column: 'assignee_ids', with: null },
  { table: 'merge_requests', column: 'assignee_ids', with: null },
  { table: 'merge_requests', column: 'reviewer_ids', with: 'reviews_requested_at' },
] as const

/** Takes users who are not there any more out of columns that have several. */
async function settlePeople(client: pg.Client): Promise<void> {
  const here = `exists (select 1 from public.users l join ${staged('users')} i on i.id = l.id and i.created_at = l.created_at where l.id = p.id)`
  for (const { table, column, with: beside } of PEOPLE) {
    const [names, values] = beside ? [`${column}, ${beside}`, 'p.id, p.beside, p.place'] : [column, 'p.id, p.place']
    const kept = (each: string) => `coalesce(array_agg(${each} order by p.place) filter (where ${here}), '{}')`
    await client.query(
      `update ${staged(table)} t set (${names}) = (select ${kept('p.id')}${beside ? `, ${kept('p.beside')}` : ''}
         from unnest(${beside ? `t.${column}, t.${beside}` : `t.${column}`}) with ordinality as p (${values.replaceAll('p.', '')}))
       where t.${column} <> '{}'`,
    )
  }
}

/** Inserts LFS objects and deploy keys that were deleted with the project. */
async function insertShared(client: pg.Client, dump: DatabaseDump): Promise<void> {
  for (const table of SHARED) {
    const columns = columnsOf(dump, table)
    await client.query(
      `insert into public.${table} (${columns}) overriding system value select ${columns} from ${staged(table)} where kept on conflict do nothing`,
    )
  }
  await client.query('delete from pending_lfs_deletions p using pg_temp.staged_lfs_objects o where o.kept and o.oid = p.oid')
  // the same key may have been added again meanwhile
  await client.query('delete from pg_temp.staged_deploy_keys_projects d where not exists (select 1 from ssh_keys k where k.id = d.key_id)')
}

/** Inserts the rows, those first that others refer to; nullable references to later rows are set at the end. */
async function insertRows(client: pg.Client, dump: DatabaseDump, foreignKeys: ForeignKey[], owned: string[]): Promise<void> {
  const waiting = new Set(owned)
  const later: string[] = []
  while (waiting.size > 0) {
    const inside = foreignKeys.filter(({ table, target }) => waiting.has(table) && waiting.has(target) && table !== target)
    const next = [...waiting].find((table) => !inside.some((each) => each.table === table && !each.nullable)) ?? ([...waiting][0] as string)
    const postponed = inside.filter(({ table }) => table === next).map(({ column }) => column)
    const columns = columnsOf(dump, next).split(', ')
    const values = columns.map((column) => (postponed.includes(column) ? 'null' : column)).join(', ')
    await client.query(`insert into public.${next} (${columns.join(', ')}) overriding system value select ${values} from ${staged(next)}`)
    for (const column of postponed)
      later.push(`update public.${next} t set ${column} = s.${column} from ${staged(next)} s where s.id = t.id and s.${column} is not null`)
    waiting.delete(next)
    if (columns.includes('id'))
      await client.query(
        `select setval(q, m) from (select pg_get_serial_sequence('public.${next}', 'id') as q, max(id) as m from ${staged(next)}) s
         where q is not null and m > coalesce((select last_value from pg_sequences where format('%I.%I', schemaname, sequencename) = q), 0)`,
      )
  }
  for (const text of later) await client.query(text)
}

const columnsOf = ({ tables }: DatabaseDump, name: string) => tables.find((table) => table.name === name)?.columns.join(', ') ?? ''

const SELECT_FOREIGN_KEYS = `select c.conrelid::regclass::text as table, a.attname as column, c.confrelid::regclass::text as target,
    k.attname as key, c.confdeltype as action, not a.attnotnull as nullable
  from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    join pg_attribute k on k.attrelid = c.confrelid and k.attnum = c.confkey[1]
  where c.contype = 'f' and c.connamespace = 'public'::regnamespace order by 1, 2`
