import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser, setSettings, type TestProject } from '../../support/factories.js'
import { nupkg, nuspec, zipOf } from './nupkg.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { send, deployToken } = registryOf(t)

/** What `nuget push` sends. */
const push = (project: TestProject, bytes: Buffer, headers: Record<string, string> = basic('x', project.creator.token)) =>
  send('put', `${project.path}/packages/nuget/`, headers).attach('package', bytes, {
    filename: 'package.nupkg',
    contentType: 'application/octet-stream',
  })

const DEPENDENCIES = `<license type="expression">MIT</license><projectUrl>https://example.org/x</projectUrl><iconUrl>javascript:alert(1)</iconUrl>
  <tags>one two</tags><dependencies>
  <group targetFramework=".NETStandard2.0"><dependency id="Other.Thing" version="[1.0.0, 2.0)" exclude="Build" /></group>
  <group targetFramework="net6.0" /></dependencies>`

describe('a NuGet package', () => {
  let project: TestProject
  let at: string
  let base: string
  const get = async (path: string) => (await send('get', `${at}${path}`, project.creator).expect(200)).body

  beforeAll(async () => {
    project = await aProject(t.ctx)
    at = `${project.path}/packages/nuget`
    base = `${t.ctx.links.base}/api/v4${project.path}/packages/nuget`
    await push(project, await nupkg('My.Thing', '1.10.0', DEPENDENCIES)).expect(201, { message: '201 Created' })
    await push(project, await nupkg('my.thing', '1.2', '<summary>Short</summary>')).expect(201)
    await push(project, await nupkg('My.Thing', '2.0.0-Beta.2+build')).expect(201)
    await push(project, await nupkg('My_Other', '1.0.0.5')).expect(201)
  })

  it('is found by what the feed says of itself (PK-82)', async () => {
    for (const path of ['/index.json', '/index']) {
      const { version, resources } = await get(path)
      expect(version).toBe('3.0.0')
      const of = (type: string) => resources.find((each: { '@type': string }) => each['@type'] === type)?.['@id']
      expect(of('PackageBaseAddress/3.0.0')).toBe(`${base}/download`)
      expect(of('PackagePublish/2.0.0')).toBe(base)
      expect(of('RegistrationsBaseUrl')).toBe(`${base}/metadata`)
      expect(of('SearchQueryService/3.0.0-rc')).toBe(`${base}/query`)
    }
  })

  it('is described with all its versions in their order, and what each needs (PK-82)', async () => {
    const body = await get('/metadata/MY.thing/index.json')
    expect(body.count).toBe(1)
    const [page] = body.items
    expect(page).toMatchObject({ '@id': `${base}/metadata/my.thing/index`, lower: '1.2.0', upper: '2.0.0-Beta.2', count: 3 })
    const content = `${base}/download/my.thing/1.10.0/my.thing.1.10.0.nupkg`
    expect(page.items[1]).toEqual({
      '@id': `${base}/metadata/my.thing/1.10.0`,
      '@type': 'Package',
      packageContent: content,
      catalogEntry: {
        '@id': `${base}/metadata/my.thing/1.10.0`,
        id: 'My.Thing',
        version: '1.10.0',
        packageContent: content,
        published: expect.stringMatching(/^\d{4}-/),
        listed: true,
        authors: 'One',
        description: 'About & more',
        licenseExpression: 'MIT',
        projectUrl: 'https://example.org/x',
        tags: ['one', 'two'],
        dependencyGroups: [
          { targetFramework: '.NETStandard2.0', dependencies: [{ id: 'Other.Thing', range: '[1.0.0,2.0)' }] },
          { targetFramework: 'net6.0', dependencies: [] },
        ],
      },
    })
    expect(await get('/metadata/my.thing/1.10.0.json')).toEqual(page.items[1])
    expect((await get('/metadata/My.Thing/2.0.0-beta.2')).catalogEntry.version).toBe('2.0.0-Beta.2')
    for (const path of ['/metadata/none/index', '/metadata/my.thing/9.9.9', '/download/none/index.json', '/download/my.thing/1.2.0/other.nupkg'])
      await send('get', `${at}${path}`, project.creator).expect(404)
  })

  it('is fetched by its name and version in lower case (PK-82)', async () => {
    expect(await get('/download/my.thing/index.json')).toEqual({ versions: ['1.2.0', '1.10.0', '2.0.0-beta.2'] })
    expect(await get('/download/my_other/index')).toEqual({ versions: ['1.0.0.5'] })
    const bytes = await nupkg('my.thing', '1.2', '<summary>Short</summary>')
    const file = await send('get', `${at}/download/my.thing/1.2.0/my.thing.1.2.0.nupkg`, project.creator).buffer(true).expect(200)
    expect(file.headers['content-disposition']).toContain('my.thing.1.2.0.nupkg')
    const [listed] = (await t.api('get', `${project.path}/packages?package_type=nuget&package_version=1.2.0`, project.creator).expect(200)).body
    expect(listed).toMatchObject({ name: 'My.Thing', version: '1.2.0', package_type: 'nuget', status: 'default' })
    const [stored] = (await t.api('get', `${project.path}/packages/${listed.id}/package_files`, project.creator).expect(200)).body
    expect(stored).toMatchObject({
      file_name: 'my.thing.1.2.0.nupkg',
      size: bytes.length,
      file_md5: expect.any(String),
      file_sha1: expect.any(String),
    })
    expect(createHash('sha256').update(file.body).digest('hex')).toBe(stored.file_sha256)
  })

  it('is searched by a part of its name (PK-84)', async () => {
    const found = async (query: string) => {
      const { totalHits, data } = await get(`/query${query}`)
      return [
        totalHits,
        data.map(({ id, version, versions }: { id: string; version: string; versions: unknown[] }) => [id, version, versions.length]),
      ]
    }
    expect(await found('')).toEqual([
      2,
      [
        ['My.Thing', '1.10.0', 2],
        ['My_Other', '1.0.0.5', 1],
      ],
    ])
    expect(await found('?q=THING&prerelease=True&semVerLevel=2.0.0')).toEqual([1, [['My.Thing', '2.0.0-Beta.2', 3]]])
    expect(await found('?skip=1&take=1')).toEqual([2, [['My_Other', '1.0.0.5', 1]]])
    expect(await found('?skip=5')).toEqual([2, []])
    expect(await found('?take=0')).toEqual([2, []])
    expect(await found('?q=%25')).toEqual([0, []])
    expect((await get('/query?q=my.t')).data[0]).toMatchObject({ description: 'About & more', licenseExpression: 'MIT', tags: ['one', 'two'] })
    for (const query of ['?skip=-1', '?take=x', '?prerelease=perhaps', '?q[]=x'])
      await send('get', `${at}/query${query}`, project.creator).expect(400)
  })

  it('may be sent again, and the newest is fetched (PK-4, PK-82)', async () => {
    const own = await aProject(t.ctx)
    await push(own, await nupkg('Twice', '1.0.0-RC')).expect(201)
    const newer = await nupkg('TWICE', '1.0.0-rc+2', '<summary>Newer</summary>')
    await push(own, newer).expect(201)
    const { body } = await send('get', `${own.path}/packages/nuget/metadata/twice/index`, own.creator).expect(200)
    expect(body.items[0].items).toMatchObject([{ catalogEntry: { id: 'Twice', version: '1.0.0-RC', summary: 'Newer' } }])
    const file = await send('get', `${own.path}/packages/nuget/download/twice/1.0.0-rc/twice.1.0.0-rc.nupkg`, own.creator).expect(200)
    expect(file.headers['content-length']).toBe(String(newer.length))
    const [listed, ...others] = (await t.api('get', `${own.path}/packages`, own.creator).expect(200)).body
    expect(others).toEqual([])
    expect((await t.api('get', `${own.path}/packages/${listed.id}/package_files`, own.creator)).body).toHaveLength(2)
  })

  it('is deleted by those who delete packages (PK-83)', async () => {
    const developer = await aUser(t.ctx)
    const own = await aProject(t.ctx, { developer })
    await push(own, await nupkg('Gone', '1.0.0-A')).expect(201)
    await send('delete', `${own.path}/packages/nuget/Gone/1.0.0-a`, developer).expect(403)
    await send('delete', `${own.path}/packages/nuget/gone/1.0.0-a`, { 'x-nuget-apikey': own.creator.token }).expect(204)
    await send('delete', `${own.path}/packages/nuget/gone/1.0.0-a`, own.creator).expect(404)
    await send('get', `${own.path}/packages/nuget/download/gone/index.json`, own.creator).expect(404)
  })

  it('is taken from who may publish, who says so in one of the ways of clients (PK-2, PK-83)', async () => {
    const reporter = await aUser(t.ctx)
    const own = await aProject(t.ctx, { reporter })
    const bytes = await nupkg('Mine', '1.0.0')
    const writer = await deployToken(own, ['write_package_registry'])
    const reader = await deployToken(own, ['read_package_registry'])
    await push(own, bytes, { 'x-nuget-apikey': own.creator.token }).expect(201)
    await push(own, bytes, { 'x-nuget-apikey': writer.token }).expect(201)
    await push(own, bytes, { ...basic(writer.username, writer.token), 'x-nuget-apikey': 'any text' }).expect(201)
    await push(own, bytes, basic(reader.username, reader.token)).expect(403)
    await push(own, bytes, basic('x', reporter.token)).expect(403)
    const { headers } = await push(own, bytes, {}).expect(401)
    expect(headers['www-authenticate']).toMatch(/^Basic /)
    await push(own, bytes, { 'x-nuget-apikey': 'none' }).expect(401)
    await send('get', `${own.path}/packages/nuget/index.json`).expect(401)
    await send('get', `${own.path}/packages/nuget/index.json`, basic(reader.username, reader.token)).expect(200)
  })

  it('has a maximum size (PK-7)', async () => {
    await setSettings(t.ctx, { nuget_packages_size_limit: 1 })
    const zip = await zipOf({ 'x.nuspec': nuspec('Big', '1.0.0'), x: Buffer.from(Array.from({ length: 1_500_000 }, () => Math.random() * 256)) })
    await push(project, zip).expect(413)
    await setSettings(t.ctx, { nuget_packages_size_limit: 500 })
  })

  it('is found in its group by those who may read it (PK-2, PK-85)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const reporter = await aUser(t.ctx)
    const sub = await aGroup(t.ctx, { creator, parent_id: group.id, path: 'sub' })
    const one = await aProject(t.ctx, { creator, namespace_id: group.id, reporter })
    const two = await aProject(t.ctx, { creator, namespace_id: sub.id })
    await push(one, await nupkg('Shared', '1.0.0')).expect(201)
    await push(two, await nupkg('shared', '2.0.0')).expect(201)
    await push(two, await nupkg('shared', '1.0.0')).expect(201)
    const feed = `${group.path}/-/packages/nuget`
    const { resources } = (await send('get', `${feed}/index.json`, creator).expect(200)).body
    expect([...new Set(resources.map((each: { '@id': string }) => each['@id'].replace(/^.*\/nuget\//, '')))]).toEqual(['query', 'metadata'])
    const versions = async (who: typeof creator) =>
      (await send('get', `${feed}/metadata/shared/index.json`, who).expect(200)).body.items[0].items.map(
        ({ packageContent, catalogEntry }: { packageContent: string; catalogEntry: { version: string } }) => [
          catalogEntry.version,
          Number(/projects\/(\d+)/.exec(packageContent)?.[1]),
        ],
      )
    expect(await versions(creator)).toEqual([
      ['1.0.0', two.id],
      ['2.0.0', two.id],
    ])
    expect(await versions(reporter)).toEqual([['1.0.0', one.id]])
    const { totalHits, data } = (await send('get', `${feed}/query?q=shared`, creator).expect(200)).body
    expect([totalHits, data[0].versions.map((each: { version: string }) => each.version)]).toEqual([1, ['2.0.0', '1.0.0']])
    await send('get', `${feed}/metadata/shared/2.0.0`, reporter).expect(404)
    await send('get', `${feed}/index.json`, await aUser(t.ctx)).expect(404)
    await send('get', `${feed}/index.json`).expect(401)
    for (const path of ['/download/shared/index.json', '']) await send('get', `${feed}${path}`, creator).expect(404)
  })
})

/** An archive that names its last file, which is called by one letter and is empty, so many times. */
function repeated(zip: Buffer, times: number): Buffer {
  const end = zip.length - 22
  const record = zip.subarray(zip.lastIndexOf('PK\x01\x02', end), end)
  const directory = Buffer.concat([zip.subarray(zip.readUInt32LE(end + 16), end), ...Array<Buffer>(times - 2).fill(record)])
  const tail = Buffer.from(zip.subarray(end))
  tail.writeUInt16LE(times, 8)
  tail.writeUInt16LE(times, 10)
  tail.writeUInt32LE(directory.length, 12)
  return Buffer.concat([zip.subarray(0, zip.readUInt32LE(end + 16)), directory, tail])
}

describe('what is no NuGet package', () => {
  it('is refused, and leaves nothing behind (PK-80, PK-83)', async () => {
    const project = await aProject(t.ctx)
    const good = nuspec('Good', '1.0.0')
    const whole = await nupkg('Good', '1.0.0')
    const encrypted = Buffer.from(whole)
    // the flag of encryption, in the header and in the directory
    encrypted.writeUInt16LE(encrypted.readUInt16LE(6) | 1, 6)
    const directory = encrypted.lastIndexOf(Buffer.from('PK\x01\x02Good').subarray(0, 4), encrypted.indexOf('Good.nuspec', 60))
    encrypted.writeUInt16LE(encrypted.readUInt16LE(directory + 8) | 1, directory + 8)
    const cases: [string, Buffer][] = [
      ['nothing', Buffer.alloc(0)],
      ['no archive', Buffer.from('x'.repeat(1_000))],
      ['half an archive', whole.subarray(0, whole.length / 2)],
      ['an encrypted description', encrypted],
      ['no description', await zipOf({ 'lib/x.dll': 'x' })],
      ['a description in a folder', await zipOf({ 'lib/x.nuspec': good })],
      ['two descriptions', await zipOf({ 'a.nuspec': good, 'b.nuspec': good })],
      ['a huge description', await zipOf({ 'a.nuspec': good.replace('About', 'x'.repeat(300_000)) })],
      ['a bomb', await zipOf({ 'a.nuspec': Buffer.alloc(50_000_000, ' ') })],
      ['many files', repeated(await zipOf({ 'a.nuspec': good, b: '' }), 20_001)],
      ['no XML', await zipOf({ 'a.nuspec': 'x' })],
      ['bytes', await zipOf({ 'a.nuspec': Buffer.alloc(1_000, 0xff) })],
      ['NUL', await zipOf({ 'a.nuspec': good.replace('One', '\0') })],
      [
        'entities',
        await zipOf({ 'a.nuspec': good.replace('<package', '<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><package').replace('One', '&b;') }),
      ],
      [
        'outer entities',
        await zipOf({ 'a.nuspec': good.replace('<package', '<!DOCTYPE p SYSTEM "file:///etc/passwd"><package').replace('One', '&x;') }),
      ],
      ['deep elements', await zipOf({ 'a.nuspec': good.replace('One', '<a>'.repeat(20_000) + '</a>'.repeat(20_000)) })],
      ['deep attributes', await nupkg('Good', '1.0.0', '<x a="1" a="2"/>')],
      ['another document', await zipOf({ 'a.nuspec': '<html/>' })],
      [
        'an entry that leads elsewhere',
        Buffer.from((await zipOf({ 'a.nuspec': good, 'aa/b.txt': 'x' })).toString('latin1').replaceAll('aa/b.txt', '../b.txt'), 'latin1'),
      ],
      ...(await Promise.all(
        [
          ['../Good', '1.0.0'],
          ['', '1.0.0'],
          ['a b', '1.0.0'],
          ['..', '1.0.0'],
          ['x'.repeat(101), '1.0.0'],
          ['a/b', '1.0.0'],
          ['Good', ''],
          ['Good', '../1'],
          ['Good', '1.0.0-'],
          ['Good', `1.0.0-${'x'.repeat(3_000)}`],
        ].map(
          async ([id = '', version = '']): Promise<[string, Buffer]> => [
            `${id} ${version}`,
            await nupkg('file', '1', '').then(() => zipOf({ 'a.nuspec': nuspec(id, version) })),
          ],
        ),
      )),
      ['symbols', await nupkg('Good', '1.0.0', '<packageTypes><packageType name="SymbolsPackage"/></packageTypes>')],
      ['a bad dependency', await nupkg('Good', '1.0.0', '<dependencies><dependency id="../x" version="1.0"/></dependencies>')],
      ['a bad range', await nupkg('Good', '1.0.0', '<dependencies><dependency id="x" version="[1.0,2.0,3.0]"/></dependencies>')],
      ['a bad framework', await nupkg('Good', '1.0.0', '<dependencies><group targetFramework="&lt;x&gt;"/></dependencies>')],
      ['many dependencies', await nupkg('Good', '1.0.0', `<dependencies>${'<dependency id="xxxxx" version="1.0"/>'.repeat(5_000)}</dependencies>`)],
    ]
    for (const [what, bytes] of cases) {
      const { status, body } = await push(project, bytes)
      expect([what, status, typeof (body.error ?? body.message)]).toEqual([what, 400, 'string'])
      if (what === 'many files') expect(body.error).toBe('a package may have 20000 files')
    }
    const headers = basic('x', project.creator.token)
    const at = `${project.path}/packages/nuget`
    await send('put', at, headers).attach('other', whole, 'x.nupkg').expect(400, { error: 'the body must have one part, package' })
    await send('put', at, headers).attach('package', whole, 'x').attach('package', whole, 'y').expect(400)
    await send('put', at, headers).send({ package: 'x' }).expect(400, { error: 'package is missing' })
    expect((await t.api('get', `${project.path}/packages`, project.creator).expect(200)).body).toEqual([])
    const [unpacked] = [await push(project, whole)]
    expect(unpacked.status).toBe(201)
  })
})
