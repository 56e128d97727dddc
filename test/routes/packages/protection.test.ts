import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { npmDocument } from '../../support/furnished.js'
import { nupkg } from './nupkg.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { send, deployToken } = registryOf(t)

const rules = (project: TestProject) => `${project.path}/packages/protection/rules`
const protect = async (project: TestProject, package_type: string, package_name_pattern: string, levels: object) =>
  (
    await t
      .api('post', rules(project), project.creator)
      .send({ package_type, package_name_pattern, ...levels })
      .expect(201)
  ).body
const PUSH = { minimum_access_level_for_push: 'maintainer' }
const REFUSED = { message: '403 Forbidden - Package protected.', error: 'Package protected.' }

async function staffed() {
  const [developer, maintainer] = [await aUser(t.ctx), await aUser(t.ctx)]
  return { project: await aProject(t.ctx, { developer, maintainer }), developer, maintainer }
}

describe('a rule that protects packages', () => {
  it('is made, listed, changed and deleted by maintainers (PK-91)', async () => {
    const { project, developer, maintainer } = await staffed()
    const made = (
      await t
        .api('post', rules(project), maintainer)
        .send({ package_type: 'npm', package_name_pattern: '@scope/*', ...PUSH })
        .expect(201)
    ).body
    expect(made).toEqual({
      id: made.id,
      project_id: project.id,
      package_type: 'npm',
      package_name_pattern: '@scope/*',
      minimum_access_level_for_push: 'maintainer',
      minimum_access_level_for_delete: null,
    })
    expect((await t.api('get', rules(project), maintainer).expect(200)).body).toEqual([made])
    await t.api('get', rules(project), developer).expect(403)
    const at = `${rules(project)}/${made.id}`
    const changed = { package_name_pattern: 'other', minimum_access_level_for_push: '', minimum_access_level_for_delete: 'owner' }
    expect((await t.api('patch', at, maintainer).send(changed).expect(200)).body).toEqual({
      ...made,
      ...changed,
      minimum_access_level_for_push: null,
    })
    expect((await t.api('patch', at, maintainer).send({ package_type: 'pypi' }).expect(200)).body.package_type).toBe('pypi')
    await t.api('delete', at, developer).expect(403)
    await t.api('delete', at, maintainer).expect(204)
    await t.api('delete', at, maintainer).expect(404)
    await t.api('patch', at, maintainer).send({ package_type: 'npm' }).expect(404)
    const { body: log } = await t.api('get', `/audit_events?entity_type=Project&entity_id=${project.id}`, await anAdmin(t.ctx)).expect(200)
    const said: string[] = log.map(({ details }: { details: { action: string } }) => details.action)
    const actions = said.filter((each) => each.startsWith('package_protection'))
    expect(actions.sort()).toEqual(['created', 'deleted', 'updated', 'updated'].map((each) => `package_protection_rule_${each}`))
  })

  it('says what is wrong with it (PK-91)', async () => {
    const { project } = await staffed()
    const { id } = await protect(project, 'npm', 'one', PUSH)
    const call = (given: object, status: number) => t.api('post', rules(project), project.creator).send(given).expect(status)
    const good = { package_type: 'npm', package_name_pattern: 'two', ...PUSH }
    const taken = { message: { package_name_pattern: ['has already been taken'] } }
    expect((await call({ ...good, package_name_pattern: 'one' }, 422)).body).toEqual(taken)
    await call({ ...good, package_name_pattern: 'one', package_type: 'pypi' }, 201)
    for (const [given, error] of [
      [{ ...good, package_type: 'conan' }, 'package_type does not have a valid value'],
      [{ ...good, minimum_access_level_for_push: 'developer' }, 'minimum_access_level_for_push does not have a valid value'],
      [{ ...good, package_name_pattern: undefined }, 'package_name_pattern is missing'],
    ] as const)
      expect((await call(given, 400)).body).toEqual({ error })
    for (const pattern of [' ', 'a b', 'a\0', '<x>', 'x'.repeat(256), 'é']) await call({ ...good, package_name_pattern: pattern }, 400)
    expect((await call({ ...good, minimum_access_level_for_push: null }, 400)).body.message).toHaveProperty('base')
    const patch = (given: object) => t.api('patch', `${rules(project)}/${id}`, project.creator).send(given)
    await patch({ minimum_access_level_for_push: null }).expect(400)
    await call(good, 201)
    expect((await patch({ package_name_pattern: 'two' }).expect(422)).body).toEqual(taken)
    expect((await patch({ package_name_pattern: 'one' }).expect(200)).body.package_name_pattern).toBe('one')
  })

  it('keeps those with a lower role from publishing in each format (PK-90)', async () => {
    const { project, developer, maintainer } = await staffed()
    const machine = await deployToken(project, ['write_package_registry'])
    for (const [type, pattern] of Object.entries({ generic: 'kept*', npm: '@kept/*', pypi: 'Kept_*', maven: 'org/kept/*', nuget: 'Kept.*' }))
      await protect(project, type, pattern, PUSH)
    const at = `${project.path}/packages`
    const calls: Record<string, (who: Record<string, string>) => Promise<{ status: number; body: unknown }>> = {
      generic: (who) => send('put', `${at}/generic/kept-one/1.0/file`, who).type('application/octet-stream').send(Buffer.from('x')),
      npm: (who) => send('put', `${at}/npm/@kept%2fone`, who).send(npmDocument('@kept/one', '1.0.0')),
      pypi: (who) =>
        send('post', `${at}/pypi`, who).field({ name: 'kept--ONE', version: '1.0' }).attach('content', Buffer.from('x'), 'kept-1.0.tar.gz'),
      maven: (who) => send('put', `${at}/maven/org/kept/one/1.0/one.jar`, who).type('application/octet-stream').send(Buffer.from('x')),
      nuget: (who) => nupkg('kept.one', '1.0.0').then((bytes) => send('put', `${at}/nuget`, who).attach('package', bytes, 'package.nupkg')),
    }
    for (const [type, call] of Object.entries(calls)) {
      for (const who of [basic('x', developer.token), basic(machine.username, machine.token)]) {
        const { status, body } = await call(who)
        expect([type, status, body]).toEqual([type, 403, REFUSED])
      }
      expect([type, (await call(basic('x', maintainer.token))).status]).toEqual([
        type,
        expect.toSatisfy((status) => status === 200 || status === 201),
      ])
    }
    // others are published as before
    await send('put', `${at}/generic/other/1.0/file`, basic('x', developer.token)).type('application/octet-stream').send(Buffer.from('x')).expect(201)
    expect((await t.api('get', `${at}?per_page=100`, maintainer).expect(200)).body).toHaveLength(6)
  })

  it('keeps tags and warnings of npm from being changed (PK-90)', async () => {
    const { project, developer, maintainer } = await staffed()
    const at = `${project.path}/packages/npm`
    await send('put', `${at}/kept`, developer).send(npmDocument('kept', '1.0.0')).expect(201)
    await protect(project, 'npm', 'kept', PUSH)
    const tag = `${at}/-/package/kept/dist-tags/next`
    const put = (who: TestUser) => send('put', tag, who).type('application/json').send('"1.0.0"')
    const deprecated = { name: 'kept', versions: { '1.0.0': { name: 'kept', deprecated: 'old' } } }
    await put(developer).expect(403, REFUSED)
    await put(maintainer).expect(204)
    await send('delete', tag, developer).expect(403, REFUSED)
    await send('put', `${at}/kept`, developer).send(deprecated).expect(403, REFUSED)
    await send('put', `${at}/kept`, maintainer).send(deprecated).expect(201)
    await send('delete', tag, maintainer).expect(204)
  })

  it('keeps those with a lower role from deleting (PK-90)', async () => {
    const { project, maintainer } = await staffed()
    const { creator } = project
    const admin = await aUser(t.ctx, { admin: true })
    const at = `${project.path}/packages`
    await send('put', `${at}/generic/kept/1.0/file`, creator).type('application/octet-stream').send(Buffer.from('x')).expect(201)
    await send('put', `${at}/npm/kept`, creator).send(npmDocument('kept', '1.0.0')).expect(201)
    await send('put', `${at}/nuget`, creator)
      .attach('package', await nupkg('kept', '1.0.0'), 'package.nupkg')
      .expect(201)
    for (const type of ['generic', 'npm', 'nuget']) await protect(project, type, '*', { minimum_access_level_for_delete: 'owner' })
    const listed: { id: number; name: string; package_type: string }[] = (await t.api('get', at, creator).expect(200)).body
    for (const { id } of listed) {
      await t.api('delete', `${at}/${id}`, maintainer).expect(403, REFUSED)
      const [file] = (await t.api('get', `${at}/${id}/package_files`, creator).expect(200)).body
      await t.api('delete', `${at}/${id}/package_files/${file.id}`, maintainer).expect(403, REFUSED)
    }
    const { _rev } = (await send('get', `${at}/npm/kept?write=true`, maintainer).expect(200)).body
    await send('delete', `${at}/npm/kept/-rev/${_rev}`, maintainer).expect(403, REFUSED)
    await send('delete', `${at}/nuget/kept/1.0.0`, maintainer).expect(403, REFUSED)
    expect((await t.api('get', at, creator).expect(200)).body).toHaveLength(3)
    await send('delete', `${at}/nuget/kept/1.0.0`, creator).expect(204)
    await protect(project, 'npm', 'kept', { minimum_access_level_for_delete: 'admin' })
    await send('delete', `${at}/npm/kept/-rev/${_rev}`, creator).expect(403, REFUSED)
    await send('delete', `${at}/npm/kept/-rev/${_rev}`, admin).expect(200)
  })

  it('goes nowhere in an archived project, and is not there while packages are off (PK-3, PK-91)', async () => {
    const { project, maintainer } = await staffed()
    const { id } = await protect(project, 'npm', 'one', PUSH)
    await t.api('put', project.path, project.creator).send({ packages_enabled: false }).expect(200)
    await t.api('get', rules(project), maintainer).expect(403)
    await t.api('put', project.path, project.creator).send({ packages_enabled: true }).expect(200)
    await t.api('post', `${project.path}/archive`, project.creator).expect(201)
    await t.api('delete', `${rules(project)}/${id}`, maintainer).expect(403)
  })

  it('is one of at most a hundred (PK-91)', async () => {
    const { project } = await staffed()
    for (let i = 0; i < 100; i++) await protect(project, 'npm', `name${i}`, PUSH)
    await t
      .api('post', rules(project), project.creator)
      .send({ package_type: 'npm', package_name_pattern: 'more', ...PUSH })
      .expect(400, { message: { base: ['there are already 100 rules'] } })
    expect((await t.api('get', `${rules(project)}?per_page=100`, project.creator).expect(200)).body).toHaveLength(100)
  })
})
