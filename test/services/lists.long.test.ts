// @module-tag long
import { isDeepStrictEqual } from 'node:util'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createContext } from '../../src/cli/create-context.js'
import { groupShares, members, projectShares } from '../../src/db/schema/index.js'
import { ListCache, versionOf } from '../../src/services/core/list-cache.js'
import { listGroups } from '../../src/services/groups/list.js'
import { listProjects, type ProjectFilter } from '../../src/services/projects/list.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser, unique } from '../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
let person: TestUser
let external: TestUser

beforeAll(async () => {
  forgetful = await createContext({ ...t.ctx.config, baseUrl: 'http://roost.test' }, t.ctx.db, t.ctx.log)
  ;[admin, owner, person, external] = [await anAdmin(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx, { external: true })]
  // something to stand before and after
  await aGroup(t.ctx, { name: 'M', visibility: 'public' })
  await aProject(t.ctx, { name: 'Between', visibility: 'public' })
})

/** The same service with nothing remembered. */
let forgetful: typeof t.ctx

async function uncached(people?: Parameters<typeof everything>[1]) {
  forgetful.caches.lists.clear()
  return everything(forgetful, people)
}

const page = { page: 1, per_page: 100 }

afterAll(() => forgetful.close())

/** What every list holds, in order, for all of these people, by this context. */
async function everything(ctx: typeof t.ctx, people: Record<string, TestUser | null> = { anonymous: null, person, external, owner, admin }) {
  const found: Record<string, unknown> = {}
  for (const [name, user] of Object.entries(people)) {
    const caller = { user: user?.caller.user ?? null }
    for (const more of [{}, { all_available: true, order_by: 'path' as const }, { all_available: true, top_level_only: true }]) {
      const groups = await listGroups(ctx, caller, { ...page, order_by: 'name', sort: 'asc', ...more })
      found[`groups of ${name}, ${Object.keys(more)}`] = [groups.total, groups.items.map(({ id }) => id)]
    }
    const filters: Record<string, Partial<ProjectFilter>> = {
      all: {},
      own: { membership: true },
      old: { archived: true },
      open: { visibility: 'public' },
      called: { search: 'listed' },
      developed: { min_access_level: 30 },
      owned: { owned: true },
      sorted: { order_by: 'path' },
      discussed: { with_issues_enabled: true, order_by: 'created_at' },
      changed: { with_merge_requests_enabled: true },
      marked: { topic: ['watched'] },
    }
    for (const [filter, more] of Object.entries(filters)) {
      const projects = await listProjects(ctx, caller, { ...page, order_by: 'name', sort: 'asc', ...more })
      found[`projects of ${name}, ${filter}`] = [projects.total, projects.items.map(({ id }) => id)]
    }
  }
  return found
}

/** After the change the remembered lists are what lists are that remember nothing. */
async function follows(change: () => Promise<unknown>) {
  const before = await everything(t.ctx)
  await change()
  const after = await everything(t.ctx)
  expect(after).toEqual(await uncached())
  return { before, after }
}

const changed = async (change: () => Promise<unknown>) => {
  const { before, after } = await follows(change)
  expect(after).not.toEqual(before)
}

describe('lists of groups and projects (G-57, SEC-33, SEC-41, AC-15)', () => {
  it('are read once while nothing changes: then a page costs one statement', async () => {
    for (const path of ['/projects', '/groups?all_available=true']) {
      const ask = () => t.api('get', path, person).expect(200)
      await ask()
      const texts = await t.queriesOf(ask)
      expect(texts.filter((text) => text.includes('array(select "id"'))).toEqual([])
      expect(texts.filter((text) => / from "(projects|namespaces)"/.test(text))).toHaveLength(1)
    }
  })

  it('are read again when connections to the database were lost: a crash may undo what was read (SEC-162)', async () => {
    const ask = () => t.api('get', '/projects', person).expect(200)
    const reads = async () => (await t.queriesOf(ask)).filter((text) => text.includes('array(select "id"')).length
    await ask()
    expect(await reads()).toBe(0)
    await t.ctx.db.write.execute(
      sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
    )
    await vi.waitFor(() => expect(t.logged.join('')).toContain('the database is gone'))
    await vi.waitFor(() => t.ctx.jobs.drain()) // the queue's own connection is new, too
    expect([await reads(), await reads()]).toEqual([1, 0])
  })

  it('follow a group from its creation to its end', async () => {
    let group = 0
    const n = unique()
    await changed(async () => {
      const { body } = await t
        .api('post', '/groups', owner)
        .send({ name: `Z ${n}`, path: `z${n}`, visibility: 'public' })
        .expect(201)
      group = (body as { id: number }).id
    })
    await changed(() => t.api('put', `/groups/${group}`, owner).send({ visibility: 'internal' }).expect(200))
    await changed(() =>
      t
        .api('put', `/groups/${group}`, owner)
        .send({ name: `A ${n}` })
        .expect(200),
    )
    await follows(() =>
      t
        .api('put', `/groups/${group}`, owner)
        .send({ path: `a${n}` })
        .expect(200),
    )
    await changed(() => t.api('post', '/groups', owner).send({ name: 'Below', path: 'below', parent_id: group }).expect(201))
    await changed(() => t.api('post', '/projects', owner).send({ name: 'Listed below', namespace_id: group, visibility: 'internal' }).expect(201))
    await changed(() => t.api('delete', `/groups/${group}`, owner).expect(204))
  })

  it('follow a project: creation, name, visibility, archive, transfer, end', async () => {
    const group = await aGroup(t.ctx, { creator: owner, developer: person })
    let id = 0
    await changed(async () => {
      const { body } = await t.api('post', '/projects', owner).send({ name: 'Listed', visibility: 'public' }).expect(201)
      id = (body as { id: number }).id
    })
    await changed(() => t.api('put', `/projects/${id}`, owner).send({ name: 'Another name' }).expect(200))
    await changed(() => t.api('put', `/projects/${id}`, owner).send({ visibility: 'private' }).expect(200))
    await changed(() => t.api('post', `/projects/${id}/archive`, owner).expect(201))
    await changed(() => t.api('post', `/projects/${id}/unarchive`, owner).expect(201))
    await changed(() => t.api('post', `/groups/${group.id}/projects/${id}`, admin).expect(201))
    await changed(() => t.api('delete', `/projects/${id}`, owner).expect(202))
  })

  it.each(['project', 'group'] as const)('follow the members of a %s: added, changed, asked for, let in, removed, past their day', async (kind) => {
    const group = await aGroup(t.ctx, { creator: owner })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id })
    const source = kind === 'project' ? project : group
    await changed(() => t.api('post', `${source.path}/members`, owner).send({ user_id: person.id, access_level: 20 }).expect(201))
    await changed(() => t.api('put', `${source.path}/members/${person.id}`, owner).send({ access_level: 30 }).expect(200))
    await changed(() => t.api('delete', `${source.path}/members/${person.id}`, owner).expect(204))
    const asked = { user_id: external.id, access_level: 30, requested_at: new Date() }
    await t.ctx.db.write.insert(members).values({ ...asked, ...(kind === 'project' ? { project_id: source.id } : { namespace_id: source.id }) })
    await changed(() => t.api('put', `${source.path}/access_requests/${external.id}/approve`, owner).expect(201))
    await changed(() => t.ctx.db.write.update(members).set({ expires_at: '2001-01-01' }).where(eq(members.user_id, external.id)))
  })

  it('hold for one day: a membership ends without a change', async () => {
    const [row] = await t.ctx.db.read
      .select({ version: versionOf('projects') })
      .from(members)
      .limit(1)
    expect(String(row?.version)).toMatch(new RegExp(`^\\d+ ${new Date().toISOString().slice(0, 10)}$`))
  })

  it('ask for the permission of a page once more, whatever was remembered', async () => {
    const group = await aGroup(t.ctx, { creator: owner, developer: person })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id })
    const ids = async () => ((await t.api('get', '/projects?per_page=100', person).expect(200)).body as { id: number }[]).map(({ id }) => id)
    expect(await ids()).toContain(project.id)
    // without a new version
    await t.ctx.db.write.transaction(async (tx) => {
      await tx.execute(sql`alter table members disable trigger user`)
      await tx.delete(members).where(eq(members.user_id, person.id))
      await tx.execute(sql`alter table members enable trigger user`)
    })
    expect(await ids()).not.toContain(project.id)
  })

  it('of many thousands are read in windows, each once', async () => {
    const long = Array.from({ length: 10_050 }, (_, i) => i + 1)
    const read: number[] = []
    let counted = 0
    const list = {
      ids: async ({ limit, offset }: { limit: number; offset: number }) => {
        read.push(offset)
        return [{ ids: `{${long.slice(offset, offset + limit).join(',')}}`, version: '1 today' }]
      },
      count: async () => {
        counted++
        return [{ total: long.length, version: '1 today' }]
      },
      rows: async (ids: number[]) => [...ids].reverse().map((id) => ({ id, version: '1 today' })),
    }
    const cache = new ListCache()
    for (const per_page of [20, 30])
      for (const page of [1, 2, Math.ceil(10_050 / per_page), 334, 1, Math.ceil(10_050 / per_page) + 1]) {
        const { items, total } = await cache.pageByIds(t.ctx.db, 'projects', 'key', { page, per_page }, list)
        expect(total).toBe(10_050)
        expect(items.map(({ id }) => id)).toEqual(long.slice((page - 1) * per_page, page * per_page))
      }
    // of pages of 20 and of 30, each with a window that is full; a page past the end asks for the version, which is another here
    expect(read).toEqual([0, 10_000, 10_000, 0, 9_990, 9_990])
    expect(counted).toBe(1)
    cache.clear()
    await cache.pageByIds(t.ctx.db, 'projects', 'key', { page: 1, per_page: 20 }, list)
    expect(counted).toBe(2)
  })
})

/** What lists of projects and groups depend on: a row of each table, and its columns that change some list below. */
const SOURCES = {
  projects: {
    where: `path = 'watched'`,
    filtered:
      'archived created_at description issues_access_level marked_for_deletion_at merge_requests_access_level name namespace_id path repository_access_level tag_list visibility',
  },
  namespaces: { where: `path = 'watched-group'`, filtered: 'kind marked_for_deletion_at name owner_id parent_id path visibility' },
  namespace_ancestry: {
    where: `descendant_id = (select id from namespaces where path = 'watched-group') and ancestor_id <> descendant_id`,
    filtered: 'ancestor_id descendant_id',
  },
  members: {
    where: `namespace_id = (select id from namespaces where path = 'watched-group') and access_level = 30`,
    filtered: 'access_level expires_at namespace_id requested_at user_id',
  },
  project_shares: {
    where: `project_id = (select id from projects where path = 'watched')`,
    filtered: 'expires_at group_access group_id project_id suspended',
  },
  group_shares: {
    where: `group_id = (select id from namespaces where path = 'shared-group')`,
    filtered: 'expires_at group_access group_id shared_with_group_id suspended',
  },
}

/** Another value of a column, by its type. */
const OTHER: Record<string, (column: string) => string> = {
  text: () => `'aa listed'`,
  ARRAY: () => `array['watched']`,
  boolean: (column) => `not ${column}`,
  integer: (column) => `case when ${column} >= 20 then 10 else ${column} + 10 end`,
  bigint: (column) => `coalesce(${column}, 0) + 1`,
  jsonb: () => `'{"wiki": "https://wiki.example/"}'`,
  date: () => `'2001-01-01'`,
  'timestamp with time zone': () => `'2001-01-01T00:00:00Z'`,
}

/** Columns that refer to rows, and another row for each. */
const REFERENCES: Record<string, string> = {
  'projects.namespace_id': `(select id from namespaces where path = 'elsewhere')`,
  'projects.creator_id': 'null',
  'projects.forked_from_id': '(select min(id) from projects)',
  'namespaces.parent_id': 'null',
  'namespaces.owner_id': `(select id from users where username = 'stranger')`,
  'namespace_ancestry.ancestor_id': `(select id from namespaces where path = 'elsewhere')`,
  'namespace_ancestry.descendant_id': `(select id from namespaces where path = 'elsewhere')`,
  'members.user_id': `(select id from users where username = 'stranger')`,
  'members.namespace_id': `(select id from namespaces where path = 'elsewhere')`,
  'members.created_by_id': 'null',
  'project_shares.project_id': `(select id from projects where path = 'unwatched')`,
  'project_shares.group_id': `(select id from namespaces where path = 'elsewhere')`,
  'group_shares.group_id': `(select id from namespaces where path = 'elsewhere')`,
  'group_shares.shared_with_group_id': `(select id from namespaces where path = 'elsewhere')`,
}

describe('rows that are changed by SQL alone (G-57)', () => {
  let stranger: TestUser

  beforeAll(async () => {
    stranger = await aUser(t.ctx, { username: 'stranger' })
    // a person owns one namespace at most
    await t.ctx.db.write.execute(sql`delete from namespaces where owner_id = ${stranger.id}`)
    const parent = await aGroup(t.ctx, { creator: owner, name: 'Parent' })
    const group = await aGroup(t.ctx, { creator: owner, name: 'Watched', path: 'watched-group', parent_id: parent.id, developer: person })
    const invited = await aGroup(t.ctx, { creator: owner, developer: external })
    await aGroup(t.ctx, { path: 'elsewhere', visibility: 'public' })
    const project = await aProject(t.ctx, { creator: owner, name: 'Watched', path: 'watched', namespace_id: group.id })
    // visible to strangers in a private group, so that each column counts for somebody
    await t.ctx.db.write.execute(sql`update projects set visibility = 10 where id = ${project.id}`)
    await aProject(t.ctx, { creator: owner, path: 'unwatched' })
    await t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: invited.id, group_access: 30 })
    const holder = await aGroup(t.ctx, { creator: owner, path: 'shared-group' })
    await aProject(t.ctx, { creator: owner, namespace_id: holder.id })
    const guests = await aGroup(t.ctx, { creator: owner, developer: stranger })
    await t.ctx.db.write.insert(groupShares).values({ group_id: holder.id, shared_with_group_id: guests.id, group_access: 30 })
  })

  it.each(Object.entries(SOURCES))('every column of %s', async (table, { where, filtered }) => {
    const run = (text: string) => t.ctx.db.write.execute<Record<string, string>>(sql.raw(text))
    const { rows: columns } = await run(`select column_name as name, data_type as type from information_schema.columns
      where table_schema = 'public' and table_name = '${table}' and is_generated = 'NEVER' and is_identity = 'NO'`)
    const people = { anonymous: null, stranger, person, external }
    const before = await everything(t.ctx, people)
    const found: string[] = []
    // `members.project_id` is null with groups
    const all = columns.filter(({ name }) => `${table}.${name}` !== 'members.project_id')
    // what counts for no list is changed in one statement, what does is changed alone
    const counts = new Set(filtered.split(' '))
    const steps = [all.filter(({ name = '' }) => !counts.has(name)), ...all.filter(({ name = '' }) => counts.has(name)).map((column) => [column])]
    for (const step of steps.filter(({ length }) => length > 0)) {
      const [row] = (await run(`select ctid, ${step.map(({ name }) => `${name}::text`).join(', ')} from ${table} where ${where} limit 1`)).rows
      const others = step.map(({ name = '', type = '' }) => `${name} = ${REFERENCES[`${table}.${name}`] ?? OTHER[type]?.(name)}`)
      const [moved] = (await run(`update ${table} set ${others.join(', ')} where ctid = '${row?.['ctid']}' returning ctid`)).rows
      const after = await everything(t.ctx, people)
      expect(after, `${table}: ${others}`).toEqual(await uncached(people))
      if (!isDeepStrictEqual(after, before)) found.push(...step.map(({ name = '' }) => name))
      const old = step.map(({ name = '', type = '' }) =>
        row?.[name] == null ? `${name} = null` : `${name} = '${row[name]}'::${type === 'ARRAY' ? 'text[]' : type}`,
      )
      await run(`update ${table} set ${old.join(', ')} where ctid = '${moved?.['ctid']}'`)
    }
    expect(found.sort()).toEqual(filtered.split(' '))
  })

  it('a row that is added or removed', async () => {
    const group = await aGroup(t.ctx, { creator: owner, developer: external })
    const project = await aProject(t.ctx, { creator: owner })
    await changed(() => t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: group.id, group_access: 30 }))
    await changed(() => t.ctx.db.write.delete(projectShares).where(eq(projectShares.project_id, project.id)))
    const holder = await aGroup(t.ctx, { creator: owner })
    await changed(() => t.ctx.db.write.insert(groupShares).values({ group_id: holder.id, shared_with_group_id: group.id, group_access: 30 }))
    await changed(() => t.ctx.db.write.delete(groupShares).where(eq(groupShares.group_id, holder.id)))
    await changed(() => t.ctx.db.write.insert(members).values({ project_id: project.id, user_id: external.id, access_level: 30 }))
    await changed(() => t.ctx.db.write.delete(members).where(eq(members.project_id, project.id)))
    await changed(() => t.ctx.db.write.execute(sql`update projects set visibility = 20 where id = ${project.id}`))
    await changed(() => t.ctx.db.write.execute(sql`delete from projects where id = ${project.id}`))
  })
})
