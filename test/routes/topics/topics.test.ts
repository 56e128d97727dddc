import { beforeAll, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

let admin: TestUser
beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

const names = async (who: TestUser | null, query = '') =>
  (await t.api('get', `/topics${query}`, who).expect(200)).body.map(({ name }: { name: string }) => name)
const give = (project: TestProject, topics: string[]) => t.api('put', project.path, project.creator).send({ topics }).expect(200)
const topicsOf = async (project: TestProject) => (await t.api('get', project.path, project.creator).expect(200)).body.topics

it('topics are those of projects that the caller sees, and those that administrators made (TP-1, TP-2)', async () => {
  const open = await aProject(t.ctx, { visibility: 'public' })
  const secret = await aProject(t.ctx, { visibility: 'private' })
  await give(open, ['alpha', 'beta'])
  await give(secret, ['alpha', 'hidden'])
  const made = await t.api('post', '/topics', admin).send({ name: 'made', title: 'Made by hand', description: 'Much' }).expect(201)
  expect(made.body).toEqual({
    id: expect.any(Number),
    name: 'made',
    title: 'Made by hand',
    description: 'Much',
    total_projects_count: 0,
    avatar_url: null,
  })
  expect(await names(null)).toEqual(['alpha', 'beta', 'made'])
  expect(await names(secret.creator)).toEqual(['alpha', 'beta', 'hidden', 'made'])
  expect(await names(null, '?search=HAND')).toEqual(['made'])
  expect(await names(null, '?without_projects=true')).toEqual(['made'])
  const [alpha] = (await t.api('get', '/topics?search=alpha').expect(200)).body
  expect(alpha).toMatchObject({ title: 'alpha', total_projects_count: 2 })
  const [hidden] = (await t.api('get', '/topics?search=hidden', secret.creator).expect(200)).body
  await t.api('get', `/topics/${hidden.id}`).expect(404)
  await t.api('get', `/topics/${hidden.id}`, secret.creator).expect(200, hidden)
  await t.api('delete', secret.path, secret.creator).expect(202)
  expect((await t.api('get', `/topics/${alpha.id}`).expect(200)).body.total_projects_count).toBe(1)
  await give(open, ['made'])
  expect(await names(admin)).toEqual(['made'])
  await give(open, [])
  expect(await names(admin)).toEqual(['made'])
})

it('administrators make, change, merge and delete them, and projects follow (TP-3, TP-4)', async () => {
  const project = await aProject(t.ctx)
  await give(project, ['old', 'other'])
  const create = (given: object, who = admin) => t.api('post', '/topics', who).send(given)
  await create({ name: 'x', title: 'X' }, await aUser(t.ctx)).expect(403)
  expect((await create({ name: 'untitled' }).expect(201)).body).toMatchObject({ name: 'untitled', title: 'untitled' })
  await create({ name: 'a,b', title: 'x' }).expect(400)
  const { body: old } = await create({ name: 'old', title: 'Old' }).expect(201)
  expect(old.total_projects_count).toBe(1)
  await create({ name: 'old', title: 'Old' }).expect(400, { message: { name: ['has already been taken'] } })
  const put = (id: number, given: object) => t.api('put', `/topics/${id}`, admin).send(given)
  expect((await put(old.id, { name: 'young' }).expect(200)).body).toEqual({ ...old, name: 'young' })
  expect(await topicsOf(project)).toEqual(['other', 'young'])
  await put(old.id, { name: 'other' }).expect(400, { message: { name: ['has already been taken'] } })
  const pictured = await t.api('put', `/topics/${old.id}`, admin).attach('avatar', PNG, 'a.png').expect(200)
  expect(pictured.body.avatar_url).toContain(`/uploads/-/system/projects/topic/avatar/${old.id}/`)
  const picture = await fetch(t.url + new URL(pictured.body.avatar_url).pathname)
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png'])
  const browser = new TestBrowser(t.url)
  await browser.signIn(project.creator)
  const { $ } = await browser.open('/explore/projects/topics')
  expect($('.rows').text()).toContain('Old 1 project')
  expect((await browser.open('/explore/projects/topics/young')).$('h2 img').attr('src')).toContain(`/topic/avatar/${old.id}/`)
  expect((await put(old.id, { avatar: '' }).expect(200)).body.avatar_url).toBeNull()
  expect((await fetch(t.url + new URL(pictured.body.avatar_url).pathname)).status).toBe(404)

  const [other] = (await t.api('get', '/topics?search=other', admin).expect(200)).body
  const merge = (source: number, target: number) => t.api('post', '/topics/merge', admin).send({ source_topic_id: source, target_topic_id: target })
  await merge(old.id, old.id).expect(400, { message: 'The source topic and the target topic are identical.' })
  await merge(old.id, 999_999).expect(404)
  expect((await merge(old.id, other.id).expect(201)).body).toEqual(other)
  expect(await topicsOf(project)).toEqual(['other'])
  await t.api('delete', `/topics/${other.id}`, admin).expect(204)
  expect(await topicsOf(project)).toEqual([])
  await t.api('delete', `/topics/${other.id}`, admin).expect(404)
})
