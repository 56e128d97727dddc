import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createSocketServer } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { checkTarget, fetchHeaders, isPublicAddress } from '../../src/lib/ssrf-guard.js'

const PROTOCOLS = ['http:', 'https:', 'git:']
const resolveTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
const check = (url: string, addresses = ['93.184.216.34'], allowLocal = false) =>
  checkTarget(url, { protocols: PROTOCOLS, allowLocal, resolve: resolveTo(...addresses) })

const servers: { close(): unknown }[] = []
afterAll(() => {
  for (const server of servers) server.close()
})
const listening = async <T extends Server | ReturnType<typeof createSocketServer>>(server: T) => {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

describe('addresses (SEC-138)', () => {
  it.each(['93.184.216.34', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:2800:220:1:248:1893:25c8:1946', '2a00:1450:4001:80b::200e'])(
    '%s is open',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )

  it.each([
    ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
    ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
    ['link-local and metadata', '169.254.169.254', '169.254.0.1', 'fe80::1', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
    ['multicast and broadcast', '224.0.0.1', '239.255.255.250', '255.255.255.255', 'ff02::1'],
    ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
    [
      'shared, reserved and documentation',
      '100.64.0.1',
      '192.0.2.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '240.0.0.1',
      '2001:db8::1',
      'fec0::1',
      '4000::1',
    ],
    ['IPv4 in IPv6', '::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001:0:7f00:1::', '::ffff:0:127.0.0.1'],
    ['no address', '', 'localhost', '1.2.3', '1.2.3.4.5', 'fe80::1%eth0'],
  ])('%s is closed', (_, ...addresses) => {
    for (const address of addresses) expect([address, isPublicAddress(address)]).toEqual([address, false])
  })
})

describe('URLs (SEC-64, SEC-138, SEC-139)', () => {
  it('returns the URL without credentials, the credentials, and the addresses that were checked', async () => {
    const target = await check('https://ada:p%40ss@example.org:8443/a/b.git#part', ['93.184.216.34', '2606:2800:220:1::1'])
    expect(target.url.href).toBe('https://example.org:8443/a/b.git')
    expect(target.credentials).toEqual({ user: 'ada', password: 'p@ss' })
    expect(target.addresses.map(({ address }) => address)).toEqual(['93.184.216.34', '2606:2800:220:1::1'])
  })

  it.each([
    ['decimal', 'http://2130706433/'],
    ['octal', 'http://0177.0.0.1/'],
    ['hexadecimal', 'http://0x7f.0.0.1/'],
    ['hexadecimal, whole', 'http://0x7f000001/'],
    ['short', 'http://127.1/'],
    ['decimal, for git', 'git://2130706433/a'],
    ['octal, for git', 'git://0177.0.0.1/a'],
    ['short, for git', 'git://127.1/a'],
    ['full-width digits', 'http://１２７.0.0.1/'],
    ['mapped', 'http://[::ffff:127.0.0.1]/'],
    ['mapped, for git', 'git://[::ffff:7f00:1]/a'],
    ['plain', 'http://127.0.0.1:22/'],
    ['metadata', 'http://169.254.169.254/latest'],
    ['with a user', 'http://example.org@127.0.0.1/'],
    ['with a dot at the end', 'http://127.0.0.1./'],
    ['any', 'http://0.0.0.0/'],
    ['IPv6', 'http://[::1]/'],
  ])('refuses this machine and its network, spelled %s', async (_, url) => {
    await expect(check(url)).rejects.toThrow('is blocked: requests to the local network are not allowed')
    await expect(check(url, [], true)).resolves.toBeDefined()
  })

  it('refuses a name of which one address is closed', async () => {
    await expect(check('http://example.org/', ['93.184.216.34', '10.0.0.1'])).rejects.toThrow('is blocked')
    await expect(check('git://example.org/', ['::1'])).rejects.toThrow('is blocked')
    await expect(check('http://example.org/', [])).rejects.toThrow('names a host that cannot be found')
  })

  it.each([
    'ftp://example.org/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/plain,x',
    'ssh://git@example.org/a',
    'ext::sh -c id',
    '//example.org/a',
    'example.org/a',
    '',
    'http://',
    'http:///a',
    'http://exa mple.org/',
    'http://example.org/\r\nX: y',
    'http://example.org/\u0000',
    'http:\\\\127.0.0.1\\',
    'http://user:%0d%0ax@example.org/',
    'http://user:%ff@example.org/',
    `git://${'a'.repeat(300)}/`,
    'git://a%00b/',
    '--upload-pack=x',
  ])('refuses %j', async (url) => {
    await expect(check(url)).rejects.toMatchObject({ name: 'BadTarget' })
  })
})

describe('calls (SEC-138 to SEC-140)', () => {
  it('go to the address that was checked, with the name in the Host header, and follow nothing', async () => {
    const seen: (string | undefined)[] = []
    const port = await listening(
      createServer((request, response) => {
        seen.push(request.headers.host)
        response.writeHead(302, { location: 'http://elsewhere.test/' }).end('x')
      }),
    )
    const target = await check(`http://no-such-name.test:${port}/a`, ['127.0.0.1'], true)
    const answer = await fetchHeaders(target)
    expect(answer).toMatchObject({ status: 302, headers: { location: 'http://elsewhere.test/' } })
    expect(seen).toEqual([`no-such-name.test:${port}`])
  })

  it('use no proxy of the environment', async () => {
    let proxied = 0
    const proxy = await listening(createServer((_, response) => response.end(String(proxied++))))
    const port = await listening(createServer((_, response) => response.writeHead(204).end()))
    const before = { ...process.env }
    Object.assign(process.env, { http_proxy: `http://127.0.0.1:${proxy}`, HTTP_PROXY: `http://127.0.0.1:${proxy}`, NODE_USE_ENV_PROXY: '1' })
    try {
      expect(await fetchHeaders(await check(`http://127.0.0.1:${port}/`, [], true))).toMatchObject({ status: 204 })
    } finally {
      for (const name of ['http_proxy', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY']) delete process.env[name]
      Object.assign(process.env, before)
    }
    expect(proxied).toBe(0)
  })

  it('end when the answer is late, endless or has too many headers', async () => {
    const silent = await listening(createSocketServer(() => undefined))
    await expect(fetchHeaders(await check(`http://127.0.0.1:${silent}/`, [], true), { responseTimeout: 100 })).rejects.toThrow(
      'does not answer in time',
    )
    const endless = await listening(
      createSocketServer((socket) => {
        socket.on('error', () => undefined)
        socket.write('HTTP/1.1 200 OK\r\n')
        const more = setInterval(() => socket.write(`X-${Math.random()}: ${'x'.repeat(1_000)}\r\n`), 1)
        socket.on('close', () => clearInterval(more))
      }),
    )
    await expect(fetchHeaders(await check(`http://127.0.0.1:${endless}/`, [], true))).rejects.toMatchObject({ code: 'HPE_HEADER_OVERFLOW' })
    const body = await listening(
      createSocketServer((socket) => {
        socket.on('error', () => undefined)
        socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n')
        const more = setInterval(() => socket.write(Buffer.alloc(65_536)), 1)
        socket.on('close', () => clearInterval(more))
      }),
    )
    expect(await fetchHeaders(await check(`http://127.0.0.1:${body}/`, [], true))).toMatchObject({ status: 200 })
  })
})
