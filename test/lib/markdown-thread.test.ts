import { pathToFileURL } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { markdownToHtml } from '../../src/lib/text/markdown.js'
import { MarkdownThread } from '../../src/lib/text/markdown-thread.js'
import { Unavailable } from '../../src/lib/unavailable.js'

let thread: MarkdownThread
afterEach(() => thread.close())

/** A program that answers how many texts it has got, and ends at `end`. */
const COUNTING = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    let count = 0
    parentPort.on('message', ({ id, text }) => text === 'end' ? process.exit() : parentPort.postMessage({ id, html: String(++count) }))`)}`,
)

it('renders what this process would (ML-14)', async () => {
  thread = new MarkdownThread(new URL('markdown.js', pathToFileURL(await build())))
  const texts = ['# A *title*', '- a\n'.repeat(5_000), '<b>\n\nhttp://example.org']
  expect(await Promise.all(texts.map((text) => thread.html(text)))).toEqual(texts.map(markdownToHtml))
})

it('renders a text once for all recipients of a mail (SEC-238)', async () => {
  thread = new MarkdownThread(COUNTING)
  expect(await Promise.all([thread.html('a'), thread.html('a'), thread.html('b')])).toEqual(['1', '1', '2'])
  expect(await thread.html('a')).toBe('1')
})

it('refuses waiting texts when its thread ends, and too many of them, and continues afterwards (SEC-238)', async () => {
  thread = new MarkdownThread(COUNTING)
  await expect(Promise.all([thread.html('end'), thread.html('a')])).rejects.toThrow(Unavailable)
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => thread.html(`text ${n}`)))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(32)
  expect(await thread.html('last')).toBe('33')
})
