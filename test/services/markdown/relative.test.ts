import { describe, expect, it } from 'vitest'
import { Slices } from '../../../src/lib/async/slices.js'
import type { Highlighter } from '../../../src/lib/text/highlight/highlighter.js'
import { markdownToHtml } from '../../../src/lib/text/markdown.js'
import { withSurroundings } from '../../../src/services/markdown/relative.js'

const cpu = { slices: new Slices(), highlighter: { lines: async () => null } as unknown as Highlighter }
const rendered = (text: string) =>
  withSurroundings(cpu, markdownToHtml(text), {
    folder: 'docs/guide',
    page: (path) => `/P/-/blob/main/${path}`,
    file: (path) => `/P/-/raw/main/${path}`,
    diagrams: { plantuml: null, kroki: null },
    picture: (address) => (address.includes('shown') ? `/shown?${address}` : null),
  })

describe('relative links of a file', () => {
  it('lead to the files of its repository, from its folder or from the root, with their anchor', async () => {
    expect(await rendered('[a](b.md#c)')).toContain('href="/P/-/blob/main/docs/guide/b.md#user-content-c"')
    expect(await rendered('[a](../b%20c.md?d=e)')).toContain('href="/P/-/blob/main/docs/b c.md?d=e"')
    expect(await rendered('[a](/b.md)')).toContain('href="/P/-/blob/main/b.md"')
    expect(await rendered('![a](./b.png)')).toContain('src="/P/-/raw/main/docs/guide/b.png"')
  })

  it('keep the size of a picture, and lead to sections of the same text', async () => {
    expect(await rendered('<img width="40%" src="a.svg">')).toContain('<img loading="lazy" src="/P/-/raw/main/docs/guide/a.svg" alt="" width="40%">')
    expect(await rendered('[a](#here)')).toContain('href="#user-content-here"')
  })

  it('leave other sites, anchors and uploads alone, and never leave the repository', async () => {
    for (const url of ['https://example.org/a', 'mailto:a@example.org', '/uploads/0123/a.png', '//example.org'])
      expect(await rendered(`[a](${url})`)).toContain(`href="${url}"`)
    expect(await rendered('[a](../../../../../etc)')).toContain('href="/P/-/blob/main/etc"')
  })

  it('show pictures of other sites where they are said to be, or what stands for them (WB-460)', async () => {
    expect(await rendered('![a](https://example.org/shown?a=1&b=2 "t")')).toContain(
      '<img loading="lazy" src="/shown?https://example.org/shown?a=1&amp;b=2" alt="a" title="t">',
    )
    const html = await rendered('![build "passed"](https://example.org/badge.svg)')
    expect(html).not.toContain('<img')
    expect(html).toContain('build &quot;passed&quot;')
    expect(await rendered('<img width="9" src="https://example.org/a.svg" alt="logo"> after')).toMatch(/>logo<\/span> after<\/p>$/)
  })
})
