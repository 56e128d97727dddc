import { load } from 'cheerio'
import { describe, expect, it } from 'vitest'
import { renderMarkdown } from '../../../src/lib/text/markdown.js'
import { mathml } from '../../../src/lib/text/math.js'

const rendered = (text: string) => load(renderMarkdown(text, { mathOf: mathml }))
/** The sources of the formulas, in order, and whether each stands on a separate line. */
const formulas = (text: string) => {
  const $ = rendered(text)
  return $('math')
    .toArray()
    .map((math) => [$(math).find('annotation').text(), $(math).attr('display') === 'block'])
}

describe('formulas (MD-22)', () => {
  it('are MathML in all four notations, in paragraphs, cells, lists, quotes, headings and footnotes', () => {
    expect(formulas('a $x^2$, $`a_b*c*`$ and $$y$$')).toEqual([
      ['x^2', false],
      ['a_b*c*', false],
      ['y', true],
    ])
    expect(formulas('$$\nx = 1\n- y\n\n+ z\n$$\n\n```math\na < b\n```\n\n$$c$$')).toEqual([
      ['x = 1\n- y\n\n+ z', true],
      ['a < b', true],
      ['c', true],
    ])
    expect(formulas('# $a$\n\n| $b$ |\n|---|\n| $c$ |\n\n- $d$\n\n> $$\n> e\n> $$\n\nx[^1]\n\n[^1]: $f$\n\n<b>$g$</b>')).toEqual(
      ['a', 'b', 'c', 'd', 'e', 'g', 'f'].map((name) => [name, name === 'e']),
    )
    expect(rendered('$\\mathbf{a1}\\mathbb{RA}\\mathcal{L}\\mathfrak{g}\\mathrm{d}$')('mrow').first().text()).toBe('𝐚𝟏ℝ𝔸ℒ𝔤d')
    const $ = rendered('$$\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}$$')
    expect(
      $('mtd')
        .toArray()
        .map((cell) => $(cell).attr('class')),
    ).toEqual(['right', 'left', 'right', 'left'])
  })

  it('are not what has a price, a variable or a space beside its sign, nor what is escaped or code', () => {
    for (const text of [
      'costs $5 and $6',
      'US$5 or A$6',
      '$HOME and $PATH',
      '$5-$6',
      '\\$a$',
      '`$a$`',
      '    $$a$$',
      '$a $ and $ b$',
      '$$',
      '$$\n$$',
      '$$$$',
    ])
      expect([text, formulas(text)]).toEqual([text, []])
    expect(rendered('costs $5 and $6').text()).toBe('costs $5 and $6')
    expect(renderMarkdown('$a$ and\n\n```math\nb\n```')).toBe('<p>$a$ and</p>\n<pre><code class="language-math">b\n</code></pre>')
  })

  it('that are none, or too much, are shown as their source', () => {
    for (const source of [
      '\\frac{',
      '\\nosuchcommand',
      '\\def\\a{\\a\\a}\\a',
      '\\sqrt{'.repeat(60) + '}'.repeat(60),
      'x'.repeat(5_000),
      '\\kern-99em x',
      '\\raisebox{30em}{x}',
    ]) {
      const $ = rendered(`$${source}$ and\n\n$$\n${source}\n$$`)
      expect([source, $('math').length, $('p > code.language-math').text(), $('pre > code.language-math').text()]).toEqual([
        source,
        0,
        source,
        `\n${source}\n`,
      ])
    }
    expect(rendered('$a$ '.repeat(1_100))('math').length).toBe(1_000)
    expect(renderMarkdown('$$\n'.repeat(40_001), { mathOf: mathml }).length).toBeLessThan(1_000_000)
    expect(renderMarkdown('$`a'.repeat(5_000), { mathOf: mathml })).not.toContain('<math')
  })
})

describe('a table of contents (MD-21)', () => {
  const contents = (text: string) => {
    const $ = rendered(text)
    return $('body > ul')
      .first()
      .find('a')
      .toArray()
      .map((link) => [$(link).attr('href'), $(link).text(), $(link).parents('ul').length])
  }

  it('is in place of `[[_TOC_]]` or `[TOC]`, with the headings of the text as they nest', () => {
    for (const mark of ['[[_TOC_]]', '[TOC]'])
      expect(contents(`${mark}\n\n# A <b>b</b>\n\n### C $x$\n\n## D\n\n# A b\n\n${mark}`)).toEqual([
        ['#user-content-a-b', 'A b', 1],
        ['#user-content-c-x', 'C x', 2],
        ['#user-content-d', 'D', 2],
        ['#user-content-a-b-1', 'A b', 1],
      ])
    expect(rendered('see [[_TOC_]] and [TOC]\n\n# A').text()).toContain('see [[TOC]] and [TOC]')
  })

  it('leads to ids as GitHub makes them, of headings with pictures and emoji too (MD-6)', () => {
    expect(contents('[TOC]\n\n# A [![b](c)](d) ![e](f)\n\n# Sponsors :heart:').map(([href]) => href)).toEqual([
      '#user-content-a--',
      '#user-content-sponsors-heart',
    ])
  })

  it('leads to headings that are HTML, which get ids as others', () => {
    const $ = rendered('<h1 align="center">The <i>Name</i></h1>\n\n# The Name\n\n<h2 id="own">x</h2>')
    expect(
      $('h1, h2')
        .toArray()
        .map((heading) => $(heading).attr('id')),
    ).toEqual(['user-content-the-name-1', 'user-content-the-name', 'user-content-own'])
  })
})

describe('sections and directions (MD-24)', () => {
  it('are found by other capitals, unless something has that name', () => {
    const $ = rendered('[a](#Install) [b](#INSTALL-it) [c](#Nowhere)\n\n# Install\n\n## Install it\n\n<a id="INSTALL-it"></a>')
    expect(
      $('p a[href]')
        .map((_, link) => $(link).attr('href'))
        .get(),
    ).toEqual(['#user-content-install', '#user-content-INSTALL-it', '#user-content-Nowhere'])
  })

  it('are those of the letters of a list', () => {
    const $ = rendered('- تصنيف\n\n  1. one\n\n---\n\n* one\n  * أداة')
    expect(
      $('ul, ol')
        .map((_, list) => $(list).attr('dir') ?? 'none')
        .get(),
    ).toEqual(['auto', 'none', 'auto', 'auto'])
  })
})
