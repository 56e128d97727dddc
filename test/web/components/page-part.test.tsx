import { expect, it } from 'vitest'
import { Slices } from '../../../src/lib/async/slices.js'
import { PagePart, renderInParts } from '../../../src/web/components/page-part.js'

it('a page is rendered in parts, with others served in between (WB-341)', async () => {
  const busy = (n: number) => {
    const end = performance.now() + 3
    while (performance.now() < end);
    return <i>{n}</i>
  }
  const Row = ({ n }: { n: number }) => busy(n)
  const numbers = Array.from({ length: 30 }, (_, n) => n)
  let turns = 0
  let isOver = false
  const others = async () => {
    for (; !isOver; turns++) await new Promise((done) => setImmediate(done))
  }
  const counting = others()
  const pieces = await renderInParts(
    new Slices(),
    <ul>
      {numbers.map((n) => (
        <PagePart key={n}>
          <li>
            <PagePart>
              <Row n={n} />
            </PagePart>
            {'\u0001$1<b>'}
          </li>
        </PagePart>
      ))}
    </ul>,
  )
  isOver = true
  await counting
  expect(pieces.join('')).toBe(`<ul>${numbers.map((n) => `<li><i>${n}</i>\u0001$1&lt;b></li>`).join('')}</ul>`)
  expect(turns).toBeGreaterThan(20)
})
