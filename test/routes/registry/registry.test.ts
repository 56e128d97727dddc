import { createHash, randomBytes } from 'node:crypto'
import { and, eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { containerBlobs, packageFiles } from '../../../src/db/schema/index.js'
import { removePackageFiles } from '../../../src/services/packages/files.js'
import { removeStalledLayers } from '../../../src/services/registry/blobs.js'
import { removeUnusedBlobs } from '../../../src/services/registry/manifests.js'
import { issueToken } from '../../../src/services/registry/tokens.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { aGroup, aProject, aToken, aUser, type Credentialed, setSettings, type TestProject } from '../../support/factories.js'
import { basic, registryOf } from '../packages/packages.js'

const t = testApp()
const { deployToken } = registryOf(t)
const { withCi } = ciOf(t)
const FIRST = { id: 0, number: 1, signal: new AbortController().signal }

const digest = (bytes: Buffer | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const as = (who: { token: string }) => basic('anyone', who.token)
type Headers = Record<string, string>

async function call(method: string, path: string, headers: Headers = {}, body?: Buffer | string) {
  const response = await fetch(`${t.url}${path}`, { method, headers, ...(body !== undefined && { body: new Uint8Array(Buffer.from(body)) }) })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes, json: () => JSON.parse(bytes.toString()) }
}
const token = async (scope: string, headers: Headers = {}) =>
  (await call('GET', `/jwt/auth?service=container_registry&scope=${encodeURIComponent(scope)}`, headers)).json().token as string
const bearer = async (scope: string, headers: Headers = {}) => ({ authorization: `Bearer ${await token(scope, headers)}` })
const named = (project: TestProject, image = '') => `${project.fullPath}${image && `/${image}`}`

const IMAGE = 'application/vnd.oci.image.manifest.v1+json'
const manifestOf = (config: Buffer, layers: Buffer[], more: object = {}) =>
  JSON.stringify({
    schemaVersion: 2,
    mediaType: IMAGE,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digest(config), size: config.length },
    layers: layers.map((layer) => ({ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: digest(layer), size: layer.length })),
    ...more,
  })

async function upload(name: string, who: Headers, bytes: Buffer) {
  const begun = await call('POST', `/v2/${name}/blobs/uploads/`, who)
  expect(begun.status).toBe(202)
  const sent = await call('PUT', `${begun.headers.get('location')}?digest=${digest(bytes)}`, who, bytes)
  expect([sent.status, sent.headers.get('docker-content-digest')]).toEqual([201, digest(bytes)])
}

/** Pushes an image of one layer. */
async function push(name: string, who: Headers, tag: string, more: object = {}) {
  const [config, layer] = [Buffer.from(JSON.stringify({ os: 'linux', tag })), randomBytes(1_000)]
  for (const bytes of [config, layer]) await upload(name, who, bytes)
  const manifest = manifestOf(config, [layer], more)
  const put = await call('PUT', `/v2/${name}/manifests/${tag}`, { ...who, 'content-type': IMAGE }, manifest)
  expect([put.status, put.headers.get('docker-content-digest')]).toEqual([201, digest(manifest)])
  return { config, layer, manifest, digest: digest(manifest) }
}

describe('an image', () => {
  it('is pushed and pulled, by tag and digest, byte for byte, in pieces or whole (OCI-4, OCI-5, OCI-6)', async () => {
    const project = await aProject(t.ctx)
    const who = await bearer(`repository:${named(project, 'app')}:pull,push,delete`, as(project.creator))
    const name = named(project, 'app')
    const { manifest, layer, digest: of } = await push(name, who, 'v1')
    for (const reference of ['v1', of]) {
      const got = await call('GET', `/v2/${name}/manifests/${reference}`, who)
      expect([got.status, got.headers.get('content-type'), got.bytes.toString()]).toEqual([200, IMAGE, manifest])
      expect((await call('HEAD', `/v2/${name}/manifests/${reference}`, who)).headers.get('docker-content-digest')).toBe(of)
    }
    expect((await call('GET', `/v2/${name}/blobs/${digest(layer)}`, who)).bytes.equals(layer)).toBe(true)
    const part = await call('GET', `/v2/${name}/blobs/${digest(layer)}`, { ...who, range: 'bytes=10-19' })
    expect([part.status, part.bytes.equals(layer.subarray(10, 20))]).toEqual([206, true])
    expect((await call('GET', `/v2/${name}/tags/list`, who)).json()).toEqual({ name, tags: ['v1'] })
    const bytes = randomBytes(300)
    const { headers } = await call('POST', `/v2/${name}/blobs/uploads/`, who)
    const at = headers.get('location') as string
    const first = await call('PATCH', at, { ...who, 'content-range': '0-99' }, bytes.subarray(0, 100))
    expect([first.status, first.headers.get('range')]).toEqual([202, '0-99'])
    expect((await call('PATCH', at, { ...who, 'content-range': '200-299' }, bytes.subarray(200))).status).toBe(416)
    expect((await call('GET', at, who)).headers.get('range')).toBe('0-99')
    const end = await call('PUT', `${at}?digest=${digest(bytes)}`, { ...who, 'content-range': '100-299' }, bytes.subarray(100))
    expect(end.status).toBe(201)
    expect((await call('GET', `/v2/${name}/blobs/${digest(bytes)}`, who)).bytes.equals(bytes)).toBe(true)
    expect((await call('GET', at, who)).status).toBe(404)
  })

  it.each([
    ['a digest that is not that of the bytes', 'PUT', (at: string) => `${at}?digest=${digest('other')}`, 400, 'DIGEST_INVALID'],
    ['no digest', 'PUT', (at: string) => at, 400, 'DIGEST_INVALID'],
    ['a digest of another kind', 'PUT', (at: string) => `${at}?digest=md5:abc`, 400, 'DIGEST_INVALID'],
    ['an upload that is none', 'PATCH', (at: string) => at.replace(/[0-9a-f]{32}$/, 'f'.repeat(32)), 404, 'BLOB_UPLOAD_UNKNOWN'],
    ['an upload that leads out of the folder', 'PATCH', (at: string) => at.replace(/[0-9a-f]{32}$/, '..%2F..%2Fx'), 404, 'MANIFEST_UNKNOWN'],
  ])('with %s is refused, and nothing is kept (OCI-5)', async (_, method, address, status, code) => {
    const project = await aProject(t.ctx)
    const who = as(project.creator)
    const { headers } = await call('POST', `/v2/${named(project)}/blobs/uploads/`, who)
    const answer = await call(method, address(headers.get('location') as string), who, 'bytes')
    expect([answer.status, answer.json().errors[0].code]).toEqual([status, code])
    expect(await t.ctx.db.write.$count(containerBlobs, eq(containerBlobs.project_id, project.id))).toBe(0)
  })

  it.each([
    ['no JSON', '{', 'MANIFEST_INVALID', 400],
    ['JSON of something else', '[]', 'MANIFEST_INVALID', 400],
    ['neither layers nor images', JSON.stringify({ schemaVersion: 2 }), 'MANIFEST_INVALID', 400],
    ['a layer that is not there', manifestOf(Buffer.from('{}'), []), 'MANIFEST_BLOB_UNKNOWN', 404],
    ['a digest that is none', manifestOf(Buffer.from('{}'), []).replace('sha256:', 'sha1:'), 'DIGEST_INVALID', 400],
  ])('whose manifest has %s is refused (OCI-6)', async (_, manifest, code, status) => {
    const project = await aProject(t.ctx)
    const who = { ...as(project.creator), 'content-type': IMAGE }
    const answer = await call('PUT', `/v2/${named(project)}/manifests/v1`, who, manifest)
    expect([answer.status, answer.json().errors[0].code]).toEqual([status, code])
  })

  it('is found by what signs it, and deleted by tag and digest; its blobs go when nothing needs them (OCI-7, OCI-9)', async () => {
    const project = await aProject(t.ctx)
    const name = named(project)
    const who = as(project.creator)
    const image = await push(name, who, 'v1')
    const subject = { mediaType: IMAGE, digest: image.digest, size: image.manifest.length }
    const signature = await push(name, who, 'sig', { subject, artifactType: 'application/x.signature', annotations: { by: 'me' } })
    const { json } = await call('GET', `/v2/${name}/referrers/${image.digest}`, who)
    expect(json().manifests).toEqual([
      {
        mediaType: IMAGE,
        digest: signature.digest,
        size: signature.manifest.length,
        artifactType: 'application/x.signature',
        annotations: { by: 'me' },
      },
    ])
    expect((await call('GET', `/v2/${name}/referrers/${image.digest}?artifactType=x`, who)).json().manifests).toEqual([])
    expect((await call('DELETE', `/v2/${name}/blobs/${digest(image.layer)}`, who)).status).toBe(405)
    expect((await call('DELETE', `/v2/${name}/manifests/v1`, who)).status).toBe(202)
    expect((await call('GET', `/v2/${name}/manifests/v1`, who)).status).toBe(404)
    expect((await call('GET', `/v2/${name}/manifests/${image.digest}`, who)).status).toBe(200)
    expect((await call('DELETE', `/v2/${name}/manifests/${image.digest}`, who)).status).toBe(202)
    await t.ctx.db.write
      .update(containerBlobs)
      .set({ created_at: new Date(Date.now() - 2 * 86_400_000) })
      .where(eq(containerBlobs.project_id, project.id))
    await removeUnusedBlobs.run(t.ctx, {}, FIRST)
    expect((await call('GET', `/v2/${name}/blobs/${digest(image.layer)}`, who)).status).toBe(404)
    expect((await call('GET', `/v2/${name}/blobs/${digest(signature.layer)}`, who)).status).toBe(200)
    await removePackageFiles.run(t.ctx, {}, FIRST)
    expect((await call('GET', `/v2/${name}/blobs/${digest(signature.layer)}`, who)).bytes.equals(signature.layer)).toBe(true)
    await removeStalledLayers(t.ctx, 0)
  })

  it('is said about by many in several answers, each of a few MiB (OCI-7)', async () => {
    const project = await aProject(t.ctx)
    const [name, who] = [named(project), as(project.creator)]
    const image = await push(name, who, 'v1')
    const subject = { mediaType: IMAGE, digest: image.digest, size: image.manifest.length }
    const long = 'x'.repeat(1_500_000)
    const wanted: string[] = []
    for (const tag of ['a', 'b', 'c']) wanted.push((await push(name, who, tag, { subject, annotations: { long } })).digest)
    const found: string[] = []
    let next: string | undefined = `/v2/${name}/referrers/${image.digest}`
    for (let pages = 0; next !== undefined; pages++) {
      expect(pages).toBeLessThan(2)
      const answer: Awaited<ReturnType<typeof call>> = await call('GET', next, who)
      expect(answer.bytes.length).toBeLessThan(4_200_000)
      found.push(...answer.json().manifests.map((each: { digest: string }) => each.digest))
      next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
    }
    expect(found).toEqual(wanted)
    expect((await call('GET', `/v2/${name}/referrers/${image.digest}?last=x`, who)).status).toBe(400)
  })

  it('has no NUL in its names, which nothing fails of (OCI-1)', async () => {
    const project = await aProject(t.ctx)
    const [name, who] = [named(project), as(project.creator)]
    const { digest: of, config, layer } = await push(name, who, 'v1')
    const statuses = []
    for (const path of [
      'tags/list?last=%00',
      'tags/list?n=%00',
      `referrers/${of}?artifactType=%00`,
      'manifests/%00',
      'manifests/a%00',
      'tags%00/list',
    ])
      statuses.push((await call('GET', `/v2/${name}/${path}`, who)).status)
    for (const path of ['manifests/%00', 'blobs/uploads/%00'])
      for (const method of ['PUT', 'DELETE'])
        statuses.push((await call(method, `/v2/${name}/${path}`, who, method === 'PUT' ? 'x' : undefined)).status)
    statuses.push((await call('POST', `/v2/${name}/blobs/uploads/?mount=${of}&from=a%00/b`, who)).status)
    statuses.push((await call('GET', `/v2/a%00/b/tags/list`, who)).status)
    statuses.push((await call('GET', `/jwt/auth?service=container_registry&scope=repository:a%00/b:pull`, who)).status)
    for (const more of [{ artifactType: 'a\0' }, { config: { mediaType: 'a\0', digest: digest(config), size: 1 } }])
      statuses.push((await call('PUT', `/v2/${name}/manifests/v2`, { ...who, 'content-type': IMAGE }, manifestOf(config, [layer], more))).status)
    expect(statuses.filter((status) => status >= 500)).toEqual([])
    expect(statuses.slice(-2)).toEqual([400, 400])
  })

  it('gives its layers to another repository of those who may read it (OCI-5)', async () => {
    const [from, to] = [await aProject(t.ctx), await aProject(t.ctx)]
    const { layer } = await push(named(from), as(from.creator), 'v1')
    const stranger = await call('POST', `/v2/${named(to)}/blobs/uploads/?mount=${digest(layer)}&from=${named(from)}`, as(to.creator))
    expect(stranger.status).toBe(202)
    await t.api('post', `${from.path}/members`, from.creator).send({ user_id: to.creator.id, access_level: 20 }).expect(201)
    const member = await call('POST', `/v2/${named(to)}/blobs/uploads/?mount=${digest(layer)}&from=${named(from)}`, as(to.creator))
    expect([member.status, member.headers.get('docker-content-digest')]).toEqual([201, digest(layer)])
    expect((await call('GET', `/v2/${named(to)}/blobs/${digest(layer)}`, as(to.creator))).bytes.equals(layer)).toBe(true)
  })

  it('counts towards what a project may have (OCI-8)', async () => {
    const project = await aProject(t.ctx)
    const who = as(project.creator)
    await setSettings(t.ctx, { project_packages_size_limit: 1 })
    try {
      await upload(named(project), who, randomBytes(700_000))
      const bytes = randomBytes(700_000)
      const { headers } = await call('POST', `/v2/${named(project)}/blobs/uploads/`, who)
      const refused = await call('PUT', `${headers.get('location')}?digest=${digest(bytes)}`, who, bytes)
      expect([refused.status, refused.json().errors[0].code]).toEqual([413, 'SIZE_INVALID'])
    } finally {
      await setSettings(t.ctx, { project_packages_size_limit: 0 })
    }
    expect(await t.ctx.db.write.$count(containerBlobs, and(eq(containerBlobs.project_id, project.id)))).toBe(1)
    expect(await t.ctx.db.write.$count(packageFiles, eq(packageFiles.project_id, project.id))).toBe(0)
  })
})

describe('who may use the registry (OCI-2, OCI-3)', () => {
  it('follows from the role and the visibility of the project', async () => {
    const [guest, reporter, developer, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    for (const [visibility, expected] of [
      ['private', { anonymous: [], stranger: [], guest: [], reporter: ['pull'], developer: ['pull', 'push', 'delete'] }],
      ['internal', { anonymous: [], stranger: ['pull'], guest: ['pull'], reporter: ['pull'], developer: ['pull', 'push', 'delete'] }],
      ['public', { anonymous: ['pull'], stranger: ['pull'], guest: ['pull'], reporter: ['pull'], developer: ['pull', 'push', 'delete'] }],
    ] as const) {
      const project = await aProject(t.ctx, { visibility, guest, reporter, developer })
      const { digest: of } = await push(named(project), as(project.creator), 'v1')
      for (const [role, actions] of Object.entries(expected)) {
        const person = ({ guest, reporter, developer, stranger } as Record<string, Credentialed | undefined>)[role]
        const who = await bearer(`repository:${named(project)}:pull,push,delete`, person ? as(person) : {})
        const pulled = await call('GET', `/v2/${named(project)}/manifests/v1`, who)
        const begun = await call('POST', `/v2/${named(project)}/blobs/uploads/`, who)
        const gone = await call('DELETE', `/v2/${named(project)}/manifests/nothing`, who)
        const all: readonly string[] = actions
        expect([role, visibility, pulled.status, begun.status, gone.status]).toEqual([
          ...[role, visibility, all.includes('pull') ? 200 : 401],
          ...[all.includes('push') ? 202 : 401, all.includes('delete') ? 404 : 401],
        ])
      }
      expect((await call('GET', `/v2/${named(project)}/manifests/${of}`)).status).toBe(401)
    }
  })

  it('is one token for two repositories, as clients that copy ask (OCI-2)', async () => {
    const [from, to] = [await aProject(t.ctx), await aProject(t.ctx)]
    const scopes = [`repository:${named(from)}:pull`, `repository:${named(to)}:pull`].map((scope) => `scope=${encodeURIComponent(scope)}`)
    await push(named(from), as(from.creator), 'v1')
    await t.api('post', `${to.path}/members`, to.creator).send({ user_id: from.creator.id, access_level: 20 }).expect(201)
    await push(named(to), as(to.creator), 'v1')
    const { token: both } = (await call('GET', `/jwt/auth?${scopes.join('&')}`, as(from.creator))).json()
    for (const name of [named(from), named(to)])
      expect((await call('GET', `/v2/${name}/tags/list`, { authorization: `Bearer ${both}` })).json()).toEqual({ name, tags: ['v1'] })
  })

  it('is asked for with where a token is to be had, and says nothing of what is not there', async () => {
    const hidden = await aProject(t.ctx)
    const anonymous = await call('GET', '/v2/')
    expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer realm="http:\/\/[^"]+\/jwt\/auth",service="container_registry"$/),
    ])
    expect((await call('GET', '/v2/', await bearer('', as(hidden.creator)))).status).toBe(200)
    expect((await call('GET', '/v2/', basic('x', 'wrong'))).status).toBe(401)
    expect((await call('GET', '/v2/', { authorization: 'Bearer wrong' })).status).toBe(401)
    const stranger = await aUser(t.ctx)
    const answers = []
    for (const name of [named(hidden), `${named(hidden)}nothing`]) {
      const refused = await call('GET', `/v2/${name}/tags/list`, await bearer(`repository:${name}:pull`, as(stranger)))
      answers.push([refused.status, refused.bytes.toString(), refused.headers.get('www-authenticate')?.replace(name, 'NAME')])
    }
    expect(answers[0]).toEqual(answers[1])
  })

  it('is of the project that it was given for, not of another that has its path since', async () => {
    const [group, reporter] = [await aGroup(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id, visibility: 'private', reporter })
    const name = named(project)
    await push(name, as(group.creator), 'v1')
    const who = await bearer(`repository:${name}:pull`, as(reporter))
    expect((await call('GET', `/v2/${name}/manifests/v1`, who)).status).toBe(200)
    await t.api('put', project.path, group.creator).send({ path: 'elsewhere' }).expect(200)
    const given = { name: 'Other', path: name.split('/').at(-1), namespace_id: group.id, visibility: 'private' }
    await t.api('post', '/projects', group.creator).send(given).expect(201)
    await push(name, as(group.creator), 'v1')
    expect((await call('GET', `/v2/${name}/manifests/v1`, who)).status).toBe(404)
  })

  it('is given for as many minutes as container_registry_token_expire_delay says (AS-26)', async () => {
    const project = await aProject(t.ctx)
    const list = (token: string) => call('GET', `/v2/${named(project)}/tags/list`, { authorization: `Bearer ${token}` })
    const who = { user: project.creator, reads: true, writes: true }
    const access = [{ name: named(project), project: project.id, actions: ['pull' as const] }]
    await setSettings(t.ctx, { container_registry_token_expire_delay: 2 })
    try {
      await push(named(project), as(project.creator), 'v1')
      expect((await call('GET', '/jwt/auth?service=container_registry', as(project.creator))).json().expires_in).toBe(120)
      for (const [seconds, status] of [
        [115, 200],
        [121, 401],
      ] as const) {
        const ago = Object.assign(Object.create(t.ctx) as typeof t.ctx, { now: () => new Date(Date.now() - seconds * 1_000) })
        expect((await list((await issueToken(ago, who, access)).token)).status).toBe(status)
      }
    } finally {
      await setSettings(t.ctx, { container_registry_token_expire_delay: 5 })
    }
  })

  it('is said by scopes of tokens, of jobs and of deploy tokens, and ends with the switch of the project (OCI-3, OCI-24)', async () => {
    const { project, runner } = await withCi('job: { script: x }')
    const name = named(project)
    const job = await runner.takeNamed('job')
    expect(job.credentials).toEqual([expect.objectContaining({ type: 'registry', username: 'gitlab-ci-token', password: job.token })])
    expect(job.variables.find(({ key }) => key === 'CI_REGISTRY_IMAGE')?.value).toMatch(new RegExp(`/${name}$`))
    const ofJob = await bearer(`repository:${name}:pull,push`, basic('gitlab-ci-token', job.token))
    await push(name, ofJob, 'v1')
    const reads = await deployToken(project, ['read_registry'])
    const packages = await deployToken(project, ['write_package_registry'])
    const readOnly = await aToken(t.ctx, project.creator, ['read_api'])
    for (const [who, pull, begin] of [
      [basic(reads.username, reads.token), 200, 403],
      [basic(packages.username, packages.token), 403, 403],
      [basic('x', readOnly), 200, 403],
    ] as const)
      expect([(await call('GET', `/v2/${name}/tags/list`, who)).status, (await call('POST', `/v2/${name}/blobs/uploads/`, who)).status]).toEqual([
        pull,
        begin,
      ])
    await t.api('put', project.path, project.creator).send({ container_registry_enabled: false }).expect(200)
    expect((await call('GET', `/v2/${name}/tags/list`, ofJob)).status).toBe(403)
    await t.api('get', `${project.path}/registry/repositories`, project.creator).expect(403)
  })
})

describe('the API of the registry', () => {
  it('lists repositories and tags, and deletes them (OCI-20 to OCI-23)', async () => {
    const group = await aGroup(t.ctx)
    const [reporter, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id, reporter, developer })
    const who = as(group.creator)
    for (const tag of ['v1', 'v2', 'latest']) await push(named(project, 'app'), who, tag)
    const image = await push(named(project), who, 'v1')
    const list = (await t.api('get', `${project.path}/registry/repositories?tags=true&tags_count=true`, reporter).expect(200)).body
    expect(list).toMatchObject([
      { name: '', path: project.fullPath, tags_count: 1, tags: [{ name: 'v1' }] },
      { name: 'app', path: `${project.fullPath}/app`, tags_count: 3, tags: [{ name: 'latest' }, { name: 'v1' }, { name: 'v2' }] },
    ])
    const [guest] = [await aUser(t.ctx)]
    await t.api('post', `${project.path}/members`, group.creator).send({ user_id: guest.id, access_level: 10 }).expect(201)
    expect((await t.api('get', `/groups/${group.id}/registry/repositories`, guest).expect(200)).body).toEqual([])
    expect((await t.api('get', `/groups/${group.id}/registry/repositories`, group.creator).expect(200)).body).toHaveLength(2)
    const [own, app] = list.map(({ id }: { id: number }) => id)
    await t.api('get', `/registry/repositories/${app}?tags_count=true`, reporter).expect(200)
    await t.api('get', `/registry/repositories/${app}`, await aUser(t.ctx)).expect(404)
    const at = `${project.path}/registry/repositories`
    const detail = (await t.api('get', `${at}/${own}/tags/v1`, reporter).expect(200)).body
    expect(detail).toMatchObject({ name: 'v1', digest: image.digest, total_size: image.layer.length + image.config.length })
    expect((await t.api('get', `${at}/${app}/tags?per_page=2`, reporter).expect(200)).body.map(({ name }: { name: string }) => name)).toEqual([
      'latest',
      'v1',
    ])
    await t.api('delete', `${at}/${app}/tags/v2`, reporter).expect(403)
    await t.api('delete', `${at}/${app}/tags/v2`, developer).expect(200)
    await t.api('delete', `${at}/${app}/tags/v2`, developer).expect(404)
    await t.api('delete', `${at}/${app}/tags`, group.creator).send({ name_regex_delete: '(' }).expect(400)
    await t.api('delete', `${at}/${app}/tags`, developer).send({ name_regex_delete: '.*' }).expect(403)
    await t.api('delete', `${at}/${app}/tags`, group.creator).send({ name_regex_delete: '.*', name_regex_keep: 'v1' }).expect(202)
    await t.api('delete', `${at}/${app}/tags`, group.creator).send({ name_regex_delete: 'v.', older_than: '1d' }).expect(202)
    expect((await t.api('get', `${at}/${app}/tags`, reporter).expect(200)).body).toHaveLength(2)
    await t.api('delete', `${at}/${app}/tags`, group.creator).send({ name_regex_delete: '.*' }).expect(202)
    expect((await t.api('get', `${at}/${app}/tags`, reporter).expect(200)).body).toMatchObject([{ name: 'latest' }])
    await t.api('delete', `${at}/${app}`, developer).expect(403)
    await t.api('delete', `${at}/${app}`, group.creator).expect(202)
    expect((await t.api('get', at, reporter).expect(200)).body).toHaveLength(1)
  })

  it('costs the same queries with few repositories and with many', async () => {
    const project = await aProject(t.ctx)
    const who = as(project.creator)
    const queries = () =>
      t.queriesOf(() => t.api('get', `${project.path}/registry/repositories?tags=true&tags_count=true`, project.creator).expect(200))
    await push(named(project, 'a'), who, 'v1')
    await queries()
    const few = (await queries()).length
    for (const image of ['b', 'c', 'd']) await push(named(project, image), who, 'v1')
    expect((await queries()).length).toBe(few)
  })
})
