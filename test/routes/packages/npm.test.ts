import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { runProgram } from '../../support/command.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestProject } from '../../support/factories.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { send, deployToken } = registryOf(t)

interface Published {
  version?: string
  tag?: string
  bytes?: Buffer
  more?: object
  dist?: object
}

/** What `npm publish` sends. */
function documentOf(name: string, { version = '1.0.0', tag = 'latest', bytes = Buffer.from('a package'), more = {}, dist }: Published = {}) {
  const shasum = createHash('sha1').update(bytes).digest('hex')
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  return {
    _id: name,
    name,
    'dist-tags': { [tag]: version },
    versions: { [version]: { name, version, ...more, dist: dist ?? { shasum, integrity, tarball: 'http://elsewhere/x.tgz' } } },
    _attachments: { [`${name}-${version}.tgz`]: { content_type: 'application/octet-stream', data: bytes.toString('base64'), length: bytes.length } },
  }
}

const base = ({ path }: { path: string }) => `${path}/packages/npm`
const put = (project: TestProject, name: string, given: Published = {}) =>
  send('put', `${base(project)}/${name.replace('/', '%2f')}`, project.creator).send(documentOf(name, given))

describe('an npm package', () => {
  it('is published, described and fetched (PK-20)', async () => {
    const project = await aProject(t.ctx)
    const bytes = randomBytes(200_001)
    const more = { dependencies: { left: '^1.0.0' }, bin: { it: 'it.js' }, scripts: { install: 'no' }, description: 'It "does" something' }
    await put(project, '@any/thing', { bytes, more }).expect(201)
    const { body, headers } = await send('get', `${base(project)}/@any%2fthing`, project.creator).expect(200)
    expect(headers['content-type']).toBe('application/json')
    const tarball = `${t.ctx.links.base}/api/v4${base(project)}/@any/thing/-/@any/thing-1.0.0.tgz`
    expect(body).toEqual({
      _id: '@any/thing',
      name: '@any/thing',
      'dist-tags': { latest: '1.0.0' },
      versions: {
        '1.0.0': {
          name: '@any/thing',
          version: '1.0.0',
          dist: {
            shasum: createHash('sha1').update(bytes).digest('hex'),
            integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
            tarball,
          },
          dependencies: { left: '^1.0.0' },
          bin: { it: 'it.js' },
          description: 'It "does" something',
        },
      },
      time: { created: expect.any(String), modified: expect.any(String), '1.0.0': expect.any(String) },
    })
    for (const file of ['@any/thing/-/@any/thing-1.0.0.tgz', '@any%2fthing/-/thing-1.0.0.tgz']) {
      const fetched = await send('get', `${base(project)}/${file}`, project.creator)
        .expect(200)
        .buffer(true)
      expect(fetched.body.equals(bytes)).toBe(true)
    }
    await send('get', `${base(project)}/@any/thing/-/thing-2.0.0.tgz`, project.creator).expect(404)
    await send('get', `${base(project)}/@any/other`, project.creator).expect(404)
    const [listed] = (await t.api('get', `${project.path}/packages`, project.creator).expect(200)).body
    expect(listed).toMatchObject({ name: '@any/thing', version: '1.0.0', package_type: 'npm', tags: ['latest'] })
  })

  it('has each version once (PK-4, PK-20)', async () => {
    const project = await aProject(t.ctx)
    await put(project, 'thing').expect(201)
    const refusal = { error: 'Package already exists', message: '403 Forbidden - Package already exists' }
    await put(project, 'thing', { bytes: Buffer.from('other') }).expect(403, refusal)
    await put(project, 'thing', { version: '1.0.1' }).expect(201)
    const two = await Promise.all([1, 2].map((n) => put(project, 'thing', { version: '2.0.0', bytes: Buffer.from(`${n}`) })))
    expect(two.map(({ status }) => status).sort()).toEqual([201, 403])
  })

  it('is the one that was described (PK-6, PK-20)', async () => {
    const project = await aProject(t.ctx)
    for (const dist of [{ shasum: '0'.repeat(40) }, { integrity: `sha512-${Buffer.alloc(64).toString('base64')}` }])
      await put(project, 'thing', { dist }).expect(400, { message: 'The package is not the one that its checksum is of' })
    await put(project, 'thing', { dist: {} }).expect(201)
    const at = `${base(project)}/thing`
    const sent = async (body: unknown, error: string) =>
      send('put', at, project.creator)
        .type('application/json')
        .send(typeof body === 'string' ? body : JSON.stringify(body))
        .expect(400, { error })
    await sent('{"name":', 'the body is not JSON')
    await sent([], 'the body is no description of a package')
    await sent(documentOf('other'), 'name is not that of the address')
    await sent({ ...documentOf('thing'), versions: {} }, 'versions must have one version')
    await sent({ ...documentOf('thing'), versions: { 'not one': {} } }, 'version is invalid')
    await sent({ ...documentOf('thing'), 'dist-tags': { '1.2.3': '1.0.0' } }, 'tag is invalid')
    await sent({ ...documentOf('thing'), _attachments: { a: { data: 'AA==' }, b: { data: 'AA==' } } }, 'only one package can be published at a time')
    await sent('['.repeat(200), 'the body is too deep')
    for (const name of ['..%2f..', '@..%2fx', '%20', '@a%2fb%2fc'])
      await send('put', `${base(project)}/${name}`, project.creator)
        .send({})
        .expect(400, { error: 'name is invalid' })
  })

  it('has a maximum size, and a description that has one (PK-7, PK-20)', async () => {
    const project = await aProject(t.ctx)
    await setSettings(t.ctx, { npm_packages_size_limit: 1 })
    await put(project, 'thing', { bytes: Buffer.alloc(1_048_577) }).expect(413)
    await put(project, 'thing', { bytes: Buffer.alloc(1_048_576) }).expect(201)
    await setSettings(t.ctx, { npm_packages_size_limit: 500 })
    await put(project, 'other', { more: { description: 'x'.repeat(110_000) } }).expect(400, {
      message: 'The description of a version may have 100 KiB',
    })
    await put(project, 'other', { more: { readme: 'x'.repeat(3_000_000) } }).expect(400, { error: 'the description of a package may have 2 MiB' })
  })

  it('is read whole wherever its bytes are split (PK-20)', async () => {
    const project = await aProject(t.ctx)
    const bytes = randomBytes(101)
    const text = JSON.stringify({ _rev: 'a\\"b', data: 'no package', ...documentOf('split', { bytes, more: { data: { data: 'x' } } }) })
    const pieces = async function* () {
      for (const letter of text) yield Buffer.from(letter)
    }
    const { status } = await fetch(`${t.url}/api/v4${base(project)}/split`, {
      method: 'PUT',
      headers: { 'private-token': project.creator.token, 'content-type': 'application/json' },
      body: pieces() as never,
      duplex: 'half',
    } as RequestInit)
    expect(status).toBe(201)
    const fetched = await send('get', `${base(project)}/split/-/split-1.0.0.tgz`, project.creator)
      .expect(200)
      .buffer(true)
    expect(fetched.body.equals(bytes)).toBe(true)
  })

  it('has tags, each on one version (PK-22)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const tags = `${base(project)}/-/package/@any%2fthing/dist-tags`
    await send('get', tags, creator).expect(404)
    await put(project, '@any/thing', { tag: 'beta' }).expect(201)
    await put(project, '@any/thing', { version: '2.0.0', tag: 'next' }).expect(201)
    await send('get', tags, creator).expect(200, { latest: '2.0.0', beta: '1.0.0', next: '2.0.0' })
    await send('put', `${tags}/latest`, creator).type('application/json').send('"1.0.0"').expect(204)
    await send('put', `${tags}/beta`, creator).type('application/json').send('"2.0.0"').expect(204)
    await send('delete', `${tags}/next`, creator).expect(204)
    await send('delete', `${tags}/next`, creator).expect(404)
    await send('get', tags, creator).expect(200, { latest: '1.0.0', beta: '2.0.0' })
    await send('put', `${tags}/beta`, creator).type('application/json').send('"3.0.0"').expect(404)
    await send('put', `${tags}/1.0.0`, creator).type('application/json').send('"1.0.0"').expect(400)
    await send('put', `${tags}/beta`, creator).type('application/json').send('{}').expect(400)
    const [, second] = (await t.api('get', `${project.path}/packages`, creator).expect(200)).body
    await t.api('delete', `${project.path}/packages/${second.id}`, creator).expect(204)
    await send('get', tags, creator).expect(200, { latest: '1.0.0' })
    const reporter = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, creator).send({ user_id: reporter.id, access_level: 20 }).expect(201)
    await send('delete', `${tags}/latest`, reporter).expect(403)
  })

  it('is deprecated (PK-20)', async () => {
    const project = await aProject(t.ctx)
    await put(project, 'thing').expect(201)
    const { body } = await send('get', `${base(project)}/thing`, project.creator).expect(200)
    body.versions['1.0.0'].deprecated = 'use another'
    await send('put', `${base(project)}/thing`, project.creator)
      .send(body)
      .expect(201)
    const after = await send('get', `${base(project)}/thing`, project.creator).expect(200)
    expect(after.body.versions['1.0.0'].deprecated).toBe('use another')
    body.versions['1.0.0'].deprecated = ''
    await send('put', `${base(project)}/thing`, project.creator)
      .send(body)
      .expect(201)
    expect((await send('get', `${base(project)}/thing`, project.creator).expect(200)).body.versions['1.0.0']).not.toHaveProperty('deprecated')
  })
})

describe('npm unpublish (PK-23)', () => {
  const at = (project: TestProject, rest = '') => `${base(project)}/thing${rest}`
  const shown = async (project: TestProject) => (await send('get', `${at(project)}?write=true`, project.creator).expect(200)).body
  async function published() {
    const project = await aProject(t.ctx)
    for (const version of ['1.0.0', '1.1.0', '2.0.0'])
      await put(project, 'thing', { version, tag: version === '1.1.0' ? 'stable' : 'latest' }).expect(201)
    return project
  }

  it('deletes the version that a description is without, and all of a package', async () => {
    const project = await published()
    const document = await shown(project)
    expect(document._rev).toMatch(/^3-\d+$/)
    expect((await send('get', at(project), project.creator)).body).not.toHaveProperty('_rev')
    const { '1.1.0': gone, ...versions } = document.versions
    const changed = { ...document, versions, 'dist-tags': { latest: '2.0.0', old: '1.0.0' } }
    await send('put', at(project, `/-rev/${document._rev}`), project.creator)
      .send(changed)
      .expect(201)
    const after = await shown(project)
    expect([Object.keys(after.versions), after['dist-tags']]).toEqual([['1.0.0', '2.0.0'], { latest: '2.0.0', old: '1.0.0' }])
    const file = new URL(gone.dist.tarball).pathname.replace('/api/v4', '')
    await send('get', file, project.creator).expect(404)
    await send('delete', `${file}/-rev/${after._rev}`, project.creator).expect(200)
    await send('delete', at(project, `/-/thing-1.0.0.tgz/-rev/${after._rev}`), project.creator).expect(200)
    expect((await shown(project))['dist-tags']).toEqual({ latest: '2.0.0' })
    await send('delete', at(project, '/-rev/1-1'), project.creator).expect(409)
    await send('delete', at(project, `/-rev/${(await shown(project))._rev}`), project.creator).expect(200)
    await send('get', at(project), project.creator).expect(404)
    await put(project, 'thing', { version: '1.1.0' }).expect(201)
    const { body: log } = await t.api('get', `/audit_events?entity_type=Project&entity_id=${project.id}`, await anAdmin(t.ctx)).expect(200)
    const deleted = log.filter(({ details }: { details: { action: string } }) => details.action === 'package_deleted')
    expect(deleted).toHaveLength(3)
  })

  it.each([
    ['nothing missing', ({ versions }: Shown) => versions, 400],
    ['two missing', ({ versions }: Shown) => ({ '1.0.0': versions['1.0.0'] }), 400],
    ['all missing', () => ({}), 400],
  ])('is refused with %s', async (_, versionsOf, status) => {
    const project = await published()
    const document = await shown(project)
    const changed = { ...document, versions: versionsOf(document) }
    await send('put', at(project, `/-rev/${document._rev}`), project.creator)
      .send(changed)
      .expect(status)
    expect(await shown(project)).toEqual(document)
  })

  it('is refused with another revision, for who does not delete packages, and with a package', async () => {
    const project = await published()
    const document = await shown(project)
    const { '1.1.0': _, ...versions } = document.versions
    const changed = { ...document, versions }
    await send('put', at(project, '/-rev/2-2'), project.creator).send(changed).expect(409)
    await send('put', at(project, `/-rev/${document._rev}`), project.creator)
      .send(documentOf('thing'))
      .expect(400)
    const developer = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: developer.id, access_level: 30 }).expect(201)
    for (const who of [developer, (await deployToken(project, ['write_package_registry'])).token]) {
      const headers = typeof who === 'string' ? { 'deploy-token': who } : who
      await send('put', at(project, `/-rev/${document._rev}`), headers)
        .send(changed)
        .expect(403)
      await send('delete', at(project, `/-rev/${document._rev}`), headers).expect(403)
      await send('delete', at(project, `/-/thing-1.0.0.tgz/-rev/${document._rev}`), headers).expect(403)
    }
    await send('delete', at(project, `/-rev/${document._rev}`)).expect(401)
    await send('delete', at(project, '/-rev/x%00'), project.creator).expect(404)
    expect(await shown(project)).toEqual(document)
  })
})

type Shown = { versions: Record<string, unknown> }

describe('the npm registry of the instance (PK-21)', () => {
  it('has packages whose scope is the namespace of their project, of which no two have one name', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const [one, two] = [await aProject(t.ctx, { creator, namespace_id: group.id }), await aProject(t.ctx, { creator, namespace_id: group.id })]
    const name = `@${group.fullPath}/thing`
    const path = `/packages/npm/${name.replace('/', '%2f')}`
    await send('get', path, creator).expect(404)
    await put(one, name).expect(201)
    await put(two, name, { version: '2.0.0' }).expect(403)
    await put(two, '@else/thing', { version: '2.0.0' }).expect(201)
    await send('get', '/packages/npm/@else%2fthing', creator).expect(404)
    const { body } = await send('get', path, creator).expect(200)
    expect(body.versions['1.0.0'].dist.tarball).toContain(`/api/v4${base(one)}/`)
    await send('get', path, await aUser(t.ctx)).expect(404)
    await send('get', path).expect(401)
    await send('get', `/packages/npm/-/package/${name.replace('/', '%2f')}/dist-tags`, creator).expect(200, { latest: '1.0.0' })
    const token = await deployToken(one, ['read_package_registry'])
    await send('get', path, basic(token.username, token.token)).expect(200)
  })
})

describe('npm itself', () => {
  it('publishes and installs, and shows tags (PK-20, PK-22)', { timeout: 60_000 }, async () => {
    const group = await aGroup(t.ctx)
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id })
    const folder = await mkdtemp(join(t.dataDir, 'npm-'))
    const [source, target] = [join(folder, 'source'), join(folder, 'target')]
    const name = `@${group.fullPath}/thing`
    const registry = `${t.url}/api/v4${base(project)}/`
    const host = registry.replace(/^https?:/, '')
    const rc = `registry=${registry}\n@${group.fullPath}:registry=${registry}\n${host}:_authToken=${project.creator.token}\nreplace-registry-host=always\naudit=false\nfund=false\nupdate-notifier=false\n`
    for (const each of [source, target]) {
      await mkdir(each)
      await writeFile(join(each, '.npmrc'), rc)
    }
    const npm = async (cwd: string, args: string[], code = 0) => {
      const ended = await runProgram('npm', [...args, '--cache', join(cwd, '.cache')], { cwd, env: { HOME: folder } })
      expect([args, ended.stderr, ended.code === 0]).toEqual([args, expect.any(String), code === 0])
      return ended.stdout + ended.stderr
    }
    await writeFile(join(source, 'package.json'), JSON.stringify({ name, version: '1.2.3', main: 'index.js', description: 'A thing' }))
    await writeFile(join(source, 'index.js'), 'module.exports = 42\n')
    await writeFile(join(target, 'package.json'), JSON.stringify({ name: 'user', version: '1.0.0', private: true }))
    await npm(source, ['publish'])
    await npm(target, ['install', name])
    expect(await readFile(join(target, 'node_modules', name, 'index.js'), 'utf8')).toBe('module.exports = 42\n')
    const lock = JSON.parse(await readFile(join(target, 'package-lock.json'), 'utf8'))
    expect(lock.packages[`node_modules/${name}`].integrity).toMatch(/^sha512-/)
    await npm(target, ['dist-tag', 'add', `${name}@1.2.3`, 'stable'])
    expect(await npm(target, ['dist-tag', 'ls', name])).toContain('stable: 1.2.3')
    await npm(target, ['deprecate', `${name}@1.2.3`, 'an old one'])
    expect(await npm(target, ['view', name, 'deprecated'])).toContain('an old one')
    expect(await npm(source, ['publish'], 1)).toContain('Package already exists')
    for (const version of ['1.3.0', '2.0.0-beta']) {
      await writeFile(join(source, 'package.json'), JSON.stringify({ name, version }))
      await npm(source, ['publish', ...(version.includes('-') ? ['--tag', 'next'] : [])])
    }
    expect(await npm(target, ['unpublish', `${name}@1.3.0`])).toContain(`- ${name}@1.3.0`)
    expect(JSON.parse(await npm(target, ['view', name, 'versions', 'dist-tags', '--json']))).toEqual({
      versions: ['1.2.3', '2.0.0-beta'],
      'dist-tags': { latest: expect.any(String), next: '2.0.0-beta', stable: '1.2.3' },
    })
    await npm(target, ['unpublish', name], 1)
    await npm(target, ['unpublish', name, '--force'])
    expect(await npm(target, ['view', name], 1)).toContain('E404')
    await npm(source, ['publish', '--tag', 'next'])
  })
})
