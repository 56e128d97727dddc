import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcp } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { NoAnswer, type PostOptions, post } from '../../src/lib/outgoing-post.js'
import { checkTarget } from '../../src/lib/ssrf-guard.js'

const servers: { close(): unknown }[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

async function listening(server: Server | ReturnType<typeof createTcp>): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const local = { protocols: ['http:', 'https:'], allowLocal: true }
const send = async (url: string, more: Partial<PostOptions> = {}) =>
  post(await checkTarget(url, local), { headers: { 'X-Test': 'yes' }, body: '{"a":"ä"}', verify: true, ...more })

describe('post', () => {
  it('sends body, headers and credentials, and returns status, headers and text of the answer', async () => {
    const got: unknown[] = []
    const port = await listening(
      createServer((request, response) => {
        request
          .setEncoding('utf8')
          .on('data', (text) => got.push(request.method, request.url, request.headers['x-test'], request.headers.authorization, text))
        request.on('end', () => response.writeHead(202, { 'x-answer': 'a' }).end('fine'))
      }),
    )
    expect(await send(`http://me:pw@127.0.0.1:${port}/hook?x=1`)).toMatchObject({ status: 202, headers: { 'x-answer': 'a' }, body: 'fine' })
    expect(got).toEqual(['POST', '/hook?x=1', 'yes', `Basic ${Buffer.from('me:pw').toString('base64')}`, '{"a":"ä"}'])
  })

  it('connects to the address that was checked, whatever the name means a moment later (SEC-138)', async () => {
    const port = await listening(createServer((_, response) => response.end('the checked one')))
    const target = await checkTarget(`http://rebound.test:${port}/`, { ...local, resolve: async () => [{ address: '127.0.0.1', family: 4 }] })
    expect(await post(target, { headers: {}, body: '', verify: true })).toMatchObject({ body: 'the checked one' })
  })

  it('follows no redirect (HK-13)', async () => {
    let asked = 0
    const port = await listening(
      createServer((_, response) => {
        asked++
        response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end()
      }),
    )
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 307 })
    expect(asked).toBe(1)
  })

  it('reads 64 KiB of an endless answer (SEC-140)', async () => {
    const port = await listening(
      createServer((_, response) => {
        response.writeHead(200)
        const more = () => response.write('x'.repeat(8_192)) && setImmediate(more)
        response.on('drain', more)
        more()
      }),
    )
    const { status, body } = await send(`http://127.0.0.1:${port}/`)
    expect([status, body.length]).toEqual([200, 64 * 1024])
  })

  it('uses the received part of an answer that does not end in time (SEC-140)', async () => {
    const port = await listening(createServer((_, response) => response.writeHead(200).write('begun')))
    expect(await send(`http://127.0.0.1:${port}/`, { timeout: 300 })).toMatchObject({ status: 200, body: 'begun' })
  })

  it.each([
    [
      'no listener',
      'the connection was refused',
      async () => {
        const server = createTcp()
        const port = await listening(server)
        await new Promise((resolve) => server.close(resolve))
        return port
      },
    ],
    ['the connection is closed', 'the connection was closed without an answer', () => listening(createTcp((socket) => socket.destroy()))],
    ['nothing is said', 'no answer in time', () => listening(createTcp((socket) => socket.on('error', () => undefined)))],
    ['it is not HTTP', 'the answer is not HTTP', () => listening(createTcp((socket) => socket.end('SSH-2.0-x\r\n\r\n')))],
  ])('says why there is no answer: %s', async (_, message, open) => {
    const port = await open()
    const failure = await send(`http://127.0.0.1:${port}/`, { timeout: 500 }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(NoAnswer)
    expect((failure as Error).message).toBe(message)
  })
})
