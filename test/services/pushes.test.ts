import { request } from 'node:http'
import { and, eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { jobs, members, projects, protectedBranches, protectedTags, refIntents, users } from '../../src/db/schema/index.js'
import { repositoryDirectory } from '../../src/git/storage/create.js'
import type { Settings } from '../../src/services/core/settings.js'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, EMPTY_PACK, gitClient, gitOut, gitProcessesIn, gitRun, packet } from '../support/clients/git-client.js'
import { aCommit, anAdmin, aProject, aUser, setSettings, type TestProject, type TestUser, unique } from '../support/factories.js'
import { oneIn } from '../support/rounds.js'

const t = testApp({}, { upkeep: true })
const client = gitClient(t)

const rowOf = async (project: TestProject) => {
  const [row] = await t.ctx.db.write.select().from(projects).where(eq(projects.id, project.id))
  return row as typeof projects.$inferSelect
}
const protectionOf = (project: TestProject) => t.ctx.db.write.select().from(protectedBranches).where(eq(protectedBranches.project_id, project.id))
const intents = () => t.ctx.db.write.select().from(refIntents)
const valueAt = (project: TestProject, ref: string) =>
  gitRun(directoryOf(t, project.id), 'rev-parse', '-q', '--verify', ref).then(({ out }) => out.trim())

const commit = (project: TestProject, caller: TestUser, branch: string, more: object = {}) =>
  t
    .api('post', `${project.path}/repository/commits`, caller)
    .send({ branch, commit_message: 'x', actions: [{ action: 'create', file_path: `f${unique()}`, content: '' }], ...more })

/** A work tree with one commit that no other has, for pushes by several people. */
async function workOf(project: TestProject) {
  const work = await client.cloned(client.url(project.fullPath, project.creator))
  return { work, push: (caller: TestUser, ...args: string[]) => gitRun(work, 'push', '-q', client.url(project.fullPath, caller), ...args) }
}

describe('the first branch (PU-1, BR-17)', () => {
  async function emptyWithWork(settings: Partial<Settings> = {}) {
    await setSettings(t.ctx, settings)
    const project = await aProject(t.ctx)
    const place = await workOf(project)
    await gitOut(place.work, 'checkout', '-qb', 'anything')
    await commitIn(place.work, 'a')
    return { project, ...place }
  }
  const defaults = async (project: TestProject) => {
    const { empty_repo, default_branch } = await rowOf(project)
    const head = await gitOut(directoryOf(t, project.id), 'symbolic-ref', 'HEAD')
    expect(head).toBe(`refs/heads/${default_branch}`)
    const { body } = await t.api('get', project.path, project.creator).expect(200)
    expect(body).toMatchObject({ empty_repo, ...(!empty_repo && { default_branch }) })
    return { empty_repo, default_branch }
  }

  it('becomes the default one, by push, when the push is over', async () => {
    const { project, push } = await emptyWithWork()
    expect(await push(project.creator, 'HEAD:trunk')).toMatchObject({ code: 0 })
    expect(await defaults(project)).toEqual({ empty_repo: false, default_branch: 'trunk' })
    expect(await protectionOf(project)).toMatchObject([{ name: 'trunk', push_level: 40, merge_level: 40, allow_force_push: false }])
    expect(await intents()).toEqual([])
  })

  it('the configured one, when it is among several', async () => {
    const { project, push } = await emptyWithWork()
    expect(await push(project.creator, 'HEAD:aaa', 'HEAD:main', 'HEAD:zzz')).toMatchObject({ code: 0 })
    expect(await defaults(project)).toEqual({ empty_repo: false, default_branch: 'main' })
  })

  it.each(['--all', '--mirror'])('master, when the configured one is not among all that are pushed with %s', async (option) => {
    const { project, work, push } = await emptyWithWork({ default_branch_protection: 2 })
    await gitOut(work, 'branch', '-m', 'master')
    for (const name of ['aaa', 'zzz']) await gitOut(work, 'branch', name)
    expect(await push(project.creator, option)).toMatchObject({ code: 0 })
    expect(await defaults(project)).toEqual({ empty_repo: false, default_branch: 'master' })
    expect(await protectionOf(project)).toMatchObject([{ name: 'master', push_level: 40, allow_force_push: false }])
  })

  it('the first created, when the configured one is not among them; later ones change nothing', async () => {
    const { project, push } = await emptyWithWork()
    expect(await push(project.creator, 'HEAD:bbb', 'HEAD:ccc')).toMatchObject({ code: 0 })
    const { default_branch } = await defaults(project)
    expect(['bbb', 'ccc']).toContain(default_branch)
    expect(await push(project.creator, 'HEAD:main')).toMatchObject({ code: 0 })
    expect((await defaults(project)).default_branch).toBe(default_branch)
    expect(await protectionOf(project)).toHaveLength(1)
  })

  it('by API commit', async () => {
    await setSettings(t.ctx, {})
    const project = await aProject(t.ctx)
    await commit(project, project.creator, 'trunk').expect(201)
    expect(await defaults(project)).toEqual({ empty_repo: false, default_branch: 'trunk' })
    expect(await protectionOf(project)).toMatchObject([{ name: 'trunk' }])
  })

  it('a tag alone is no branch', async () => {
    const { project, push } = await emptyWithWork()
    expect(await push(project.creator, 'HEAD:refs/tags/v1')).toMatchObject({ code: 0 })
    expect(await defaults(project)).toEqual({ empty_repo: true, default_branch: 'main' })
    expect(await protectionOf(project)).toEqual([])
    expect(await push(project.creator, 'HEAD:trunk')).toMatchObject({ code: 0 })
    expect(await defaults(project)).toEqual({ empty_repo: false, default_branch: 'trunk' })
  })

  it.each([
    [0, []],
    [1, [{ name: 'main', push_level: 30, merge_level: 40 }]],
    [2, [{ name: 'main', push_level: 40, merge_level: 40 }]],
  ] as const)('default_branch_protection %i', async (level, entries) => {
    const pushed = await emptyWithWork({ default_branch_protection: level })
    expect(await pushed.push(pushed.project.creator, 'HEAD:main')).toMatchObject({ code: 0 })
    expect(await protectionOf(pushed.project)).toMatchObject(entries)
    const committed = await aProject(t.ctx)
    await commit(committed, committed.creator, 'main').expect(201)
    expect(await protectionOf(committed)).toMatchObject(entries)
    await setSettings(t.ctx, {})
  })

  it('an entry that matches already stays the only one', async () => {
    const { project, push } = await emptyWithWork()
    await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name: 'ma*', push_access_level: 30 }).expect(201)
    expect(await push(project.creator, 'HEAD:main')).toMatchObject({ code: 0 })
    expect(await protectionOf(project)).toMatchObject([{ name: 'ma*', push_level: 30 }])
  })

  it('while it is empty and the protection 2, only from level 40 on; else from 30 (BR-18, SEC-109)', async () => {
    const [reporter, developer, maintainer] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    for (const level of [2, 1, 0] as const) {
      await setSettings(t.ctx, { default_branch_protection: level })
      for (const branch of ['main', 'other']) {
        const made = await aProject(t.ctx, { reporter, developer, maintainer })
        const { work, push } = await workOf(made)
        await gitOut(work, 'checkout', '-qb', 'x')
        await commitIn(work, 'a')
        expect((await push(reporter, `HEAD:${branch}`)).code).not.toBe(0)
        await commit(made, reporter, branch).expect(403)
        const declined = await push(developer, `HEAD:${branch}`)
        expect(declined.code, `${level} ${branch}`).toBe(level === 2 ? 1 : 0)
        if (level === 2) {
          expect(declined.err).toContain('remote: You are not allowed to push into this branch')
          const { body } = await commit(made, developer, branch).expect(400)
          expect(body).toEqual({ message: 'You are not allowed to push into this branch' })
          expect((await rowOf(made)).empty_repo).toBe(true)
          expect(await push(maintainer, `HEAD:${branch}`)).toMatchObject({ code: 0 })
        }
        expect((await rowOf(made)).empty_repo).toBe(false)
      }
    }
    await setSettings(t.ctx, {})
  })
})

describe('permissions to move refs, by every protocol (SEC-104, SEC-105, GH-20, PU-9, BR-16, BR-19)', () => {
  const people: Record<string, TestUser> = {}
  let project: TestProject
  let place: Awaited<ReturnType<typeof workOf>>
  let base: string
  const names = ['guest', 'reporter', 'developer', 'maintainer', 'owner', 'admin'] as const
  beforeAll(async () => {
    await setSettings(t.ctx, { default_branch_protection: 0 })
    for (const name of names) people[name] = name === 'admin' ? await anAdmin(t.ctx) : await aUser(t.ctx)
    const { guest, reporter, developer, maintainer, owner } = people as Record<string, TestUser>
    project = await aProject(t.ctx, { guest, reporter, developer, maintainer, creator: owner, files: { a: 'a' } } as never)
    base = await aCommit(t.ctx, project, { b: 'b' })
    place = await workOf(project)
  })

  /** Levels of an entry: push level, whether force is allowed; null: no entry. */
  const protections = {
    none: null,
    developers: { push_level: 30, merge_level: 40, allow_force_push: false },
    'developers, forced': { push_level: 30, merge_level: 40, allow_force_push: true },
    maintainers: { push_level: 40, merge_level: 40, allow_force_push: false },
    'maintainers, forced': { push_level: 40, merge_level: 40, allow_force_push: true },
    'no one': { push_level: 0, merge_level: 0, allow_force_push: true },
  }
  const level = { guest: 10, reporter: 20, developer: 30, maintainer: 40, owner: 50, admin: 50 }

  // every third person in turn, in the long run all
  it.each(Object.entries(protections).map(([title, entry], turn) => ({ title, entry, some: oneIn(3, names, turn % 3) })))(
    '$title',
    { tags: ['long'] },
    async ({ entry, some }) => {
      for (const name of some) {
        const person = people[name] as TestUser
        const branch = `m${unique()}`
        const reaches = level[name] >= 30 && (entry === null || (entry.push_level > 0 && level[name] >= entry.push_level))
        const writes = level[name] >= 30
        const protect = () => entry && t.ctx.db.write.insert(protectedBranches).values({ project_id: project.id, name: `${branch}*`, ...entry })
        await protect()
        const ref = `refs/heads/${branch}`
        const of = (what: string) => `${name}: ${what}`
        const status = (may: boolean) => (writes ? (may ? 201 : 400) : 403)

        // creation
        await t
          .api('post', `${project.path}/repository/branches`, person)
          .send({ branch: `${branch}api`, ref: 'main' })
          .expect(status(reaches))
        expect(await valueAt(project, `${ref}api`), of('creates by API')).toBe(reaches ? base : '')
        await commit(project, person, `${branch}start`, { start_branch: 'main' }).expect(status(reaches))
        const created = await place.push(person, `${base}:${ref}`)
        expect(created.code === 0, of('creates by push')).toBe(reaches)
        if (!reaches && writes) expect(created.err).toContain('remote: You are not allowed to push into this branch')
        await gitOut(directoryOf(t, project.id), 'update-ref', ref, base)

        // a commit on it, and a fast-forward
        const { body } = await commit(project, person, branch).expect(status(reaches))
        if (!writes) expect(body).toEqual({ message: '403 Forbidden' })
        else if (!reaches) expect(body).toEqual({ message: 'You are not allowed to push into this branch' })
        await gitOut(directoryOf(t, project.id), 'update-ref', ref, base)
        await gitOut(place.work, 'checkout', '-q', '-B', 'next', base)
        const next = await commitIn(place.work, `n${unique()}`)
        expect((await place.push(person, `HEAD:${ref}`)).code === 0, of('pushes')).toBe(reaches)
        expect(await valueAt(project, ref), of('pushed')).toBe(reaches ? next : base)

        // by force
        await gitOut(directoryOf(t, project.id), 'update-ref', ref, base)
        await gitOut(place.work, 'checkout', '-q', '-B', 'other', `${base}^`)
        const other = await commitIn(place.work, `o${unique()}`)
        const forces = reaches && (entry?.allow_force_push ?? true)
        const forced = await place.push(person, `+HEAD:${ref}`)
        expect(forced.code === 0, of('forces')).toBe(forces)
        expect(await valueAt(project, ref), of('forced')).toBe(forces ? other : base)
        if (reaches && !forces) expect(forced.err).toContain('remote: You are not allowed to force push code to a protected branch')

        // deletion: of a protected one never by Git, by API from level 40 on
        const deletesByGit = writes && entry === null
        expect((await place.push(person, `:${ref}`)).code === 0, of('deletes by Git')).toBe(deletesByGit)
        expect((await valueAt(project, ref)) === '', of('deleted by Git')).toBe(deletesByGit)
        await gitOut(directoryOf(t, project.id), 'update-ref', ref, base)
        const deletes = entry === null ? writes : level[name] >= 40
        await t.api('delete', `${project.path}/repository/branches/${branch}`, person).expect(deletes ? 204 : writes ? 400 : 403)
        expect((await valueAt(project, ref)) === '', of('deleted by API')).toBe(deletes)
      }
      expect(await intents()).toEqual([])
    },
  )

  it('refuses to delete the default branch (BR-19)', async () => {
    await t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, project.id))
    for (const name of ['developer', 'owner', 'admin'] as const) {
      const person = people[name] as TestUser
      const pushed = await place.push(person, ':main')
      expect(pushed.code).toBe(1)
      expect(pushed.err).toContain('remote: The default branch of a project cannot be deleted.')
      await t.api('delete', `${project.path}/repository/branches/main`, person).expect(400)
    }
    expect(await valueAt(project, 'refs/heads/main')).toBe(base)
  })

  it('of several entries the most permissive counts (BR-16)', async () => {
    const developer = people['developer'] as TestUser
    for (const [name, push_level] of [
      ['multi/*', 0],
      ['*/deep/*', 30],
    ] as const)
      await t.ctx.db.write.insert(protectedBranches).values({ project_id: project.id, name, push_level, merge_level: 40 })
    expect((await place.push(developer, 'HEAD:multi/x')).code).toBe(1)
    expect((await place.push(people['admin'] as TestUser, 'HEAD:multi/x')).code).toBe(1)
    expect((await place.push(developer, 'HEAD:multi/deep/x')).code).toBe(0)
    await commit(project, developer, 'multi/deep/x').expect(201)
    await commit(project, developer, 'multi/y', { start_branch: 'main' }).expect(400)
    await t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, project.id))
  })

  it.each(names)('tags: %s', async (name) => {
    const person = people[name] as TestUser
    const writes = level[name] >= 30
    const [n, at] = [unique(), directoryOf(t, project.id)]
    const tag = (suffix: string) => `refs/tags/t${n}${suffix}`
    expect((await place.push(person, `${base}:${tag('')}`)).code === 0).toBe(writes)
    await t
      .api('post', `${project.path}/repository/tags`, person)
      .send({ tag_name: `t${n}api`, ref: 'main' })
      .expect(writes ? 201 : 403)
    for (const suffix of ['', 'b', 'c']) await gitOut(at, 'update-ref', tag(suffix), base)
    const moves = level[name] >= 40
    const moved = await place.push(person, `+${base}^:${tag('')}`)
    expect(moved.code === 0, 'moves').toBe(moves)
    if (writes && !moves) expect(moved.err).toContain('remote: You are not allowed to change existing tags')
    expect((await place.push(person, `:${tag('b')}`)).code === 0, 'deletes').toBe(moves)
    await t.api('delete', `${project.path}/repository/tags/t${n}c`, person).expect(moves ? 204 : writes ? 400 : 403)
    expect(await valueAt(project, tag('c'))).toBe(moves ? '' : base)
  })

  it('protected tags are made from their level on, and neither moved nor deleted', async () => {
    const [entry] = await t.ctx.db.write.insert(protectedTags).values({ project_id: project.id, name: 'v*', create_level: 40 }).returning()
    const [developer, maintainer] = [people['developer'] as TestUser, people['maintainer'] as TestUser]
    const declined = await place.push(developer, `${base}:refs/tags/v1`)
    expect(declined.err).toContain('remote: You are not allowed to create this tag as it is protected.')
    await t.api('post', `${project.path}/repository/tags`, developer).send({ tag_name: 'v1', ref: 'main' }).expect(400)
    expect((await place.push(maintainer, `${base}:refs/tags/v1`)).code).toBe(0)
    expect((await place.push(maintainer, `+${base}^:refs/tags/v1`)).err).toContain('remote: Protected tags cannot be updated.')
    expect((await place.push(people['admin'] as TestUser, ':refs/tags/v1')).err).toContain('remote: Protected tags cannot be deleted.')
    await t.api('delete', `${project.path}/repository/tags/v1`, maintainer).expect(400)
    expect(await valueAt(project, 'refs/tags/v1')).toBe(base)
    await t.ctx.db.write.delete(protectedTags).where(eq(protectedTags.id, entry?.id as number))
  })

  it('an archived project accepts no change by any protocol, from any caller (SEC-107)', async () => {
    const archived = await aProject(t.ctx, { developer: people['developer'] as TestUser, files: { a: 'a' } })
    const { work, push } = await workOf(archived)
    await commitIn(work, 'b')
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, archived.id))
    for (const person of [people['developer'] as TestUser, archived.creator, people['admin'] as TestUser]) {
      await commit(archived, person, 'main').expect(403)
      await t.api('post', `${archived.path}/repository/branches`, person).send({ branch: 'x', ref: 'main' }).expect(403)
      await t.api('delete', `${archived.path}/repository/branches/main`, person).expect(403)
      await t.api('post', `${archived.path}/repository/tags`, person).send({ tag_name: 'x', ref: 'main' }).expect(403)
      expect((await push(person, 'HEAD:x')).err).toContain('403')
      await t.api('get', `${archived.path}/repository/branches/main`, person).expect(200)
    }
    expect(await gitOut(directoryOf(t, archived.id), 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
  })

  it('a right that was withdrawn before the pack has arrived is not used (SEC-14)', async () => {
    const leaving = await aUser(t.ctx)
    const own = await aProject(t.ctx, { developer: leaving, files: { a: 'a' } })
    await t.api('post', `${own.path}/wikis`, leaving).send({ title: 'a', content: 'a' }).expect(201)
    const wiki = repositoryDirectory(t.ctx.config.storages['default'] as string, { storage: 'default', id: own.id, kind: 'wiki' })
    const places = { '': directoryOf(t, own.id), '.wiki': wiki }
    const authorization = `Basic ${Buffer.from(`x:${leaving.token}`).toString('base64')}`
    const pushed = async (kind: keyof typeof places, branch: string, meanwhile: () => Promise<unknown>) => {
      const head = await gitOut(places[kind], 'rev-parse', 'refs/heads/main')
      return new Promise<string>((resolve, reject) => {
        const asked = request(
          `${t.url}/${own.fullPath}${kind}.git/git-receive-pack`,
          { method: 'POST', agent: false, headers: { authorization } },
          (answer) => {
            let text = ''
            answer.on('data', (chunk) => {
              text += chunk
            })
            answer.on('end', () => resolve(text))
          },
        )
        asked.on('error', reject)
        asked.write(Buffer.concat([packet(`${'0'.repeat(40)} ${head} refs/heads/${branch}\0 report-status`), Buffer.from('0000')]))
        // git is there once the request was let in; the pack comes after that
        void expect
          .poll(() => gitProcessesIn(places[kind]).length, { timeout: 5_000, interval: 5 })
          .toBeGreaterThan(0)
          .then(meanwhile)
          .then(() => asked.end(EMPTY_PACK), reject)
      })
    }
    for (const kind of ['', '.wiki'] as const) expect(await pushed(kind, 'one', async () => undefined)).toContain('ok refs/heads/one')
    const leave = () => t.ctx.db.write.delete(members).where(and(eq(members.user_id, leaving.id), eq(members.project_id, own.id)))
    for (const kind of ['', '.wiki'] as const) {
      const answer = await pushed(kind, 'two', leave)
      expect(answer).toContain('ng refs/heads/two pre-receive hook declined')
      expect(await gitOut(places[kind], 'for-each-ref', 'refs/heads/two')).toBe('')
      await t.api('post', `${own.path}/members`, own.creator).send({ user_id: leaving.id, access_level: 30 }).expect(201)
    }
  })
})

describe('what follows a push (PU-7, PU-8)', () => {
  it('the last activity of the project and of the person, size and commit count', async () => {
    await setSettings(t.ctx, {})
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.jobs.drain()
    const before = await rowOf(project)
    expect(before.commit_count).toBe(1)
    expect(before.repository_size).toBeGreaterThan(0)
    await t.ctx.db.write
      .update(projects)
      .set({ last_activity_at: new Date(0) })
      .where(eq(projects.id, project.id))
    await t.ctx.db.write.update(users).set({ last_activity_on: null }).where(eq(users.id, project.creator.id))
    const { work, push } = await workOf(project)
    for (const n of [1, 2, 3]) await commitIn(work, `c${n}`)
    const pushed = Date.now()
    expect(await push(project.creator, 'HEAD:main')).toMatchObject({ code: 0 })
    expect((await rowOf(project)).last_activity_at.getTime()).toBeGreaterThanOrEqual(pushed)
    await t.ctx.jobs.drain()
    const after = await rowOf(project)
    expect(after.commit_count).toBe(4)
    expect(after.repository_size).toBeGreaterThan(before.repository_size)
    const [pusher] = await t.ctx.db.write.select().from(users).where(eq(users.id, project.creator.id))
    expect(pusher?.last_activity_on).toBe(new Date().toISOString().slice(0, 10))
  })

  it('a declined push changes nothing (SEC-2)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.jobs.drain()
    const before = await rowOf(project)
    const { work, push } = await workOf(project)
    await commitIn(work, 'c')
    expect((await push(project.creator, 'HEAD:fine', ':main')).code).toBe(1)
    await t.ctx.jobs.drain()
    expect(await rowOf(project)).toEqual(before)
    expect(await intents()).toEqual([])
  })

  it('upkeep of a burst is joined, and the row is right at the end', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.jobs.drain()
    for (let n = 0; n < 5; n++) await commit(project, project.creator, 'main').expect(201)
    const waiting = await t.ctx.db.write
      .select()
      .from(jobs)
      .where(eq(jobs.key, String(project.id)))
    expect(new Set(waiting.map(({ kind, lane }) => `${kind}, ${lane}`))).toEqual(new Set([`repository upkeep, repository upkeep ${project.id}`]))
    await t.ctx.jobs.drain()
    expect((await rowOf(project)).commit_count).toBe(6)
  })

  it('a deleted branch keeps its protection entry (PU-8)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await aCommit(t.ctx, project, { b: 'b' }, { branch: 'kept', start_branch: 'main' })
    await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name: 'kept' }).expect(201)
    await t.api('delete', `${project.path}/repository/branches/kept`, project.creator).expect(204)
    expect((await protectionOf(project)).map(({ name }) => name)).toContain('kept')
  })
})
