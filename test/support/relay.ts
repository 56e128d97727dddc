import { connect, createServer, type Server, type Socket } from 'node:net'

/** The socket of a test database's server. */
export const socketOf = (url: string) => `${decodeURIComponent(new URL(url).searchParams.get('host') ?? '')}/.s.PGSQL.5432`

/** The address of a test database through a relay. */
export function relayed(address: string, port: number): string {
  const url = new URL(address)
  url.search = ''
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return url.href
}

/** A relay before the database's socket that can be shut, or stop to pass anything on. */
export async function startRelay(path: string, change = (startup: Buffer): Buffer => startup) {
  let server: Server
  let port = 0
  const open = new Set<Socket>()
  let frozen = false
  const listen = () =>
    new Promise<void>((resolve) => {
      server = createServer((outside) => {
        const inside = connect(path)
        for (const [from, to] of [
          [outside, inside],
          [inside, outside],
        ] as const) {
          open.add(from)
          if (frozen) from.cork()
          if (from === outside) from.once('data', (startup: Buffer) => to.write(change(startup)) && from.pipe(to))
          else from.pipe(to)
          from.on('error', () => undefined)
          from.on('close', () => {
            open.delete(from)
            to.destroy()
          })
        }
      })
      server.listen(port, '127.0.0.1', () => {
        const address = server.address()
        if (address && typeof address === 'object') port = address.port
        resolve()
      })
    })
  await listen()
  return {
    port,
    listen,
    freeze(on: boolean) {
      frozen = on
      for (const socket of open) on ? socket.cork() : socket.uncork()
    },
    cut: () =>
      new Promise<void>((resolve) => {
        for (const socket of open) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
