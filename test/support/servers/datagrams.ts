import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, vi } from 'vitest'

/** A UDP socket that collects what it receives. */
export function datagrams() {
  const packets: string[] = []
  const ports = new Set<number>()
  let socket: Socket
  beforeAll(async () => {
    socket = createSocket('udp4')
    socket.on('message', (message, { port }) => {
      packets.push(message.toString('utf8'))
      ports.add(port)
    })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
  })
  afterAll(() => socket.close())
  return {
    packets,
    /** Where the packets came from. */
    ports,
    get port() {
      return (socket.address() as AddressInfo).port
    },
    lines: () => packets.flatMap((packet) => packet.split('\n')),
    /** Waits until nothing has come for a while: a sample may be on its way. */
    async silence() {
      for (let before = -1; before !== packets.length; await setTimeout(300)) before = packets.length
    },
    /** Waits for a line. */
    line: (pattern: RegExp) =>
      vi.waitFor(() => packets.flatMap((packet) => packet.split('\n')).find((line) => pattern.test(line)) ?? expect.fail(`no line ${pattern}`), {
        timeout: 10_000,
      }),
  }
}
