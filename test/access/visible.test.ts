import { eq, inArray, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { seesGroup, seesProject } from '../../src/access/can.js'
import { getGroupFor, getProjectFor, getProjectOrDeletedFor } from '../../src/access/rules.js'
import {
  hasIssuables,
  readableCode,
  readablePackages,
  viewerKindOf,
  visibleGroups,
  visibleProject,
  visibleProjects,
} from '../../src/access/visible.js'
import { groupShares, members, namespaces, projectShares, projects } from '../../src/db/schema/index.js'
import { Failure } from '../../src/failures.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../support/factories.js'
import { random } from '../support/reader.js'

const t = testApp()

/** The rules of section 4 in plain words over plain lists, to hold the SQL against. */
interface World {
  people: (TestUser | null)[]
  groups: { id: number; parent: number | null; visibility: number; marked_for_deletion_at: null }[]
  projects: { id: number; group: number | null; owner: number | null; visibility: number }[]
  members: { user: number; project: number | null; group: number | null; level: number; counts: boolean }[]
  shares: { project: number; group: number; level: number; counts: boolean }[]
  /** Groups shared with the direct members of another. */
  groupShares: { group: number; with: number; level: number; counts: boolean }[]
}
const world: World = { people: [null], groups: [], projects: [], members: [], shares: [], groupShares: [] }

const ancestors = (group: number | null): number[] =>
  group === null ? [] : [group, ...ancestors(world.groups.find(({ id }) => id === group)?.parent ?? null)]

function groupLevel(user: number, group: number | null): number {
  return Math.max(0, ...ancestors(group).map((each) => ownLevel(user, each)))
}

const directLevel = (user: number, group: number) =>
  Math.max(0, ...world.members.filter((m) => m.counts && m.user === user && m.group === group).map((m) => m.level))

/** By a membership of the group itself, or by a share with a group (WB-351). */
const ownLevel = (user: number, group: number) =>
  Math.max(
    directLevel(user, group),
    ...world.groupShares.filter((s) => s.counts && s.group === group).map((s) => Math.min(s.level, directLevel(user, s.with))),
  )

function projectLevel(user: number, project: World['projects'][number]): number {
  const direct = world.members.filter((m) => m.counts && m.user === user && m.project === project.id).map((m) => m.level)
  const shared = world.shares
    .filter((s) => s.counts && s.project === project.id)
    .map((s) => Math.min(s.level, Math.max(0, ...ancestors(s.group).map((each) => directLevel(user, each)))))
  return Math.max(0, ...direct, ...shared, groupLevel(user, project.group), project.owner === user ? 50 : 0)
}

const sees = (person: TestUser | null, project: World['projects'][number]) =>
  seesProject({
    user: person,
    level: person ? projectLevel(person.id, project) : 0,
    project: {
      ...project,
      archived: false,
      marked_for_deletion_at: null,
      repository_access_level: 20,
      forking_access_level: 20,
      builds_access_level: 20,
      operations_access_level: 20,
      analytics_access_level: 20,
      issues_access_level: 20,
      merge_requests_access_level: 20,
      wiki_access_level: 20,
      snippets_access_level: 20,
      packages_enabled: null,
      container_registry_enabled: true,
      public_jobs: true,
    },
  })

const seesProjectIn = (person: TestUser | null, group: number) =>
  world.projects.some((p) => (p.group === group || world.shares.some((s) => s.counts && s.project === p.id && s.group === group)) && sees(person, p))

beforeAll(async () => {
  const { below, chance } = random(42)
  const pick = <T>(list: T[]) => list[below(list.length)] as T
  const levels = [10, 20, 30, 40, 50]
  const people: TestUser[] = [await anAdmin(t.ctx)]
  for (let i = 0; i < 7; i++) people.push(await aUser(t.ctx, { external: i % 3 === 2 }))
  world.people.push(...people)
  const admin = people[0] as TestUser
  const writer = t.ctx.db.write
  for (let i = 0; i < 18; i++) {
    // the first go down five deep, the others stand anywhere
    const parent = i > 0 && i < 5 ? world.groups[i - 1]?.id : i > 6 && chance(0.6) ? pick(world.groups).id : undefined
    const { id } = await aGroup(t.ctx, { creator: admin, parent_id: parent })
    const visibility = pick([0, 0, 10, 20])
    await writer.update(namespaces).set({ visibility }).where(eq(namespaces.id, id))
    world.groups.push({ id, parent: parent ?? null, visibility, marked_for_deletion_at: null })
  }
  for (let i = 0; i < 30; i++) {
    const group = chance(0.7) ? pick(world.groups).id : null
    const creator = group === null ? pick(people.filter(({ external }) => !external)) : admin
    const { id } = await aProject(t.ctx, { creator, ...(group !== null && { namespace_id: group }) })
    const visibility = pick([0, 0, 10, 20])
    await writer.update(projects).set({ visibility }).where(eq(projects.id, id))
    world.projects.push({ id, group, owner: group === null ? creator.id : null, visibility })
  }
  await writer.delete(members)
  const state = () =>
    pick([
      {},
      {},
      {},
      { expires_at: '2001-01-01' },
      { requested_at: new Date() },
      { expires_at: new Date().toISOString().slice(0, 10) },
      { expires_at: '2099-01-01' },
    ])
  const counts = (given: { expires_at?: string; requested_at?: Date }) =>
    !given.requested_at && (given.expires_at ?? '9') > new Date().toISOString().slice(0, 10)
  // somebody at the top of the deep ones, so that a level comes down from far above
  for (const [i, level] of [20, 40].entries()) {
    const [user, group] = [people[1 + i]?.id ?? 0, world.groups[i]?.id ?? 0]
    await writer.insert(members).values({ user_id: user, namespace_id: group, access_level: level })
    world.members.push({ user, project: null, group, level, counts: true })
  }
  for (let i = 0; i < 60; i++) {
    const source = chance(0.5) ? { project: pick(world.projects).id, group: null } : { project: null, group: pick(world.groups).id }
    const [user, level, given] = [pick(people.slice(1)).id, pick(levels), state()]
    if (world.members.some((m) => m.user === user && m.project === source.project && m.group === source.group)) continue
    await writer.insert(members).values({ user_id: user, project_id: source.project, namespace_id: source.group, access_level: level, ...given })
    world.members.push({ user, ...source, level, counts: counts(given) })
  }
  for (let i = 0; i < 25; i++) {
    const [project, group, level] = [pick(world.projects).id, pick(world.groups).id, pick([10, 20, 30, 40])]
    const expires_at = pick([null, null, '2001-01-01', '2099-01-01'])
    if (world.shares.some((s) => s.project === project && s.group === group)) continue
    await writer.insert(projectShares).values({ project_id: project, group_id: group, group_access: level, expires_at })
    world.shares.push({ project, group, level, counts: expires_at !== '2001-01-01' })
  }
  for (let i = 0; i < 20; i++) {
    const [group, other, level] = [pick(world.groups).id, pick(world.groups).id, pick(levels)]
    const [expires_at, suspended] = pick([
      [null, false],
      [null, false],
      [null, true],
      ['2001-01-01', false],
      ['2099-01-01', false],
    ] as const)
    if (group === other || world.groupShares.some((s) => s.group === group && s.with === other)) continue
    await writer.insert(groupShares).values({ group_id: group, shared_with_group_id: other, group_access: level, expires_at, suspended })
    world.groupShares.push({ group, with: other, level, counts: !suspended && expires_at !== '2001-01-01' })
  }
})

const orNull = <T>(found: Promise<T>) =>
  found.catch((error: unknown) => {
    if (error instanceof Failure && error.kind === 'not_found') return null
    throw error
  })

describe('a list and a single look agree, for every role, visibility, inheritance, share and expiry (SEC-33, SEC-37, SEC-48)', () => {
  it('the world has some of everything', () => {
    expect(world.members.filter((m) => !m.counts).length).toBeGreaterThan(5)
    expect(world.shares.filter((s) => s.counts).length).toBeGreaterThan(5)
    // people who have a group, and a project, by a share of groups alone
    const byShare = (user: number, group: number) => groupLevel(user, group) > Math.max(0, ...ancestors(group).map((each) => directLevel(user, each)))
    const pairs = world.people.flatMap((p) => (p ? world.groups.filter(({ id }) => byShare(p.id, id)).map(({ id }) => [p.id, id] as const) : []))
    expect(pairs.length).toBeGreaterThan(5)
    expect(world.projects.filter((p) => pairs.some(([, group]) => group === p.group)).length).toBeGreaterThan(2)
    expect(Math.max(...world.groups.map(({ id }) => ancestors(id).length))).toBeGreaterThan(4)
    // levels that come down from three and more above
    const far = world.members.filter(
      (m) => m.counts && m.group !== null && world.groups.some(({ id }) => ancestors(id).indexOf(m.group as number) > 2),
    )
    expect(far.length).toBeGreaterThan(1)
    const strangers = world.people.filter((p) => p && !p.admin && !p.external) as TestUser[]
    const levels = new Set(strangers.flatMap((p) => world.projects.map((project) => projectLevel(p.id, project))))
    expect(levels.size).toBeGreaterThan(4)
  })

  it('visibleProjects and visibleProject are seesProject, and the level is the rule’s (G-63, AC-2, AC-6)', async () => {
    for (const person of world.people) {
      const rows = await t.ctx.db.read
        .select({ id: projects.id })
        .from(projects)
        .where(visibleProjects(viewerKindOf(person), sql`${person?.id ?? 0}::bigint`))
      const expected = world.projects.filter((project) => sees(person, project)).map(({ id }) => id)
      expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected)
      const asked = await t.ctx.db.read
        .select({ id: projects.id })
        .from(projects)
        .where(visibleProject(viewerKindOf(person), sql`${person?.id ?? 0}::bigint`))
      expect(asked.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected)
      for (const project of world.projects) {
        const found = await orNull(getProjectFor(t.ctx, { user: person?.caller.user ?? null }, String(project.id)))
        expect([project.id, found?.level ?? null]).toEqual([
          project.id,
          expected.includes(project.id) ? (person ? projectLevel(person.id, project) : 0) : null,
        ])
      }
    }
  })

  it.each([
    ['packages', 'read_package'],
    ['images', 'read_image'],
  ] as const)('readablePackages is the right to read %s (PK-2, PK-3, OCI-2, OCI-3)', async (registry, ability) => {
    for (const [i, { id }] of world.projects.entries())
      await t.ctx.db.write
        .update(projects)
        .set({ packages_enabled: [null, true, false][i % 3] ?? null, container_registry_enabled: i % 4 !== 1 })
        .where(eq(projects.id, id))
    for (const person of world.people) {
      const rows = await t.ctx.db.read
        .select({ id: projects.id })
        .from(projects)
        .where(readablePackages(viewerKindOf(person), sql`${person?.id ?? 0}::bigint`, registry))
      const expected: number[] = []
      for (const { id } of world.projects) {
        const found = await orNull(getProjectFor(t.ctx, { user: person?.caller.user ?? null }, String(id)))
        if (found?.can(ability)) expected.push(id)
      }
      expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected)
    }
  })

  it('readableCode is the right to download code (AC-10, EV-4)', async () => {
    for (const [i, { id }] of world.projects.entries())
      await t.ctx.db.write
        .update(projects)
        .set({ repository_access_level: [20, 10, 0, 20][i % 4] as number })
        .where(eq(projects.id, id))
    for (const person of world.people) {
      const viewerKind = viewerKindOf(person)
      const user = sql`${person?.id ?? 0}::bigint`
      const rows = await t.ctx.db.read
        .select({ id: projects.id })
        .from(projects)
        .where(sql`${visibleProjects(viewerKind, user)} and ${readableCode(viewerKind, user)}`)
      const expected: number[] = []
      for (const { id } of world.projects) {
        const found = await orNull(getProjectFor(t.ctx, { user: person?.caller.user ?? null }, String(id)))
        if (found?.can('download_code')) expected.push(id)
      }
      expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected)
    }
  })

  it('hasIssuables is the right to read labels and milestones (AC-79)', async () => {
    for (const [i, { id }] of world.projects.entries())
      await t.ctx.db.write
        .update(projects)
        .set({
          issues_access_level: [20, 10, 0][i % 3] as number,
          merge_requests_access_level: [10, 0, 20, 0][i % 4] as number,
          repository_access_level: [20, 20, 10, 0, 20][i % 5] as number,
        })
        .where(eq(projects.id, id))
    for (const person of world.people) {
      const viewerKind = viewerKindOf(person)
      const user = sql`${person?.id ?? 0}::bigint`
      const rows = await t.ctx.db.read
        .select({ id: projects.id })
        .from(projects)
        .where(sql`${visibleProjects(viewerKind, user)} and ${hasIssuables(viewerKind, user)}`)
      const expected: number[] = []
      for (const { id } of world.projects) {
        const found = await orNull(getProjectFor(t.ctx, { user: person?.caller.user ?? null }, String(id)))
        if (found?.can('read_milestone')) expected.push(id)
      }
      expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected)
    }
  })

  it('visibleGroups is seesGroup, and the level is the rule’s, by id and by path (G-67, AC-3, AC-16)', async () => {
    const paths = new Map(
      (await t.ctx.db.read.select({ id: namespaces.id, path: namespaces.full_path }).from(namespaces)).map(({ id, path }) => [id, path]),
    )
    for (const person of world.people) {
      const rows = await t.ctx.db.read
        .select({ id: namespaces.id })
        .from(namespaces)
        .where(sql`${namespaces.kind} = 'group' and ${visibleGroups(viewerKindOf(person), namespaces, sql`${person?.id ?? 0}::bigint`)}`)
      const expected = world.groups
        .filter((group) =>
          seesGroup({ user: person, level: person ? groupLevel(person.id, group.id) : 0, group, seesProjectIn: seesProjectIn(person, group.id) }),
        )
        .map(({ id }) => id)
      expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected)
      for (const group of world.groups) {
        for (const name of [String(group.id), paths.get(group.id) ?? '']) {
          const found = await orNull(getGroupFor(t.ctx, { user: person?.caller.user ?? null }, name))
          expect([name, found?.level ?? null]).toEqual([name, expected.includes(group.id) ? (person ? groupLevel(person.id, group.id) : 0) : null])
        }
      }
    }
  })

  it('GET /projects lists exactly those, and counts them (SEC-33, SEC-48)', async () => {
    for (const person of world.people) {
      const { body, headers } = await t.api('get', '/projects?per_page=100&order_by=id&sort=asc', person).expect(200)
      const expected = world.projects.filter((project) => sees(person, project)).map(({ id }) => id)
      expect((body as { id: number }[]).map(({ id }) => id)).toEqual(expected)
      expect(headers['x-total']).toBe(String(expected.length))
    }
  })

  it('to GR-8, SEC-38: GET /groups lists exactly what the rules say in plain words, and counts them (GR-5)', async () => {
    const above = (id: number | null) => ancestors(id)
    for (const person of world.people) {
      for (const all of [false, true]) {
        const mine = new Set<number>()
        if (person) {
          const direct = world.groups.filter(({ id }) => ownLevel(person.id, id) > 0).map(({ id }) => id)
          for (const { id } of world.groups) if (above(id).some((one) => direct.includes(one))) mine.add(id)
          const holding = world.projects.filter((p) => p.group !== null && projectLevel(person.id, p) > 0).map((p) => p.group as number)
          for (const id of [...direct, ...holding]) for (const one of above(id)) mine.add(one)
        }
        const open = person === null || person.external ? 20 : 10
        const expected = world.groups.filter(({ id, visibility }) => {
          if (person?.admin) return true
          return mine.has(id) || ((person === null || all) && visibility >= open)
        })
        const { body, headers } = await t.api('get', `/groups?per_page=100&all_available=${all}`, person).expect(200)
        const ids = (body as { id: number }[]).map(({ id }) => id).sort((a, b) => a - b)
        expect([person?.username, all, ids]).toEqual([person?.username, all, expected.map(({ id }) => id).sort((a, b) => a - b)])
        expect(headers['x-total']).toBe(String(expected.length))
      }
    }
  })

  it('of each group exactly the projects that are in it or shared with it and visible (GR-15, GR-3)', async () => {
    for (const person of world.people) {
      for (const group of world.groups) {
        const { status, body } = await t.api('get', `/groups/${group.id}/projects?per_page=100&order_by=id&sort=asc`, person)
        const readable = seesGroup({
          user: person,
          level: person ? groupLevel(person.id, group.id) : 0,
          group,
          seesProjectIn: seesProjectIn(person, group.id),
        })
        expect([group.id, status]).toEqual([group.id, readable ? 200 : 404])
        if (!readable) continue
        const shared = (id: number) => world.shares.some((s) => s.counts && s.project === id && s.group === group.id)
        const expected = world.projects.filter((p) => (p.group === group.id || shared(p.id)) && sees(person, p)).map(({ id }) => id)
        expect((body as { id: number }[]).map(({ id }) => id)).toEqual(expected)
      }
    }
  })

  it('what waits for its removal is in no list, and on demand in those of its owners and administrators (SEC-245, PR-30)', async () => {
    const waiting = new Set(world.projects.filter(({ id }) => id % 3 === 0).map(({ id }) => id))
    await t.ctx.db.write
      .update(projects)
      .set({ marked_for_deletion_at: t.ctx.now() })
      .where(inArray(projects.id, [...waiting]))
    for (const person of world.people) {
      const seen = world.projects.filter((project) => sees(person, project))
      const idsOf = async (more: string) =>
        ((await t.api('get', `/projects?per_page=100&order_by=id&sort=asc${more}`, person).expect(200)).body as { id: number }[]).map(({ id }) => id)
      expect(await idsOf('')).toEqual(seen.filter(({ id }) => !waiting.has(id)).map(({ id }) => id))
      const owns = (project: World['projects'][number]) => person !== null && (person.admin || projectLevel(person.id, project) === 50)
      const restorable = seen.filter((project) => !waiting.has(project.id) || owns(project)).map(({ id }) => id)
      expect(await idsOf('&include_pending_delete=true')).toEqual(restorable)
      for (const project of world.projects) {
        const caller = { user: person?.caller.user ?? null }
        const shown = await orNull(getProjectFor(t.ctx, caller, String(project.id)))
        expect([project.id, shown !== null]).toEqual([project.id, restorable.includes(project.id) && !waiting.has(project.id)])
        const found = await orNull(getProjectOrDeletedFor(t.ctx, caller, String(project.id)))
        expect([project.id, found !== null]).toEqual([project.id, restorable.includes(project.id)])
        if (found && waiting.has(project.id)) expect(found.can('download_code')).toBe(false)
      }
    }
  })
})
