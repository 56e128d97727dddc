import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BadTarget } from '../../../src/lib/ssrf-guard.js'
import { ExternalPictures } from '../../../src/services/core/external-pictures.js'
import { localServer } from '../../support/servers/local-server.js'

const server = localServer((request, response) => {
  const port = request.socket.localPort
  if (request.url === '/led') response.writeHead(302, { location: `http://user:secret@inner.test:${port}/picture` }).end()
  else response.writeHead(200, { 'content-type': 'image/png' }).end(request.headers.authorization ?? 'none')
})
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pictures-'))
})
afterAll(() => rm(folder, { recursive: true }))

const opened = async (path: string, local: string) => {
  const resolve = async (host: string) => {
    if (host === local) throw new BadTarget('is local')
    return [{ address: '127.0.0.1', family: 4 }]
  }
  const rules = { protocols: ['http:'], allowLocal: true, resolve }
  const pictures = new ExternalPictures(join(folder, local), 1, { log: pino({ level: 'silent' }), now: () => new Date(), rules })
  const signal = new AbortController().signal
  const picture = await pictures.open(`http://outer.test:${new URL(server.url).port}${path}`, { holder: 'a', signal })
  const text = picture && Buffer.concat(await picture.stream.toArray()).toString()
  await pictures.close()
  return text
}

it('each address that leads to a picture is checked and connected to as checked, without credentials (WB-463, SEC-139)', async () => {
  expect(await opened('/led', 'none.test')).toBe('none')
  expect(await opened('/picture', 'inner.test')).toBe('none')
  expect(await opened('/led', 'inner.test')).toBe(null)
  expect(await opened('/picture', 'outer.test')).toBe(null)
})
