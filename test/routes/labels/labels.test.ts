import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { labels, projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aGroup, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()

interface Place {
  path: string
  creator: TestUser
}
const create = (place: Place, sent: object, caller: TestUser | null = place.creator) => t.api('post', `${place.path}/labels`, caller).send(sent)
const aLabel = async (place: Place, name: string, more: object = {}) => (await create(place, { name, color: '#ff0000', ...more }).expect(201)).body
const names = (list: { name: string }[]) => list.map(({ name }) => name)
const anIssue = async (place: Place, sent: object, caller = place.creator) =>
  (
    await t
      .api('post', `${place.path}/issues`, caller)
      .send({ title: 'An issue', ...sent })
      .expect(201)
  ).body

describe('labels of a project', () => {
  it('section 16: a label (LB-3)', async () => {
    const project = await aProject(t.ctx)
    const { body } = await create(project, { name: ' bug ', color: '#D9534F', description: 'Does *not* work', priority: 3 }).expect(201)
    expect(body).toEqual({
      id: expect.any(Number),
      name: 'bug',
      color: '#D9534F',
      text_color: '#FFFFFF',
      description: 'Does *not* work',
      description_html: '<p>Does <em>not</em> work</p>',
      open_issues_count: 0,
      closed_issues_count: 0,
      open_merge_requests_count: 0,
      priority: 3,
      subscribed: false,
      is_project_label: true,
    })
    for (const named of [body.id, 'bug']) await t.api('get', `${project.path}/labels/${named}`, project.creator).expect(200, body)
    expect((await aLabel(project, 'Bug', { color: '#fff' })).text_color).toBe('#333333')
    expect((await aLabel(project, 'named', { color: 'RebeccaPurple' })).color).toBe('#663399')
    expect(await aLabel(project, 'plain')).toMatchObject({ description: null, description_html: '', priority: null })
  })

  it('faults (LB-3, LB-9, SEC-63)', async () => {
    const project = await aProject(t.ctx)
    await aLabel(project, 'bug')
    await create(project, { name: 'bug', color: '#fff' }).expect(409, { message: 'Label already exists' })
    await create(project, {}).expect(400, { error: 'name is missing, color is missing' })
    // clients drop dots from addresses, so that a call about such a label would be one about the project
    for (const name of ['', ' ', 'a,b', '.', ' .. '])
      await create(project, { name, color: '#fff' }).expect(400, { message: { title: ['is invalid'] } })
    await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'x', labels: 'bug,..' }).expect(400)
    for (const color of ['', 'fff', '#ff', '#ffff', '#gggggg', 'nocolour', 'constructor', '#fff\n#fff'])
      await create(project, { name: 'x', color }).expect(400, { message: { color: ['must be a valid color code'] } })
    await create(project, { name: 'x'.repeat(256), color: '#fff' }).expect(400, { message: { title: ['is too long (maximum is 255 characters)'] } })
    for (const priority of [-1, 'x', 1.5]) await create(project, { name: 'x', color: '#fff', priority }).expect(400, { error: 'priority is invalid' })
    expect(names((await t.api('get', `${project.path}/labels`, project.creator).expect(200)).body)).toEqual(['bug'])
    await aLabel(project, 'x'.repeat(255))
  })

  it('one name at once is one label (LB-3)', async () => {
    const project = await aProject(t.ctx)
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(project, { name: 'x', color: '#fff' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
  })

  it('any name is a name (SEC-73, SEC-155)', async () => {
    const project = await aProject(t.ctx)
    for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'null', '1e3', 'a/b', '%', "'; --", '😀']) {
      const label = await aLabel(project, name)
      await t.api('get', `${project.path}/labels/${encodeURIComponent(name)}`, project.creator).expect(200, label)
      expect((await anIssue(project, { labels: name })).labels).toEqual([name])
      await t.api('delete', `${project.path}/labels/${encodeURIComponent(name)}`, project.creator).expect(204)
    }
  })

  it('digits are an id, and a name when there is none (LB-2)', async () => {
    const project = await aProject(t.ctx)
    const other = await aProject(t.ctx, { creator: project.creator })
    const theirs = await aLabel(other, 'theirs')
    await t.api('get', `${project.path}/labels/${theirs.id}`, project.creator).expect(404, { message: '404 Label Not Found' })
    const mine = await aLabel(project, String(theirs.id))
    await t.api('get', `${project.path}/labels/${theirs.id}`, project.creator).expect(200, mine)
    for (const named of ['nothing', '0', '9223372036854775808']) await t.api('get', `${project.path}/labels/${named}`, project.creator).expect(404)
  })

  it('by name, its own and those above; searched and cut (LB-1)', async () => {
    const top = await aGroup(t.ctx)
    const { creator } = top
    const group = await aGroup(t.ctx, { creator, parent_id: top.id })
    const project = await aProject(t.ctx, { creator, namespace_id: group.id })
    const aside = await aGroup(t.ctx, { creator })
    await aLabel(top, 'c top')
    await aLabel(group, 'a group')
    await aLabel(project, 'b own')
    await aLabel(aside, 'not here')
    const list = async (query = '') => names((await t.api('get', `${project.path}/labels?${query}`, creator).expect(200)).body)
    expect(await list()).toEqual(['a group', 'b own', 'c top'])
    expect(await list('include_ancestor_groups=false')).toEqual(['b own'])
    expect(await list('search=OW')).toEqual(['b own'])
    expect(await list('search=%25')).toEqual([])
    expect(await list('per_page=1&page=2')).toEqual(['b own'])
    expect((await t.api('get', `${project.path}/labels?per_page=1&page=9`, creator).expect(200, [])).headers['x-total']).toBe('3')
    await create(project, { name: 'c top', color: '#fff' }).expect(409)
    expect((await t.api('get', `${project.path}/labels/a%20group`, creator).expect(200)).body.is_project_label).toBe(false)
    // what is inherited is not the project's to change
    await t.api('delete', `${project.path}/labels/a%20group`, creator).expect(404, { message: '404 Label Not Found' })
    await t.api('put', `${project.path}/labels/a%20group`, creator).send({ color: '#fff' }).expect(404)
    expect((await anIssue(project, { labels: 'c top,a group,new' })).labels).toEqual(['a group', 'c top', 'new'])
    expect(await list('include_ancestor_groups=false')).toEqual(['b own', 'new'])
  })

  it('renames and deletes a label on issues and merge requests, in both forms (LB-4, LB-5, LB-9)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const label = await aLabel(project, 'old', { priority: 1, description: 'x' })
    await aLabel(project, 'taken')
    await anIssue(project, { labels: 'old,taken' })
    const labelsOf = async () => (await t.api('get', `${project.path}/issues/1`, creator).expect(200)).body.labels
    const put = (path: string, sent: object) => t.api('put', `${project.path}/labels${path}`, creator).send(sent)
    expect((await put('', { name: 'old', new_name: 'new' }).expect(200)).body).toMatchObject({ id: label.id, name: 'new', priority: 1 })
    expect(await labelsOf()).toEqual(['new', 'taken'])
    expect((await put('/new', { priority: '', description: '', color: 'red' }).expect(200)).body).toMatchObject({
      priority: null,
      description: null,
      color: '#FF0000',
    })
    await put('/new', { new_name: 'taken' }).expect(400, { message: { title: ['has already been taken'] } })
    await put('/new', {}).expect(400, { error: 'new_name, color, description, priority are missing, at least one parameter must be provided' })
    await put('', { color: '#fff' }).expect(400, { error: 'name is missing' })
    await put('', { name: 'none', color: '#fff' }).expect(404, { message: '404 Label Not Found' })
    await t.api('delete', `${project.path}/labels?name=new`, creator).expect(204)
    expect(await labelsOf()).toEqual(['taken'])
    await t.api('delete', `${project.path}/labels`, creator).send({ name: 'new' }).expect(404, { message: '404 Label Not Found' })
    await t.api('delete', `${project.path}/labels`, creator).expect(400, { error: 'name is missing' })
    await t.api('delete', `${project.path}/labels/taken`, creator).expect(204)
    expect(await t.ctx.db.write.select().from(labels).where(eq(labels.project_id, project.id))).toEqual([])
  })

  it('everyone who sees the project may subscribe (LB-6)', async () => {
    const { project, as } = await aCast(t.ctx)
    const label = (await create(project, { name: 'x', color: '#fff' }, as.owner).expect(201)).body
    const post = (named: unknown, verb: string, caller: TestUser | null) => t.api('post', `${project.path}/labels/${named}/${verb}`, caller)
    await post('x', 'unsubscribe', as.guest).expect(304)
    expect((await post('x', 'subscribe', as.guest).expect(201)).body).toEqual({ ...label, subscribed: true })
    await post(label.id, 'subscribe', as.guest).expect(304)
    expect((await t.api('get', `${project.path}/labels/x`, as.owner).expect(200)).body.subscribed).toBe(false)
    expect((await post(label.id, 'unsubscribe', as.guest).expect(201)).body.subscribed).toBe(false)
    await post('none', 'subscribe', as.guest).expect(404, { message: '404 Label Not Found' })
    await post('x', 'subscribe', null).expect(401)
    await post('x', 'subscribe', as.stranger).expect(404)
  })

  it('permissions to read and write (row 12 of section 5.1, section 5.3, AC-11)', async () => {
    const { project, as } = await aCast(t.ctx)
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 404, guest: 403 })) {
      await create(project, { name: role, color: '#fff' }, as[role]).expect(status)
      await t
        .api('put', `${project.path}/labels`, as[role])
        .send({ name: role, color: '#000' })
        .expect(status === 201 ? 200 : status)
      await t.api('delete', `${project.path}/labels/${role}`, as[role]).expect(status === 201 ? 204 : status)
      await t.api('get', `${project.path}/labels`, as[role]).expect(status === 201 || status === 403 ? 200 : status)
    }
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    await create(project, { name: 'x', color: '#fff' }, as.owner).expect(403)
    const open = await aProject(t.ctx, { visibility: 'public' })
    await t.api('get', `${open.path}/labels`, null).expect(401)
    await t.api('get', `${open.path}/labels`, as.stranger).expect(200, [])
  })

  it('counts are of what the caller sees (SEC-35)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    for (const confidential of [true, false, false]) await anIssue(project, { labels: 'x', confidential }, as.owner)
    await anIssue(project, { labels: 'x', confidential: true, assignee_id: as.guest.id }, as.owner)
    await t.api('put', `${project.path}/issues/2`, as.owner).send({ state_event: 'close' }).expect(200)
    const counts = async (caller: TestUser) => {
      const { body } = await t.api('get', `${project.path}/labels`, caller).expect(200)
      return [body[0].open_issues_count, body[0].closed_issues_count]
    }
    expect(await counts(as.stranger)).toEqual([1, 1])
    expect(await counts(as.guest)).toEqual([2, 1])
    expect(await counts(as.reporter)).toEqual([3, 1])
    await t.ctx.db.write.update(projects).set({ issues_access_level: 0 }).where(eq(projects.id, project.id))
    expect(await counts(as.owner)).toEqual([0, 0])
  })

  it('asks the database as often for many labels as for one', async () => {
    const project = await aProject(t.ctx)
    const get = () => t.api('get', `${project.path}/labels`, project.creator).expect(200)
    const counts = async () => {
      await get()
      return (await t.queriesOf(get)).length
    }
    await aLabel(project, 'a')
    const before = await counts()
    for (const name of 'bcdef') await aLabel(project, name)
    expect(await counts()).toBe(before)
  })
})

describe('labels of a group', () => {
  it('as those of a project, for all that is below (LB-7)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const below = await aGroup(t.ctx, { creator, parent_id: group.id })
    const project = await aProject(t.ctx, { creator, namespace_id: below.id })
    const label = await aLabel(group, 'shared', { priority: 2 })
    expect(label).toMatchObject({ is_project_label: false, priority: 2 })
    await anIssue(project, { labels: 'shared' })
    await anIssue(project, { labels: 'shared', confidential: true })
    const get = async (caller: TestUser) => (await t.api('get', `${group.path}/labels/shared`, caller).expect(200)).body
    expect(await get(creator)).toMatchObject({ open_issues_count: 2 })
    expect(names((await t.api('get', `${below.path}/labels`, creator).expect(200)).body)).toEqual(['shared'])
    await create(below, { name: 'shared', color: '#fff' }).expect(409)
    await t.api('put', `${group.path}/labels/${label.id}`, creator).send({ new_name: 'renamed' }).expect(200)
    expect((await t.api('get', `${project.path}/issues/1`, creator).expect(200)).body.labels).toEqual(['renamed'])
    await t.api('delete', `${group.path}/labels`, creator).send({ name: 'renamed' }).expect(204)
    expect((await t.api('get', `${project.path}/issues/1`, creator).expect(200)).body.labels).toEqual([])
  })

  it('permissions (row 2 of section 5.2)', async () => {
    const [guest, reporter, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { guest, reporter })
    await create(group, { name: 'x', color: '#fff' }, null).expect(401)
    await create(group, { name: 'x', color: '#fff' }, stranger).expect(404, { message: '404 Group Not Found' })
    await create(group, { name: 'x', color: '#fff' }, guest).expect(403)
    await create(group, { name: 'x', color: '#fff' }, reporter).expect(201)
    await t.api('get', `${group.path}/labels`, guest).expect(200)
    await t.api('get', `${group.path}/labels`, null).expect(401)
  })
})
