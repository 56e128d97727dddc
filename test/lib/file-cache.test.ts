import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FileCache } from '../../src/lib/files/file-cache.js'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'roost-kept-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** Two pieces with a pause, that ends late when it is aborted, as git does. */
const slowly = async (signal: AbortSignal) =>
  Readable.from(
    (async function* () {
      yield Buffer.alloc(100_000, 'a')
      await sleep(50)
      if (signal.aborted) {
        await sleep(50)
        throw signal.reason
      }
      yield Buffer.alloc(100_000, 'b')
    })(),
  )

it('a reader right after the last one has left gets the whole file (RE-13)', async () => {
  const files = new FileCache(root, 100_000_000, 1)
  const never = new AbortController().signal
  const first = await files.read('1/x', slowly, never)
  await new Promise((resolve) => first.stream.once('data', resolve))
  first.stream.destroy()
  await new Promise((resolve) => first.stream.once('close', resolve))
  const second = await files.read('1/x', slowly, never)
  expect((await buffer(second.stream)).length).toBe(200_000)
  const third = await files.read('1/x', slowly, never)
  expect(third.size).toBe(200_000)
  third.stream.destroy()
  await files.close()
  expect(await readdir(join(root, 'incoming'))).toEqual([])
})
