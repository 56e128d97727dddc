import type { Language } from 'highlight.js'
import hljs from 'highlight.js/lib/core'
import { describe, expect, it } from 'vitest'
import { highlightLines } from '../../src/lib/text/highlight/highlight.js'
import { unescapeHtml } from '../../src/lib/text/html.js'

/** Scopes within others, parts in other languages, and such that end lines later than they begin. */
const SOURCES = {
  ts: `class A<T> extends B { /* a\n & b */ get x(): T { return \`\${c /* d */} <b>\n\${"e"}\` } }\n\n// f\n`,
  js: `const a = <p class="b">{c}</p>\nconst d = html\`<i title="e">\n\${f(/g"h/)}</i>\`\n`,
  html: '<!doctype html>\n<!-- a\nb --><script>\nconst a = "</b>"\n</script><style>\n#a > b { color: red }\n</style><p title="\n&amp;">',
  md: '# a **b**\n\n<i>\n*c*</i>\n\n```js\nd("e")\n```\n> [f](g "h")\n',
  php: '<p>\n<?php\n/** @a\n * b */\necho <<<C\n$d {$e->f}\nC;\n?>\n</p>\n',
  rb: 'def a(b = "c#{d + \'e\'}")\n  <<~F\n    g #{h}\n  F\nend\n',
  diff: '--- a\n+++ b\n@@ -1 +1 @@\n-c\n+<d>\n',
  sh: 'a=$(b "c $d") <<E\nf $g\nE\n',
}

/** Each character with the classes that it has, from without. */
function charactersOf(html: string): string[] {
  const open: string[] = []
  return Array.from(html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g), ([piece, classes]) => {
    if (classes !== undefined) open.push(classes)
    else if (piece === '</span>') open.pop()
    else return Array.from(unescapeHtml(piece), (character) => (character === '\n' ? '\n' : `${character} ${open.join(' > ')}`))
    return []
  }).flat()
}

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

  it.each(Object.entries(SOURCES))('of %s have the marks that the highlighter gives to each character', (language, source) => {
    const usual = hljs.newInstance()
    for (const name of hljs.listLanguages()) usual.registerLanguage(name, () => hljs.getLanguage(name)?.rawDefinition?.() as Language)
    const lines = highlightLines(source, language) ?? []
    expect(charactersOf(lines.join('\n'))).toEqual(charactersOf(usual.highlight(source, { language, ignoreIllegals: true }).value))
    expect(lines).toHaveLength(source.split('\n').length)
    for (const line of lines) expect(line).not.toMatch(/<span[^>]*><\/span>/)
  })

  it.each(Object.entries(SOURCES))('of %s are the same where only some are wanted', (language, source) => {
    const all = highlightLines(source, language) ?? []
    for (let line = 1; line <= all.length; line++)
      expect(highlightLines(source, language, new Set([line]))).toEqual(all.map((html, i) => (i === line - 1 ? html : '')))
  })

  it('are none where they would be too long', () => {
    expect(highlightLines('{"a":1}\n'.repeat(60_000), 'json')).toBeNull()
  })
})
