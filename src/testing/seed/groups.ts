import type { SeedGroup, SeedHook, SeedLabel, SeedMilestone, SeedStatus, SeedVariable } from './declaration.js'
import { below, entries, type Seeder, seedFault } from './seeder.js'

const LEVELS = { guest: 10, reporter: 20, developer: 30, maintainer: 40, owner: 50 } as const
const COLOR = '#428BCA'

/** A group or project to create objects in. */
export interface Container {
  at: string
  /** `/groups/1` or `/projects/1`. */
  path: string
  /** The username that creates objects in it; undefined: the administrator. */
  as: string | undefined
}

/** A project, with what other entries of the seed refer to. */
export interface ProjectContainer extends Container {
  defaultBranch: string
  /** Commit ids by branch and tag name. */
  heads: Map<string, string>
  /** Ids by title, including milestones of its groups. */
  milestones: Map<string, number>
}

/** Creates groups with their members, labels, milestones, variables and hooks. */
export async function seedGroups(seeder: Seeder, groups: SeedGroup[] | undefined): Promise<void> {
  for (const [group, at] of entries('', 'groups', groups)) await seedGroup(seeder, group, at)
}

async function seedGroup(seeder: Seeder, group: SeedGroup, at: string): Promise<void> {
  const { path, name, description, visibility = 'private', members = {}, owner, labels, milestones: titles, variables, hooks, ...attributes } = group
  const parts = path.split('/')
  const last = parts.pop() ?? ''
  const parent = parts.length === 0 ? null : await groupOf(seeder, below(at, 'path'), parts.join('/'))
  const first = Object.entries(members).find(([, role]) => role === 'owner')?.[0]
  const as = owner ?? (parent ? parent.creator : first)
  const body = { ...attributes, name: name ?? last, path: last, description, visibility, ...(parent && { parent_id: parent.id }) }
  const { id } = await seeder.call({ at, method: 'POST', path: '/groups', as, body })
  const milestones = new Map<string, number>()
  seeder.groups.set(path.toLowerCase(), { id, creator: as, milestones })
  const container: Container = { at, path: `/groups/${id}`, as }
  await seedMembers(seeder, container, members)
  await seedLabels(seeder, container, labels)
  await seedMilestones(seeder, container, titles, milestones)
  await seedVariables(seeder, container, variables)
  await seedHooks(seeder, container, hooks)
}

/** A group that the seed created, or one that existed before. */
export async function groupOf(seeder: Seeder, at: string, path: string) {
  const known = seeder.groups.get(path.toLowerCase())
  if (known) return known
  const found = await seeder.call({ at, method: 'GET', path: `/groups/${encodeURIComponent(path)}?with_projects=false`, nullOn: 404 })
  if (!found) throw seedFault(at, `there is no group ${path}`)
  const group = { id: found.id, creator: undefined, milestones: new Map<string, number>() }
  seeder.groups.set(path.toLowerCase(), group)
  return group
}

/** Adds members. The creator of a group is its owner already. */
export async function seedMembers(
  seeder: Seeder,
  { at, path, as }: Container,
  members: Record<string, keyof typeof LEVELS> | undefined,
): Promise<void> {
  for (const [username, role] of Object.entries(members ?? {})) {
    const position = below(at, 'members', username)
    const user_id = await seeder.user(position, username)
    if (path.startsWith('/groups/') && username === as && role === 'owner') continue
    await seeder.call({ at: position, method: 'POST', path: `${path}/members`, as, body: { user_id, access_level: LEVELS[role] } })
  }
}

export async function seedLabels(seeder: Seeder, { at, path, as }: Container, labels: SeedLabel[] | undefined): Promise<void> {
  for (const [label, position] of entries(at, 'labels', labels)) {
    const body = { color: COLOR, ...(typeof label === 'string' ? { name: label } : label) }
    await seeder.call({ at: position, method: 'POST', path: `${path}/labels`, as, body })
  }
}

/** Creates milestones and stores their ids by title in `ids`. */
export async function seedMilestones(
  seeder: Seeder,
  { at, path, as }: Container,
  milestones: SeedMilestone[] | undefined,
  ids: Map<string, number>,
): Promise<void> {
  for (const [milestone, position] of entries(at, 'milestones', milestones)) {
    const { state, ...body } = typeof milestone === 'string' ? { title: milestone, state: undefined } : milestone
    const { id } = await seeder.call({ at: position, method: 'POST', path: `${path}/milestones`, as, body })
    ids.set(body.title, id)
    if (state === 'closed') await seeder.call({ at: position, method: 'PUT', path: `${path}/milestones/${id}`, as, body: { state_event: 'close' } })
  }
}

export async function seedVariables(seeder: Seeder, { at, path, as }: Container, variables: SeedVariable[] | undefined): Promise<void> {
  for (const [body, position] of entries(at, 'variables', variables))
    await seeder.call({ at: position, method: 'POST', path: `${path}/variables`, as, body })
}

export async function seedHooks(seeder: Seeder, { at, path, as }: Container, hooks: SeedHook[] | undefined): Promise<void> {
  for (const [{ events = ['push'], ...hook }, position] of entries(at, 'hooks', hooks)) {
    const listens = Object.fromEntries(events.map((event) => [`${event}_events`, true]))
    await seeder.call({ at: position, method: 'POST', path: `${path}/hooks`, as, body: { ...hook, push_events: false, ...listens } })
  }
}

/** Posts a commit status, which creates a pipeline or joins the existing one. */
export async function seedStatus(
  seeder: Seeder,
  container: ProjectContainer,
  { at, sha, ref }: { at: string; sha: string; ref: string },
  { author, ...body }: SeedStatus,
): Promise<void> {
  await seeder.call({ at, method: 'POST', path: `${container.path}/statuses/${sha}`, as: author ?? container.as, body: { ref, ...body } })
}
