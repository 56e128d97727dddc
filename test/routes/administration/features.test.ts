import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { anAdmin, aProject, aUser } from '../../support/factories.js'

const t = testApp()

it('features of the service are switched for all, for some and for a share, and forgotten (FF-50, FF-52)', async () => {
  const admin = await anAdmin(t.ctx)
  const project = await aProject(t.ctx)
  await t.api('get', '/features', project.creator).expect(403)
  const set = async (given: object, name = 'foo') => (await t.api('post', `/features/${name}`, admin).send(given).expect(201)).body
  expect(await set({ value: 30 })).toEqual({
    name: 'foo',
    state: 'conditional',
    gates: [
      { key: 'boolean', value: false },
      { key: 'percentage_of_time', value: 30 },
    ],
    definition: null,
  })
  expect((await set({ value: 'true', force: true })).gates).toEqual([{ key: 'boolean', value: true }])
  expect(await set({ value: false })).toMatchObject({ state: 'off', gates: [{ key: 'boolean', value: false }] })
  const targets = { user: project.creator.username, project: project.fullPath }
  const actors = [`User:${project.creator.id}`, `Project:${project.id}`]
  expect((await set({ value: true, ...targets })).gates).toContainEqual({ key: 'actors', value: actors })
  expect((await set({ value: false, user: targets.user })).gates).toContainEqual({ key: 'actors', value: [actors[1]] })
  expect((await set({ value: 5, key: 'percentage_of_actors' })).gates).toContainEqual({ key: 'percentage_of_actors', value: 5 })
  const post = (path: string, given: object) => t.api('post', `/features/${path}`, admin).send(given)
  await post('foo', { value: true, user: 'absent-one' }).expect(400, { message: '400 Bad request - absent-one is not found!' })
  for (const value of ['x', 101, -1]) await post('foo', { value }).expect(400, { error: 'value is invalid' })
  await post('a%20b', { value: true }).expect(400, { error: 'name is invalid' })
  await post('foo', { value: true, feature_group: 'some' }).expect(400, { error: 'feature_group is not supported' })
  const known = await set({ value: false }, 'code_highlighting')
  expect(known.definition).toMatchObject({ name: 'code_highlighting', default_enabled: true })
  expect((await t.api('get', '/features', admin).expect(200)).body.map(({ name }: { name: string }) => name)).toEqual(['code_highlighting', 'foo'])
  for (const name of ['foo', 'code_highlighting']) await t.api('delete', `/features/${name}`, admin).expect(204)
  await t.api('delete', '/features/foo', admin).expect(404)
})

it('a feature that is off is off on pages, but for those whom it is on for (FF-51, FF-53)', async () => {
  const admin = await anAdmin(t.ctx)
  const reader = await aUser(t.ctx)
  const project = await aProject(t.ctx, { files: { 'a.js': 'const one = 1\n' }, visibility: 'public' })
  const [one, other] = [new TestBrowser(t.url), new TestBrowser(t.url)]
  await one.signIn(admin)
  await other.signIn(reader)
  const colours = async (browser: TestBrowser) => (await browser.open(`/${project.fullPath}/-/blob/main/a.js`)).$('.hljs-keyword').length
  expect(await colours(other)).toBe(1)
  await one.open('/admin/features')
  await one.submit('Switch off', {})
  expect([await colours(one), await colours(other)]).toEqual([0, 0])
  await t.api('post', '/features/code_highlighting', admin).send({ value: true, user: reader.username }).expect(201)
  expect([await colours(one), await colours(other)]).toEqual([0, 1])
  await t.api('post', '/features/code_highlighting', admin).send({ value: true, project: project.fullPath }).expect(201)
  expect(await colours(one)).toBe(1)
  await t.api('post', '/features/search_suggestions', admin).send({ value: false }).expect(201)
  const offered = async () => (await other.open(`/search/suggestions?search=${project.fullPath.split('/').pop()}`)).$('a').length
  expect(await offered()).toBe(0)
  await one.open('/admin/features')
  await one.submit('/admin/features/search_suggestions', {})
  expect(await offered()).toBe(1)
})
