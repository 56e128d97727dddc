import { describe, expect, it } from 'vitest'
import { languageTable } from '../../../src/services/repository/language-table.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aCommit, aGroup, aProject, aUser } from '../../support/factories.js'

const t = testApp({}, { upkeep: true })
const names = (body: unknown) => (body as { username: string }[]).map(({ username }) => username)

describe('GET /projects/:id/users (PR-4)', () => {
  it('everybody with a level, by whatever way, once (PR-4)', async () => {
    const [owner, above, member, sharer, both] = await Promise.all(Array.from({ length: 5 }, () => aUser(t.ctx)))
    const top = await aGroup(t.ctx, { creator: owner as never, reporter: above as never })
    const group = await aGroup(t.ctx, { creator: owner as never, parent_id: top.id })
    const project = await aProject(t.ctx, { creator: owner as never, namespace_id: group.id, developer: [member as never, both as never] })
    const other = await aGroup(t.ctx, { creator: sharer as never, guest: both as never, visibility: 'public' })
    await t.api('post', `${project.path}/share`, owner).send({ group_id: other.id, group_access: 10 }).expect(201)
    const list = async (query = '') => t.api('get', `${project.path}/users${query}`, owner).expect(200)
    const everybody = [owner, above, member, sharer, both].sort((a, b) => (a?.id ?? 0) - (b?.id ?? 0))
    const { body, headers } = await list()
    expect(names(body)).toEqual(everybody.map((user) => user?.username))
    expect(headers['x-total']).toBe('5')
    expect(names((await list(`?search=${member?.username}`)).body)).toContain(member?.username)
    expect(names((await list('?search=no-such-user')).body)).toEqual([])
    // SEC-44: an address finds no users
    expect(names((await list(`?search=${member?.email}`)).body)).toEqual([])
    const kept = names((await list(`?skip_users[]=${member?.id}&skip_users[]=${above?.id}`)).body)
    expect(kept).toEqual(everybody.filter((user) => user !== member && user !== above).map((user) => user?.username))
    const second = await list('?per_page=2&page=2')
    expect(names(second.body)).toEqual(everybody.slice(2, 4).map((user) => user?.username))
  })

  it('the owner of a personal project is one; who sees the project sees them (PR-4)', async () => {
    const { project, as } = await aCast(t.ctx)
    expect(names((await t.api('get', `${project.path}/users`, as.owner).expect(200)).body)).toContain(as.owner.username)
    for (const [role, status] of statuses(200, { anonymous: 404, stranger: 404 }))
      expect([role, (await t.api('get', `${project.path}/users`, as[role])).status]).toEqual([role, status])
    const open = await aProject(t.ctx, { visibility: 'public' })
    await t.api('get', `${open.path}/users`).expect(200)
  })
})

describe('GET /projects/:id/groups (PR-6)', () => {
  it('the groups above a project that the caller sees (PR-6, SEC-38)', async () => {
    const creator = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator })
    const below = await aGroup(t.ctx, { creator, parent_id: top.id })
    const member = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator, namespace_id: below.id, guest: member })
    const list = async (caller: typeof creator) =>
      ((await t.api('get', `${project.path}/groups`, caller).expect(200)).body as { id: number }[]).map(({ id }) => id)
    expect(await list(creator)).toEqual([top.id, below.id])
    // through the project they see its group, not the parent group
    expect(await list(member)).toEqual([below.id])
    const personal = await aProject(t.ctx, { creator })
    expect((await t.api('get', `${personal.path}/groups`, creator).expect(200)).body).toEqual([])
  })
})

describe('GET /projects/:id/groups', () => {
  it('by name or path, and without some (NP-5)', async () => {
    const outer = await aGroup(t.ctx, { name: 'Outer circle' })
    const inner = await aGroup(t.ctx, { creator: outer.creator, parent_id: outer.id, path: 'inner-path' })
    const project = await aProject(t.ctx, { creator: outer.creator, namespace_id: inner.id })
    const list = async (query: string) =>
      ((await t.api('get', `${project.path}/groups?${query}`, outer.creator).expect(200)).body as { id: number }[]).map(({ id }) => id)
    expect(await list('')).toEqual([outer.id, inner.id])
    expect([await list('search=CIRCLE'), await list('search=inner-'), await list('search=100%25')]).toEqual([[outer.id], [inner.id], []])
    expect([await list(`skip_groups=${outer.id}`), await list(`skip_groups[]=${outer.id}&skip_groups[]=${inner.id}`)]).toEqual([[inner.id], []])
  })
})

describe('GET /projects/:id/languages (PR-5)', () => {
  it('what the default branch is written in, soon after it moved (PR-5, PU-7)', async () => {
    const project = await aProject(t.ctx)
    const languages = async () => (await t.api('get', `${project.path}/languages`, project.creator).expect(200)).body
    expect(await languages()).toEqual({})
    await aCommit(t.ctx, project, {
      'src/a.ts': 'x'.repeat(600),
      'lib/b.py': 'x'.repeat(300),
      Makefile: 'x'.repeat(100),
      'README.md': 'x'.repeat(999),
      'data.json': 'x'.repeat(999),
      'node_modules/p/index.js': 'x'.repeat(999),
      'empty.rb': '',
    })
    await t.ctx.jobs.drain()
    expect(await languages()).toEqual({ TypeScript: 60, Python: 30, Makefile: 10 })
    expect(Object.keys(await languages())).toEqual(['TypeScript', 'Python', 'Makefile'])
    // another branch changes nothing
    await aCommit(t.ctx, project, { 'c.go': 'x'.repeat(999) }, { branch: 'topic', start_branch: 'main' })
    await t.ctx.jobs.drain()
    expect(await languages()).toEqual({ TypeScript: 60, Python: 30, Makefile: 10 })
    await aCommit(t.ctx, project, { 'c.go': 'x'.repeat(2_000) })
    await t.ctx.jobs.drain()
    expect(await languages()).toEqual({ Go: 66.67, TypeScript: 20, Python: 10, Makefile: 3.33 })
    const fork = await t.api('post', `${project.path}/fork`, project.creator).send({ name: 'copy', path: 'copy' }).expect(201)
    expect((await t.api('get', `/projects/${fork.body.id}/languages`, project.creator).expect(200)).body).toMatchObject({ Go: 66.67 })
  })

  it('is for callers who may read the code (PR-5)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { 'a.rb': 'puts 1' } })
    await t.ctx.jobs.drain()
    for (const [role, status] of statuses(200, { anonymous: 404, stranger: 404, guest: 403 }))
      expect([role, (await t.api('get', `${project.path}/languages`, as[role])).status]).toEqual([role, status])
  })

  it.each([
    ['a.TS', 'TypeScript'],
    ['a.tsx', 'TypeScript'],
    ['deep/in/a.h', 'C'],
    ['a.rs', 'Rust'],
    ['Dockerfile', 'Dockerfile'],
    ['a.html.erb', 'HTML'],
    ['a.m', 'Objective-C'],
    ['a.min.js', null],
    ['vendor/a.go', null],
    ['docs/a.html', null],
    ['a.sql', null],
    ['a.yml', null],
    ['no-extension', null],
    ['.hidden', null],
    ['__proto__', null],
    ['a.constructor', null],
  ])('%s counts as %s', async (path, language) => {
    expect(languageTable.of(path)).toBe(language)
  })
})
