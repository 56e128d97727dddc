import { existsSync } from 'node:fs'
import { eq, sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { auditEvents, pendingRepositoryDeletions, projectShares, projects } from '../../../src/db/schema/index.js'
import { recover } from '../../../src/services/operations/recovery.js'
import { finishDeletions } from '../../../src/services/projects/remove.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { commitIn, directoryOf, gitClient, gitOut } from '../../support/clients/git-client.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, setSettings, type TestProject, type TestUser } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp({}, { upkeep: true })
const client = gitClient(t)

/** A public project with a branch, a tag and all that a fork does not take along. */
async function aSource(given: Parameters<typeof aProject>[1] = {}) {
  const project = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'one\n' }, ...given })
  await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'topic/one', ref: 'main' }).expect(201)
  await t.api('post', `${project.path}/repository/tags`, project.creator).send({ tag_name: 'v1', ref: 'main', message: 'first' }).expect(201)
  return project
}

const fork = (project: TestProject, caller: TestUser, input: object = {}) => t.api('post', `${project.path}/fork`, caller).send(input)
const shown = async (id: number, caller: TestUser) => (await t.api('get', `/projects/${id}`, caller).expect(200)).body
const countOf = async (project: TestProject) => (await shown(project.id, project.creator)).forks_count

describe('POST /projects/:id/fork (PR-19, PR-25)', () => {
  it('is a project of the caller with all branches and tags, protected and ready (PR-19, PR-25)', async () => {
    const source = await aSource({ description: 'Something', topics: ['x'] })
    const user = await aUser(t.ctx)
    const { body } = await fork(source, user).expect(201)
    expect(body).toMatchObject({
      path_with_namespace: `${user.username}/${source.fullPath.split('/')[1]}`,
      description: 'Something',
      topics: ['x'],
      visibility: 'public',
      import_status: 'finished',
      default_branch: 'main',
      empty_repo: false,
      creator_id: user.id,
      owner: { id: user.id },
      forked_from_project: { id: source.id, path_with_namespace: source.fullPath },
      permissions: { project_access: { access_level: 40 } },
    })
    const names = async (what: string) =>
      ((await t.api('get', `/projects/${body.id}/repository/${what}`, user).expect(200)).body as { name: string }[]).map(({ name }) => name)
    expect(await names('branches')).toEqual(['main', 'topic/one'])
    expect(await names('tags')).toEqual(['v1'])
    const branch = (await t.api('get', `/projects/${body.id}/repository/branches/main`, user).expect(200)).body
    expect(branch).toMatchObject({ protected: true, default: true })
    const work = await client.cloned(client.url(body.path_with_namespace, user))
    await commitIn(work, 'b.txt')
    await gitOut(work, 'push', '-q', 'origin', 'HEAD')
    expect(await countOf(source)).toBe(1)
    expect((await t.api('get', `${source.path}/forks`, user).expect(200)).body).toMatchObject([{ id: body.id }])
  })

  it('takes neither members nor stars, and its own name, path, place and description where they are given (PR-25)', async () => {
    const [guest, user] = [await aUser(t.ctx), await aUser(t.ctx)]
    const source = await aSource({ guest })
    const group = await aGroup(t.ctx, { creator: user, visibility: 'public' })
    for (const [n, where] of [
      { namespace: group.id },
      { namespace: group.fullPath },
      { namespace_id: group.id },
      { namespace_path: group.fullPath.toUpperCase() },
    ].entries()) {
      const input = { ...where, name: `Mine ${n}`, path: `mine${n}`, description: 'Other', visibility: 'private' }
      const { body } = await fork(source, user, input).expect(201)
      expect(body).toMatchObject({
        name: `Mine ${n}`,
        path_with_namespace: `${group.fullPath}/mine${n}`,
        description: 'Other',
        visibility: 'private',
        star_count: 0,
        permissions: { project_access: null, group_access: { access_level: 50 } },
      })
      expect((await t.api('get', `/projects/${body.id}/members`, user).expect(200)).body).toEqual([])
      await t.api('get', `/projects/${body.id}`, guest).expect(404)
    }
    expect(await countOf(source)).toBe(4)
  })

  it('of an empty project is empty, and takes its first push', async () => {
    const source = await aProject(t.ctx, { visibility: 'public', default_branch: 'trunk' })
    const user = await aUser(t.ctx)
    const { body } = await fork(source, user).expect(201)
    expect(body).toMatchObject({ empty_repo: true, default_branch: null })
    const work = await client.cloned(client.url(body.path_with_namespace, user))
    await commitIn(work, 'a')
    await gitOut(work, 'push', '-q', 'origin', 'HEAD:trunk')
    expect(await shown(body.id, user)).toMatchObject({ empty_repo: false, default_branch: 'trunk' })
  })

  it('callers who may read the code may fork (section 5.1 row 41)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 404, guest: 403, owner: 409 }))
      expect([role, (await t.api('post', `${project.path}/fork`, as[role])).status]).toEqual([role, status])
    const open = await aCast(t.ctx, { files: { a: 'a' }, visibility: 'internal' })
    for (const [role, status] of statuses(201, { anonymous: 401, owner: 409 }))
      expect([role, (await t.api('post', `${open.project.path}/fork`, open.as[role])).status]).toEqual([role, status])
    // AC-11: an archived project too
    await t.api('post', `${open.project.path}/archive`, open.as.owner).expect(201)
    await fork(open.project, await aUser(t.ctx)).expect(201)
    // AC-10
    await t.api('put', open.project.path, open.as.owner).send({ repository_access_level: 'private' }).expect(200)
    await fork(open.project, await aUser(t.ctx)).expect(403)
  })

  it('not by external people, nor beyond the limit of personal projects (AC-8, PR-14)', async () => {
    const source = await aSource()
    await fork(source, await aUser(t.ctx, { external: true })).expect(403, { message: '403 Forbidden' })
    const user = await aUser(t.ctx, { projects_limit: 0 })
    const { body } = await fork(source, user).expect(403)
    expect(body).toEqual({ error: [expect.stringContaining('limit is 0')] })
    const group = await aGroup(t.ctx, { creator: user })
    await fork(source, user, { namespace: group.id }).expect(201)
    expect(await countOf(source)).toBe(1)
  })

  it('404 for a place that is not there, is hidden, or is not the caller’s to create in (PR-19)', async () => {
    const source = await aSource()
    const [user, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const hidden = await aGroup(t.ctx)
    const open = await aGroup(t.ctx, { visibility: 'public', developer: user })
    for (const namespace of [999_999, 'no/such', hidden.id, hidden.fullPath, open.id, other.username, source.fullPath])
      await fork(source, user, { namespace }).expect(404, { message: '404 Target Namespace Not Found' })
    const admin = await anAdmin(t.ctx)
    const { body } = await fork(source, admin, { namespace: other.username }).expect(201)
    expect(body).toMatchObject({ owner: { id: other.id }, creator_id: admin.id })
    expect(await shown(body.id, other)).toMatchObject({ permissions: { project_access: { access_level: 40 } } })
  })

  it('409 for names that are taken, 400 for those that are none (PR-19)', async () => {
    const source = await aSource()
    const user = await aUser(t.ctx)
    await fork(source, user).expect(201)
    const taken = ['has already been taken']
    await fork(source, user).expect(409, { message: { name: taken, path: taken } })
    await fork(source, user, { name: 'other' }).expect(409, { message: { path: taken } })
    await fork(source, user, { path: 'other' }).expect(409, { message: { name: taken } })
    await fork(source, user, { name: 'other', path: '-' }).expect(400)
    await fork(source, user, { name: '/', path: 'other' }).expect(400)
    await fork(source, user, { name: 'other', path: 'other', description: 'x'.repeat(2_001) }).expect(400)
    await fork(source, user, { visibility: 'open' }).expect(400, { error: 'visibility does not have a valid value' })
    expect(await countOf(source)).toBe(1)
    expect(await t.ctx.db.write.select().from(pendingRepositoryDeletions)).toEqual([])
  })

  it('two into one place at once: one is made, the other is refused', async () => {
    const source = await aSource()
    const user = await aUser(t.ctx)
    const answers = await Promise.all(Array.from({ length: 5 }, () => fork(source, user)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
    for (const { status, body } of answers)
      if (status === 409) expect(body).toEqual({ message: { name: ['has already been taken'], path: ['has already been taken'] } })
    expect(await countOf(source)).toBe(1)
    await t.ctx.jobs.drain()
    expect(await t.ctx.db.write.select().from(pendingRepositoryDeletions)).toEqual([])
  })

  it('is as visible as the least of source, place and what administrators leave open (PR-25, AC-5)', async () => {
    const [user, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    const source = await aSource()
    const place = async (visibility: 'private' | 'internal' | 'public') => ({ namespace: (await aGroup(t.ctx, { creator: user, visibility })).id })
    const levelIn = async (where: object, caller = user) => (await fork(source, caller, where).expect(201)).body.visibility
    expect(await levelIn(await place('public'))).toBe('public')
    expect(await levelIn(await place('internal'))).toBe('internal')
    expect(await levelIn(await place('private'))).toBe('private')
    const [one, two, three] = [await place('public'), await place('public'), await place('public')]
    await setSettings(t.ctx, { restricted_visibility_levels: ['public', 'internal'] })
    try {
      expect(await levelIn(one)).toBe('private')
      expect(await levelIn({}, admin)).toBe('public')
      await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
      expect(await levelIn(two)).toBe('internal')
      const asked = await fork(source, user, { ...three, visibility: 'public' }).expect(400)
      expect(asked.body).toEqual({ message: { visibility_level: ['public has been restricted by your administrator'] } })
    } finally {
      await setSettings(t.ctx, {})
    }
    const internal = await aSource({ visibility: 'internal' })
    await fork(internal, user, { visibility: 'public' }).expect(400, {
      message: { visibility_level: ['public is not allowed since the fork source project has lower visibility.'] },
    })
  })

  it('names its source to those only who see it (SEC-39)', async () => {
    const user = await aUser(t.ctx)
    const source = await aSource({ visibility: 'private', reporter: user })
    const guest = await aUser(t.ctx)
    const { body } = await fork(source, user).expect(201)
    await t.api('post', `/projects/${body.id}/members`, user).send({ user_id: guest.id, access_level: 20 }).expect(201)
    expect((await shown(body.id, user)).forked_from_project).toMatchObject({ id: source.id })
    expect(await shown(body.id, guest)).not.toHaveProperty('forked_from_project')
  })
})

describe('what fork and source have of each other', () => {
  it('a commit that only one of them has is 404 through the other (SEC-43)', async () => {
    const source = await aSource()
    const user = await aUser(t.ctx)
    const { body } = await fork(source, user).expect(201)
    const copy: TestProject = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: user }
    const theirs = await aCommit(t.ctx, source, { 'theirs.txt': 'x' })
    const ours = await aCommit(t.ctx, copy, { 'ours.txt': 'y' })
    const found = async (project: TestProject, sha: string) =>
      (await t.api('get', `${project.path}/repository/commits/${sha}`, project.creator)).status
    expect([await found(source, theirs), await found(source, ours)]).toEqual([200, 404])
    expect([await found(copy, theirs), await found(copy, ours)]).toEqual([404, 200])
  })

  it('a fork has no commits that were pushed and removed before (SEC-43)', async () => {
    const source = await aSource()
    const mistake = await aCommit(t.ctx, source, { 'secret.txt': 'secret' }, { branch: 'mistake', start_branch: 'main' })
    const secret = bareOf(t, source).git('rev-parse', `${mistake}:secret.txt`).trim()
    await t.api('delete', `${source.path}/repository/branches/mistake`, source.creator).expect(204)
    const { body } = await fork(source, await aUser(t.ctx)).expect(201)
    for (const path of [`commits/${mistake}`, `blobs/${secret}`]) {
      await t.api('get', `${source.path}/repository/${path}`, source.creator).expect(200)
      await t.api('get', `/projects/${body.id}/repository/${path}`, source.creator).expect(404)
    }
  })

  it('a source that is deleted leaves its forks whole, also when they are packed and pruned afterwards (PR-26)', async () => {
    const source = await aSource()
    const user = await aUser(t.ctx)
    const { body } = await fork(source, user).expect(201)
    await t.api('delete', `${source.path}?permanently_remove=true`, source.creator).expect(202)
    await t.ctx.jobs.drain()
    expect(existsSync(directoryOf(t, source.id))).toBe(false)
    const after = await shown(body.id, user)
    expect(after).not.toHaveProperty('forked_from_project')
    const directory = directoryOf(t, body.id)
    await gitOut(directory, 'repack', '-adfq')
    await gitOut(directory, 'prune', '--expire=now')
    await gitOut(directory, 'fsck', '--full', '--strict')
    await t.api('get', `/projects/${body.id}/repository/files/a.txt?ref=main`, user).expect(200)
    const again = await t.api('post', `/projects/${body.id}/fork`, await aUser(t.ctx)).expect(201)
    expect(again.body.forked_from_project).toMatchObject({ id: body.id })
  })

  it('the source counts the forks that there are (PR-25)', async () => {
    const source = await aSource()
    const [one, two] = [await aUser(t.ctx), await aUser(t.ctx)]
    const first = (await fork(source, one).expect(201)).body
    await fork(source, two).expect(201)
    expect(await countOf(source)).toBe(2)
    await t.api('delete', `/projects/${first.id}`, one).expect(202)
    expect(await countOf(source)).toBe(1)
  })

  it('a source that is hidden hides its forks and theirs; none is opened beyond its source (AC-5, SEC-41, SEC-168)', async () => {
    const source = await aSource()
    const [one, two] = [await aUser(t.ctx), await aUser(t.ctx)]
    const first = (await fork(source, one).expect(201)).body
    const second = (await t.api('post', `/projects/${first.id}/fork`, two).expect(201)).body
    await t.api('put', source.path, source.creator).send({ visibility: 'internal' }).expect(200)
    expect([(await shown(first.id, one)).visibility, (await shown(second.id, two)).visibility]).toEqual(['internal', 'internal'])
    await t.api('get', `/projects/${second.id}`).expect(404)
    const audited = await t.ctx.db.write.select().from(auditEvents).where(eq(auditEvents.action, 'visibility_changed'))
    expect(audited.filter(({ target_id }) => [first.id, second.id].includes(target_id)).map(({ changes }) => changes)).toEqual([
      { visibility: ['public', 'internal'] },
      { visibility: ['public', 'internal'] },
    ])
    await t
      .api('put', `/projects/${first.id}`, one)
      .send({ visibility: 'public' })
      .expect(400, {
        message: { visibility_level: ['public is not allowed since the fork source project has lower visibility.'] },
      })
    await t.api('put', `/projects/${first.id}`, one).send({ visibility: 'private' }).expect(200)
    expect((await shown(second.id, two)).visibility).toBe('private')
    await t.api('put', `/projects/${first.id}`, one).send({ visibility: 'internal' }).expect(200)
  })

  it('lists the forks a caller sees, with the filters of all lists of projects (PR-9, SEC-33)', async () => {
    const source = await aSource()
    const [one, two] = [await aUser(t.ctx), await aUser(t.ctx)]
    const [open, own] = [(await fork(source, one).expect(201)).body, (await fork(source, two).expect(201)).body]
    await t.ctx.jobs.drain()
    await t.api('put', `/projects/${own.id}`, two).send({ visibility: 'private', description: 'tinkering' }).expect(200)
    const list = async (caller: TestUser | null, query = '') => {
      const { body, headers } = await t.api('get', `${source.path}/forks${query}`, caller).expect(200)
      const ids = (body as { id: number }[]).map(({ id }) => id)
      expect(headers['x-total']).toBe(`${ids.length}`)
      return ids
    }
    expect(await list(null)).toEqual([open.id])
    expect(await list(one)).toEqual([open.id])
    expect(await list(two)).toEqual([own.id, open.id])
    expect(await list(two, '?sort=asc&order_by=id')).toEqual([open.id, own.id])
    expect(await list(two, '?visibility=private')).toEqual([own.id])
    expect(await list(two, '?search=TINKER')).toEqual([own.id])
    expect(await list(one, '?search=TINKER')).toEqual([])
    expect(await list(two, '?owned=true')).toEqual([own.id])
    const simple = (await t.api('get', `${source.path}/forks?simple=true`, one).expect(200)).body
    expect(Object.keys(simple[0])).not.toContain('permissions')
    await t.api('get', '/projects/999999/forks', one).expect(404, { message: '404 Project Not Found' })
  })

  it('shows lists of forks in a constant number of queries', async () => {
    const source = await aSource()
    const list = () => t.api('get', `${source.path}/forks`, source.creator).expect(200)
    await fork(source, await aUser(t.ctx)).expect(201)
    await list()
    await t.ctx.jobs.drain()
    const one = await t.queriesOf(list)
    for (let i = 0; i < 3; i++) await fork(source, await aUser(t.ctx)).expect(201)
    await t.ctx.jobs.drain()
    const four = await t.queriesOf(list)
    expect((await list()).body).toHaveLength(4)
    expect(four.length).toBe(one.length)
  })
})

describe('a fork that is killed', () => {
  const reserve = async () => {
    const { rows } = await t.ctx.db.write.execute<{ id: string }>(
      sql`insert into pending_repository_deletions (project_id, storage) values (nextval(pg_get_serial_sequence('projects', 'id')), 'default') returning project_id as id`,
    )
    return Number(rows[0]?.id)
  }

  it('after the objects and before the row leaves nothing behind (SEC-158)', async () => {
    const source = await aSource()
    const id = await reserve()
    await t.ctx.git.fork({ storage: 'default', id: source.id, kind: 'project' }, { storage: 'default', id, kind: 'project' }, 'main')
    expect(existsSync(directoryOf(t, id))).toBe(true)
    await recover(t.ctx)
    await t.ctx.jobs.drain()
    expect(existsSync(directoryOf(t, id))).toBe(false)
    expect(await t.ctx.db.write.select().from(pendingRepositoryDeletions)).toEqual([])
    expect(await countOf(source)).toBe(0)
    await fork(source, await aUser(t.ctx)).expect(201)
  })

  it('is not taken for a leftover while it is made', async () => {
    const source = await aSource()
    const id = await reserve()
    await t.ctx.git.fork({ storage: 'default', id: source.id, kind: 'project' }, { storage: 'default', id, kind: 'project' }, 'main')
    await t.ctx.db.transaction(async (tx) => {
      await tx.select().from(pendingRepositoryDeletions).where(eq(pendingRepositoryDeletions.project_id, id)).for('update')
      await finishDeletions(t.ctx)
      expect(existsSync(directoryOf(t, id))).toBe(true)
    })
    await finishDeletions(t.ctx)
    expect(existsSync(directoryOf(t, id))).toBe(false)
  })
})

describe('POST and DELETE of the fork link (PR-20, PR-21)', () => {
  const link = (project: TestProject, source: number | string, caller: TestUser | null) => t.api('post', `${project.path}/fork/${source}`, caller)

  it('ties a project to a source, by id or path, once (PR-20)', async () => {
    const user = await aUser(t.ctx)
    const [source, other] = [await aSource(), await aSource()]
    const project = await aProject(t.ctx, { creator: user })
    const { body } = await link(project, encodeURIComponent(source.fullPath), user).expect(201)
    expect(body.forked_from_project).toMatchObject({ id: source.id })
    expect(await countOf(source)).toBe(1)
    await link(project, other.id, user).expect(409, { message: 'Project already forked' })
    await link(project, 999_999, user).expect(404, { message: '404 Source Project Not Found' })
    const hidden = await aProject(t.ctx)
    await link(project, hidden.id, user).expect(404, { message: '404 Source Project Not Found' })
  })

  it('maintainers may, with a source they may fork (PR-20)', async () => {
    const { project, as } = await aCast(t.ctx)
    const source = await aSource({ visibility: 'private', guest: as.maintainer })
    await link(project, source.id, as.maintainer).expect(403)
    const open = await aSource()
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 404, guest: 403, reporter: 403, developer: 403 })) {
      expect([role, (await link(project, open.id, as[role])).status]).toEqual([role, status])
      await t.ctx.db.write.update(projects).set({ forked_from_id: null }).where(eq(projects.id, project.id))
    }
  })

  it('neither in a circle nor above the source’s visibility (AC-5)', async () => {
    const user = await aUser(t.ctx)
    const source = await aSource({ creator: user, visibility: 'private' })
    const open = await aProject(t.ctx, { creator: user, visibility: 'public' })
    await link(open, source.id, user).expect(400, {
      message: { visibility_level: ['public is not allowed since the fork source project has lower visibility.'] },
    })
    const child = await aProject(t.ctx, { creator: user })
    const grandchild = await aProject(t.ctx, { creator: user })
    await link(child, source.id, user).expect(201)
    await link(grandchild, child.id, user).expect(201)
    for (const end of [source, child, grandchild]) await link(source, end.id, user).expect(409)
  })

  it('owners take it away; 304 when there is none (PR-21)', async () => {
    const { project, as } = await aCast(t.ctx)
    const source = await aSource()
    for (const [role, status] of statuses(403, { anonymous: 401, stranger: 404, owner: 204, admin: 204 })) {
      await t.ctx.db.write.update(projects).set({ forked_from_id: source.id }).where(eq(projects.id, project.id))
      await t.ctx.db.write.update(projects).set({ forks_count: 1 }).where(eq(projects.id, source.id))
      expect([role, (await t.api('delete', `${project.path}/fork`, as[role])).status]).toEqual([role, status])
      expect([role, await countOf(source)]).toEqual([role, status === 204 ? 0 : 1])
    }
    const { text } = await t.api('delete', `${project.path}/fork`, as.owner).expect(304)
    expect(text).toBe('')
  })
})

it('a share is no part of a fork', async () => {
  const source = await aSource()
  const group = await aGroup(t.ctx, { creator: source.creator })
  await t.api('post', `${source.path}/share`, source.creator).send({ group_id: group.id, group_access: 30 }).expect(201)
  const { body } = await fork(source, await aUser(t.ctx)).expect(201)
  expect(body.shared_with_groups).toEqual([])
  expect(await t.ctx.db.write.select().from(projectShares).where(eq(projectShares.project_id, body.id))).toEqual([])
})
