import { and, asc, eq, inArray, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Caller } from '../../../access/actor.js'
import { LEVELS } from '../../../access/can.js'
import { membershipCounts, projectLevel, qualified, shareCounts } from '../../../access/roles.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { ReadDatabase, Transaction } from '../../../db/client.js'
import { totalCount } from '../../../db/decoded.js'
import { onlyRow } from '../../../db/only-row.js'
import {
  deployAccessLevels,
  members,
  namespaceAncestry,
  namespaces,
  projectShares,
  projects,
  protectedEnvironments,
  users,
} from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { conflict, Failure, forbidden, invalidInput, notFound } from '../../../failures.js'
import { environmentNameFault } from '../../../rules/ci/environments.js'
import { type AuditAction, audit } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { lockName } from '../../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'

type Row = typeof deployAccessLevels.$inferSelect
type Level = Omit<Row, 'namespace_id'> & { group_id: number | null }

/** A protected environment with those who may deploy to it, the oldest of them first. */
export interface ProtectedEnvironment {
  id: number
  name: string
  levels: (Level & { user_name: string | null; group_name: string | null })[]
}

/** One of those who may deploy; with an id one of those that are there, which is changed or taken away. */
export interface GivenLevel {
  id?: number | undefined
  access_level?: number | undefined
  user_id?: number | undefined
  group_id?: number | undefined
  group_inheritance_type?: number | undefined
  _destroy?: boolean | undefined
}

/** The most protected environments of a project, and the most that may deploy to one. */
const MAX_ENVIRONMENTS = 100
const MAX_LEVELS = 50

const levelsOf = qualified(sql<
  ProtectedEnvironment['levels']
>`(select coalesce(json_agg(json_build_object('id', l.id, 'protected_environment_id', l.protected_environment_id,
    'access_level', l.access_level, 'user_id', l.user_id, 'group_id', l.namespace_id, 'group_inheritance_type', l.group_inheritance_type,
    'user_name', (select u.name from ${users} u where u.id = l.user_id), 'group_name', (select g.name from ${namespaces} g where g.id = l.namespace_id)) order by l.id), '[]')
  from ${deployAccessLevels} l where l.protected_environment_id = ${protectedEnvironments.id})`)

const query = (db: ReadDatabase) =>
  db.select({ id: protectedEnvironments.id, name: protectedEnvironments.name, levels: levelsOf, total: totalCount() }).from(protectedEnvironments)

const selectProtected = statement('protected environments', (db, by: 'all' | 'name') =>
  query(db)
    .where(
      and(
        eq(protectedEnvironments.project_id, sql.placeholder('project')),
        by === 'name' ? eq(protectedEnvironments.name, sql.placeholder('name')) : undefined,
      ),
    )
    .orderBy(asc(protectedEnvironments.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The protected environments of a project, the oldest first (PE-2). */
export async function listProtectedEnvironments(ctx: Context, { project }: ProjectSubject, paging: Paging): Promise<Page<ProtectedEnvironment>> {
  return pageFrom(selectProtected(ctx.db, 'all'), { project: project.id }, paging)
}

export async function getProtectedEnvironment(ctx: Context, { project }: ProjectSubject, name: string): Promise<ProtectedEnvironment> {
  const [found] = await selectProtected(ctx.db, 'name').execute({ project: project.id, name, limit: 1, offset: 0 })
  if (!found) throw notFound()
  return found
}

/** SQL condition: the user, who has this level on the project, is one of those who may deploy to a protected environment (PE-1). */
const mayDeploy = (environment: SQLWrapper, user: SQLWrapper, level: SQLWrapper): SQL => sql`exists (select from ${deployAccessLevels} d
  where d.protected_environment_id = ${environment} and (d.user_id = ${user} or d.access_level <= ${level}
    or exists (select from ${members} m where m.user_id = ${user} and ${membershipCounts} and (m.namespace_id = d.namespace_id
      or d.group_inheritance_type = 1 and m.namespace_id in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = d.namespace_id)))))`

/** SQL condition: the environment of a job with this definition is protected from the user whose job it is (PE-4). */
export const isClosedTo = (project: SQLWrapper, definition: SQLWrapper, user: SQLWrapper): SQL<boolean> => sql<boolean>`exists (
  select from ${protectedEnvironments} e join ${projects} p on p.id = e.project_id
  where e.project_id = ${project} and e.name = ${definition} -> 'environment' ->> 'name' and not exists (select from ${users} u where u.id = ${user}
    and (u.admin or ${mayDeploy(sql`e.id`, sql`u.id`, projectLevel({ id: sql`p.id`, namespace_id: sql`p.namespace_id` }, sql`u.id`))})))`

const selectClosed = statement('environments protected from a user', (db) =>
  db
    .select({ name: protectedEnvironments.name })
    .from(protectedEnvironments)
    .where(
      sql`${protectedEnvironments.project_id} = ${sql.placeholder('project')}
        and not ${mayDeploy(protectedEnvironments.id, sql`${sql.placeholder('user')}::bigint`, sql`${sql.placeholder('level')}::integer`)}`,
    ),
)

/** The names of the environments of a project to which the caller may not deploy (PE-1). */
export async function closedEnvironments(ctx: Context, { project, level }: ProjectSubject, { user }: Pick<Caller, 'user'>): Promise<Set<string>> {
  if (user?.admin) return new Set()
  const closed = await selectClosed(ctx.db, null).execute({ project: project.id, user: user?.id ?? 0, level })
  return new Set(closed.map(({ name }) => name))
}

/** Throws 403 where the environment with this name is protected from the caller (PE-3). */
export async function requireDeploys(ctx: Context, subject: ProjectSubject, caller: Pick<Caller, 'user'>, name: string): Promise<void> {
  if ((await closedEnvironments(ctx, subject, caller)).has(name)) throw forbidden()
}

const faulty = (faults: string[]) => new Failure('unprocessable', { message: faults })

type NewLevel = Pick<Level, 'access_level' | 'user_id' | 'group_id' | 'group_inheritance_type'>

/** What one is given as, of which there is exactly one of role, user and group. */
function levelOf({ access_level, user_id, group_id, group_inheritance_type = 0 }: GivenLevel): NewLevel {
  const names = ['access_level', 'user_id', 'group_id'].map((name) => `deploy_access_levels[${name}]`).join(', ')
  const given = [access_level, user_id, group_id].filter((value) => value !== undefined).length
  if (given === 0) throw invalidInput(`${names} are missing, exactly one parameter must be provided`)
  if (given > 1) throw invalidInput(`${names} are mutually exclusive`)
  return { access_level: access_level ?? null, user_id: user_id ?? null, group_id: group_id ?? null, group_inheritance_type }
}

/** Throws unless users have a level on the project, and groups are above it or share it (PE-2). */
async function checkPeople(tx: Transaction, { project }: ProjectSubject, levels: NewLevel[]): Promise<void> {
  const userIds = [...new Set(levels.flatMap(({ user_id }) => user_id ?? []))]
  const groupIds = [...new Set(levels.flatMap(({ group_id }) => group_id ?? []))]
  if (userIds.length > 0) {
    const level = projectLevel({ id: sql`${project.id}::bigint`, namespace_id: sql`${project.namespace_id}::bigint` }, users.id)
    const found = await tx
      .select({ id: users.id })
      .from(users)
      .where(and(inArray(users.id, userIds), sql`${level} >= ${LEVELS.guest}`))
    if (found.length < userIds.length) throw faulty(['Deploy access levels user must be a member of the project'])
  }
  if (groupIds.length > 0) {
    const { rows } = await tx.execute(sql`select n.id from ${namespaces} n where n.kind = 'group' and n.id = any(${sql.param(groupIds)}::bigint[])
      and (n.id in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${project.namespace_id})
        or n.id in (select s.group_id from ${projectShares} s where s.project_id = ${project.id} and ${shareCounts}))`)
    if (rows.length < groupIds.length) throw faulty(['Deploy access levels group must be above the project, or the project shared with it'])
  }
}

/** Stores who may deploy, and reads them back; none or too many are refused. */
async function store(tx: Transaction, subject: ProjectSubject, id: number, added: NewLevel[]): Promise<ProtectedEnvironment> {
  await checkPeople(tx, subject, added)
  if (added.length > 0)
    await tx
      .insert(deployAccessLevels)
      .values(added.map(({ group_id: namespace_id, ...each }) => ({ ...each, namespace_id, protected_environment_id: id })))
  const stored = onlyRow(await query(tx).where(eq(protectedEnvironments.id, id)))
  if (stored.levels.length === 0) throw faulty(["Deploy access levels can't be blank"])
  if (stored.levels.length > MAX_LEVELS) throw faulty([`Deploy access levels are too many (maximum is ${MAX_LEVELS})`])
  return stored
}

const auditProtection = (
  ctx: Context,
  tx: Transaction,
  { project }: ProjectSubject,
  action: Extract<AuditAction, `protected_environment_${string}`>,
  { name, levels }: ProtectedEnvironment,
) => {
  const deploy_access_levels = levels.map(({ access_level, user_id, group_id }) => ({ access_level, user_id, group_id }))
  return audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes: { name, deploy_access_levels } })
}

/** Protects the environments of a name, which need not be there yet; 409 where it is protected, 422 where it is none (PE-2). */
export async function protectEnvironment(ctx: Context, subject: ProjectSubject, name: string, given: GivenLevel[]): Promise<ProtectedEnvironment> {
  const fault = environmentNameFault(name)
  if (fault) throw new Failure('unprocessable', { message: [`Name ${fault}`] }, {}, { name: [fault] })
  const levels = given.map(levelOf)
  const project_id = subject.project.id
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `protected environments of project ${project_id}`)
    const [made] = await tx
      .insert(protectedEnvironments)
      .values({ project_id, name, created_at: createdNow(ctx).created_at })
      .onConflictDoNothing()
      .returning({ id: protectedEnvironments.id })
    if (!made) throw conflict(`Protected environment '${name}' already exists`)
    if ((await tx.$count(protectedEnvironments, eq(protectedEnvironments.project_id, project_id))) > MAX_ENVIRONMENTS)
      throw faulty([`There are already ${MAX_ENVIRONMENTS} protected environments`])
    const stored = await store(tx, subject, made.id, levels)
    await auditProtection(ctx, tx, subject, 'protected_environment_added', stored)
    return stored
  })
}

const named = ({ project }: ProjectSubject, name: string) =>
  and(eq(protectedEnvironments.project_id, project.id), eq(protectedEnvironments.name, name))

/** Adds, changes and takes away those who may deploy; the others stay (PE-2). */
export async function updateProtectedEnvironment(
  ctx: Context,
  subject: ProjectSubject,
  name: string,
  given: GivenLevel[],
): Promise<ProtectedEnvironment> {
  return ctx.db.transaction(async (tx) => {
    const [found] = await tx.select({ id: protectedEnvironments.id }).from(protectedEnvironments).where(named(subject, name)).for('update')
    if (!found) throw notFound()
    const replaced = given.flatMap(({ id }) => id ?? [])
    const gone = await tx
      .delete(deployAccessLevels)
      .where(and(eq(deployAccessLevels.protected_environment_id, found.id), inArray(deployAccessLevels.id, [0, ...replaced])))
      .returning({ id: deployAccessLevels.id })
    if (gone.length < new Set(replaced).size) throw notFound()
    const kept = given.filter(({ _destroy }) => !_destroy)
    const stored = await store(tx, subject, found.id, kept.map(levelOf))
    if (given.length > 0) await auditProtection(ctx, tx, subject, 'protected_environment_updated', stored)
    return stored
  })
}

export async function unprotectEnvironment(ctx: Context, subject: ProjectSubject, name: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [found] = await query(tx).where(named(subject, name))
    if (!found) throw notFound()
    await tx.delete(protectedEnvironments).where(named(subject, name))
    await auditProtection(ctx, tx, subject, 'protected_environment_removed', found)
  })
}
