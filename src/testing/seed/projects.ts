import type { SeedProject, SeedSnippet } from './declaration.js'
import { groupOf, type ProjectPlace, seedHooks, seedLabels, seedMembers, seedMilestones, seedVariables, statusOf } from './groups.js'
import { seedHistory } from './history.js'
import { seedIssues, seedMergeRequests } from './issuables.js'
import { below, entries, type Seeder, seedFault } from './seeder.js'

export async function seedProjects(seeder: Seeder, projects: SeedProject[] | undefined): Promise<void> {
  for (const [project, at] of entries('', 'projects', projects)) {
    const place = await makeProject(seeder, project, at)
    await seedMembers(seeder, place, project.members)
    await seedLabels(seeder, place, project.labels)
    await seedMilestones(seeder, place, project.milestones, place.milestones)
    await seedRefs(seeder, place, project)
    await seedIssues(seeder, place, project.issues)
    await seedMergeRequests(seeder, place, project.merge_requests)
    for (const [{ ref = place.defaultBranch, ...status }, one] of entries(at, 'statuses', project.statuses)) {
      const sha = place.heads.get(ref)
      if (sha === undefined) throw seedFault(below(one, 'ref'), `there is no branch or tag ${ref} in this seed`)
      await statusOf(seeder, place, { at: one, sha, ref }, status)
    }
    await seedVariables(seeder, place, project.variables)
    await seedSnippets(seeder, at, project.snippets, { path: `${place.path}/snippets`, as: place.as })
    for (const [title, content] of Object.entries(project.wiki ?? {}))
      await seeder.call({ at: below(at, 'wiki', title), method: 'POST', path: `${place.path}/wikis`, as: place.as, body: { title, content } })
    await seedHooks(seeder, place, project.hooks)
    if (project.archived) await seeder.call({ at: below(at, 'archived'), method: 'POST', path: `${place.path}/archive`, as: place.as })
  }
}

async function makeProject(seeder: Seeder, project: SeedProject, at: string): Promise<ProjectPlace> {
  const { path, name, creator, description, visibility = 'private', default_branch } = project
  const parts = path.split('/')
  const last = parts.pop() ?? ''
  const namespace = parts.join('/')
  if (namespace === '') throw seedFault(below(at, 'path'), 'is not below a group or a username')
  const owner = await userCalled(seeder, below(at, 'path'), namespace)
  const group = owner === null ? await groupOf(seeder, below(at, 'path'), namespace) : null
  if (owner !== null && creator !== undefined && creator !== owner) throw seedFault(below(at, 'creator'), `a project of ${owner} is made by ${owner}`)
  const as = owner ?? creator ?? group?.creator
  const { topics, merge_method, only_allow_merge_if_pipeline_succeeds, only_allow_merge_if_all_discussions_are_resolved, ...rest } = project
  const { issues_access_level, merge_requests_access_level, wiki_access_level, snippets_access_level } = rest
  const { builds_access_level, repository_access_level, request_access_enabled, lfs_enabled, ci_config_path } = rest
  const body = {
    ...{ name: name ?? last, path: last, description, visibility, default_branch, ...(group && { namespace_id: group.id }) },
    ...{ topics, merge_method, only_allow_merge_if_pipeline_succeeds, only_allow_merge_if_all_discussions_are_resolved },
    ...{ issues_access_level, merge_requests_access_level, wiki_access_level, snippets_access_level },
    ...{ builds_access_level, repository_access_level, request_access_enabled, lfs_enabled, ci_config_path },
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
    milestones: new Map(above.flatMap((one) => [...(one?.milestones ?? [])])),
  }
}

/** The username as it is written, where the namespace is that of a user. */
async function userCalled(seeder: Seeder, at: string, namespace: string): Promise<string | null> {
  if (namespace.includes('/') || seeder.groups.has(namespace.toLowerCase())) return null
  if (seeder.users.has(namespace.toLowerCase())) return namespace
  const found = await seeder.call({ at, method: 'GET', path: `/users?username=${encodeURIComponent(namespace)}` })
  return (found as unknown as unknown[]).length > 0 ? namespace : null
}

/** The repository, its tags and releases, and what is protected. */
async function seedRefs(seeder: Seeder, place: ProjectPlace, project: SeedProject): Promise<void> {
  const { at, path, as, heads, defaultBranch } = place
  const history = { project: Number(path.slice('/projects/'.length)), creator: as ?? seeder.administrator, defaultBranch }
  for (const [name, oid] of await seedHistory(seeder, at, project, history)) heads.set(name, oid)
  for (const [{ name, ref = defaultBranch, message, release }, one] of entries(at, 'tags', project.tags)) {
    const sha = heads.get(ref)
    if (sha === undefined) throw seedFault(below(one, 'ref'), `there is no branch or tag ${ref} in this seed`)
    await seeder.call({ at: one, method: 'POST', path: `${path}/repository/tags`, as, body: { tag_name: name, ref: sha, message } })
    heads.set(name, sha)
    if (release === undefined) continue
    const about = typeof release === 'string' ? { description: release } : release
    await seeder.call({ at: below(one, 'release'), method: 'POST', path: `${path}/releases`, as, body: { tag_name: name, ...about } })
  }
  await seedProtection(seeder, place, project)
}

const LEVELS = { none: 0, developer: 30, maintainer: 40 } as const

async function seedProtection(seeder: Seeder, { at, path, as }: ProjectPlace, { protected_branches, protected_tags }: SeedProject): Promise<void> {
  for (const [given, one] of entries(at, 'protected_branches', protected_branches)) {
    const { name, push = 'maintainer', merge = 'maintainer', allow_force_push } = typeof given === 'string' ? { name: given } : given
    const body = { name, push_access_level: LEVELS[push], merge_access_level: LEVELS[merge], allow_force_push }
    // the default branch is protected since its first push, as the settings say
    await seeder.call({ at: one, method: 'DELETE', path: `${path}/protected_branches/${encodeURIComponent(name)}`, as, but: 404 })
    await seeder.call({ at: one, method: 'POST', path: `${path}/protected_branches`, as, body })
  }
  for (const [given, one] of entries(at, 'protected_tags', protected_tags)) {
    const { name, create = 'maintainer' } = typeof given === 'string' ? { name: given } : given
    await seeder.call({ at: one, method: 'POST', path: `${path}/protected_tags`, as, body: { name, create_access_level: LEVELS[create] } })
  }
}

export async function seedSnippets(
  seeder: Seeder,
  at: string,
  snippets: SeedSnippet[] | undefined,
  { path, as }: { path: string; as: string | undefined },
): Promise<void> {
  for (const [{ author = as, visibility = 'private', ...body }, one] of entries(at, 'snippets', snippets))
    await seeder.call({ at: one, method: 'POST', path, as: author, body: { ...body, visibility } })
}
