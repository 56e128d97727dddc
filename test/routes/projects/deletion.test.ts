import { eq, sql } from 'drizzle-orm'
import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import { auditEvents, mergeRequests, projects } from '../../../src/db/schema/index.js'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { dueDeletions } from '../../../src/services/operations/due-deletions.js'
import { testApp } from '../../support/app.js'
import { gitClient } from '../../support/clients/git-client.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, setSettings, type TestProject, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
const client = gitClient(t)
let admin: TestUser
beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

const remove = (project: { path: string }, caller: TestUser | null, query = '') => t.api('delete', project.path + query, caller)
const restore = (project: { path: string }, caller: TestUser | null) => t.api('post', `${project.path}/restore`, caller)
const nameOf = (project: TestProject) => project.fullPath.split('/').at(-1) as string
const exists = async ({ id }: { id: number }) => (await t.ctx.db.read.$count(projects, eq(projects.id, id))) > 0
const idsIn = async (path: string, caller: TestUser | null) =>
  ((await t.api('get', path, caller).expect(200)).body as { id: number }[]).map(({ id }) => id)
const actionsOn = async ({ id }: { id: number }) =>
  (await t.ctx.db.read.select().from(auditEvents).where(eq(auditEvents.target_id, id)).orderBy(auditEvents.id))
    .filter(({ target_type }) => target_type === 'project')
    .map(({ action, actor }) => [action, actor])

/** Lets the delay of a project pass, and runs the job. */
async function due(...of: { id: number }[]) {
  for (const { id } of of) await t.ctx.db.write.update(projects).set({ deletion_due_at: sql`now() - interval '1 minute'` }).where(eq(projects.id, id))
  await t.ctx.db.transaction((tx) => enqueue(tx, dueDeletions, {}))
  await t.ctx.jobs.drain()
}

describe('DELETE /projects/:id (PR-11, PR-28)', () => {
  it('hides the project, shows its owner the day where that is asked for, and frees its path and name at once', async () => {
    const maintainer = await aUser(t.ctx)
    const project = await aProject(t.ctx, { visibility: 'public', maintainer, files: { a: 'a' } })
    const { creator, fullPath } = project
    await remove(project, creator).expect(202, { message: '202 Accepted' })
    const asked = `${project.path}?include_pending_delete=true`
    for (const caller of [null, maintainer, await aUser(t.ctx)])
      for (const path of [project.path, asked]) await t.api('get', path, caller).expect(404, { message: '404 Project Not Found' })
    const today = new Date().toISOString().slice(0, 10)
    for (const caller of [creator, admin]) {
      await t.api('get', project.path, caller).expect(404, { message: '404 Project Not Found' })
      expect((await t.api('get', asked, caller).expect(200)).body).toMatchObject({
        path: `${nameOf(project)}-deletion_scheduled-${project.id}`,
        marked_for_deletion_at: today,
        marked_for_deletion_on: today,
      })
    }
    await t.api('get', `/projects/${encodeURIComponent(fullPath)}`, creator).expect(404)
    // as often as Terraform and test suites do
    for (let i = 0; i < 3; i++) {
      const { body } = await t
        .api('post', '/projects', creator)
        .send({ name: nameOf(project) })
        .expect(201)
      expect(body).toMatchObject({ path_with_namespace: fullPath, empty_repo: true, marked_for_deletion_at: null, marked_for_deletion_on: null })
      await remove({ path: `/projects/${body.id}` }, creator).expect(202)
    }
    expect(await exists(project)).toBe(true)
  })

  it('answers 404 the second time, also to one of eight callers at once', async () => {
    const project = await aProject(t.ctx)
    for (const query of ['', '?permanently_remove=true']) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => remove(project, project.creator, query)))
      expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(7).fill(404)])
      await remove(project, project.creator).expect(404, { message: '404 Project Not Found' })
    }
  })

  it('removes at once with permanently_remove, also what waits; a given full_path must be right', async () => {
    const [one, two, three] = [await aProject(t.ctx), await aProject(t.ctx), await aProject(t.ctx)]
    await remove(one, one.creator, '?permanently_remove=true').expect(202)
    await remove(two, two.creator).expect(202)
    await remove(two, two.creator, '?permanently_remove=true&full_path=another').expect(400, { message: 'full_path is incorrect' })
    await remove(three, three.creator, `?full_path=${two.fullPath}`).expect(400)
    await remove(two, two.creator, `?permanently_remove=true&full_path=${two.fullPath}`).expect(202)
    await remove(three, three.creator).expect(202)
    const scheduled = `${three.fullPath}-deletion_scheduled-${three.id}`
    await remove(three, three.creator).send({ permanently_remove: true, full_path: scheduled }).expect(202)
    for (const project of [one, two, three]) {
      await t.api('get', project.path, project.creator).expect(404)
      expect(await exists(project)).toBe(false)
      expect((await actionsOn(project)).at(-1)).toEqual(['project_deleted', project.creator.username])
    }
  })

  it('removes at once while the delay is 0, and the setting is bounded (AS-75)', async () => {
    const put = (deletion_delay_days: unknown) => t.api('put', '/application/settings', admin).send({ deletion_delay_days })
    await put(91).expect(400, { message: { deletion_delay_days: ['must be less than or equal to 90'] } })
    await put(-1).expect(400)
    await put(0).expect(200)
    const project = await aProject(t.ctx)
    await remove(project, project.creator).expect(202)
    expect(await exists(project)).toBe(false)
    await put(7).expect(200)
  })

  it('is for owners, and no path may have the suffix', async () => {
    const maintainer = await aUser(t.ctx)
    const project = await aProject(t.ctx, { maintainer })
    await remove(project, maintainer).expect(403)
    await remove(project, null).expect(401)
    const taken = `x-deletion_scheduled-${project.id}`
    for (const given of [{ path: taken, name: 'x' }, { name: taken }]) await t.api('post', '/projects', project.creator).send(given).expect(400)
    for (const given of [
      { path: taken, name: 'x' },
      { path: 'x', name: taken },
    ])
      await t.api('post', '/groups', project.creator).send(given).expect(400)
  })
})

describe('a project that waits for its removal (SEC-245)', () => {
  let owner: TestUser
  let member: TestUser
  let project: TestProject
  let word: string
  beforeAll(async () => {
    owner = await aUser(t.ctx)
    member = await aUser(t.ctx)
    word = `word${unique()}`
    project = await aProject(t.ctx, { creator: owner, name: word, visibility: 'public', maintainer: member, files: { a: 'a' } })
    await t
      .api('post', `${project.path}/issues`, member)
      .send({ title: `issue ${word}`, assignee_ids: [owner.id], assignee_id: owner.id })
      .expect(201)
    await t
      .api('post', `${project.path}/milestones`, member)
      .send({ title: `milestone ${word}` })
      .expect(201)
    await t
      .api('post', `${project.path}/snippets`, member)
      .send({ title: `snippet ${word}`, file_name: 'a', code: 'x', content: 'x', visibility: 'public' })
      .expect(201)
    await t.api('post', `${project.path}/star`, member).expect(201)
    await aCommit(t.ctx, project, { b: 'b' }, { branch: 'feature', start_branch: 'main' })
    await t
      .api('post', `${project.path}/merge_requests`, member)
      .send({ title: `request ${word}`, source_branch: 'feature', target_branch: 'main', assignee_id: owner.id })
      .expect(201)
  })

  it('is in no list, search, count or feed, also of its owner and of administrators', async () => {
    const lists = (of: TestUser) => [
      `/projects?search=${word}`,
      '/projects?order_by=id&per_page=100',
      `/projects?simple=true&search=${word}`,
      `/users/${owner.id}/projects`,
      '/projects?starred=true',
      `/issues?scope=all&search=${word}`,
      `/merge_requests?scope=all&search=${word}`,
      '/todos',
      '/events',
      `/users/${of.id}/events`,
      ...['projects', 'issues', 'merge_requests', 'milestones', 'snippet_titles'].map((scope) => `/search?scope=${scope}&search=${word}`),
    ]
    const found = async (of: TestUser) => {
      const answers = await Promise.all(lists(of).map((path) => t.api('get', path, of).expect(200)))
      return answers.map(({ text, headers }, at) => [lists(of)[at], headers['x-total'], text.includes(word)])
    }
    const people = [owner, member, admin]
    const before = await Promise.all(people.map(found))
    await remove(project, owner).expect(202)
    const after = await Promise.all(people.map(found))
    expect(before.flat().filter(([, , has]) => has).length).toBeGreaterThan(20)
    expect(after.flat().filter(([, , has]) => has)).toEqual([])
    expect((await idsIn(`/projects?search=${word}&include_pending_delete=true`, owner)).at(0)).toBe(project.id)
    expect(await idsIn(`/projects?search=${word}&include_pending_delete=true`, admin)).toEqual([project.id])
    for (const caller of [member, null]) expect(await idsIn(`/projects?search=${word}&include_pending_delete=true`, caller)).toEqual([])
  })

  it('is not found by Git for any caller, by its old path, its new one, or a redirect', async () => {
    const place = await aProject(t.ctx, { maintainer: member, files: { a: 'a' } })
    const { body } = await t
      .api('post', `${place.path}/deploy_tokens`, member)
      .send({ name: 'x', username: 'reader', scopes: ['read_repository'] })
      .expect(201)
    const renamed = `${place.fullPath}x`
    await t
      .api('put', place.path, member)
      .send({ path: `${nameOf(place)}x` })
      .expect(200)
    const callers = [[place.creator], [admin], [member], [body, 'reader']] as const
    const paths = [place.fullPath, renamed, `${renamed}-deletion_scheduled-${place.id}`]
    const answers = async () => {
      const found: [string, boolean][] = []
      for (const [caller, name] of callers)
        for (const path of paths) {
          const { code, err } = await client.clone(client.url(path, caller, name))
          found.push([path, code === 0])
          if (code !== 0) expect(err).toContain('not found')
        }
      return found
    }
    expect(await answers()).toEqual(
      callers.flatMap(() => [
        [paths[0], true],
        [paths[1], true],
        [paths[2], false],
      ]),
    )
    await remove(place, place.creator).expect(202)
    expect(await answers()).toEqual(callers.flatMap(() => paths.map((path) => [path, false])))
    await restore(place, place.creator).expect(201)
    expect((await client.clone(client.url(place.fullPath, member))).code).toBe(0)
  })

  it('may be restored and removed by its owner; nothing else of it is there', async () => {
    for (const [method, path] of [
      ['get', '/repository/branches'],
      ['get', '/issues'],
      ['put', ''],
      ['post', '/archive'],
      ['post', '/star'],
      ['get', '/hooks'],
      ['post', '/fork'],
    ] as const) {
      const call = t.api(method, project.path + path, owner)
      await (method === 'put' ? call.send({ description: 'x' }) : call).expect(404)
      await t.api(method, project.path + path, member).expect(404)
    }
  })

  it('shows none of its uploads, which are images for everybody otherwise (UP-2)', async () => {
    const place = await aProject(t.ctx, { visibility: 'public' })
    const { body } = await t.api('post', `${place.path}/uploads`, place.creator).attach('file', Buffer.from('GIF89a'), 'a.gif').expect(201)
    const url = (path: string) => `/${path}${body.url}`
    await supertest(t.url).get(url(place.fullPath)).expect(200)
    await remove(place, place.creator).expect(202)
    await supertest(t.url).get(url(place.fullPath)).expect(404)
    await supertest(t.url)
      .get(url(`${place.fullPath}-deletion_scheduled-${place.id}`))
      .expect(404)
  })

  it('is no source of its forks and no fork of its source, and its merge requests are closed (PR-26)', async () => {
    const source = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const forker = await aUser(t.ctx)
    const { body } = await t.api('post', `${source.path}/fork`, forker).expect(201)
    const fork = { id: body.id as number, path: `/projects/${body.id}`, fullPath: body.path_with_namespace as string, creator: forker }
    await aCommit(t.ctx, fork, { b: 'b' }, { branch: 'feature', start_branch: 'main' })
    const { body: request } = await t
      .api('post', `${fork.path}/merge_requests`, forker)
      .send({ title: 'x', source_branch: 'feature', target_branch: 'main', target_project_id: source.id })
      .expect(201)
    const shown = async (of: TestProject) => (await t.api('get', of.path, of.creator).expect(200)).body
    const stateOf = async () => (await t.ctx.db.read.select().from(mergeRequests).where(eq(mergeRequests.id, request.id)))[0]?.state
    expect(await shown(source)).toMatchObject({ forks_count: 1 })
    await remove(fork, forker).expect(202)
    expect([(await shown(source)).forks_count, await stateOf()]).toEqual([0, 'closed'])
    expect(await idsIn(`${source.path}/forks`, source.creator)).toEqual([])
    await restore(fork, forker).expect(201)
    expect((await shown(source)).forks_count).toBe(1)
    await t.api('put', `${source.path}/merge_requests/${request.iid}`, forker).send({ state_event: 'reopen' }).expect(200)
    expect(await stateOf()).toBe('opened')
    await remove(source, source.creator).expect(202)
    expect(await shown(fork)).not.toHaveProperty('forked_from_project')
    await due(source)
    expect(await exists(source)).toBe(false)
    expect(await shown(fork)).not.toHaveProperty('forked_from_project')
  })

  it('does not count towards the projects limit (PR-14), nor keep its group from being less visible (GR-37)', async () => {
    const user = await aUser(t.ctx, { projects_limit: 1 })
    const one = await aProject(t.ctx, { creator: user })
    await remove(one, user).expect(202)
    const two = await aProject(t.ctx, { creator: user })
    await restore(one, user).expect(403)
    await remove(two, user, '?permanently_remove=true').expect(202)
    await restore(one, user).expect(201)
    const group = await aGroup(t.ctx, { creator: user, visibility: 'public' })
    const open = await aProject(t.ctx, { creator: user, namespace_id: group.id, visibility: 'public' })
    await remove(open, user).expect(202)
    await t.api('put', group.path, user).send({ visibility: 'private' }).expect(200)
    expect((await restore(open, user).expect(201)).body).toMatchObject({ visibility: 'private' })
  })
})

describe('POST /projects/:id/restore (PR-29)', () => {
  it('gives everything back under the former path and name, with lines in the audit log (SEC-168)', async () => {
    const maintainer = await aUser(t.ctx)
    const project = await aProject(t.ctx, { maintainer, files: { a: 'a' } })
    const before = (await t.api('get', project.path, maintainer).expect(200)).body
    await remove(project, project.creator).expect(202)
    await restore(project, maintainer).expect(404)
    await restore(project, null).expect(401)
    expect((await restore(project, project.creator).expect(201)).body).toMatchObject({
      path_with_namespace: project.fullPath,
      marked_for_deletion_at: null,
    })
    const { updated_at: _, ...after } = (await t.api('get', `/projects/${encodeURIComponent(project.fullPath)}`, maintainer).expect(200)).body
    expect({ ...before, ...after }).toEqual(before)
    await client.cloned(client.url(project.fullPath, maintainer))
    await due()
    expect(await exists(project)).toBe(true)
    const { username } = project.creator
    expect(await actionsOn(project)).toEqual([
      ['project_created', null],
      ['project_deletion_scheduled', username],
      ['project_restored', username],
    ])
  })

  it('is refused with the reason when the name or path is taken, or when nothing was deleted', async () => {
    const project = await aProject(t.ctx)
    await restore(project, project.creator).expect(400, { message: 'Project has not been marked for deletion' })
    await remove(project, project.creator).expect(202)
    const other = await aProject(t.ctx, { creator: project.creator, name: nameOf(project) })
    await restore(project, project.creator).expect(400, { message: { name: ['has already been taken'], path: ['has already been taken'] } })
    await t
      .api('put', other.path, project.creator)
      .send({ name: 'Other', path: `other${unique()}` })
      .expect(200)
    await restore(project, project.creator).expect(201)
  })

  it('of two at once for one path, one succeeds', async () => {
    const one = await aProject(t.ctx)
    await remove(one, one.creator).expect(202)
    const two = await aProject(t.ctx, { creator: one.creator, name: nameOf(one) })
    await remove(two, one.creator).expect(202)
    const answers = await Promise.all([restore(one, one.creator), restore(two, one.creator)])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400])
  })
})

describe('due removals (SEC-246)', () => {
  it('removes it with an audit event, and neither those that wait nor restored ones', async () => {
    const [gone, waits, back] = [await aProject(t.ctx), await aProject(t.ctx), await aProject(t.ctx)]
    for (const project of [gone, waits, back]) await remove(project, project.creator).expect(202)
    await restore(back, back.creator).expect(201)
    await due(gone)
    expect(await Promise.all([gone, waits, back].map(exists))).toEqual([false, true, true])
    expect((await actionsOn(gone)).at(-1)).toEqual(['project_deleted', null])
    await restore(gone, admin).expect(404)
  })

  it('continues if one cannot be removed', async () => {
    const [stuck, gone] = [await aProject(t.ctx), await aProject(t.ctx)]
    for (const project of [stuck, gone]) await remove(project, project.creator).expect(202)
    await t.ctx.db.write.execute(sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'stuck'; end $$`)
    await t.ctx.db.write.execute(
      sql.raw(`create trigger refuse before delete on projects for each row when (old.id = ${stuck.id}) execute function refuse()`),
    )
    await due(stuck, gone)
    expect(await Promise.all([stuck, gone].map(exists))).toEqual([true, false])
    await t.ctx.db.write.execute(sql`drop function refuse cascade`)
    await due(stuck)
    expect(await exists(stuck)).toBe(false)
  })

  it('a change of the delay concerns later deletions (PR-28)', async () => {
    const project = await aProject(t.ctx)
    await remove(project, project.creator).expect(202)
    await setSettings(t.ctx, { deletion_delay_days: 0 })
    await due()
    expect(await exists(project)).toBe(true)
    await setSettings(t.ctx, { deletion_delay_days: 7 })
  })
})
