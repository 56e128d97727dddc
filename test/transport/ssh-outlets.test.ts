import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { firstLine } from '../../src/transport/ssh/frames.js'
import { type Outlet, Outlets } from '../../src/transport/ssh/outlets.js'

const folder = mkdtempSync(join(tmpdir(), 'outlets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let outlets: Outlets
beforeAll(async () => {
  outlets = await Outlets.listen(join(folder, 'socket'))
})

const write = (text: string) =>
  connect(join(folder, 'socket'))
    .on('error', () => {})
    .end(text)
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve))
const read = async (outlet: Outlet) => Buffer.concat(await (await outlet.source).toArray()).toString()

it('passes on what is written after the greeting, separately', async () => {
  const [one, other] = [outlets.open(), outlets.open()]
  write(`${other.greeting}for the other`)
  write(`${one.greeting}for the one`)
  expect([await read(one), await read(other)]).toEqual(['for the one', 'for the other'])
})

it('takes a greeting once, and none that is unknown, too long, or of an outlet that was closed', async () => {
  const outlet = outlets.open()
  const shut = outlets.open()
  shut.close()
  await expect(shut.source).rejects.toThrow('closed')
  write(`${outlet.greeting}first`)
  expect(await read(outlet)).toBe('first')
  for (const text of [`${outlet.greeting}second`, `${shut.greeting}late`, 'guessed\n', 'x'.repeat(100_000), '']) await closed(write(text))
})

it('one that is closed closes its connection', async () => {
  const outlet = outlets.open()
  const socket = connect(join(folder, 'socket'))
  socket.on('error', () => {}).write(outlet.greeting)
  await outlet.source
  outlet.close()
  await closed(socket.resume())
})

it('nothing is waited for on a connection that has closed', async () => {
  const socket = new Socket().destroy()
  await once(socket, 'close')
  expect(await firstLine(socket, 10)).toBeNull()
})
