import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'

/** A request that the receiver got. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads
  body: any
}

/** The response of the receiver, or what it does with the connection instead. */
export interface Reply {
  status?: number
  headers?: Record<string, string>
  body?: string
  /** Delay of the response in milliseconds. */
  after?: number
  /** Closes the connection without a response. */
  hangUp?: boolean
}

export interface Receiver {
  url: string
  got: Received[]
  /** The requests to a path so far. */
  at(path: string): Received[]
  /** Waits for the first request to a path for which the condition holds. */
  next(path: string, holds?: (received: Received) => boolean): Promise<Received>
  /** Sets the response to requests to a path from now on. */
  reply(path: string, reply: Reply | ((received: Received) => Promise<Reply> | Reply)): void
}

/** An HTTP server that records requests, for the tests of a file. `next` awaits `before` first. */
export function receiver(before: () => Promise<void> = async () => {}): Receiver {
  const replies = new Map<string, Parameters<Receiver['reply']>[1]>()
  const waiting = new Set<() => void>()
  const r = { got: [] as Received[] } as Receiver
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const received = { path: request.url ?? '', headers: request.headers, body: text === '' ? null : JSON.parse(text) }
      r.got.push(received)
      for (const look of waiting) look()
      const given = replies.get(received.path) ?? {}
      const { status = 200, headers = {}, body = 'ok', after = 0, hangUp } = typeof given === 'function' ? await given(received) : given
      if (hangUp) return void request.socket.destroy()
      const answer = () => response.writeHead(status, headers).end(body)
      if (after > 0) setTimeout(answer, after).unref()
      else answer()
    })
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    r.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  r.at = (path) => r.got.filter((received) => received.path === path)
  r.next = async (path, holds = () => true) => {
    await before()
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = r.at(path).find(holds)
        if (!found) return
        clearTimeout(late)
        waiting.delete(look)
        resolve(found)
      }
      const late = setTimeout(() => {
        waiting.delete(look)
        const received = r.at(path).map(({ headers, body }) => `${headers['x-gitlab-event']} ${JSON.stringify(body).slice(0, 300)}`)
        reject(new Error(`nothing like that came to ${path}, only:\n${received.join('\n')}`))
      }, 15_000)
      waiting.add(look)
      look()
    })
  }
  r.reply = (path, reply) => void replies.set(path, reply)
  return r
}
