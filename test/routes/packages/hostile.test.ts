import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, type TestProject } from '../../support/factories.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { generic, image } = registryOf(t)
let project: TestProject
let headers: Record<string, string>

beforeAll(async () => {
  project = await aProject(t.ctx, { files: { 'go.mod': 'module example.com/x\n' } })
  headers = basic('anyone', project.creator.token)
  await generic(project, 'known/1.0/file.bin', 'bytes')
  await image({ name: `${project.fullPath}/app`, tag: 'known', by: project.creator })
  await image({ name: `${project.fullPath}/app`, tag: 'other', by: project.creator })
  expect((await call('PUT', npm('known'), {}, JSON.stringify(npmDocument('known')))).status).toBe(201)
})

interface Answered {
  status: number
  type: string
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Calls with the very path that is given; `end` is how many bytes of the body are sent before the connection ends. */
const call = (method: string, path: string, more: Record<string, string> = {}, body: Buffer | string = '') =>
  new Promise<Answered>((resolve, reject) => {
    const length = method === 'GET' || method === 'HEAD' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = request(t.url, { method, path, agent: false, headers: { ...headers, ...length, ...more } }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk) => chunks.push(chunk))
      answer.once('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          type: answer.headers['content-type'] ?? '',
          headers: answer.headers,
          body: Buffer.concat(chunks),
        }),
      )
      answer.once('error', reject)
    })
    // a body that is refused is not read to its end
    sent.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? resolve({ status: 0, type: '', headers: {}, body: Buffer.alloc(0) }) : reject(error),
    )
    sent.setTimeout(20_000, () => sent.destroy(new Error(`${method} ${path} has no answer`)))
    sent.end(body)
  })

const api = (path: string) => `/api/v4/projects/${project.id}/packages/${path}`
const npm = (path: string) => api(`npm/${path}`)
const oci = (path: string) => `/v2/${project.fullPath}/${path}`

const TABLES =
  'packages package_files package_tags container_repositories container_blobs container_manifests container_tags container_references'.split(' ')

/** All rows of packages and images, but for when they were changed, and all that is stored of them. */
async function everything(): Promise<unknown> {
  const rows = await Promise.all(
    TABLES.map(
      async (name) =>
        (await t.ctx.db.write.execute(sql`select to_jsonb(t) - 'updated_at' - 'created_at' as row from ${sql.identifier(name)} t order by 1`)).rows,
    ),
  )
  const listed = ['packages', 'container-uploads'].map((name) => {
    try {
      return readdirSync(join(t.dataDir, name), { recursive: true, encoding: 'utf8' })
        .filter((file) => /[0-9a-f]{32}$/.test(file))
        .sort()
    } catch {
      return []
    }
  })
  return { rows, listed }
}

/** Whether a refusal is one that clients of the protocol can read. */
function isShaped({ type, body }: Answered, kind: Kind, method: string): boolean {
  if (method === 'HEAD') return body.length === 0
  if (!type.startsWith('application/json')) return false
  const parsed = JSON.parse(body.toString()) as { message?: unknown; error?: unknown; errors?: { code?: unknown; message?: unknown }[] }
  return kind === 'oci'
    ? typeof parsed.errors?.[0]?.code === 'string' && typeof parsed.errors[0].message === 'string'
    : Boolean(parsed.message ?? parsed.error)
}

type Kind = 'package' | 'oci'
interface Sent {
  what: string
  method: string
  path: string
  more?: Record<string, string>
  body?: Buffer | string
}

/** Every call is refused in the shape of its protocol with nothing changed, or is a read of what is there. */
async function refused(kind: Kind, calls: Sent[], allowed: number[] = []) {
  const before = await everything()
  const faults: string[] = []
  for (const { what, method, path, more, body } of calls) {
    const answer = await call(method, path, more, body)
    const { status } = answer
    const line = `${what}: ${method} ${path.slice(0, 160)} is ${status} ${answer.body.toString().slice(0, 160)}`
    if (status === 0 || allowed.includes(status)) continue
    if (status < 400 || status >= 500) faults.push(line)
    else if (!isShaped(answer, kind, method)) faults.push(`${line}: ${answer.type}`)
  }
  expect(faults).toEqual([])
  expect(await everything()).toEqual(before)
}

/** Parts of addresses that are none of any format, as they are sent. */
const BAD_PARTS = [
  '%00',
  'a%00b',
  '%ff',
  'a%c3',
  '%ed%a0%80',
  '..',
  '%2e%2e',
  '..%2f..%2fetc',
  '.',
  '%2e',
  '...',
  'a%2fb%2f..%2fc',
  'x'.repeat(300),
  'x'.repeat(5_000),
  'a%20b',
  'a%0d%0ax:y',
  'caf%C3%A9',
  'a%5cb',
  'a%22b',
  '%3Cscript%3E',
  '%zz',
  'a%3Fb',
  'a%23b',
]

const npmDocument = (name: string, more: object = {}, version: object = {}, bytes = Buffer.from('bytes'), number = '1.0.0') => ({
  name,
  'dist-tags': { latest: number },
  versions: { [number]: { name, version: number, dist: { shasum: createHash('sha1').update(bytes).digest('hex') }, ...version } },
  _attachments: { [`${name}-${number}.tgz`]: { data: bytes.toString('base64') } },
  ...more,
})

const deep = (open: string, close: string, depth = 200_000) => open.repeat(depth) + close.repeat(depth)
/** Texts that are no JSON, or not the JSON that anybody asked for. */
const BAD_JSON: [string, Buffer | string][] = [
  ['nothing', ''],
  ['no JSON', '{'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a text', '"x"'],
  ['a number', '1e999'],
  ['deep lists', deep('[', ']')],
  ['deep maps', deep('{"a":', '}').replace('}', '1}')],
  ['bad UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ['NUL', Buffer.alloc(1_000)],
  ['a prototype', '{"__proto__":{"name":"x"},"constructor":{"prototype":1}}'],
  ['much', `{"a":"${'x'.repeat(5_000_000)}"}`],
]

describe('addresses with bad parts', () => {
  it('of packages are refused, and nothing changes (PK-6, PK-80)', async () => {
    const places = BAD_PARTS.flatMap((part): [string, string, string?][] => [
      ['PUT', api(`generic/${part}/1.0/file`)],
      ['PUT', api(`generic/name/${part}/file`)],
      ['PUT', api(`generic/name/1.0/${part}`)],
      ['GET', api(`generic/name/1.0/${part}`)],
      ['GET', api(`generic/${part}/1.0/file`)],
      ['PUT', api(`maven/org/${part}/1.0/app-1.0.jar`)],
      ['PUT', api(`maven/org/app/${part}/app.jar`)],
      ['PUT', api(`maven/org/app/1.0/${part}`)],
      ['PUT', api(`maven/org/app/1.0/${part}.sha1`)],
      ['GET', api(`maven/org/app/1.0/${part}`)],
      ['GET', api(`maven/${part}`)],
      ['PUT', npm(part), JSON.stringify(npmDocument(part))],
      ['GET', npm(part)],
      ['GET', npm(`known/-/${part}`)],
      ['GET', npm(`-/package/${part}/dist-tags`)],
      ['PUT', npm(`-/package/known/dist-tags/${part}`), '"9.9.9"'],
      ['DELETE', npm(`-/package/known/dist-tags/${part}`)],
      ['GET', api(`pypi/files/${part}/x.whl`)],
      ['GET', api(`pypi/files/${'0'.repeat(64)}/${part}`)],
      ['GET', api(`pypi/simple/${part}`)],
      ['GET', api(`nuget/metadata/${part}/index.json`)],
      ['GET', api(`nuget/metadata/known/${part}`)],
      ['GET', api(`nuget/download/${part}/index.json`)],
      ['GET', api(`nuget/download/known/${part}/known.1.0.0.nupkg`)],
      ['GET', api(`nuget/download/known/1.0.0/${part}`)],
      ['DELETE', api(`nuget/${part}/1.0.0`)],
      ['DELETE', api(`nuget/known/${part}`)],
      ['GET', `/api/v4/groups/${part}/-/packages/nuget/index.json`],
      ['GET', api(`go/${part}/@v/list`)],
      ['GET', api(`go/roost.test%2f${part}/@v/v1.0.0.zip`)],
      ['GET', `/api/v4/groups/${part}/-/packages/maven/org/app/1.0/x.jar`],
      ['GET', `/api/v4/groups/${part}/-/packages/pypi/simple`],
      ['GET', `/api/v4/projects/${part}/packages/npm/known`],
      ['GET', `/api/v4/packages/npm/${part}`],
      ['GET', `/api/v4/packages/maven/${part}/app/1.0/x.jar`],
    ])
    await refused(
      'package',
      places.map(([method, path, body]) => ({ what: 'a part', method, path, ...(method !== 'GET' && { body: body ?? 'bytes' }) })),
    )
  })

  it('of images are refused, and nothing changes (OCI-1, OCI-80)', async () => {
    const zero = `sha256:${'0'.repeat(64)}`
    await refused(
      'oci',
      BAD_PARTS.flatMap((part) =>
        [
          ['GET', `/v2/${part}`],
          ['GET', `/v2/${part}/manifests/x`],
          ['POST', `/v2/${project.fullPath}/${part}/blobs/uploads/`],
          ['PUT', oci(`manifests/${part}`)],
          ['GET', oci(`app/manifests/${part}`)],
          ['HEAD', oci(`app/blobs/${part}`)],
          ['GET', oci(`app/blobs/sha256:${part}`)],
          ['DELETE', oci(`app/manifests/${part}`)],
          ['DELETE', oci(`app/blobs/${part}`)],
          ['PATCH', oci(`app/blobs/uploads/${part}`)],
          ['PUT', oci(`app/blobs/uploads/${part}?digest=${zero}`)],
          ['GET', oci(`app/blobs/uploads/${part}`)],
          ['DELETE', oci(`app/blobs/uploads/${part}`)],
          ['GET', oci(`app/referrers/${part}`)],
          ['POST', oci(`app/blobs/uploads/?digest=${part}`)],
        ].map(([method = '', path = '']) => ({ what: 'a part', method, path, more: { 'content-type': 'application/vnd.oci.image.index.v1+json' } })),
      ),
    )
  })
})

describe('bodies', () => {
  it('of npm that are no description are refused (PK-20, PK-80)', async () => {
    const given = (what: string, more: object, version?: object, number?: string) => [
      what,
      JSON.stringify(npmDocument('bad', more, version, undefined, number)),
    ]
    const documents = [
      ...BAD_JSON,
      given('no version', { versions: {} }),
      given('two versions', { versions: { '1.0.0': {}, '2.0.0': {} } }),
      given('versions that are a list', { versions: [] }),
      given('a version that is null', { versions: { '1.0.0': null } }),
      given('another name', { name: 'other' }),
      given('a name that is a list', { name: ['bad'] }),
      given('tags that are a list', { 'dist-tags': ['latest'] }),
      given('a tag with NUL', { 'dist-tags': { 'a\0b': '1.0.0' } }),
      given('a tag with half a character', { 'dist-tags': { 'a\ud800': '1.0.0' } }),
      given('a tag that is a version', { 'dist-tags': { '2.0.0': '1.0.0' } }),
      given('thousands of tags', { 'dist-tags': Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`t${n}`, '1.0.0'])) }),
      given('another checksum', {}, { dist: { shasum: '0'.repeat(40) } }),
      given('another checksum of SHA-512', {}, { dist: { integrity: 'sha512-AAAA' } }),
      given('a long description', {}, { description: 'x'.repeat(200_000) }),
      given('a deep description', {}, { dependencies: JSON.parse(deep('{"a":', '}', 2_000).replace('}', '1}')) }),
      given('a version that is a path', {}, {}, '../1.0.0'),
      given('a version with NUL', {}, {}, '1.0.0-\0'),
      given('a long version', {}, {}, `1.0.0-${'x'.repeat(300)}`),
      given('a huge number as version', {}, {}, `${'9'.repeat(40)}.0.0`),
      given('two packages', { _attachments: { a: { data: 'AAAA' }, b: { data: 'AAAA' } } }),
      given('a package with escapes', { _attachments: { a: { data: 'AA\\u0041A' } } }),
      given('a prototype', { versions: JSON.parse('{"__proto__":{"name":"bad"}}') }),
      ['a package that does not end', JSON.stringify(npmDocument('bad')).slice(0, -20)],
      ['a package twice', JSON.stringify(npmDocument('bad')).replace('"_attachments":{', '"_attachments":{"x":{"data":"AAAA"},')],
    ] as [string, string][]
    await refused(
      'package',
      documents.map(([what, body]) => ({ what, method: 'PUT', path: npm('bad'), body })),
    )
    await refused(
      'package',
      BAD_JSON.map(([what, body]) => ({ what, method: 'PUT', path: npm('-/package/known/dist-tags/tag'), body })),
    )
  })

  it('of npm with characters that the database has not are kept without them (PK-80)', async () => {
    const odd = { description: 'a\0b\ud800c', keywords: ['\0'], dependencies: { 'x\0': '\udfff' } }
    const { status, body } = await call('PUT', npm('odd'), {}, JSON.stringify(npmDocument('odd', {}, odd)))
    expect([status, body.toString()]).toEqual([201, '{"ok":true}'])
    const shown = JSON.parse((await call('GET', npm('odd'))).body.toString()).versions['1.0.0']
    expect(shown.description).toMatch(/^a.?b.?c$/)
    const deprecated = { name: 'odd', versions: { '1.0.0': { name: 'odd', deprecated: 'old\0\ud800' } } }
    expect((await call('PUT', npm('odd'), {}, JSON.stringify(deprecated))).status).toBe(201)
    expect(JSON.parse((await call('GET', npm('odd'))).body.toString()).versions['1.0.0'].deprecated).toMatch(/^old/)
  })

  const boundary = 'roostboundary'
  const part = (name: string, value: string | Buffer, filename?: string, more = '') =>
    Buffer.concat([
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n${more}\r\n`,
      ),
      Buffer.from(value as string),
      Buffer.from('\r\n'),
    ])
  const END = Buffer.from(`--${boundary}--\r\n`)
  const form = (...parts: Buffer[]) => Buffer.concat([...parts, END])
  const content = (name = 'bad-1.0.tar.gz') => part('content', 'bytes', name)
  const fields = (more: Record<string, string> = {}) =>
    Object.entries({ name: 'bad', version: '1.0', ...more }).map(([key, value]) => part(key, value))

  it('of Python that are no form of a file are refused (PK-31, PK-80)', async () => {
    const whole = form(...fields(), content())
    const multipart = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    const bodies: [string, Buffer | string, Record<string, string>?][] = [
      ...BAD_JSON,
      ['no boundary', whole, { 'content-type': 'multipart/form-data' }],
      ['another boundary', whole, { 'content-type': 'multipart/form-data; boundary=other' }],
      ['a long boundary', whole, { 'content-type': `multipart/form-data; boundary=${'x'.repeat(5_000)}` }],
      ['a form of another kind', 'name=bad&version=1.0&content=x', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['JSON', '{"name":"bad"}', { 'content-type': 'application/json' }],
      ['no type', whole, { 'content-type': '' }],
      ...Array.from({ length: 12 }, (_, n): [string, Buffer] => [
        `a form that ends after ${n}/12`,
        whole.subarray(0, Math.floor((whole.length * n) / 12)),
      ]),
      ['a form without its last line', whole.subarray(0, -END.length)],
      ['no content', form(...fields())],
      ['no name', form(content())],
      ['content twice', form(...fields(), content(), content())],
      ['a file without a name', form(...fields(), part('content', 'bytes'))],
      ...['', '.', '..', 'a/../..', 'a b', 'x\\..\\..', 'é.tar', 'x'.repeat(300), 'a\0b'].map((name): [string, Buffer] => [
        `a file of the name ${JSON.stringify(name.slice(0, 20))}`,
        form(...fields(), content(name)),
      ]),
      ...['', '..', 'a/b', 'a\0', 'é', 'x'.repeat(300), '<a>'].flatMap((text): [string, Buffer][] => [
        [`the name ${JSON.stringify(text.slice(0, 20))}`, form(...fields({ name: text }), content())],
        [`the version ${JSON.stringify(text.slice(0, 20))}`, form(...fields({ version: text }), content())],
      ]),
      ['another SHA-256', form(...fields({ sha256_digest: '0'.repeat(64) }), content())],
      ['another MD5', form(...fields({ md5_digest: '0'.repeat(32) }), content())],
      ['a long demand', form(...fields({ requires_python: '>'.repeat(300) }), content())],
      ['a thousand parts', form(...Array.from({ length: 1_000 }, (_, n) => part(`f${n}`, 'x')), content())],
      ['a long field', form(part('x', 'x'.repeat(9_000_000)), ...fields(), content())],
      ['a part without a name', Buffer.from(`--${boundary}\r\n\r\nx\r\n--${boundary}--\r\n`)],
      ['a name with NUL', form(...fields({ 'a\0b': 'x', name: 'b\0' }), content())],
    ]
    await refused(
      'package',
      bodies.map(([what, body, more]) => ({ what, method: 'POST', path: api('pypi'), more: more ?? multipart, body })),
    )
    const odd = form(
      ...fields({ name: 'odd', requires_python: '>=3\0\ud800', summary: 'a\0b' }),
      part('ignored', Buffer.from([0xff, 0])),
      content('odd-1.0.tar.gz'),
    )
    const { status } = await call('POST', api('pypi'), multipart, odd)
    expect(status).toBe(201)
    expect((await call('GET', api('pypi/simple/odd'))).status).toBe(200)
    expect((await t.api('get', `${project.path}/packages`, project.creator)).status).toBe(200)
  })

  it('of Maven and generic packages that are too long, or are of another checksum, are refused (PK-7, PK-40, PK-80)', async () => {
    expect((await call('PUT', api('maven/org/app/1.0/app-1.0.jar'), {}, 'bytes')).status).toBe(200)
    await refused('package', [
      ...['', 'x', '0'.repeat(40), '\0', 'x'.repeat(2_000)].map((body) => ({
        what: `the checksum ${JSON.stringify(body.slice(0, 10))}`,
        method: 'PUT',
        path: api('maven/org/app/1.0/app-1.0.jar.sha1'),
        body,
      })),
      { what: 'a checksum of nothing', method: 'PUT', path: api('maven/org/app/2.0/app-2.0.jar.md5'), body: 'x' },
      ...['status=x', 'select=x', 'x=y', 'status[]=default', 'status=default&status=x', 'status=%00'].map((query) => ({
        what: query,
        method: 'PUT',
        path: api(`generic/name/1.0/file?${query}`),
        body: 'bytes',
      })),
    ])
  })

  it('with ranges that there are none of are refused or ignored (PK-5, PK-80)', async () => {
    const path = api('generic/known/1.0/file.bin')
    for (const [range, expected] of Object.entries({
      'bytes=10-20': 416,
      'bytes=5-': 416,
      'bytes=-0': 416,
      'bytes=3-1': 200,
      'bytes=a-b': 200,
      'bytes=0-0,2-3': 200,
      'lines=0-1': 200,
      'bytes=99999999999999999999-': 416,
      'bytes=0-99999999999999999999': 206,
      [`bytes=${'0-0,'.repeat(1_000)}`]: 200,
    }))
      expect([range.slice(0, 40), (await call('GET', path, { range })).status]).toEqual([range.slice(0, 40), expected])
  })
})

const INDEX = 'application/vnd.oci.image.index.v1+json'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'

describe('images', () => {
  const digest = (bytes: Buffer | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

  it('with bad manifests are refused (OCI-6, OCI-80)', async () => {
    const index = (more: object) => JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [], ...more })
    const descriptor = { mediaType: 'x', digest: digest('x'), size: 1 }
    const bodies: [string, Buffer | string, string?][] = [
      ...BAD_JSON,
      ['another version', index({ schemaVersion: 1 })],
      ['another media type', index({ mediaType: 'text/html' })],
      ['a media type that is a list', index({ mediaType: [] })],
      ['a kind with NUL', index({ artifactType: 'a\0' })],
      ['a long kind', index({ artifactType: 'a'.repeat(300) })],
      ['a subject that is none', index({ subject: { digest: 'x', size: 1 } })],
      ['a subject of another kind', index({ subject: { digest: `sha512:${'0'.repeat(128)}`, size: 1 } })],
      ['a negative size', index({ manifests: [{ ...descriptor, size: -1 }] })],
      ['a huge size', index({ manifests: [{ ...descriptor, size: 1e300 }] })],
      ['half a byte', index({ manifests: [{ ...descriptor, size: 0.5 }] })],
      ['a size that is a text', index({ manifests: [{ ...descriptor, size: '1' }] })],
      ['too many images', index({ manifests: Array.from({ length: 1_001 }, () => descriptor) })],
      ['annotations that are no texts', index({ annotations: { a: { b: 1 } } })],
      ['layers that are not there', index({ manifests: undefined, config: descriptor, layers: [descriptor, descriptor] }), MANIFEST],
      ['a layer that is null', index({ manifests: undefined, config: descriptor, layers: [null] }), MANIFEST],
      ['no configuration', index({ manifests: undefined, layers: [] }), MANIFEST],
      ['too much', index({ annotations: { a: 'x'.repeat(4_300_000) } })],
      ['the type of another', index({}), 'application/json'],
      ['no type', index({}), ''],
      ['a type with parameters that are none', index({}), `${INDEX}; charset=\0`.replace('\0', '')],
    ]
    await refused(
      'oci',
      bodies.map(([what, body, type]) => ({ what, method: 'PUT', path: oci('app/manifests/bad'), more: { 'content-type': type ?? INDEX }, body })),
    )
    await refused('oci', [
      { what: 'another digest', method: 'PUT', path: oci(`app/manifests/${digest('x')}`), more: { 'content-type': INDEX }, body: index({}) },
      ...['a:b', ':', 'sha256:', `sha256:${'A'.repeat(64)}`, `${digest('')}x`, '-x', '.x', 'x'.repeat(129)].map((reference) => ({
        what: `the reference ${reference.slice(0, 20)}`,
        method: 'PUT',
        path: oci(`app/manifests/${reference}`),
        more: { 'content-type': INDEX },
        body: index({}),
      })),
    ])
  })

  it('with huge sizes and odd annotations are kept as they are, and listed (OCI-6)', async () => {
    const config = Buffer.from('{}')
    expect((await call('POST', oci(`app/blobs/uploads/?digest=${digest(config)}`), {}, config)).status).toBe(201)
    const descriptor = { mediaType: 'x', digest: digest(config), size: Number.MAX_SAFE_INTEGER }
    const body = JSON.stringify({
      ...{ schemaVersion: 2, mediaType: MANIFEST, config: descriptor, layers: Array.from({ length: 1_000 }, () => descriptor) },
      annotations: { 'a\0': 'b\0\ud800' },
    })
    const put = await call('PUT', oci('app/manifests/huge'), { 'content-type': MANIFEST }, body)
    expect([put.status, put.body.toString()]).toEqual([201, ''])
    expect((await call('GET', oci('app/manifests/huge'))).body.toString()).toBe(body)
    const [repository] = (await t.api('get', `${project.path}/registry/repositories`, project.creator).expect(200)).body
    await t.api('get', `${project.path}/registry/repositories/${repository.id}/tags/huge`, project.creator).expect(200)
    await t.api('get', `${project.path}/registry/repositories/${repository.id}/tags`, project.creator).expect(200)
  })

  it('with pieces that do not follow each other, or do not come whole, are what they were (OCI-5, OCI-80)', async () => {
    const begun = await call('POST', oci('app/blobs/uploads/'))
    const place = String(begun.headers['location'])
    const size = async () => (await call('GET', place)).headers['range']
    expect((await call('PATCH', place, { 'content-range': '0-4' }, 'first')).status).toBe(202)
    for (const range of ['5-', '-5', 'a-b', '0-4', '6-9', 'bytes 7-9/20', '99999999999999999999-1', '5-\t4']) {
      const { status } = await call('PATCH', place, { 'content-range': range }, 'again')
      if (status !== 202) expect([range, status >= 400 && status < 500, await size()]).toEqual([range, true, '0-4'])
      else expect.fail(`${range} is taken`)
    }
    // the connection ends in the middle of a piece
    await new Promise<void>((resolve) => {
      const sent = request(t.url, { method: 'PATCH', path: place, agent: false, headers: { ...headers, 'content-length': '100000' } })
      sent.once('error', () => undefined)
      sent.once('close', () => resolve())
      sent.write(randomBytes(50_000), () => setTimeout(() => sent.destroy(), 50))
    })
    await expect.poll(size).toBe('0-4')
    const end = await call('PUT', `${place}?digest=${digest('first and last')}`, { 'content-range': '5-13' }, ' and last')
    expect(end.status).toBe(201)
    expect((await call('GET', oci(`app/blobs/${digest('first and last')}`))).body.toString()).toBe('first and last')
  })

  it('are listed in pages whatever is asked for (OCI-4, OCI-7)', async () => {
    for (const query of [
      'n=-1',
      'n=0',
      'n=1e9',
      'n=x',
      'n=1.5',
      'n[]=1',
      'n=1&n=2',
      'last=%00',
      'last=%ff',
      'last[]=a',
      `last=${'x'.repeat(3_000)}`,
      'n=99999999999999999999',
    ])
      expect([query.slice(0, 30), (await call('GET', `${oci('app/tags/list')}?${query}`)).status]).toEqual([
        query.slice(0, 30),
        expect.toSatisfy((status) => status === 200 || status === 400),
      ])
    for (const query of ['last=x', 'last=-1', 'last=1e99', 'artifactType=%00', 'artifactType[]=x', `artifactType=${'x'.repeat(3_000)}`])
      expect([query.slice(0, 30), (await call('GET', `${oci(`app/referrers/${digest('x')}`)}?${query}`)).status]).toEqual([
        query.slice(0, 30),
        expect.toSatisfy((status) => status === 200 || status === 400),
      ])
  })

  it('are mounted from what there is, otherwise uploaded (OCI-5)', async () => {
    for (const query of [
      'mount=x&from=y',
      `mount=${digest('x')}&from=..%2f..`,
      `mount=${digest('x')}&from=${'x'.repeat(3_000)}`,
      `mount=${digest('x')}`,
      'mount[]=x&from[]=y',
    ]) {
      const { status, headers: given } = await call('POST', `${oci('app/blobs/uploads/')}?${query}`)
      expect([query, status]).toEqual([query, 202])
      expect((await call('DELETE', String(given['location']))).status).toBe(204)
    }
  })

  it('have tokens for what is asked for, whatever that is (OCI-2)', async () => {
    for (const query of [
      'scope=x',
      'scope=%00',
      'scope=repository:a',
      'scope=repository::pull',
      `scope=repository:${'x/'.repeat(2_000)}:pull`,
      'scope[]=x',
      'service=%ff',
      `scope=${'repository:a/b:pull%20'.repeat(100)}`,
      `${'scope=repository:a/b:pull&'.repeat(500)}`,
      'scope=repository:a%00/b:pull',
      'scope=repository:%ed%a0%80/b:*',
    ]) {
      const { status } = await call('GET', `/jwt/auth?${query}`)
      expect([query.slice(0, 40), status === 200 || (status >= 400 && status < 500)]).toEqual([query.slice(0, 40), true])
    }
    for (const authorization of [
      'Basic',
      'Basic !',
      'Basic OjpAAAA=',
      'Bearer',
      `Bearer ${'x'.repeat(5_000)}`,
      'Bearer a.b.c',
      'Basic AAAA',
      'Digest x',
      `Basic ${Buffer.from('a:\0').toString('base64')}`,
    ])
      for (const path of ['/jwt/auth', '/v2/', oci('app/tags/list'), api('generic/known/1.0/file.bin')]) {
        const answer = await call('GET', path, { authorization })
        expect([authorization.slice(0, 30), path, answer.status]).toEqual([
          authorization.slice(0, 30),
          path,
          expect.toSatisfy((status) => status === 401 || status === 403 || status === 404),
        ])
      }
  })
})
