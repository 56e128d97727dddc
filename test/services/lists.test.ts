import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { createContext } from '../../src/cli/create-context.js'
import { members, projectShares } from '../../src/db/schema/index.js'
import { touchLists } from '../../src/services/core/list-cache.js'
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
  ;[admin, owner, person, external] = [await anAdmin(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx, { external: true })]
  // something to stand before and after
  await aGroup(t.ctx, { name: 'M', visibility: 'public' })
  await aProject(t.ctx, { name: 'Between', visibility: 'public' })
})

/** The same service with nothing remembered. */
const afresh = () => createContext({ ...t.ctx.config, baseUrl: 'http://roost.test' }, t.ctx.db, t.ctx.log)
const page = { page: 1, per_page: 100 }

/** What every list holds for everybody, in order, by this context. */
async function everything(ctx: typeof t.ctx) {
  const found: Record<string, unknown> = {}
  for (const [name, user] of Object.entries({ nobody: null, person, external, owner, admin })) {
    const caller = { user: user?.caller.user ?? null }
    for (const all_available of [false, true]) {
      const groups = await listGroups(ctx, caller, { ...page, order_by: 'name', sort: 'asc', all_available })
      found[`groups of ${name}, ${all_available}`] = [groups.total, groups.items.map(({ id }) => id)]
    }
    const filters: Record<string, Partial<ProjectFilter>> = {
      all: {},
      own: { membership: true },
      old: { archived: true },
      open: { visibility: 'public' },
      called: { search: 'listed' },
      developed: { min_access_level: 30 },
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
  const other = await afresh()
  expect(after).toEqual(await everything(other))
  await other.close()
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
    await changed(async () => {
      await t.ctx.db.write.update(members).set({ expires_at: '2001-01-01' }).where(eq(members.user_id, external.id))
      await touchLists(t.ctx.db.write)
    })
  })

  it('hold for one day: a membership ends without a change', async () => {
    const { versionOf } = await import('../../src/services/core/list-cache.js')
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
    // behind the back of the version
    await t.ctx.db.write.delete(members).where(eq(members.user_id, person.id))
    expect(await ids()).not.toContain(project.id)
  })

  it('of more than are remembered are read page by page', async () => {
    const { Totals } = await import('../../src/services/core/list-cache.js')
    const long = Array.from({ length: 10_050 }, (_, i) => i + 1)
    const list = {
      ids: async ({ limit, offset }: { limit: number; offset: number }) => [
        { ids: `{${long.slice(offset, offset + limit).join(',')}}`, version: '1 today' },
      ],
      count: async () => [{ total: long.length, version: '1 today' }],
      rows: async (ids: number[]) => [...ids].reverse().map((id) => ({ id, version: '1 today' })),
    }
    const totals = new Totals()
    const ask = (at: number) => totals.whole(t.ctx.db, 'projects', 'key', { page: at, per_page: 20 }, list)
    for (const at of [1, 1, 503]) {
      const { items, total } = await ask(at)
      expect(total).toBe(10_050)
      expect(items.map(({ id }) => id)).toEqual(long.slice((at - 1) * 20, at * 20))
    }
  })
})

describe('what changes who is shown what', () => {
  /** Files that write to one of these tables and need no touch, with the reason. */
  const EXCEPT: Record<string, string> = {
    'services/identity/users.ts': 'a new personal namespace is in no list',
    'services/issuables/issues/attributes.ts': 'how many issues there are is filtered by nowhere',
    'services/issuables/issues/remove.ts': 'the same',
    'services/projects/fork-network.ts': 'its callers touch, once for all they do',
    'services/projects/import.ts': 'the state of an import is filtered by nowhere',
    'services/repository/maintenance.ts': 'pushes are counted and shown nowhere',
    'services/repository/push/upkeep.ts': 'branches and sizes are filtered by nowhere',
    'services/repository/push/follow.ts': 'branches and sizes are filtered by nowhere',
    'services/activity/events.ts': 'lists that follow the activity are not remembered',
    'services/notes/write.ts': 'the same',
  }

  it('touches the lists: every file that writes rows of these tables does', () => {
    const root = fileURLToPath(new URL('../../src/', import.meta.url))
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts') && !name.startsWith('db/'))
    const writes =
      /\.(insert|update|delete)\((members|namespaces|projects|projectShares)\)|(insert into|update|delete from) (\$\{)?(members|namespaces|projects|project_shares)\b/
    const writers = files.filter((name) => writes.test(readFileSync(join(root, name), 'utf8')))
    expect(writers.length).toBeGreaterThan(8)
    const silent = writers.filter((name) => !(name in EXCEPT) && !/touchLists?\(/.test(readFileSync(join(root, name), 'utf8')))
    // rows go with `deleteProjectRows`, whose callers touch once for all
    expect(silent).toEqual(['services/projects/remove.ts'])
    expect(unfollowed(files, root)).toEqual([])
  })

  /** Callers of `deleteProjectRows` that do not touch. */
  const unfollowed = (files: string[], root: string) =>
    files.filter((name) => {
      const text = readFileSync(join(root, name), 'utf8')
      return name !== 'services/projects/remove.ts' && /deleteProjectRows\(/.test(text) && !/touchLists\(/.test(text)
    })

  it('a share that is made, changed or ended by hand is one of them', async () => {
    const group = await aGroup(t.ctx, { creator: owner, developer: external })
    const project = await aProject(t.ctx, { creator: owner })
    await changed(async () => {
      await t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: group.id, group_access: 30 })
      await touchLists(t.ctx.db.write)
    })
  })
})
