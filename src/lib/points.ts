import { createSocket, type Socket } from 'node:dgram'
import { promises as dns, type LookupAddress } from 'node:dns'
import { settlesWithin } from './async/settles-within.js'

export interface Point {
  name: string
  tags: Record<string, string | number>
  /** The field `value`, or what it is called. */
  field: string
  value: number
}

/** Where points go, and how. */
export interface PointTarget {
  host: string
  port: number
  /** Points in a packet. */
  packet: number
  /** Packets that are sent at a time, each on its own socket. */
  sockets: number
  /** Milliseconds after which a packet that could not be sent is dropped. */
  timeout: number
}

/** Points that wait at most; later ones are dropped. */
const MAX_WAITING = 10_000
/** Bytes of a packet: what UDP takes to any host without being refused. */
const MAX_PACKET = 8_192
const MAX_SOCKETS = 64
/** How long points wait for a packet to become full, and how long the address of a host is kept. */
const FLUSH_MS = 1_000
const ADDRESS_MS = 10_000

/**
 * Sends points by UDP in the line protocol of InfluxDB. Nothing waits for it and nothing fails by it: what cannot be
 * sent is dropped and counted.
 */
export class PointSender {
  /** Points that were dropped. */
  dropped = 0
  #target: PointTarget | undefined
  #lines: string[] = []
  #timer: NodeJS.Timeout | undefined
  #sending = 0
  readonly #idle = { udp4: [] as Socket[], udp6: [] as Socket[] }
  #address: { host: string; until: number; found: Promise<LookupAddress> } | undefined
  #closed = false

  add(target: PointTarget, point: Point, milliseconds = Date.now()): void {
    if (this.#closed || !Number.isFinite(point.value)) return
    if (this.#lines.length >= MAX_WAITING) return void this.dropped++
    this.#target = target
    this.#lines.push(lineOf(point, milliseconds))
    if (this.#lines.length >= Math.max(1, target.packet)) this.#sendAll(false)
    else this.#timer ??= setTimeout(() => this.#sendAll(true), FLUSH_MS).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const socket of [...this.#idle.udp4.splice(0), ...this.#idle.udp6.splice(0)]) socket.close()
  }

  /** Sends packets while sockets are free; `all`: also one that is not full. */
  #sendAll(all: boolean): void {
    const target = this.#target
    if (!target || this.#closed) return
    if (all) this.#timer = undefined
    const most = Math.min(MAX_SOCKETS, Math.max(1, target.sockets))
    while (this.#sending < most && this.#lines.length >= (all ? 1 : Math.max(1, target.packet))) {
      this.#sending++
      const lines = this.#nextPacket(Math.max(1, target.packet))
      const sent = this.#send(target, lines.join('\n'))
      void settlesWithin(Math.max(1_000, target.timeout), sent)
        .then(
          async (inTime) => inTime && (await sent),
          () => false,
        )
        .catch(() => false)
        .then((done) => {
          if (!done) this.dropped += lines.length
          this.#sending--
          this.#sendAll(false)
        })
    }
    if (this.#lines.length > 0) this.#timer ??= setTimeout(() => this.#sendAll(true), FLUSH_MS).unref()
  }

  #nextPacket(points: number): string[] {
    let [count, bytes] = [0, 0]
    for (const line of this.#lines) {
      bytes += Buffer.byteLength(line) + 1
      if (count > 0 && (count === points || bytes > MAX_PACKET)) break
      count++
    }
    return this.#lines.splice(0, count)
  }

  /** Whether the packet was given to the network. */
  async #send({ host, port }: PointTarget, text: string): Promise<boolean> {
    const { address, family } = await this.#addressOf(host)
    const idle = family === 6 ? this.#idle.udp6 : this.#idle.udp4
    const socket = idle.pop() ?? openSocket(family === 6 ? 'udp6' : 'udp4')
    return new Promise((resolve) => {
      socket.send(text, port, address, (error) => {
        if (this.#closed || error) socket.close()
        else idle.push(socket)
        resolve(!error)
      })
    })
  }

  #addressOf(host: string): Promise<LookupAddress> {
    const now = Date.now()
    if (this.#address?.host !== host || this.#address.until < now)
      this.#address = { host, until: now + ADDRESS_MS, found: dns.lookup(host, { verbatim: false }) }
    return this.#address.found
  }
}

function openSocket(type: 'udp4' | 'udp6'): Socket {
  const socket = createSocket(type)
  // without a listener it would end the process
  socket.on('error', () => undefined)
  return socket.unref()
}

/** A line of the protocol. Line ends cannot be in it. */
export function lineOf({ name, tags, field, value }: Point, milliseconds: number): string {
  const labels = Object.entries(tags).flatMap(([tag, text]) => {
    const plain = String(text)
      .replace(/[\p{Cc}]+/gu, ' ')
      .slice(0, 200)
    return plain === '' ? [] : [`,${escaped(tag)}=${escaped(plain)}`]
  })
  return `${escaped(name)}${labels.join('')} ${escaped(field)}=${value} ${milliseconds}000000`
}

/** A backslash of the text itself could escape what follows it. */
const escaped = (text: string) => text.replace(/\\/g, '/').replace(/[,= ]/g, '\\$&')
