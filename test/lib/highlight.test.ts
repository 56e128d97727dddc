import { describe, expect, it } from 'vitest'
import { highlightLines } from '../../src/lib/text/highlight.js'

describe('highlighted lines', () => {
  it('close their marks at each end of a line, and escape the source', () => {
    const lines = highlightLines('/* one\ntwo <b> */\nconst a = "<i>"', 'ts')
    expect(lines).toEqual([
      '<span class="hljs-comment">/* one</span>',
      '<span class="hljs-comment">two &lt;b&gt; */</span>',
      expect.stringContaining('&quot;&lt;i&gt;&quot;'),
    ])
    for (const line of lines ?? []) expect((line.match(/<span/g) ?? []).length).toBe((line.match(/<\/span>/g) ?? []).length)
  })

  it('are none for a language that is not known', () => {
    expect(highlightLines('a', 'no such language')).toBeNull()
  })
})
