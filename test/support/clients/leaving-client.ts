import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, type RequestOptions, request, type Server } from 'node:http'

/** Starts a call and disconnects once it has arrived; resolves when the server has noticed. */
export async function callAndLeave(server: Server, options: RequestOptions, begin = (asked: ClientRequest): unknown => asked.end()): Promise<void> {
  const arrived = once(server, 'request')
  const asked = request({ ...options, agent: false }).on('error', () => undefined)
  begin(asked)
  const [{ socket }] = (await arrived) as [IncomingMessage]
  const closed = once(socket, 'close')
  asked.destroy()
  await closed
}
