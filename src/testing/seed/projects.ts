import type { SeedProject, SeedSnippet } from './declaration.js'
import { groupOf, type ProjectContainer, seedHooks, seedLabels, seedMembers, seedMilestones, seedStatus, seedVariables } from './groups.js'
import { seedHistory } from './history.js'
import { seedIssues, seedMergeRequests } from './issuables.js'
import { below, entries, type Seeder, seedFault } from './seeder.js'

export async function seedProjects(seeder: Seeder, projects: SeedProject[] | undefined): Promise<void> {
  for (const [project, at] of entries('', 'projects', projects)) {
    const container = await createProject(seeder, project, at)
    await seedMembers(seeder, container, project.members)
    await seedLabels(seeder, container, project.labels)
    await seedMilestones(seeder, container, project.milestones, container.milestones)
    await seedRefs(seeder, container, project)
    await seedIssues(seeder, container, project.issues)
    await seedMergeRequests(seeder, container, project.merge_requests)
    for (const [{ ref = container.defaultBranch, ...status }, position] of entries(at, 'statuses', project.statuses)) {
      const sha = container.heads.get(ref)
      if (sha === undefined) throw seedFault(below(position, 'ref'), `there is no branch or tag ${ref} in this seed`)
      await seedStatus(seeder, container, { at: position, sha, ref }, status)
    }
    await seedVariables(seeder, container, project.variables)
    await seedSnippets(seeder, at, project.snippets, { path: `${container.path}/snippets`, as: container.as })
    for (const [title, content] of Object.entries(project.wiki ?? {}))
      await seeder.call({ at: below(at, 'wiki', title), method: 'POST', path: `${container.path}/wikis`, as: container.as, body: { title, content } })
    await seedHooks(seeder, container, project.hooks)
    if (project.archived) await seeder.call({ at: below(at, 'archived'), method: 'POST', path: `${container.path}/archive`, as: container.as })
  }
}

async function createProject(seeder: Seeder, project: SeedProject, at: string): Promise<ProjectContainer> {
  const { path, name, creator, description, visibility = 'private', default_branch } = project
  const parts = path.split('/')
  const last = parts.pop() ?? ''
  const namespace = parts.join('/')
  if (namespace === '') throw seedFault(below(at, 'path'), 'is not below a group or a username')
  const owner = await usernameOfNamespace(seeder, below(at, 'path'), namespace)
  const group = owner === null ? await groupOf(seeder, below(at, 'path'), namespace) : null
  if (owner !== null && creator !== undefined && creator !== owner) throw seedFault(below(at, 'creator'), `a project of ${owner} is made by ${owner}`)
  const as = owner ?? creator ?? group?.creator
  const body = {
    ...attributesOf(project),
    name: name ?? last,
    path: last,
    description,
    visibility,
    default_branch,
    ...(group && { namespace_id: group.id }),
  }
  const { id } = await seeder.call({ at, method: 'POST', path: '/projects', as, body })
  seeder.projects.set(path, id)
  const above = parts.map((_, i) =>
    seeder.groups.get(
      parts
        .slice(0, i + 1)
        .join('/')
        .toLowerCase(),
    ),
  )
  return {
    at,
    path: `/projects/${id}`,
    as,
    defaultBranch: default_branch ?? seeder.world.config.defaultBranch,
    heads: new Map(),
    milestones: new Map(above.flatMap((group) => [...(group?.milestones ?? [])])),
  }
}

/** The namespace as written if it is that of a user, otherwise null. */
async function usernameOfNamespace(seeder: Seeder, at: string, namespace: string): Promise<string | null> {
  if (namespace.includes('/') || seeder.groups.has(namespace.toLowerCase())) return null
  if (seeder.users.has(namespace.toLowerCase())) return namespace
  const found = await seeder.list({ at, path: `/users?username=${encodeURIComponent(namespace)}` })
  return found.length > 0 ? namespace : null
}

/** Creates the repository with its tags, releases, and protected branches and tags. */
async function seedRefs(seeder: Seeder, container: ProjectContainer, project: SeedProject): Promise<void> {
  const { at, path, as, heads, defaultBranch } = container
  const history = { project: Number(path.slice('/projects/'.length)), creator: as ?? seeder.administrator, defaultBranch }
  for (const [name, oid] of await seedHistory(seeder, at, project, history)) heads.set(name, oid)
  for (const [{ name, ref = defaultBranch, message, release }, position] of entries(at, 'tags', project.tags)) {
    const sha = heads.get(ref)
    if (sha === undefined) throw seedFault(below(position, 'ref'), `there is no branch or tag ${ref} in this seed`)
    await seeder.call({ at: position, method: 'POST', path: `${path}/repository/tags`, as, body: { tag_name: name, ref: sha, message } })
    heads.set(name, sha)
    if (release === undefined) continue
    const about = typeof release === 'string' ? { description: release } : release
    await seeder.call({ at: below(position, 'release'), method: 'POST', path: `${path}/releases`, as, body: { tag_name: name, ...about } })
  }
  await seedProtection(seeder, container, project)
}

const LEVELS = { none: 0, developer: 30, maintainer: 40 } as const

async function seedProtection(
  seeder: Seeder,
  { at, path, as }: ProjectContainer,
  { protected_branches, protected_tags }: SeedProject,
): Promise<void> {
  for (const [given, position] of entries(at, 'protected_branches', protected_branches)) {
    const { name, push = 'maintainer', merge = 'maintainer', allow_force_push } = typeof given === 'string' ? { name: given } : given
    const body = { name, push_access_level: LEVELS[push], merge_access_level: LEVELS[merge], allow_force_push }
    // the first push has protected the default branch already, according to the settings
    await seeder.call({ at: position, method: 'DELETE', path: `${path}/protected_branches/${encodeURIComponent(name)}`, as, nullOn: 404 })
    await seeder.call({ at: position, method: 'POST', path: `${path}/protected_branches`, as, body })
  }
  for (const [given, position] of entries(at, 'protected_tags', protected_tags)) {
    const { name, create = 'maintainer' } = typeof given === 'string' ? { name: given } : given
    await seeder.call({ at: position, method: 'POST', path: `${path}/protected_tags`, as, body: { name, create_access_level: LEVELS[create] } })
  }
}

export async function seedSnippets(
  seeder: Seeder,
  at: string,
  snippets: SeedSnippet[] | undefined,
  { path, as }: { path: string; as: string | undefined },
): Promise<void> {
  for (const [{ author = as, visibility = 'private', ...body }, position] of entries(at, 'snippets', snippets))
    await seeder.call({ at: position, method: 'POST', path, as: author, body: { ...body, visibility } })
}

/** Everything of the entry that is an attribute of the project itself, and no list of what it contains. */
function attributesOf(project: SeedProject) {
  const { path: _, creator, archived, members, labels, milestones, files, commits, branches, tags, ...rest } = project
  const { protected_branches, protected_tags, issues, merge_requests, statuses, variables, snippets, wiki, hooks, ...attributes } = rest
  return attributes
}
