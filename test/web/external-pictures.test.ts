import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { proxyPath } from '../../src/services/core/external-pictures.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject, aUser, setSettings, unique } from '../support/factories.js'
import { localServer } from '../support/servers/local-server.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const guarded = testApp()

const BADGE = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20"><style>text{fill:red}</style><text>passing</text></svg>'
type Given = { status?: number; headers?: Record<string, string>; body?: string | Buffer } | 'hang up'
const answers = new Map<string, Given>()
const asked: { path: string; headers: object }[] = []
const foreign = localServer((request, response) => {
  const path = request.url ?? ''
  asked.push({ path, headers: request.headers })
  const given = answers.get(path) ?? { status: 404 }
  if (given === 'hang up') return void request.socket.destroy()
  response.writeHead(given.status ?? 200, given.headers ?? { 'content-type': 'image/svg+xml; charset=utf-8' }).end(given.body ?? BADGE)
})
const times = (path: string) => asked.filter((each) => each.path === path).length

/** The address of a new picture of the other server. */
function aPicture(given: Given = {}, path = `/${unique()}.svg`): string {
  answers.set(path, given)
  return foreign.url + path
}
const pathOf = (address: string) => new URL(address).pathname
const proxied = (address: string, headers: Record<string, string> = {}, on = t) => fetch(on.url + proxyPath(on.ctx, address), { headers })

afterEach(() => setSettings(t.ctx, { external_images: 'proxy', external_image_hosts: [] }))

describe('a picture of another site', () => {
  it('goes through the service in files, texts, wikis and previews, and the API keeps its address (WB-460)', async () => {
    const owner = await aUser(t.ctx)
    const address = `${aPicture()}?a=1&b=2`
    const text = `# Hello\n\n[![build](${address})](https://example.org) <img src="${address}" alt="two" width="90">\n`
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'README.md': text } })
    await t.api('post', `${project.path}/wikis`, owner).send({ title: 'home', content: text }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'Broken', description: text }).expect(201)
    await t.api('post', `${project.path}/issues/1/notes`, owner).send({ body: text }).expect(201)
    await t.api('post', `${project.path}/releases`, owner).send({ tag_name: 'v1', ref: 'main', description: text }).expect(201)
    const src = proxyPath(t.ctx, address)
    const browser = new TestBrowser(t.url)
    await browser.signIn(owner)
    for (const [path, pictures] of [
      ['', 2],
      ['/-/blob/main/README.md', 2],
      ['/-/wikis/home', 2],
      ['/-/issues/1', 4],
      ['/-/releases/v1', 2],
    ] as const) {
      const { $, headers } = await browser.open(`/${project.fullPath}${path}`)
      expect([path, ...$('.prose img').map((_, each) => $(each).attr('src'))]).toEqual([path, ...Array(pictures).fill(src)])
      expect(headers.get('content-security-policy')).toContain("img-src 'self';")
    }
    expect((await t.api('post', '/markdown', owner).send({ text }).expect(201)).body.html).toContain(`src="${address.replace('&', '&amp;')}"`)
  })

  it('of this service itself is where it is (WB-460)', async () => {
    const files = { 'README.md': `![](${t.ctx.links.base}/a/b/badges/main/pipeline.svg?x=1)` }
    const project = await aProject(t.ctx, { visibility: 'public', files })
    const { $ } = await new TestBrowser(t.url).open(`/${project.fullPath}`)
    expect($('.prose img').attr('src')).toBe('/a/b/badges/main/pipeline.svg?x=1')
  })

  it('is served to anybody, sandboxed, without a cookie, and its server learns nothing of the reader (WB-461)', async () => {
    const address = aPicture({ headers: { 'content-type': 'image/svg+xml', 'set-cookie': 'a=b', link: '<x>' } })
    const answer = await proxied(address, { cookie: 'session=1', referer: 'http://roost.test/secret', authorization: 'Bearer x', 'user-agent': 'me' })
    expect([answer.status, await answer.text()]).toEqual([200, BADGE])
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/svg+xml',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'public, max-age=600',
    })
    for (const name of ['set-cookie', 'link']) expect(answer.headers.get(name)).toBe(null)
    const { headers } = asked.find(({ path }) => path === pathOf(address)) ?? expect.fail('nothing was asked for')
    expect(headers).toEqual({
      accept: 'image/*',
      'accept-encoding': 'identity',
      'user-agent': 'roost',
      host: new URL(address).host,
      connection: 'close',
    })
  })

  it('is fetched only for an address that this service has signed (WB-461)', async () => {
    const [one, other] = [aPicture(), aPicture()].map((address) => proxyPath(t.ctx, address)?.split('/') ?? [])
    for (const path of [
      `/-/camo/${one?.[3]}/${other?.[4]}`,
      `/-/camo/x/${one?.[4]}`,
      `/-/camo/${proxyPath(guarded.ctx, aPicture())?.slice('/-/camo/'.length)}`,
    ]) {
      const answer = await fetch(t.url + path, { redirect: 'manual', headers: { accept: 'text/html' } })
      expect([path, answer.status]).toEqual([path, 404])
    }
  })

  it('is a picture of at most 5 MiB; all else is 404 for a minute (WB-462)', async () => {
    const png = { 'content-type': 'image/png' }
    const refused: Given[] = [
      { headers: { 'content-type': 'text/html' } },
      { headers: {} },
      { headers: { 'content-type': 'image/svg+xml-and-more' } },
      { headers: { ...png, 'content-encoding': 'gzip' } },
      { headers: png, body: Buffer.alloc(5 * 1024 * 1024 + 1) },
      { headers: png, body: '' },
      { status: 500 },
      { status: 404 },
      { status: 302, headers: {} },
      'hang up',
    ]
    for (const given of refused) {
      const address = aPicture(given)
      const [first, second] = [await proxied(address), await proxied(address, { accept: 'text/html' })]
      expect([given, first.status, second.status, times(pathOf(address))]).toEqual([given, 404, 404, 1])
      expect([first.headers.get('cache-control'), await first.text()]).toEqual(['public, max-age=60', '404 Not Found\n'])
    }
    const largest = Buffer.alloc(5 * 1024 * 1024, 'a')
    const answer = await proxied(aPicture({ headers: { 'content-type': 'IMAGE/PNG' }, body: largest }))
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(Buffer.from(await answer.arrayBuffer()).equals(largest)).toBe(true)
  })

  it('is found by up to three redirects (WB-463)', async () => {
    const to = (address: string) => aPicture({ status: 302, headers: { location: address } })
    const third = to(pathOf(to(to(aPicture()))))
    expect((await proxied(third)).status).toBe(200)
    expect((await proxied(to(third))).status).toBe(404)
    for (const address of ['file:///etc/passwd', 'http://', 'data:image/png,x']) expect((await proxied(to(address))).status).toBe(404)
  })

  it('is not fetched from the local network (WB-463)', async () => {
    const address = aPicture()
    expect((await proxied(address, {}, guarded)).status).toBe(404)
    expect(times(pathOf(address))).toBe(0)
  })

  it('is fetched once for all readers, and shown on when its server is gone (WB-464)', async () => {
    const address = aPicture()
    const path = pathOf(address)
    const texts = await Promise.all(Array.from({ length: 20 }, async () => (await proxied(address)).text()))
    expect([new Set(texts), times(path)]).toEqual([new Set([BADGE]), 1])
    const kept = await proxied(address)
    expect([await kept.text(), kept.headers.get('content-length'), times(path)]).toEqual([BADGE, String(BADGE.length), 1])
    // an hour later
    const root = join(t.dataDir, 'pictures')
    await rm(join(root, 'incoming'), { recursive: true })
    const age = async () => {
      for (const folder of await readdir(root))
        for (const period of await readdir(join(root, folder))) await rename(join(root, folder, period), join(root, folder, `${Number(period) - 1}`))
    }
    await age()
    answers.set(path, 'hang up')
    const old = await proxied(address)
    expect([old.status, old.headers.get('content-type'), await old.text(), times(path)]).toEqual([200, 'image/svg+xml', BADGE, 2])
    expect([await (await proxied(address)).text(), times(path)]).toEqual([BADGE, 2])
    await rm(join(root, 'incoming'), { recursive: true })
    await age()
    answers.set(path, { body: '<svg>new</svg>' })
    expect([await (await proxied(address)).text(), times(path)]).toEqual(['<svg>new</svg>', 3])
  })
})

describe('external_images', () => {
  const HOSTS = ['IMG.example.org', '*.example.net', 'example.com:8080']
  const SHOWN = ['https://img.example.org/a.png', 'http://a.b.example.net/b.png', 'https://example.com:8080/c.png', '//img.example.org/d.png']
  const TEXT = [...SHOWN, 'https://example.org/e.png', 'https://example.net/f.png', 'https://aexample.net/g.png', 'https://example.com/h.png']
    .map((address) => `![${address.slice(-5)}](${address})\n`)
    .join('\n')

  it('shows pictures of some hosts by themselves, which the policy of pages then allows, or none (WB-465)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { 'README.md': TEXT } })
    const open = async (settings: Parameters<typeof setSettings>[1]) => {
      await setSettings(t.ctx, settings)
      const { $, headers } = await new TestBrowser(t.url).open(`/${project.fullPath}`)
      const addresses = $('.prose img').map((_, each) => $(each).attr('src'))
      return [addresses.toArray(), $('.prose .elsewhere').length, /img-src ([^;]*);/.exec(headers.get('content-security-policy') ?? '')?.[1]]
    }
    const direct = await open({ external_images: 'direct', external_image_hosts: HOSTS })
    expect(direct).toEqual([SHOWN.map((address) => address.replace(/^\/\//, 'https://')), 4, `'self' ${HOSTS.join(' ')}`])
    expect(await open({ external_images: 'off' })).toEqual([[], 8, "'self'"])
    expect(await open({ external_images: 'proxy' })).toEqual([expect.arrayContaining([expect.stringMatching(/^\/-\/camo\//)]), 0, "'self'"])
    const address = aPicture()
    for (const external_images of ['off', 'direct'] as const) {
      await setSettings(t.ctx, { external_images })
      expect((await proxied(address)).status).toBe(404)
    }
  })
})

describe('asset_proxy_allowlist', () => {
  it('leaves hosts of asset_proxy_allowlist to browsers, also with the proxy (RX-31)', async () => {
    const address = 'https://img.example.org/a.png'
    const files = { 'README.md': `![a](${address}) ![b](https://example.org/b.png)` }
    const project = await aProject(t.ctx, { visibility: 'public', files })
    const put = await t
      .api('put', '/application/settings', await anAdmin(t.ctx))
      .send({ asset_proxy_allowlist: ['*.example.org'] })
      .expect(200)
    const hosts = ['*.example.org', new URL(t.ctx.links.base).hostname]
    expect(put.body.asset_proxy_allowlist).toEqual(hosts)
    const shown = async () => {
      const { $, headers } = await new TestBrowser(t.url).open(`/${project.fullPath}`)
      const addresses = $('.prose img').map((_, each) => $(each).attr('src'))
      return [addresses.toArray(), /img-src ([^;]*);/.exec(headers.get('content-security-policy') ?? '')?.[1]]
    }
    expect(await shown()).toEqual([[address, expect.stringMatching(/^\/-\/camo\//)], `'self' ${hosts.join(' ')}`])
    await setSettings(t.ctx, { external_images: 'off' })
    expect(await shown()).toEqual([[], "'self'"])
    await setSettings(t.ctx, { asset_proxy_allowlist: [] })
  })
})

describe('an SVG of a repository', () => {
  it('is drawn in texts and on its own page, with its source beside (WB-466)', async () => {
    const files = { 'a.svg': BADGE, 'README.md': '![logo](a.svg)' }
    const project = await aProject(t.ctx, { visibility: 'public', files })
    const at = `/${project.fullPath}/-`
    const browser = new TestBrowser(t.url)
    const src = (await browser.open(`/${project.fullPath}`)).$('.prose img').attr('src')
    expect(src).toBe(`${at}/raw/main/a.svg`)
    const raw = await fetch(t.url + src)
    expect([raw.status, await raw.text()]).toEqual([200, BADGE])
    expect(Object.fromEntries(raw.headers)).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-disposition': 'inline',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    })
    const { $ } = await browser.open(`${at}/blob/main/a.svg`)
    expect([$('.picture img').attr('src'), $('.lines').length]).toEqual([src, 0])
    const source = await browser.follow('Source')
    expect([source.at, source.$('.picture').length, source.$('.lines .code').text()]).toEqual([`${at}/blob/main/a.svg?plain=1`, 0, BADGE])
    expect((await browser.follow('Rendered')).at).toBe(`${at}/blob/main/a.svg`)
  })
})
