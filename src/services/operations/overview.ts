import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { namespaces, processes, projects, repositoryChecks, users } from '../../db/schema/index.js'

/** How the people of the service are. */
export interface UserCounts {
  all: number
  active: number
  deactivated: number
  blocked: number
  waiting: number
  admins: number
  external: number
  two_factor: number
}

/** Counts users by what they are, the ghost left out. */
export async function countUsers({ db }: Context): Promise<UserCounts> {
  const { rows } = await db.write.execute<Record<keyof UserCounts, string>>(sql`select count(*) as all,
    count(*) filter (where state = 'active') as active, count(*) filter (where state = 'deactivated') as deactivated,
    count(*) filter (where state in ('blocked', 'ldap_blocked')) as blocked,
    count(*) filter (where state = 'blocked_pending_approval') as waiting, count(*) filter (where admin) as admins,
    count(*) filter (where external) as external, count(*) filter (where two_factor_enabled) as two_factor
    from ${users} where kind = 'human'`)
  const count = (name: keyof UserCounts) => Number(rows[0]?.[name] ?? 0)
  return {
    all: count('all'),
    active: count('active'),
    deactivated: count('deactivated'),
    blocked: count('blocked'),
    waiting: count('waiting'),
    admins: count('admins'),
    external: count('external'),
    two_factor: count('two_factor'),
  }
}

/** A storage: the projects in it, what they take, and the room on its disk in bytes; null if it does not answer. */
interface StorageSpace {
  name: string
  path: string
  projects: number
  bytes: number
  disk: { free: number; total: number } | null
}

export interface Overview {
  users: UserCounts
  groups: number
  projects: number
  /** Projects and groups that wait for their removal. */
  deleted: number
  /** Repositories in which the last check has found damage. */
  damaged: number
  processes: number
  database: { version: string; bytes: number }
  storages: StorageSpace[]
}

/** What is in the storages: a sum over all projects. */
const storageSums = async ({ db }: Context) =>
  (
    await db.write.execute<{ storage: string; projects: string; shown: string; bytes: string }>(
      sql`select storage, count(*) as projects, count(*) filter (where marked_for_deletion_at is null) as shown, sum(repository_size + lfs_objects_size) as bytes from ${projects} group by storage order by storage`,
    )
  ).rows

/** How long a disk may take to answer. */
const DISK_MS = 1_000

const diskOf = (path: string): Promise<StorageSpace['disk']> =>
  Promise.race([
    statfs(path).then(
      ({ bsize, bavail, blocks }) => ({ free: bsize * bavail, total: bsize * blocks }),
      () => null,
    ),
    sleep(DISK_MS, null, { ref: false }),
  ])

/** What an administrator wants to know first (WB-171). */
export async function loadOverview(ctx: Context): Promise<Overview> {
  const [people, { rows }, stored, disks] = await Promise.all([
    countUsers(ctx),
    ctx.db.write.execute<Record<'groups' | 'deleted' | 'damaged' | 'processes' | 'version' | 'bytes', string>>(sql`select
      (select count(*) from ${namespaces} where kind = 'group' and marked_for_deletion_at is null) as groups,
      (select count(*) from ${projects} where deletion_due_at is not null) + (select count(*) from ${namespaces} where deletion_due_at is not null) as deleted,
      (select count(*) from ${repositoryChecks} where fault <> '') as damaged,
      (select count(*) from ${processes} where alive_until > pg_catalog.now()) as processes,
      current_setting('server_version') as version, pg_database_size(current_database()) as bytes`),
    storageSums(ctx),
    Promise.all(Object.entries(ctx.config.storages).map(async ([name, path]) => ({ name, path, disk: await diskOf(path) }))),
  ])
  const [row] = rows
  const number = (name: 'groups' | 'deleted' | 'damaged' | 'processes' | 'bytes') => Number(row?.[name] ?? 0)
  return {
    users: people,
    groups: number('groups'),
    projects: stored.reduce((sum, { shown }) => sum + Number(shown), 0),
    deleted: number('deleted'),
    damaged: number('damaged'),
    processes: number('processes'),
    database: { version: row?.version ?? '', bytes: number('bytes') },
    storages: disks.map((storage) => {
      const own = stored.find((each) => each.storage === storage.name)
      return { ...storage, projects: Number(own?.projects ?? 0), bytes: Number(own?.bytes ?? 0) }
    }),
  }
}
