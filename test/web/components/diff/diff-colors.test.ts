import { describe, expect, it } from 'vitest'
import { piecesOf, runsOf } from '../../../../src/web/components/diff/diff-colors.js'

describe('the colours of a line (WB-540)', () => {
  it('are those of the innermost mark that has one, in the text that it marks', () => {
    const html = '<span class="hljs-keyword">if</span> (<span class="hljs-string">&#x27;a<span class="hljs-subst">&lt;</span>&#x27;</span>) b'
    expect(runsOf(html, "if ('a<') b")).toEqual({ runs: 'k2 2s4 3', pieces: 4 })
    expect(runsOf('<span class="hljs-title function_">f</span>', 'f')?.runs).toBe('t1')
    expect(runsOf('<span class="hljs-addition">+ a</span>', '+ a')).toBe(null)
    expect(runsOf('plain', 'plain')).toBe(null)
  })

  it('are of no other text', () => {
    expect(runsOf('<span class="hljs-keyword">if</span>', 'of')).toBe(null)
    expect(runsOf('<span class="hljs-keyword">if</span>', 'iff')).toBe(null)
    expect(runsOf('<span class="hljs-keyword">iff</span>', 'if')).toBe(null)
  })

  it('cut changed words where they change, and lose nothing', () => {
    const parts = [
      { text: 'co', changed: false },
      { text: 'nst a', changed: true },
      { text: ' = 1', changed: false },
    ]
    expect(piecesOf(parts, 'k5 5n1').map(({ pieces }) => pieces.map(({ text, color }) => color + text))).toEqual([
      ['kco'],
      ['knst', ' a'],
      [' = ', 'n1'],
    ])
  })
})
