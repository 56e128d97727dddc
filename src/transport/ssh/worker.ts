import { createServer, type Server, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import ssh2, { type AuthContext, type ServerChannel } from 'ssh2'
import { coalesceChunks } from '../../lib/async/coalesce-chunks.js'
import { keyDigest } from '../../lib/crypto/key-digest.js'
import { findKeyId, openRequest } from './client.js'
import { commandFault, FRAME, frames } from './frames.js'
import type { SshLimits } from './limits.js'
import { type Outlet, Outlets } from './outlets.js'
import { isAccepted, verifyProof } from './verify.js'

/** Settings of the SSH thread, which reaches the service only through its socket. */
interface WorkerSettings {
  host: string
  port: number
  hostKeys: string[]
  /** The path of the service's socket. */
  socket: string
  limits: SshLimits
}

const settings = workerData as WorkerSettings
const { limits } = settings

/** The defaults of OpenSSH 9 that ssh2 supports. */
const ALGORITHMS = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group18-sha512',
    'diffie-hellman-group14-sha256',
  ],
  serverHostKey: ['ssh-ed25519', 'rsa-sha2-512', 'rsa-sha2-256'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes192-ctr', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} satisfies Record<string, string[]>

/** One SSH connection. */
class Connection {
  /** The id of the key, once logged in. */
  key: number | null = null
  protocol: string | undefined
  #attempts = 0
  #channels = 0
  readonly #keyIds = new Map<string, number | null>()
  readonly #idle: NodeJS.Timeout

  constructor(
    readonly client: ssh2.Connection,
    readonly socket: Socket,
    readonly loggedIn: () => void,
  ) {
    this.#idle = setTimeout(() => this.client.end(), limits.idle)
    socket.once('close', () => clearTimeout(this.#idle))
    client.on('error', () => {}) // close follows; client errors are not logged
    // ssh2 always offers SHA-1 for RSA host keys
    client.on('handshake', ({ serverHostKey }) => serverHostKey === 'ssh-rsa' && this.client.end())
    client.on('authentication', (auth) => {
      this.#authenticate(auth).then(
        (accepted) => (accepted ? auth.accept() : auth.reject(['publickey'])),
        () => auth.reject(['publickey']),
      )
    })
    client.on('ready', this.loggedIn)
    client.on('session', (accept, reject) => {
      if (this.#channels >= limits.channels) return void reject()
      this.#serve(accept())
    })
  }

  get busy(): boolean {
    return this.#channels > 0
  }

  async #authenticate(auth: AuthContext): Promise<boolean> {
    if (auth.method === 'none') return false
    if (++this.#attempts > limits.attempts) {
      this.client.end()
      return false
    }
    if (auth.method !== 'publickey' || auth.username !== 'git') return false
    const { algo: algorithm, data: key } = auth.key
    if (!isAccepted(algorithm, auth.hashAlgo)) return false
    const row = await this.#keyIdOf(keyDigest(key))
    if (row === null) return false
    // without a signature the client only asks whether the key is acceptable
    if (!auth.signature) return true
    if (!auth.blob || !verifyProof({ algorithm, key, text: auth.blob, signature: auth.signature, hash: auth.hashAlgo })) return false
    this.key = row
    return true
  }

  async #keyIdOf(sha256: string): Promise<number | null> {
    const known = this.#keyIds.get(sha256)
    if (known !== undefined) return known
    const row = await findKeyId(settings.socket, sha256)
    this.#keyIds.set(sha256, row)
    return row
  }

  #serve(session: ssh2.Session) {
    this.#channels++
    let protocol: string | undefined
    session.once('close', () => this.#channels--)
    session.on('env', (accept, reject, { key, val }) => {
      if (key !== 'GIT_PROTOCOL' || val.length > 256) return void reject?.()
      protocol = val
      accept?.()
    })
    session.on('shell', (accept) => void this.#run(accept(), '', protocol))
    session.on('exec', (accept, _, { command }) => void this.#run(accept(), command, protocol))
  }

  async #run(channel: ServerChannel | undefined, command: string, protocol: string | undefined) {
    if (!channel || this.key === null) return
    channel.on('error', () => {})
    const fault = commandFault(command)
    if (fault) {
      channel.stderr.write(`${fault}\n`)
      channel.exit(1)
      return void channel.end()
    }
    let code = 1
    const outlet = outlets.open()
    try {
      const { path, greeting } = outlet
      const refreshStall = { key: this.key, command, address: this.socket.remoteAddress ?? '', outlet: { path, greeting } }
      const service = await openRequest(settings.socket, { ask: 'run', ...refreshStall, ...(protocol && { protocol }) })
      channel.once('close', () => service.destroy())
      if (channel.destroyed || this.socket.destroyed) return void service.destroy()
      channel.pipe(service)
      channel.on('data', () => this.#idle.refresh())
      let forwarded: Promise<void> | undefined
      for await (const { type, content } of frames(service)) {
        if (type === FRAME.outlet) {
          forwarded = this.#forwardOutlet(outlet, channel, service)
          continue
        }
        await forwarded
        if (type === FRAME.exit) code = content[0] ?? 1
        else await this.#send(type === FRAME.out ? channel : channel.stderr, content)
      }
    } catch {
      // the service is stopping, or the connection was cut
    } finally {
      outlet.close()
    }
    if (channel.destroyed || this.socket.destroyed) return
    channel.exit(code)
    channel.end()
  }

  /** Forwards the output of git. Ends a fetch without traffic in either direction. */
  async #forwardOutlet(outlet: Outlet, channel: ServerChannel, service: Socket): Promise<void> {
    const stalled = setTimeout(() => service.destroy(), limits.stall)
    const refreshStall = () => void stalled.refresh()
    channel.on('data', refreshStall)
    service.once('close', () => outlet.close())
    try {
      for await (const chunk of coalesceChunks(await outlet.source)) {
        await this.#send(channel, chunk)
        stalled.refresh()
      }
    } catch {
      // the service is stopping, or the connection was cut
    } finally {
      clearTimeout(stalled)
      channel.off('data', refreshStall)
    }
  }

  /** Waits for the SSH window, and for the connection: ssh2 ignores its backpressure. */
  async #send(target: NodeJS.WritableStream, content: Buffer) {
    this.#idle.refresh()
    // send the 32 KiB packets in one system call
    this.socket.cork()
    const room = target.write(content)
    this.socket.uncork()
    if (!room) await firstEvent([target, 'drain'], [target, 'close'], [this.socket, 'close'])
    while (this.socket.writableLength > limits.pending && !this.socket.destroyed) await firstEvent([this.socket, 'drain'], [this.socket, 'close'])
  }
}

/** Resolves with the first of the events. */
function firstEvent(...events: [NodeJS.EventEmitter, string][]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const [emitter, event] of events) emitter.off(event, done)
      resolve()
    }
    for (const [emitter, event] of events) emitter.on(event, done)
  })
}

/** The address, or the /64 network for IPv6, where a client can use any address. */
const networkOf = (address: string) =>
  address.includes('.') || !address.includes(':') ? address.replace(/^::ffff:/, '') : address.split(':').slice(0, 4).join(':')

const connectionId = (address: string | undefined, port: number | undefined) => `${address} ${port}`

/** Of the network with most sockets the one that has waited longest: a few addresses must not keep others out (GS-11). */
function oldestOfBusiest(unauthenticated: Map<Socket, string>): Socket | undefined {
  const counts = new Map<string, number>()
  for (const [socket, network] of unauthenticated) if (!socket.destroyed) counts.set(network, (counts.get(network) ?? 0) + 1)
  const [busiest] = [...counts].reduce<[string, number]>((most, each) => (each[1] > most[1] ? each : most), ['', 0])
  for (const [socket, network] of unauthenticated) if (network === busiest && !socket.destroyed) return socket
}

/** Accepts connections within the limits, and passes them to ssh2. */
function listen(): Server {
  const sockets = new Map<string, Socket>()
  const perNetwork = new Map<string, number>()
  /** Sockets that have not logged in, with their networks, the oldest first. */
  const unauthenticated = new Map<Socket, string>()
  const connections = new Set<Connection>()
  let stopping = false
  const ssh = new ssh2.Server({
    hostKeys: settings.hostKeys,
    ident: 'Roost',
    algorithms: ALGORITHMS as ssh2.ServerConfig['algorithms'],
    keepaliveInterval: 30_000,
    keepaliveCountMax: 3,
  } as ssh2.ServerConfig)
  ssh.on('connection', (client, { ip, port }) => {
    const socket = sockets.get(connectionId(ip, port))
    if (!socket) return void client.end()
    const connection = new Connection(client, socket, () => unauthenticated.delete(socket))
    connections.add(connection)
    socket.once('close', () => {
      connections.delete(connection)
      if (stopping) stopWhenDone()
    })
  })
  const server = createServer((socket) => {
    const network = networkOf(socket.remoteAddress ?? '')
    const open = perNetwork.get(network) ?? 0
    const full = open >= limits.connectionsPerAddress || sockets.size >= limits.connections
    if (stopping || full) return void socket.destroy()
    if (unauthenticated.size >= limits.waiting) oldestOfBusiest(unauthenticated)?.destroy()
    const name = connectionId(socket.remoteAddress, socket.remotePort)
    sockets.set(name, socket)
    perNetwork.set(network, open + 1)
    unauthenticated.set(socket, network)
    const timer = setTimeout(() => unauthenticated.has(socket) && socket.destroy(), limits.login)
    socket.once('close', () => {
      clearTimeout(timer)
      sockets.delete(name)
      unauthenticated.delete(socket)
      const others = (perNetwork.get(network) ?? 1) - 1
      if (others > 0) perNetwork.set(network, others)
      else perNetwork.delete(network)
    })
    socket.setNoDelay(true)
    // a client that makes us send responses and does not read them
    socket.on('data', () => socket.writableLength > limits.pending * 4 && socket.destroy())
    ssh.injectSocket(socket)
  })
  const stopWhenDone = () => {
    if (connections.size === 0) parentPort?.postMessage({ stopped: true })
  }
  parentPort?.on('message', (message: 'listen' | 'stop') => {
    if (message === 'listen') {
      server.listen(settings.port, settings.host, 1_024, () => parentPort?.postMessage({ listening: true }))
      return
    }
    stopping = true
    server.close()
    for (const socket of unauthenticated.keys()) socket.destroy()
    for (const connection of connections) if (!connection.busy) connection.client.end()
    stopWhenDone()
  })
  return server
}

// an exception in ssh2 must not end the other connections
process.on('uncaughtException', (error) => parentPort?.postMessage({ fault: error.stack ?? String(error) }))

const outlets = await Outlets.listen(join(dirname(settings.socket), 'git'))
const server = listen()
server.on('error', (error: NodeJS.ErrnoException) => parentPort?.postMessage({ refused: error.code ?? error.message }))
