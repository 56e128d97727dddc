import { h } from 'preact'
import { expect, it } from 'vitest'
import { Slices } from '../../src/lib/async/slices.js'
import { PagePart, renderInParts } from '../../src/web/page-part.js'

function Slow({ n }: { n: number }) {
  const end = performance.now() + 3
  while (performance.now() < end);
  return h('i', null, n)
}

it('a page is rendered in parts, with others served in between (WB-341)', async () => {
  const numbers = Array.from({ length: 30 }, (_, n) => n)
  let turns = 0
  let isOver = false
  const others = async () => {
    for (; !isOver; turns++) await new Promise((done) => setImmediate(done))
  }
  const counting = others()
  const row = (n: number) => h('li', null, h(PagePart, null, h(Slow, { n })), '\u0001$1<b>')
  const { bytes } = await renderInParts(new Slices(), h('ul', null, ...numbers.map((n) => h(PagePart, null, row(n)))))
  isOver = true
  await counting
  expect(bytes.toString()).toBe(`<ul>${numbers.map((n) => `<li><i>${n}</i>\u0001$1&lt;b></li>`).join('')}</ul>`)
  expect(turns).toBeGreaterThan(20)
})
