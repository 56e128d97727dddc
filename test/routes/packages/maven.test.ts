import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { aGroup, aProject, aUser, setSettings, type TestProject } from '../../support/factories.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { send, deployToken } = registryOf(t)
const { withCi } = ciOf(t)

const digest = (kind: string, text: string) => createHash(kind).update(text).digest('hex')
const at = ({ path }: { path: string }, file: string) => `${path}/packages/maven/${file}`
const put = (project: TestProject, file: string, text = file) =>
  send('put', at(project, file), project.creator).type('application/octet-stream').send(Buffer.from(text))
const textOf = async (path: string, who: Parameters<typeof send>[2]) => (await send('get', path, who).buffer(true).expect(200)).body.toString()

describe('a Maven package', () => {
  it('is published with checksums, and fetched (PK-5, PK-40)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const jar = 'org/example/app/1.0/app-1.0.jar'
    await put(project, jar, 'bytes').expect(200)
    for (const kind of ['md5', 'sha1', 'sha256', 'sha512']) {
      await put(project, `${jar}.${kind}`, `${digest(kind, 'bytes')}  app-1.0.jar\n`).expect(200)
      await put(project, `${jar}.${kind}`, digest(kind, 'other')).expect(409)
      expect((await send('get', at(project, `${jar}.${kind}`), creator).expect(200)).text).toBe(digest(kind, 'bytes'))
    }
    const fetched = await send('get', at(project, jar), creator).buffer(true).expect(200)
    expect(fetched.body.toString()).toBe('bytes')
    expect(fetched.headers['x-checksum-sha1']).toBe(digest('sha1', 'bytes'))
    await send('head', at(project, jar), creator).expect(200)
    await put(project, 'org/example/app/1.0/none.jar.sha1', 'x').expect(404)
    await send('get', at(project, 'org/example/app/1.0/none.jar'), creator).expect(404)
    const { body } = await t.api('get', `${project.path}/packages`, creator).expect(200)
    expect(body).toMatchObject([{ name: 'org/example/app', version: '1.0', package_type: 'maven' }])
    const files = (await t.api('get', `${project.path}/packages/${body[0].id}/package_files`, creator).expect(200)).body
    expect(files.map(({ file_name }: { file_name: string }) => file_name)).toEqual(['app-1.0.jar'])
  })

  it('has a list of versions that is made of those that are there (PK-41)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const list = at(project, 'org/example/app/maven-metadata.xml')
    await send('get', list, creator).expect(404)
    for (const version of ['1.0', '1.1', '2.0-SNAPSHOT']) await put(project, `org/example/app/${version}/app.jar`).expect(200)
    await put(project, 'org/example/app/maven-metadata.xml', '<metadata/>').expect(200)
    await put(project, 'org/example/app/maven-metadata.xml.sha1', digest('sha1', '<metadata/>')).expect(200)
    const { text } = await send('get', list, creator).expect(200)
    expect(text.replace(/\s+/g, '')).toMatch(
      /<groupId>org.example<\/groupId><artifactId>app<\/artifactId><versioning><latest>2.0-SNAPSHOT<\/latest><release>1.1<\/release><versions><version>1.0<\/version><version>1.1<\/version><version>2.0-SNAPSHOT<\/version><\/versions><lastUpdated>\d{14}</,
    )
    expect((await send('get', `${list}.sha1`, creator).expect(200)).text).toBe(digest('sha1', text))
    const all = (await t.api('get', `${project.path}/packages?include_versionless=true`, creator).expect(200)).body
    expect(all.map(({ version }: { version: string | null }) => version)).toEqual(['1.0', '1.1', '2.0-SNAPSHOT', null])
    expect((await t.api('get', `${project.path}/packages`, creator).expect(200)).body).toHaveLength(3)
    await t.api('delete', `${project.path}/packages/${all[1].id}`, creator).expect(204)
    expect((await send('get', list, creator).expect(200)).text).not.toContain('1.1')
  })

  it('is a snapshot, whose list is the last that was sent; a list of plugins is kept (PK-4, PK-41)', async () => {
    const project = await aProject(t.ctx)
    const list = 'org/example/app/1.0-SNAPSHOT/maven-metadata.xml'
    for (const text of ['<one/>', '<two/>']) {
      await put(project, 'org/example/app/1.0-SNAPSHOT/app-1.0-20260101.000000-1.jar', text).expect(200)
      await put(project, list, text).expect(200)
      await put(project, `${list}.md5`, digest('md5', text)).expect(200)
      expect(await textOf(at(project, list), project.creator)).toBe(text)
    }
    const [found] = (await t.api('get', `${project.path}/packages`, project.creator).expect(200)).body
    const files = (await t.api('get', `${project.path}/packages/${found.id}/package_files`, project.creator).expect(200)).body
    expect(files.map(({ file_name }: { file_name: string }) => file_name).sort()).toEqual([
      'app-1.0-20260101.000000-1.jar',
      'app-1.0-20260101.000000-1.jar',
      'maven-metadata.xml',
    ])
    await put(project, 'org/example/maven-metadata.xml', '<plugins/>').expect(200)
    expect(await textOf(at(project, 'org/example/maven-metadata.xml'), project.creator)).toBe('<plugins/>')
  })

  it('has a maximum size (PK-7)', async () => {
    const project = await aProject(t.ctx)
    await setSettings(t.ctx, { maven_packages_size_limit: 1 })
    await put(project, 'org/example/app/1.0/big.jar', 'x'.repeat(1_048_577)).expect(413)
    await setSettings(t.ctx, { maven_packages_size_limit: 3_072 })
  })

  it('has paths that are none on a disk (PK-6)', async () => {
    const project = await aProject(t.ctx)
    for (const path of ['a', 'a/b', 'a/..%2f../b', 'a/%2e%2e/1/b', 'a/b c/1/x', 'a%00/b/1/c', `${'a/'.repeat(300)}1/b`, 'a/b/1/c%FF'])
      expect([path, (await put(project, path)).status]).toEqual([path, expect.toBeOneOf([400, 404])])
    await t.api('get', `${project.path}/packages?include_versionless=true`, project.creator).expect(200, [])
  })

  it('is found in its group, and by the path of its project (PK-2, PK-42)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const reporter = await aUser(t.ctx)
    const one = await aProject(t.ctx, { creator, namespace_id: group.id, reporter })
    const two = await aProject(t.ctx, { creator, namespace_id: group.id })
    const file = 'org/example/app/1.0/app.jar'
    await put(one, file, 'one').expect(200)
    await put(two, file, 'two').expect(200)
    await put(two, 'org/example/app/2.0/app.jar', 'later').expect(200)
    const ofGroup = `${group.path}/-/packages/maven/`
    expect(await textOf(ofGroup + file, creator)).toBe('two')
    expect(await textOf(ofGroup + file, reporter)).toBe('one')
    await send('get', `${ofGroup}org/example/app/2.0/app.jar`, reporter).expect(404)
    const list = async (who: typeof creator) => (await send('get', `${ofGroup}org/example/app/maven-metadata.xml`, who).expect(200)).text
    expect(await list(creator)).toContain('2.0')
    expect(await list(reporter)).not.toContain('2.0')
    await send('get', ofGroup + file).expect(401)
    const token = await deployToken(one, ['read_package_registry'])
    expect(await textOf(ofGroup + file, { 'deploy-token': token.token })).toBe('one')
    const named = `${one.fullPath}/1.0/app.jar`
    await put(one, named, 'named').expect(200)
    expect(await textOf(`/packages/maven/${named}`, reporter)).toBe('named')
    expect((await send('get', `/packages/maven/${one.fullPath}/maven-metadata.xml`, reporter).expect(200)).text).toContain('<version>1.0</version>')
    await send('get', `/packages/maven/${named}`, await aUser(t.ctx)).expect(404)
    await send('get', `/packages/maven/${file}`, creator).expect(404)
  })

  it('is published by a job, which reads in a group what its project is allowed (CI-244, PK-2)', async () => {
    const { project, runner } = await withCi('build:\n  script: make\n')
    const job = await runner.take()
    const headers = { 'job-token': job?.token as string }
    const file = 'org/example/app/1.0/app.jar'
    await send('put', at(project, file), headers).send('job').expect(200)
    const group = await aGroup(t.ctx, { creator: project.creator })
    const other = await aProject(t.ctx, { creator: project.creator, namespace_id: group.id })
    await put(other, file, 'other').expect(200)
    await send('get', `${group.path}/-/packages/maven/${file}`, headers).expect(404)
    await t.api('post', `${other.path}/job_token_scope/allowlist`, project.creator).send({ target_project_id: project.id }).expect(201)
    expect(await textOf(`${group.path}/-/packages/maven/${file}`, headers)).toBe('other')
    await send('get', at(other, file), basic('gitlab-ci-token', headers['job-token'])).expect(200)
    // a project that allows all is no exception to the setting (RX-32)
    await t.api('delete', `${other.path}/job_token_scope/allowlist/${project.id}`, project.creator).expect(204)
    await t.api('patch', `${other.path}/job_token_scope`, project.creator).send({ enabled: false }).expect(204)
    await send('get', `${group.path}/-/packages/maven/${file}`, headers).expect(200)
    await setSettings(t.ctx, { enforce_ci_inbound_job_token_scope_enabled: true })
    await send('get', `${group.path}/-/packages/maven/${file}`, headers).expect(404)
    await setSettings(t.ctx, { enforce_ci_inbound_job_token_scope_enabled: false })
  })
})
