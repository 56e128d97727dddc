import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../src/access/actor.js'
import { actorOf } from '../../src/access/actor.js'
import { getProjectFor } from '../../src/access/rules.js'
import type { Scope } from '../../src/access/scopes.js'
import type { Context } from '../../src/context.js'
import { applicationSettings, members, users } from '../../src/db/schema/index.js'
import type { Settings } from '../../src/services/core/settings.js'
import { createGroup, type NewGroup } from '../../src/services/groups/create.js'
import { createToken } from '../../src/services/identity/tokens.js'
import { createUser, type NewUser, type User } from '../../src/services/identity/users.js'
import { createProject, type NewProject } from '../../src/services/projects/create.js'
import { createCommit } from '../../src/services/repository/commits/create.js'

/** A caller of the API. */
export interface Credentialed {
  token: string
}

export interface TestUser extends User, Credentialed {
  password: string
  /** The user as the caller of services. */
  caller: SignedIn
}

let counter = 0
/** A number that is unique in this process. */
export const unique = () => ++counter

/** The URL of the generated avatar of a user without an uploaded one. */
export const drawnOf = ({ id }: { id: number }) => `http://roost.test/uploads/-/system/user/avatar/${id}/identicon.svg`

/** A user with a token of scope `api` (and `sudo` for an administrator). */
export async function aUser(ctx: Context, given: Partial<NewUser> & { scopes?: Scope[]; state?: User['state'] } = {}): Promise<TestUser> {
  const n = unique()
  const password = given.password ?? `password ${n}`
  const { scopes, state, ...attributes } = given
  const user = await createUser(ctx, {
    username: `user${n}`,
    name: `User ${n}`,
    email: `user${n}@example.com`,
    skip_confirmation: true,
    ...attributes,
    password,
  })
  const { token, value } = await createToken({ ...ctx, mail: null }, user, {
    name: 'test',
    scopes: scopes ?? (user.admin ? ['api', 'sudo'] : ['api']),
  })
  if (state) {
    await ctx.db.write.update(users).set({ state }).where(eq(users.id, user.id))
  }
  return {
    ...user,
    password,
    token: value,
    caller: { user: actorOf(user), token: { id: token.id, kind: 'personal', scopes: token.scopes as Scope[] } },
  }
}

export const anAdmin = (ctx: Context, given: Partial<NewUser> = {}) => aUser(ctx, { ...given, admin: true })

/** Another token of a user. */
export async function aToken(ctx: Context, user: TestUser, scopes: Scope[], expires_at?: string): Promise<string> {
  return (await createToken({ ...ctx, mail: null }, user, { name: 'test', scopes, expires_at })).value
}

const ROLES = { guest: 10, reporter: 20, developer: 30, maintainer: 40, owner: 50 } as const
type Roles = { [role in keyof typeof ROLES]?: TestUser | TestUser[] }

async function addMembers(ctx: Context, source: { project_id: number } | { namespace_id: number }, roles: Roles) {
  for (const [role, people] of Object.entries(roles)) {
    for (const person of [people].flat())
      if (person) await ctx.db.write.insert(members).values({ ...source, user_id: person.id, access_level: ROLES[role as keyof typeof ROLES] })
  }
}

function split<T extends object>(given: T & Roles): [T, Roles] {
  const { guest, reporter, developer, maintainer, owner, ...rest } = given
  return [rest as unknown as T, { guest, reporter, developer, maintainer, owner } as Roles]
}

export interface TestProject {
  id: number
  /** `/projects/:id`. */
  path: string
  fullPath: string
  creator: TestUser
}

/**
 * A project of a new or the given creator, private by default, with members by role. `files` are its first commit on
 * `main`.
 */
export async function aProject(
  ctx: Context,
  given: Partial<NewProject> & Roles & { creator?: TestUser; files?: Record<string, string> } = {},
): Promise<TestProject> {
  const { creator = await aUser(ctx), files, ...more } = given
  const [attributes, roles] = split<Partial<NewProject>>(more)
  const name = attributes.name ?? `project${unique()}`
  const id = await createProject(ctx, creator.caller, { name, ...attributes })
  await addMembers(ctx, { project_id: id }, roles)
  const subject = await getProjectFor(ctx, creator.caller, String(id))
  const fullPath = `${subject.project.namespace.full_path}/${subject.project.path}`
  const project = { id, path: `/projects/${id}`, fullPath, creator }
  if (files) await aCommit(ctx, project, files)
  return project
}

/** Creates a commit that adds files, on `main` by default; returns its id. */
export async function aCommit(
  ctx: Context,
  project: TestProject,
  files: Record<string, string>,
  { branch = 'main', start_branch, message = 'Add files' }: { branch?: string; start_branch?: string; message?: string } = {},
): Promise<string> {
  const subject = await getProjectFor(ctx, project.creator.caller, String(project.id))
  const actions = Object.entries(files).map(([file_path, content]) => ({ action: 'create', file_path, content }))
  const { commit } = await createCommit(
    ctx,
    subject,
    project.creator.caller,
    { branch, start_branch, commit_message: message, actions },
    { bypassProtection: true },
  )
  return commit.oid
}

/** A group of a new or the given creator, private by default, with members by role. */
export async function aGroup(
  ctx: Context,
  given: Partial<NewGroup> & Roles & { creator?: TestUser } = {},
): Promise<{ id: number; path: string; fullPath: string; creator: TestUser }> {
  const { creator = await aUser(ctx), ...more } = given
  const [attributes, roles] = split<Partial<NewGroup>>(more)
  const n = unique()
  const id = await createGroup(ctx, creator.caller, { name: `Group ${n}`, path: `group${n}`, ...attributes })
  await addMembers(ctx, { namespace_id: id }, roles)
  return { id, path: `/groups/${id}`, fullPath: attributes.path ?? `group${n}`, creator }
}

/** Changes application settings, with immediate effect. */
export async function setSettings(ctx: Context, values: Partial<Settings>): Promise<void> {
  await ctx.db.write.insert(applicationSettings).values({ id: 1, values }).onConflictDoUpdate({ target: applicationSettings.id, set: { values } })
  ctx.caches.settings.invalidate()
}
