import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { count, countWhere, decoded } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { namespaces, processes, projects, repositoryChecks, users } from '../../db/schema/index.js'

/** How many users there are of each kind. */
export type UserCounts = Awaited<ReturnType<typeof countUsers>>

/** Counts users by what they are, the ghost left out. */
export async function countUsers({ db }: Context) {
  const counted = db.write
    .select({
      all: count(),
      active: countWhere(eq(users.state, 'active')),
      deactivated: countWhere(eq(users.state, 'deactivated')),
      blocked: countWhere(inArray(users.state, ['blocked', 'ldap_blocked'])),
      banned: countWhere(eq(users.state, 'banned')),
      waiting: countWhere(eq(users.state, 'blocked_pending_approval')),
      admins: countWhere(users.admin),
      external: countWhere(users.external),
      two_factor: countWhere(users.two_factor_enabled),
    })
    .from(users)
    .where(eq(users.kind, 'human'))
  return onlyRow(await counted)
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
const storageSums = ({ db }: Context) =>
  db.write
    .select({
      storage: projects.storage,
      projects: count(),
      shown: countWhere(isNull(projects.marked_for_deletion_at)),
      bytes: decoded(
        sql<number>`sum(${projects.repository_size} + ${projects.lfs_objects_size} + ${projects.job_artifacts_size} + ${projects.packages_size})`,
        Number,
      ),
    })
    .from(projects)
    .groupBy(projects.storage)
    .orderBy(projects.storage)

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
    // five tables in one statement, which the builder would send as five
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
    projects: stored.reduce((sum, { shown }) => sum + shown, 0),
    deleted: number('deleted'),
    damaged: number('damaged'),
    processes: number('processes'),
    database: { version: row?.version ?? '', bytes: number('bytes') },
    storages: disks.map((storage) => {
      const own = stored.find((each) => each.storage === storage.name)
      return { ...storage, projects: own?.projects ?? 0, bytes: own?.bytes ?? 0 }
    }),
  }
}

/** Rows from which on Postgres' own estimate is taken, which costs nothing. */
const ESTIMATED_FROM = 10_000

const TABLES = ['issues', 'merge_requests', 'notes', 'snippets', 'ssh_keys', 'milestones'] as const

/** How many there are of each kind on the instance; large tables are estimated (RX-2). */
export async function countInstance({ db }: Context): Promise<Record<string, number>> {
  const counts = TABLES.map((name) => {
    const rows = sql`(select reltuples from pg_class where oid = ${name}::regclass)`
    return sql`case when ${rows} >= ${ESTIMATED_FROM} then ${rows}::bigint else (select count(*) from ${sql.identifier(name)}) end as ${sql.identifier(name)}`
  })
  const result = await db.write.execute<Record<string, string>>(sql`select ${sql.join(counts, sql`, `)},
    (select count(*) from projects where forked_from_id is not null and marked_for_deletion_at is null) as forks,
    (select count(*) from projects where marked_for_deletion_at is null) as projects,
    (select count(*) from namespaces where kind = 'group' and marked_for_deletion_at is null) as groups,
    (select count(*) from users where kind = 'human') as users,
    (select count(*) from users where kind = 'human' and state = 'active') as active_users`)
  return Object.fromEntries(Object.entries(result.rows[0] ?? {}).map(([name, value]) => [name, Number(value)]))
}
