import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, vi } from 'vitest'

interface Sent {
  path: string
  headers: IncomingHttpHeaders
  text: string
}

interface Given {
  status?: number
  headers?: Record<string, string>
  body?: string
  /** Never answers. */
  silent?: boolean
}

/** An HTTP server for the tests of a file that keeps what it is sent as text. `answer` may be replaced. */
export function textReceiver() {
  const r = {
    url: '',
    got: [] as Sent[],
    answer: (_: Sent): Given => ({}),
    /** Waits for a request. */
    next: (holds: (sent: Sent) => boolean) => vi.waitFor(() => r.got.find(holds) ?? expect.fail('it did not come'), { timeout: 10_000 }),
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const sent = { path: request.url ?? '', headers: request.headers, text: Buffer.concat(chunks).toString('utf8') }
      r.got.push(sent)
      const { status = 200, headers = {}, body = '{}', silent } = r.answer(sent)
      if (!silent) response.writeHead(status, headers).end(body)
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
  return r
}
