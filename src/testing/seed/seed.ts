import type { z } from 'zod'
import type { World } from '../world.js'
import { Seed, type Seeded } from './declaration.js'
import { seedGroups } from './groups.js'
import { seedProjects, seedSnippets } from './projects.js'
import { below, Seeder, seedFault } from './seeder.js'
import { blockUsers, seedUsers } from './users.js'

/**
 * Fills a world, in the order of the seed and mostly through its own API, so that each entry has its usual side
 * effects. Stops at the first refused entry; what was created before remains.
 */
export async function seedWorld(world: World, given: unknown): Promise<Seeded> {
  const { users, groups, projects, snippets } = parseDeclaration(given)
  const seeder = new Seeder(world)
  await seedUsers(seeder, users)
  await seedGroups(seeder, groups)
  await seedProjects(seeder, projects)
  await seedSnippets(seeder, '', snippets, { path: '/snippets', as: undefined })
  await blockUsers(seeder, users)
  const ids = (list: readonly string[], idOf: (name: string) => number | undefined) =>
    Object.fromEntries(list.map((name) => [name, idOf(name) as number]))
  return {
    users: ids(users?.map(({ username }) => username) ?? [], (name) => seeder.users.get(name.toLowerCase())),
    groups: ids(groups?.map(({ path }) => path) ?? [], (path) => seeder.groups.get(path.toLowerCase())?.id),
    projects: Object.fromEntries(seeder.projects),
  }
}

/**
 * Seeds a world once, when it starts, and makes the result its initial state, which a reset restores. Later calls
 * return the first result.
 */
export function seedStart(world: World, given: unknown): Promise<Seeded> {
  const fill = async () => {
    const seeded = await seedWorld(world, given)
    await world.saveAsStart()
    return seeded
  }
  world.seeded ??= fill()
  return world.seeded
}

function parseDeclaration(given: unknown): Seed {
  const parsed = Seed.safeParse(given ?? {})
  if (parsed.success) return parsed.data
  const { path, why } = mostSpecific(parsed.error.issues, [])
  throw seedFault(below('', ...path) || 'the seed', why)
}

type Issue = z.core.$ZodIssue

/** The fault to report; for a union, that of the alternative that matches best. */
function mostSpecific(issues: readonly Issue[], above: readonly PropertyKey[]): { path: (string | number)[]; why: string } {
  const [issue] = issues as [Issue, ...Issue[]]
  const path = [...above, ...issue.path] as (string | number)[]
  if (issue.code === 'unrecognized_keys') return { path: [...path, issue.keys[0] ?? ''], why: 'there is no such key' }
  if (issue.code === 'invalid_type') return { path, why: /received undefined$/.test(issue.message) ? 'is missing' : `is no ${issue.expected}` }
  if (issue.code !== 'invalid_union') return { path, why: issue.message }
  const shape = issue.errors.find((errors) => errors.some((one) => one.path.length > 0 || one.code === 'unrecognized_keys'))
  if (shape) return mostSpecific(shape, path)
  const expected = issue.errors.flatMap((errors) => errors.flatMap((one) => (one.code === 'invalid_type' ? [one.expected] : [])))
  const other = issue.errors.flat().find((one) => one.code !== 'invalid_type')
  return { path, why: other ? other.message : `is none of ${[...new Set(expected)].join(', ')}` }
}
