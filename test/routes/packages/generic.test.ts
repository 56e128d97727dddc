import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { aGroup, anAdmin, aProject, aToken, aUser, setSettings, unique } from '../../support/factories.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { send, generic, deployToken } = registryOf(t)
const { withCi } = ciOf(t)

const FILE = 'app/1.0/app.bin'
const at = (project: { path: string }, file = FILE) => `${project.path}/packages/generic/${file}`

describe('a generic package', () => {
  it('is published and fetched, whole or in part (PK-5, PK-10)', async () => {
    const project = await aProject(t.ctx)
    const bytes = randomBytes(300_000)
    await generic(project, FILE, bytes)
    const whole = await send('get', at(project), project.creator).expect(200).buffer(true)
    expect(whole.body.equals(bytes)).toBe(true)
    expect(whole.headers).toMatchObject({
      'content-length': '300000',
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="app.bin"',
      etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
      'accept-ranges': 'bytes',
      'content-security-policy': "default-src 'none'; sandbox",
    })
    const part = await send('get', at(project), project.creator).set('range', 'bytes=100-199').expect(206).buffer(true)
    expect(part.body.equals(bytes.subarray(100, 200))).toBe(true)
    await send('get', at(project), project.creator)
      .set('if-none-match', whole.headers['etag'] as string)
      .expect(304)
    await send('get', at(project), project.creator).set('range', 'bytes=400000-').expect(416)
    const head = await send('head', at(project), project.creator).expect(200)
    expect(head.headers['content-length']).toBe('300000')
    await send('get', at(project, 'app/1.0/other.bin'), project.creator).expect(404, { message: '404 Package Not Found' })
  })

  it('keeps a file that is published again, and sends the newest (PK-4)', async () => {
    const project = await aProject(t.ctx)
    await generic(project, FILE, 'one')
    await generic(project, FILE, 'two')
    expect((await send('get', at(project), project.creator).expect(200)).body.toString()).toBe('two')
    const [found] = (await t.api('get', `${project.path}/packages`, project.creator).expect(200)).body
    const { body } = await t.api('get', `${project.path}/packages/${found.id}/package_files`, project.creator).expect(200)
    expect(body.map(({ file_name, size }: { file_name: string; size: number }) => [file_name, size])).toEqual([
      ['app.bin', 3],
      ['app.bin', 3],
    ])
  })

  it('is stored once, by all who publish it, and its file is named by its digest (PK-6)', async () => {
    const [one, two] = [await aProject(t.ctx), await aProject(t.ctx)]
    const bytes = randomBytes(1_000)
    const oid = createHash('sha256').update(bytes).digest('hex')
    for (const project of [one, two]) await generic(project, FILE, bytes)
    const folder = join(t.dataDir, 'packages', oid.slice(0, 2), oid.slice(2, 4))
    expect(await readdir(folder)).toEqual([oid.slice(4)])
    expect(await readdir(join(t.dataDir, 'packages', 'incoming'))).toEqual([])
  })

  it('has names that are no paths (PK-6)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    for (const [path, error] of [
      ['..%2Fx/1.0/a', 'package_name is invalid'],
      ['.../1.0/a', 'package_name is invalid'],
      ['x/%2E%2E%2F1/a', 'package_version is invalid'],
      ['x/1.0/a%2Fb', 'file_name is invalid'],
      ['x/1.0/%20', 'file_name is invalid'],
      [`x/1.0/${'a'.repeat(256)}`, 'file_name is invalid'],
      ['x/1.0/%C3%A4', 'file_name is invalid'],
      ['x/1.0/%FF', 'file_name is invalid'],
    ] as const)
      await send('put', `${project.path}/packages/generic/${path}`, project.creator).send('x').expect(400, { error })
    await send('put', `${at(project)}?status=deleted`, project.creator)
      .send('x')
      .expect(400, { error: 'status does not have a valid value' })
    await send('put', `${at(project)}?select=all`, project.creator)
      .send('x')
      .expect(400, { error: 'select does not have a valid value' })
    const { body } = await send('put', `${at(project)}?select=package_file`, project.creator)
      .send('abc')
      .expect(201)
    expect(body).toMatchObject({ file_name: 'app.bin', size: 3, file_sha256: createHash('sha256').update('abc').digest('hex') })
    // semantic-release reads it
    expect(await (await fetch(t.url + new URL(body.file.url).pathname)).text()).toBe('abc')
  })

  it('may be hidden from lists (PK-10, PK-11)', async () => {
    const project = await aProject(t.ctx)
    await generic(project, FILE, 'x', '?status=hidden')
    await t.api('get', `${project.path}/packages`, project.creator).expect(200, [])
    const { body } = await t.api('get', `${project.path}/packages?status=hidden`, project.creator).expect(200)
    expect(body).toMatchObject([{ name: 'app', version: '1.0', status: 'hidden', package_type: 'generic' }])
    await t.api('get', `${project.path}/packages/${body[0].id}`, project.creator).expect(200)
  })

  it('has a maximum size, as have all of a project (PK-7, PK-8)', async () => {
    const project = await aProject(t.ctx)
    const mebibyte = Buffer.alloc(1_048_576)
    await setSettings(t.ctx, { generic_packages_size_limit: 1, project_packages_size_limit: 2 })
    await generic(project, 'a/1/full', mebibyte)
    const big = await send('put', at(project), project.creator).send(Buffer.alloc(1_048_577)).expect(413)
    expect(big.body).toEqual({ message: '413 Request Entity Too Large - a file of this format may have 1 MiB' })
    await generic(project, 'a/1/other', mebibyte)
    const more = await send('put', at(project), project.creator).send('x').expect(413)
    expect(more.body).toEqual({ message: '413 Request Entity Too Large - the packages of a project may have 2 MiB' })
    await setSettings(t.ctx, { generic_packages_size_limit: 5_120, project_packages_size_limit: 0 })
    const { body } = await t.api('get', `${project.path}?statistics=true`, project.creator).expect(200)
    expect(body.statistics).toMatchObject({ packages_size: 2 * 1_048_576 })
    expect(body.statistics.storage_size).toBe(body.statistics.repository_size + 2 * 1_048_576)
    const [found] = (await t.api('get', `${project.path}/packages`, project.creator).expect(200)).body
    await t.api('delete', `${project.path}/packages/${found.id}`, project.creator).expect(204)
    const after = await t.api('get', `${project.path}?statistics=true`, project.creator).expect(200)
    expect(after.body.statistics.packages_size).toBe(0)
    expect(await readdir(join(t.dataDir, 'packages', 'incoming'))).toEqual([])
  })

  it('takes no more versions than there may be of one, also where two come at once (PK-7)', async () => {
    await setSettings(t.ctx, { project_packages_size_limit: 1 })
    const project = await aProject(t.ctx)
    const two = await Promise.all(
      ['a', 'b'].map((name) => send('put', at(project, `${name}/1/x`), project.creator).send(Buffer.alloc(700_000, name))),
    )
    expect(two.map(({ status }) => status).sort()).toEqual([201, 413])
    await setSettings(t.ctx, { project_packages_size_limit: 0 })
  })
})

describe('who may read and publish packages (PK-2)', () => {
  const status = async (method: 'get' | 'put', project: { path: string }, headers: Parameters<typeof send>[2], file = FILE) =>
    (await (method === 'put' ? send('put', at(project, file), headers).send('x') : send('get', at(project, file), headers))).status

  it('follows from the role and the visibility of the project', async () => {
    const [guest, reporter, developer, stranger, external] = [
      await aUser(t.ctx),
      await aUser(t.ctx),
      await aUser(t.ctx),
      await aUser(t.ctx),
      await aUser(t.ctx, { external: true }),
    ]
    for (const [visibility, expected] of [
      ['private', [403, 403, 200, 403, 200, 201, 404, 404, 404, 404, 401, 401]],
      ['internal', [200, 403, 200, 403, 200, 201, 200, 403, 404, 404, 401, 401]],
      ['public', [200, 403, 200, 403, 200, 201, 200, 403, 200, 403, 200, 401]],
    ] as const) {
      const project = await aProject(t.ctx, { visibility, guest, reporter, developer })
      await generic(project, FILE, 'x')
      const found: number[] = []
      for (const who of [guest, reporter, developer, stranger, external, {}])
        found.push(await status('get', project, who), await status('put', project, who))
      expect([visibility, found]).toEqual([visibility, expected])
    }
  })

  it('asks who calls before anything else, whether there is such a project or not', async () => {
    const project = await aProject(t.ctx)
    for (const path of [at(project), '/projects/999999/packages/generic/a/1/x', '/projects/no%2Fsuch/packages/generic/a/1/x']) {
      const { headers } = await send('get', path).expect(401, { message: '401 Unauthorized' })
      expect(headers['www-authenticate']).toBe('Basic realm="Roost packages"')
    }
  })

  it('takes tokens of people with the scope, in every place of a credential', async () => {
    const project = await aProject(t.ctx)
    await generic(project, FILE, 'x')
    const { creator } = project
    const [reads, other] = [await aToken(t.ctx, creator, ['read_api']), await aToken(t.ctx, creator, ['read_user'])]
    for (const headers of [{ 'private-token': creator.token }, { authorization: `Bearer ${creator.token}` }, basic('anybody', creator.token)])
      expect([await status('get', project, headers), await status('put', project, headers)]).toEqual([200, 201])
    expect([await status('get', project, { 'private-token': reads }), await status('put', project, { 'private-token': reads })]).toEqual([200, 403])
    expect([await status('get', project, { 'private-token': other }), await status('put', project, { 'private-token': other })]).toEqual([403, 403])
    for (const headers of [
      { 'private-token': 'wrong' },
      basic('a', 'wrong'),
      { authorization: 'Digest x' },
      basic('a', ''),
      { 'job-token': 'wrong' },
    ])
      expect(await status('get', await aProject(t.ctx, { visibility: 'public' }), headers as Record<string, string>)).toBe(401)
  })

  it('takes deploy tokens with their scopes, in their project or group', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const project = await aProject(t.ctx, { creator, namespace_id: group.id })
    const elsewhere = await aProject(t.ctx, { creator })
    await generic(project, FILE, 'x')
    await generic(elsewhere, FILE, 'x')
    const visible = await aProject(t.ctx, { visibility: 'public' })
    await generic(visible, FILE, 'x')
    for (const source of [project, group]) {
      const reads = await deployToken({ path: source.path, creator }, ['read_package_registry'])
      const writes = await deployToken({ path: source.path, creator }, ['write_package_registry'])
      const git = await deployToken({ path: source.path, creator }, ['read_repository'])
      for (const headers of [{ 'deploy-token': reads.token }, { authorization: `Bearer ${reads.token}` }, basic(reads.username, reads.token)]) {
        expect([await status('get', project, headers), await status('put', project, headers)]).toEqual([200, 403])
        expect([await status('get', elsewhere, headers), await status('get', visible, headers)]).toEqual([404, 200])
      }
      const headers = basic(writes.username, writes.token)
      expect([await status('get', project, headers), await status('put', project, headers)]).toEqual([200, 201])
      expect(await status('get', project, basic('another', writes.token))).toBe(401)
      expect(await status('get', project, { 'deploy-token': git.token })).toBe(403)
      await t.api('delete', `${source.path}/deploy_tokens/${writes.id}`, creator).expect(204)
      expect(await status('get', project, headers)).toBe(401)
    }
  })

  it('takes the token of a job that runs, until it ends, and says which pipeline has published a package (PK-11)', async () => {
    const { project, runner } = await withCi('build:\n  script: make\n')
    const job = await runner.take()
    expect(job).not.toBeNull()
    const token = job?.token as string
    await send('put', at(project), { 'job-token': token }).send('x').expect(201)
    await send('put', at(project, 'app/2.0/x'), basic('gitlab-ci-token', token)).send('x').expect(201)
    expect(await status('get', project, { authorization: `Bearer ${token}` })).toBe(200)
    const { body } = await t.api('get', `${project.path}/packages`, project.creator).expect(200)
    const [pipeline] = (await t.api('get', `${project.path}/pipelines`, project.creator).expect(200)).body
    expect(body[0].pipeline).toMatchObject({ id: pipeline.id, ref: 'main' })
    const other = await aProject(t.ctx, { creator: project.creator })
    await generic(other, FILE, 'x')
    expect(await status('get', other, { 'job-token': token })).toBe(404)
    await runner.end(job as never, 'success')
    expect(await status('get', project, { 'job-token': token })).toBe(401)
  })

  it('nothing is read while packages are off, and nothing is published to an archived project (PK-3)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    expect((await t.api('get', project.path, project.creator).expect(200)).body.packages_enabled).toBe(true)
    await generic(project, FILE, 'x')
    await t.api('put', project.path, project.creator).send({ packages_enabled: false }).expect(200)
    for (const who of [project.creator, {}]) expect(await status('get', project, who)).toBe('token' in who ? 403 : 401)
    await t.api('get', `${project.path}/packages`, project.creator).expect(403)
    await t.api('put', project.path, project.creator).send({ packages_enabled: true }).expect(200)
    await t.api('post', `${project.path}/archive`, project.creator).expect(201)
    expect([await status('get', project, project.creator), await status('put', project, project.creator)]).toEqual([200, 403])
  })
})

describe('the API of packages', () => {
  it('lists versions with filters, in an order (PK-11)', async () => {
    const project = await aProject(t.ctx)
    for (const path of ['b/2.0/x', 'a/1.0/x', 'a/2.0/x']) await generic(project, path, 'x')
    const list = async (query: string) =>
      (await t.api('get', `${project.path}/packages?${query}`, project.creator).expect(200)).body.map(
        ({ name, version }: Record<string, string>) => `${name} ${version}`,
      )
    expect(await list('')).toEqual(['b 2.0', 'a 1.0', 'a 2.0'])
    expect(await list('sort=desc')).toEqual(['a 2.0', 'a 1.0', 'b 2.0'])
    expect(await list('order_by=name')).toEqual(['a 1.0', 'a 2.0', 'b 2.0'])
    expect(await list('order_by=version&sort=desc')).toEqual(['a 2.0', 'b 2.0', 'a 1.0'])
    expect(await list('package_name=A')).toEqual(['a 1.0', 'a 2.0'])
    expect(await list('package_version=2.0&package_name=b')).toEqual(['b 2.0'])
    expect(await list('package_type=generic')).toHaveLength(3)
    expect(await list('package_type=conan')).toEqual([])
    expect(await list('page=2&per_page=2')).toEqual(['a 2.0'])
    await t.api('get', `${project.path}/packages?package_type=other`, project.creator).expect(400)
    await t.api('get', `${project.path}/packages?order_by=project_path`, project.creator).expect(400)
  })

  it('shows one with other versions and files, and deletes them (PK-13 to PK-15)', async () => {
    const [reporter, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { reporter, developer })
    for (const path of ['a/1.0/x', 'a/2.0/x', 'a/2.0/y', 'b/1.0/x']) await generic(project, path, 'x')
    const { body: all } = await t.api('get', `${project.path}/packages`, project.creator).expect(200)
    const path = `${project.path}/packages/${all[1].id}`
    const { body } = await t.api('get', path, project.creator).expect(200)
    expect(body).toEqual({
      id: all[1].id,
      name: 'a',
      version: '2.0',
      package_type: 'generic',
      status: 'default',
      _links: { web_path: `/${project.fullPath}/-/packages/${all[1].id}`, delete_api_path: `${t.ctx.links.base}/api/v4${path}` },
      created_at: expect.any(String),
      tags: [],
      versions: [{ id: all[0].id, version: '1.0', created_at: all[0].created_at, tags: [] }],
    })
    expect((await t.api('get', path, reporter).expect(200)).body._links).not.toHaveProperty('delete_api_path')
    const files = (await t.api('get', `${path}/package_files`, reporter).expect(200)).body
    expect(files).toHaveLength(2)
    for (const who of [reporter, developer]) {
      await t.api('delete', path, who).expect(403)
      await t.api('delete', `${path}/package_files/${files[0].id}`, who).expect(403)
    }
    await t.api('delete', `${path}/package_files/${files[0].id}`, project.creator).expect(204)
    await t.api('delete', `${path}/package_files/${files[0].id}`, project.creator).expect(404)
    await send('get', at(project, 'a/2.0/x'), project.creator).expect(404)
    await t.api('delete', path, project.creator).expect(204)
    await t.api('get', path, project.creator).expect(404, { message: '404 Package Not Found' })
    const log = await t.api('get', '/audit_events?per_page=5', await anAdmin(t.ctx)).expect(200)
    expect(log.body.map(({ details }: { details: { action: string } }) => details.action)).toEqual(
      expect.arrayContaining(['package_deleted', 'package_file_deleted']),
    )
  })

  it('lists those of a group that the caller may read, with a constant number of queries (PK-12)', async () => {
    const group = await aGroup(t.ctx, { visibility: 'public' })
    const { creator } = group
    const sub = await aGroup(t.ctx, { creator, parent_id: group.id, path: `sub${unique()}`, visibility: 'public' })
    const guest = await aUser(t.ctx)
    const open = await aProject(t.ctx, { creator, namespace_id: group.id, visibility: 'public', name: 'open' })
    const closed = await aProject(t.ctx, { creator, namespace_id: group.id, guest, name: 'closed' })
    const below = await aProject(t.ctx, { creator, namespace_id: sub.id, visibility: 'public', name: 'below' })
    const off = await aProject(t.ctx, { creator, namespace_id: group.id, name: 'off' })
    for (const project of [open, closed, below, off]) await generic(project, FILE, 'x')
    await t.api('put', off.path, creator).send({ packages_enabled: false }).expect(200)
    const list = async (who: typeof creator | null, query = '') =>
      (await t.api('get', `${group.path}/packages?order_by=project_path&${query}`, who).expect(200)).body.map(
        ({ project_path }: { project_path: string }) => project_path,
      )
    const paths = [closed, open, below].map(({ fullPath }) => fullPath)
    expect(await list(creator)).toEqual(paths.toSorted())
    for (const who of [guest, null]) expect(await list(who)).toEqual([open.fullPath, below.fullPath].toSorted())
    expect(await list(creator, 'exclude_subgroups=true')).toEqual([closed.fullPath, open.fullPath])
    expect((await t.queriesOf(() => list(creator))).length).toBe((await t.queriesOf(() => list(guest))).length)
  })
})
