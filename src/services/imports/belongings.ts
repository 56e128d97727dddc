import { eq } from 'drizzle-orm'
import { actingAs } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import { members, protectedBranches, protectedTags, sshKeys, webHooks } from '../../db/schema/index.js'
import { createHook } from '../hooks/hooks.js'
import { ghostId } from '../identity/ghost.js'
import { addDeployKey } from '../projects/deploy-keys.js'
import { createVariable } from '../projects/variables.js'
import { bringAll, bringEach, findOne, listAll, notYetHere, Refused, type Write } from './bring.js'
import { personId } from './people.js'
import { IMPORTER, type Run, type Team } from './run.js'
import type { Scope } from './source/dialect.js'
import type { MemberRecord } from './source/records.js'

/** A project or a group here. */
export interface Owner {
  kind: 'project' | 'group'
  id: number
  fullPath: string
}

const LEVELS = [10, 20, 30, 40, 50]

/** Brings the members of a group. */
export async function bringMembers(run: Run, scope: Scope, owner: Owner): Promise<void> {
  await bringAll(run, 'group member', scope, (record) => newMember(run, record, owner))
  await bringTeams(run, scope, owner)
}

/**
 * Brings the members of the teams of an organisation: each has the level of the team. Teams that are for some projects
 * only give no right to the others, so they are kept for those.
 */
async function bringTeams(run: Run, scope: Scope, owner: Owner): Promise<void> {
  const everywhere: Team[] = []
  for (const { key, name, level, everywhere: isEverywhere } of await listAll(run, 'team', scope)) {
    const left = (reason: string) => run.ledger.leftOut('team', key, `${scope.path}: ${name}`, reason)
    if (level === null) await left('its members may read neither code nor issues, for which there is no level')
    else if (isEverywhere) everywhere.push({ key, level })
    else if (run.source.dialect.lists['project of a team'] === undefined)
      await left('the API does not say which projects it is for: add its members where they belong')
    else
      for (const project of await listAll(run, 'project of a team', { key, path: `${scope.path}: ${name}` }))
        run.teams.set(project.key, [...(run.teams.get(project.key) ?? []), { key, level }])
  }
  // who is in several has the highest of their levels
  for (const { key, level } of everywhere.sort((a, b) => b.level - a.level))
    await bringAll(run, 'team member', { key, path: scope.path, level }, (record) => newMember(run, record, owner))
}

/** Brings the members of a project, and those of teams that are for it; who is both has the higher level. */
export async function bringProjectMembers(run: Run, scope: Scope, owner: Owner): Promise<void> {
  const listed = await listAll(run, 'member', scope)
  for (const { key, level } of run.teams.get(scope.key) ?? []) listed.push(...(await listAll(run, 'team member', { key, path: scope.path, level })))
  const highest = new Map<string, MemberRecord>()
  for (const record of await notYetHere(run, 'member', scope, listed)) {
    const level = record.level ?? (await levelOf(run, scope, record))
    if (level > (highest.get(record.key)?.level ?? -1)) highest.set(record.key, { ...record, level })
  }
  await bringEach(run, 'member', scope, [...highest.values()], (record) => newMember(run, record, owner))
}

/** Of somebody of whom the list does not say it: who is listed may read at least. */
async function levelOf(run: Run, scope: Scope, { person }: MemberRecord): Promise<number> {
  const found = await findOne(run, 'level of a member', { ...scope, username: person.username })
  return found?.level ?? REPORTER
}

const REPORTER = 20

async function newMember(run: Run, { person, level: given, expires_at, created_at }: MemberRecord, owner: Owner): Promise<Write> {
  const level = given ?? REPORTER
  const highest = owner.kind === 'project' ? 40 : 50
  const access_level = LEVELS.filter((known) => known <= Math.min(level, highest)).at(-1)
  if (access_level === undefined) throw new Refused(`there is no level ${level}`)
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

/** Brings CI variables. */
export async function bringVariables(run: Run, kind: 'variable' | 'group variable', scope: Scope, owner: Owner): Promise<void> {
  await bringAll(run, kind, scope, async ({ key, value, protected: isProtected }) => async (_, ctx) => {
    await createVariable(ctx, owner, { key, value, protected: isProtected })
    return null
  })
}

/** Brings webhooks, without their tokens. */
export async function bringHooks(run: Run, kind: 'hook' | 'group hook', scope: Scope, owner: Owner): Promise<void> {
  await bringAll(run, kind, scope, async ({ key, events, created_at, ...given }) => async (tx, ctx) => {
    const chosen = { push: false, ...Object.fromEntries(events.map((event) => [event, true])) }
    const { id } = await createHook(ctx, { kind: owner.kind, id: owner.id, name: owner.fullPath }, { ...given, events: chosen })
    if (created_at) await tx.update(webHooks).set({ created_at }).where(eq(webHooks.id, id))
    return id
  })
}

/** Brings deploy keys, and what is protected in a repository. */
export async function bringProtections(run: Run, scope: Scope, { project }: ProjectSubject): Promise<void> {
  await bringAll(run, 'deploy key', scope, async ({ title, line, can_push, created_at }) => {
    const creator = run.ledger.dry ? 0 : (project.creator_id ?? (await ghostId(run.ctx)))
    return async (tx, ctx) => {
      const { key } = await addDeployKey(ctx, actingAs({ ...IMPORTER.user, id: creator }), project, { title, key: line, can_push })
      if (created_at) await tx.update(sshKeys).set({ created_at }).where(eq(sshKeys.id, key.id))
      return null
    }
  })
  await bringAll(run, 'protected branch', scope, async ({ key: name, ...levels }) => async (tx) => {
    const values = { project_id: project.id, name, ...levels }
    // the default branch has been protected as the settings say
    await tx
      .insert(protectedBranches)
      .values(values)
      .onConflictDoUpdate({ target: [protectedBranches.project_id, protectedBranches.name], set: levels })
    return null
  })
  await bringAll(run, 'protected tag', scope, async ({ key: name, create_level }) => async (tx) => {
    await tx.insert(protectedTags).values({ project_id: project.id, name, create_level })
    return null
  })
}

/** What is protected is only what the other server says, where it does. */
export async function forgetUsualProtection(run: Run, projectId: number): Promise<void> {
  if (run.source.dialect.lists['protected branch'] !== undefined)
    await run.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, projectId))
}
