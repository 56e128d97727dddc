import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser, setSettings, type TestProject } from '../../support/factories.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { send, deployToken } = registryOf(t)

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** What `twine` sends: fields, then the file. */
const upload = (project: TestProject, fields: Record<string, string>, file = 'my_thing-1.0-py3-none-any.whl', text = file) => {
  const call = send('post', `${project.path}/packages/pypi`, basic('__token__', project.creator.token)).field(':action', 'file_upload')
  for (const [name, value] of Object.entries({ name: 'My.Thing', version: '1.0', ...fields })) call.field(name, value)
  return call.attach('content', Buffer.from(text), { filename: file, contentType: 'application/octet-stream' })
}

describe('a Python package', () => {
  it('is published, listed and fetched under every spelling of its name (PK-30, PK-31)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    await upload(project, { requires_python: '>=3.6, <4', summary: 'A <thing>', sha256_digest: sha256('one') }, 'my_thing-1.0.tar.gz', 'one').expect(
      201,
    )
    await upload(project, { requires_python: '>=3.6, <4' }).expect(201)
    const href = `/api/v4${project.path}/packages/pypi/files/${sha256('one')}/my_thing-1.0.tar.gz#sha256=${sha256('one')}`
    for (const name of ['my-thing', 'My.Thing', 'MY__thing']) {
      const { text, headers } = await send('get', `${project.path}/packages/pypi/simple/${name}/`, creator).expect(200)
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(text).toContain(`<a href="${href}" data-requires-python="&gt;=3.6, &lt;4">my_thing-1.0.tar.gz</a>`)
      expect(text).toContain('>my_thing-1.0-py3-none-any.whl</a>')
    }
    const file = await send('get', `${project.path}/packages/pypi/files/${sha256('one')}/my_thing-1.0.tar.gz`, creator).expect(200)
    expect(file.body.toString()).toBe('one')
    await send('get', `${project.path}/packages/pypi/files/${sha256('two')}/my_thing-1.0.tar.gz`, creator).expect(404)
    await send('get', `${project.path}/packages/pypi/simple/other`, creator).expect(404)
    const index = await send('get', `${project.path}/packages/pypi/simple`, creator).expect(200)
    expect(index.text).toContain('<a href="my-thing/">my-thing</a>')
    const [listed] = (await t.api('get', `${project.path}/packages?package_type=pypi`, creator).expect(200)).body
    const files = (await t.api('get', `${project.path}/packages/${listed.id}/package_files`, creator).expect(200)).body
    expect(files[0]).toMatchObject({ file_sha256: sha256('one'), file_md5: createHash('md5').update('one').digest('hex'), file_sha1: null })
  })

  it('has each file once, and the one that was described (PK-4, PK-31)', async () => {
    const project = await aProject(t.ctx)
    await upload(project, {}).expect(201)
    await upload(project, {}, undefined, 'other').expect(400, { message: 'Validation failed: File name has already been taken' })
    await upload(project, { sha256_digest: sha256('other') }, 'b.whl').expect(400, { message: 'The file is not the one that its checksum is of' })
    await upload(project, { md5_digest: '0'.repeat(32) }, 'b.whl').expect(400)
    for (const [fields, file, error] of [
      [{ name: '../x' }, 'b.whl', 'name is invalid'],
      [{ version: '1 0' }, 'b.whl', 'version is invalid'],
      [{ requires_python: 'x'.repeat(300) }, 'b.whl', 'requires_python is invalid'],
      [{}, '..', 'content is invalid'],
      [{}, 'a b.whl', 'content is invalid'],
    ] as const)
      await upload(project, fields as Record<string, string>, file).expect(400, { error })
    await send('post', `${project.path}/packages/pypi`, project.creator).send({ name: 'x' }).expect(400, { error: 'content is missing' })
    await send('post', `${project.path}/packages/pypi`, project.creator).field('name', 'x').expect(400, { error: 'content is missing' })
    await setSettings(t.ctx, { pypi_packages_size_limit: 1 })
    await upload(project, {}, 'big.whl', 'x'.repeat(1_048_577)).expect(413)
    await setSettings(t.ctx, { pypi_packages_size_limit: 3_072 })
  })

  it('is found in its group by those who may read it (PK-2, PK-32)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const reporter = await aUser(t.ctx)
    const sub = await aGroup(t.ctx, { creator, parent_id: group.id, path: 'sub' })
    const one = await aProject(t.ctx, { creator, namespace_id: group.id, reporter })
    const two = await aProject(t.ctx, { creator, namespace_id: sub.id })
    await upload(one, {}, 'one.whl').expect(201)
    await upload(two, {}, 'two.whl').expect(201)
    const simple = `${group.path}/-/packages/pypi/simple/my-thing`
    const links = (text: string) => [...text.matchAll(/">([^<]+)<\/a>/g)].map(([, name]) => name)
    expect(links((await send('get', simple, creator).expect(200)).text)).toEqual(['one.whl', 'two.whl'])
    expect(links((await send('get', simple, reporter).expect(200)).text)).toEqual(['one.whl'])
    expect(links((await send('get', `${group.path}/-/packages/pypi/simple`, creator).expect(200)).text)).toEqual(['my-thing'])
    await send('get', `${group.path}/-/packages/pypi/files/${sha256('two.whl')}/two.whl`, creator).expect(200)
    await send('get', `${group.path}/-/packages/pypi/files/${sha256('two.whl')}/two.whl`, reporter).expect(404)
    await send('get', simple, await aUser(t.ctx)).expect(404)
    await send('get', simple).expect(401)
    for (const [source, seen] of [
      [group, ['one.whl', 'two.whl']],
      [two, ['two.whl']],
    ] as const) {
      const token = await deployToken({ path: source.path, creator }, ['read_package_registry'])
      expect(links((await send('get', simple, basic(token.username, token.token)).expect(200)).text)).toEqual(seen)
    }
    const elsewhere = await deployToken(await aProject(t.ctx, { creator }), ['read_package_registry'])
    await send('get', simple, basic(elsewhere.username, elsewhere.token)).expect(404)
  })
})
