import { eq } from 'drizzle-orm'
import { actingAs } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import { members, protectedBranches, protectedTags, sshKeys, webHooks } from '../../db/schema/index.js'
import { createHook } from '../hooks/hooks.js'
import { ghostId } from '../identity/ghost.js'
import { addDeployKey } from '../projects/deploy-keys.js'
import { createVariable } from '../projects/variables.js'
import { CannotImport, fetchFirst, fetchList, importList, importRecords, notImported, type Write } from './items.js'
import { IMPORTER, type Run, type Team } from './run.js'
import type { Scope } from './source/dialect.js'
import type { MemberRecord } from './source/records.js'
import { personId } from './users.js'

/** A local project or group. */
export interface Owner {
  kind: 'project' | 'group'
  id: number
  fullPath: string
}

const ACCESS_LEVELS = [10, 20, 30, 40, 50]

/** Imports the members of a group. */
export async function importMembers(run: Run, scope: Scope, owner: Owner): Promise<void> {
  await importList(run, 'group member', scope, (record) => prepareMember(run, record, owner))
  await importTeams(run, scope, owner)
}

/**
 * Imports the members of an organisation's teams with the team's access level. Teams that cover only some projects are
 * remembered for these projects.
 */
async function importTeams(run: Run, scope: Scope, owner: Owner): Promise<void> {
  const everywhere: Team[] = []
  for (const { key, name, level, everywhere: isEverywhere } of await fetchList(run, 'team', scope)) {
    const reportTeam = (reason: string) => run.ledger.reportLeftOut('team', key, `${scope.path}: ${name}`, reason)
    if (level === null) await reportTeam('its members may read neither code nor issues, for which there is no level')
    else if (isEverywhere) everywhere.push({ key, level })
    else if (run.source.dialect.lists['project of a team'] === undefined)
      await reportTeam('the API does not say which projects it is for: add its members where they belong')
    else
      for (const project of await fetchList(run, 'project of a team', { key, path: `${scope.path}: ${name}` }))
        run.teamsByProject.set(project.key, [...(run.teamsByProject.get(project.key) ?? []), { key, level }])
  }
  // highest level first: a member of several teams gets it
  for (const { key, level } of everywhere.sort((a, b) => b.level - a.level))
    await importList(run, 'team member', { key, path: scope.path, level }, (record) => prepareMember(run, record, owner))
}

/** Imports a project's members and those of teams that cover it; a member of both gets the higher level. */
export async function importProjectMembers(run: Run, scope: Scope, owner: Owner): Promise<void> {
  const listed = await fetchList(run, 'member', scope)
  for (const { key, level } of run.teamsByProject.get(scope.key) ?? [])
    listed.push(...(await fetchList(run, 'team member', { key, path: scope.path, level })))
  const highest = new Map<string, MemberRecord>()
  for (const record of await notImported(run, 'member', scope, listed)) {
    const level = record.level ?? (await fetchLevel(run, scope, record))
    if (level > (highest.get(record.key)?.level ?? -1)) highest.set(record.key, { ...record, level })
  }
  await importRecords(run, 'member', scope, [...highest.values()], (record) => prepareMember(run, record, owner))
}

/** Looks up a level that the list does not include; listed members can read at least. */
async function fetchLevel(run: Run, scope: Scope, { person }: MemberRecord): Promise<number> {
  const found = await fetchFirst(run, 'level of a member', { ...scope, username: person.username })
  return found?.level ?? REPORTER
}

const REPORTER = 20

async function prepareMember(run: Run, { person, level: given, expires_at, created_at }: MemberRecord, owner: Owner): Promise<Write> {
  const level = given ?? REPORTER
  const highest = owner.kind === 'project' ? 40 : 50
  const access_level = ACCESS_LEVELS.findLast((known) => known <= Math.min(level, highest))
  if (access_level === undefined) throw new CannotImport(`there is no level ${level}`)
  const user_id = await personId(run, person)
  return async (tx) => {
    const at = created_at ?? run.ctx.now()
    const values = {
      user_id,
      access_level,
      expires_at,
      created_at: at,
      updated_at: at,
      [owner.kind === 'project' ? 'project_id' : 'namespace_id']: owner.id,
    }
    await tx.insert(members).values(values).onConflictDoNothing()
    return null
  }
}

/** Imports CI variables. */
export async function importVariables(run: Run, kind: 'variable' | 'group variable', scope: Scope, owner: Owner): Promise<void> {
  await importList(run, kind, scope, async ({ key: _key, name, ...given }) => async (_, ctx) => {
    await createVariable(ctx, owner, { ...given, key: name })
    return null
  })
}

/** Imports webhooks, without their tokens. */
export async function importHooks(run: Run, kind: 'hook' | 'group hook', scope: Scope, owner: Owner): Promise<void> {
  await importList(run, kind, scope, async ({ key, events, created_at, ...given }) => async (tx, ctx) => {
    const chosen = { push: false, ...Object.fromEntries(events.map((event) => [event, true])) }
    const { id } = await createHook(ctx, { kind: owner.kind, id: owner.id, name: owner.fullPath }, { ...given, events: chosen })
    if (created_at) await tx.update(webHooks).set({ created_at }).where(eq(webHooks.id, id))
    return id
  })
}

/** Imports deploy keys, protected branches and protected tags. */
export async function importDeployKeysAndProtection(run: Run, scope: Scope, { project }: ProjectSubject): Promise<void> {
  await importList(run, 'deploy key', scope, async ({ title, line, can_push, created_at }) => {
    const creator = run.ledger.dry ? 0 : (project.creator_id ?? (await ghostId(run.ctx)))
    return async (tx, ctx) => {
      const { key } = await addDeployKey(ctx, actingAs({ ...IMPORTER.user, id: creator }), project, { title, key: line, can_push })
      if (created_at) await tx.update(sshKeys).set({ created_at }).where(eq(sshKeys.id, key.id))
      return null
    }
  })
  await importList(run, 'protected branch', scope, async ({ key: name, ...levels }) => async (tx) => {
    const values = { project_id: project.id, name, ...levels }
    // the default branch may be protected already, by the settings
    await tx
      .insert(protectedBranches)
      .values(values)
      .onConflictDoUpdate({ target: [protectedBranches.project_id, protectedBranches.name], set: levels })
    return null
  })
  await importList(run, 'protected tag', scope, async ({ key: name, create_level }) => async (tx) => {
    await tx.insert(protectedTags).values({ project_id: project.id, name, create_level })
    return null
  })
}

/** Removes the default protection if the source server has a list of protected branches. */
export async function removeDefaultProtection(run: Run, projectId: number): Promise<void> {
  if (run.source.dialect.lists['protected branch'] !== undefined)
    await run.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, projectId))
}
