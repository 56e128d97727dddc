import { pathToFileURL } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { Slices } from '../../src/lib/async/slices.js'
import { markdownToHtml } from '../../src/lib/text/markdown.js'
import { MarkdownThread } from '../../src/lib/text/markdown-thread.js'

let thread: MarkdownThread
afterEach(() => thread.close())

it('renders what this process would (ML-14)', async () => {
  thread = new MarkdownThread(new URL('markdown.js', pathToFileURL(await build())), new Slices())
  const texts = ['# A *title*', '- a\n'.repeat(5_000), '<b>\n\nhttp://example.org']
  expect(await Promise.all(texts.map((text) => thread.html(text)))).toEqual(texts.map(markdownToHtml))
})

it('shows a text as it is that takes too long (MD-4)', async () => {
  const endless = `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => { for (;;); })
    parentPort.postMessage({ thread: 0 })`)}`
  thread = new MarkdownThread(new URL(endless), new Slices(), () => {}, { budget: 50, wait: 5_000 })
  expect(await thread.html('*a* <b>')).toBe('<pre>*a* &lt;b&gt;</pre>')
  const long = '<'.repeat(100_000)
  expect(await thread.html(long)).toBe(`<pre>${'&lt;'.repeat(100_000)}</pre>`)
})
