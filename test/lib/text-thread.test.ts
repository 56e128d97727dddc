import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { runAsHolder } from '../../src/lib/async/holder.js'
import { type TextLimits, type TextResult, TextThread } from '../../src/lib/text/text-thread.js'

interface Task {
  text: string
}
let thread: TextThread<Task>
let results: TextResult[] = []
afterEach(async () => {
  await thread.close()
  results = []
})

/** Answers each text with the number of texts it has got; `spin` takes for ever, `end` ends it. */
const program = (ready = "parentPort.postMessage({ thread: Number(readlinkSync('/proc/thread-self').split('/').at(-1)) })") =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { existsSync, readlinkSync, writeFileSync } from 'node:fs'
    import { parentPort } from 'node:worker_threads'
    let count = 0
    parentPort.on('message', ({ text }) => {
      if (text.startsWith('end')) process.exit()
      while (text.startsWith('spin')) count++
      parentPort.postMessage({ html: String(++count) })
    })
    ${ready}`)}`,
  )
const open = (limits: Partial<TextLimits> = {}, of = program()) => {
  thread = new TextThread(of, { budget: 100, wait: 60_000, ...limits }, (result) => results.push(result))
  return thread
}
const html = (text: string, caller?: string) =>
  caller === undefined ? thread.html(text, { text }) : runAsHolder(caller, () => thread.html(text, { text }))

it('renders a text once for all who ask for it (SEC-238, SEC-276)', async () => {
  open()
  expect(await Promise.all([html('a'), html('a'), html('b')])).toEqual(['1', '1', '2'])
  expect(await html('a')).toBe('1')
})

it('ends a text alone that takes too much, and remembers it (SEC-276)', async () => {
  open()
  const asked = ['a', 'spin', 'b', 'end', 'c'].map((text) => html(text))
  expect(await Promise.all(asked)).toEqual(['1', null, '1', null, '1'])
  expect(results).toEqual(['done', 'ended', 'done', 'ended', 'done'])
  expect(await Promise.all([html('spin', 'another'), html('end'), html('c')])).toEqual([null, null, '1'])
  expect(results).toHaveLength(5)
})

it('the budget of a text starts when the thread begins it, and no other text extends it (SEC-276)', async () => {
  open()
  const texts = Array.from({ length: 8 }, (_, n) => html(n % 2 ? `text ${n}` : `spin ${n}`))
  // new texts all the while
  let ended = false
  const flood = (async () => {
    for (let n = 0; !ended; n++) await html(`other ${n}`, `caller ${n % 4}`)
  })()
  expect(await Promise.all(texts)).toEqual(texts.map((_, n) => (n % 2 ? expect.any(String) : null)))
  ended = true
  await flood
  expect(results.filter((result) => result !== 'done')).toEqual(['ended', 'ended', 'ended', 'ended'])
})

it('gives each caller a turn, and one whose text took too much a later one (SEC-276)', async () => {
  open()
  const order: string[] = []
  const ask = async (text: string, caller: string) => {
    await html(text, caller)
    order.push(text)
  }
  await Promise.all([...[1, 2, 3].map((n) => ask(`spin ${n}`, 'one')), ...[1, 2, 3].map((n) => ask(`text ${n}`, 'other')), ask('third', 'third')])
  expect(order).toEqual(['spin 1', 'text 1', 'third', 'text 2', 'text 3', 'spin 2', 'spin 3'])
})

it('what waits too long, or with too many, has no HTML, and is not remembered (SEC-276)', async () => {
  open({ wait: 20 })
  const first = html('spin')
  expect(await html('a')).toBeNull()
  expect(results).toEqual(['refused'])
  await first
  expect(await html('a')).toBe('1')

  await thread.close()
  open()
  const many = await Promise.all(Array.from({ length: 80 }, (_, n) => html(`text ${n}`, 'one')))
  expect(many.filter((text) => text === null)).toHaveLength(15)
})

it('a thread that does not start is unhealthy, and tried again (VE-3, SEC-276)', async () => {
  open({ load: 50 }, program(''))
  expect(thread.isHealthy).toBe(true)
  expect(await html('a')).toBeNull()
  expect(thread.isHealthy).toBe(false)
  expect(await html('a')).toBeNull()
  expect(results).toEqual(['refused', 'refused'])
})

it('a thread that starts again is healthy', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'roost-thread-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const mark = JSON.stringify(join(folder, 'mark'))
  open({}, program(`if (existsSync(${mark})) parentPort.postMessage({ thread: 0 }); else process.exit(writeFileSync(${mark}, ''))`))
  expect([await html('a'), thread.isHealthy]).toEqual([null, false])
  expect([await html('a'), thread.isHealthy]).toEqual(['1', true])
})

it('what took too much is not begun again for another task about the same text (SEC-276)', async () => {
  open()
  expect(await thread.html('some lines', { text: 'spin' }, 'text')).toBeNull()
  expect(await thread.html('other lines', { text: 'spin' }, 'text')).toBeNull()
  expect(results).toEqual(['ended'])
  expect(thread.tookTooMuch('text')).toBe(true)
  expect(await thread.html('other lines', { text: 'a' }, 'another')).toBe('1')
})

it('gets ready before a text comes, and ends without one', async () => {
  open({ idle: 50 })
  thread.prepare()
  thread.prepare()
  // the thread counts its texts: what is ready has none yet
  expect(await html('a')).toBe('1')
  expect(await html('b')).toBe('2')
  await vi.waitFor(async () => expect(await html(`after ${performance.now()}`)).toBe('1'), { interval: 200, timeout: 10_000 })
})
