import { load } from 'cheerio'
import { describe, expect, it } from 'vitest'
import { markdownToHtml, renderMarkdown } from '../../src/lib/text/markdown.js'
import { mathml } from '../../src/lib/text/math.js'
import { sanitize } from '../../src/lib/text/sanitize.js'
import { random } from '../support/reader.js'
import { seeds } from '../support/rounds.js'

/** What must not come out, in the notations that browsers take for it. */
const ATTACKS = [
  '<script>alert(1)</script>',
  '<ScRiPt\n>alert(1)</sCrIpT >',
  '<<script>alert(1)//<</script>',
  '<img src=x onerror=alert(1)>',
  '<img src=x onerror="alert(1)"//',
  '<img/src="x"/onerror=alert(1)>',
  '<img src="x` `<script>alert(1)</script>"` `>',
  '<svg onload=alert(1)><script>alert(1)</script></svg>',
  '<svg><style><img src=x onerror=alert(1)></style></svg>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<textarea><img title="</textarea><img src=x onerror=alert(1)>">',
  '<title><a title="</title><img src=x onerror=alert(1)>">',
  '<xmp><p title="</xmp><svg/onload=alert(1)>">',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<iframe src="javascript:alert(1)">',
  '<a href="javascript:alert(1)">x</a>',
  '<a href=" \u0001java\tscript:alert(1)">x</a>',
  '<a href="&#106;avascript&colon;alert(1)">x</a>',
  '<a href="vbscript:x">x</a><a href="data:text/html,x">x</a>',
  '<img src="data:image/svg+xml,<svg onload=alert(1)>">',
  '<form action="/x"><button formaction="/y">x</button><input name=q type=password autofocus onfocus=alert(1)></form>',
  '<div style="position:fixed;inset:0" class="header" data-into="main" data-key="g">x</div>',
  '<td style="background:url(//x)">x</td>',
  '<base href="//x"><meta http-equiv=refresh content="0;url=//x"><link rel=stylesheet href=//x>',
  '<object data=x></object><embed src=x><applet code=x></applet>',
  '<video src=x onerror=alert(1)></video><audio autoplay src=x></audio>',
  '<p id=main name=x tabindex=1 accesskey=x contenteditable>x</p>',
  '<!--><img src=x onerror=alert(1)>--><![CDATA[<img src=x onerror=alert(1)>]]><?x <img src=x onerror=alert(1)>?>',
  '</div></main></body><h1>outside</h1>',
  '<select><template><script>alert(1)</script></template></select>',
  '<details open ontoggle=alert(1)><summary>x</summary></details>',
  '<a href="#x" target=_blank ping=//x>x</a>',
  '<picture><source srcset="javascript:alert(1), data:image/svg+xml,<svg/onload=alert(1)> 2x" onerror=alert(1) media="x"><script>"><img src=x onerror=alert(1)></picture>',
  '<picture><source srcset="mailto:a@b"><img src="mailto:a@b"></picture>',
  '<source srcset="a b c d" sizes=x style=x><video><source src=x onerror=alert(1)></video>',
  '<math><semantics><annotation-xml encoding="text/html"><img src=x onerror=alert(1)></annotation-xml></semantics></math>',
  '<math><mi href="javascript:alert(1)" xlink:href="javascript:alert(1)" style="position:fixed" class=header>x</mi><mtext><script>alert(1)</script></mtext></math>',
]

/** The same in formulas. */
const FORMULAS = [
  '$\\text{<img src=x onerror=alert(1)>}$',
  '$\\href{javascript:alert(1)}{x}\\url{javascript:alert(1)}\\includegraphics{//x}$',
  '$\\htmlClass{header}{x}\\htmlId{main}{x}\\htmlStyle{position:fixed}{x}\\htmlData{key=g}{x}$',
  '$\\color{red" onclick="alert(1)}x$ $\\textcolor{#f00}{x}$',
  '<div title="\n\n$x^2$\n\n"><a title="$x$" href="$`y`$">$$z$$</a><script>\n\n$x$\n\n</script>',
  '\x000\x000 &#0;0&#0; \u00000\u0000 $x$ \u00000\u0000',
  '![$x$](a "$y$") [$x$](b "$y$") `$x$` <b title=$x$>$y$</b>',
  '$$\n\\begin{array}{c|c} <script> & </math><img src=x onerror=alert(1)> \\\\ \\hline x & "\n\\end{array}\n$$',
  '```math\n</annotation></semantics></math><script>alert(1)</script>\n```',
  '$\\hspace{-999em}\\raisebox{99em}{x}\\kern-99em\\rule{99em}{99em}$',
]

const ALL = [...ATTACKS, ...FORMULAS]

const ELEMENTS =
  'a abbr b bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark ol p picture pre q rp rt ruby s samp section small source span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr'.split(
    ' ',
  )
const ATTRIBUTES =
  'align alt border cellpadding cellspacing checked cite class colspan datetime dir disabled headers height href id itemprop lang media name open reversed rowspan scope span src srcset start title type valign value width'.split(
    ' ',
  )

/** Those of formulas, which texts cannot have in any other way. */
const MATH =
  'math semantics annotation mrow mi mn mo mtext mspace ms msup msub msubsup munder mover munderover mfrac msqrt mroot mtable mtr mtd mstyle mpadded mphantom menclose'.split(
    ' ',
  )
const OF_MATH =
  'accent accentunder class columnlines columnspacing display displaystyle encoding fence height depth linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset width'.split(
    ' ',
  )

/** Browsers ignore these in addresses. */
const IGNORED = /^[\0-\x20]+|[\t\n\r]/g

/** What a browser would have of the HTML that is not on the list. */
function beyond(html: string, hasMath = false): string[] {
  const $ = load(`<div id="outer">${html}</div>`)
  const found = $('body > *').length === 1 ? [] : ['it ends the element around it']
  for (const element of $('#outer *').toArray()) {
    if (!('attribs' in element)) continue
    if (hasMath && MATH.includes(element.tagName)) {
      for (const [name, value] of Object.entries(element.attribs))
        if (!OF_MATH.includes(name) || (name === 'class' && !/^(?:left|right)$/.test(value)) || Math.abs(Number.parseFloat(value)) > 100)
          found.push(`${element.tagName} ${name}=${value}`)
      continue
    }
    if (!ELEMENTS.includes(element.tagName)) found.push(element.tagName)
    for (const [name, value] of Object.entries(element.attribs)) {
      const allowed = {
        href: /^(?:https?:|mailto:|(?![a-z][a-z0-9+.-]*:))/i,
        src: /^(?:https?:|(?![a-z][a-z0-9+.-]*:))/i,
        srcset: /^(?:(?:^|, )(?:https?:|(?![a-z][a-z0-9+.-]*:))\S+(?: [\d.]+[wx])?)+$/i,
        media: /^[a-z0-9():,. -]{1,100}$/i,
        class: /^(?:gfm|language-|markdown-alert|task-list-item|footnote)/,
        id: /^user-content-/,
        name: /^user-content-/,
      }[name]
      if (!ATTRIBUTES.includes(name) || (allowed && !allowed.test(value.replace(IGNORED, '')))) found.push(`${element.tagName} ${name}=${value}`)
    }
  }
  return found
}

describe('HTML of people (MD-1)', () => {
  it.each(ATTACKS)('%s becomes nothing beyond the list', (attack) => {
    for (const text of [attack, `a ${attack}`, `<div>${attack}`, `<table><tr><td>${attack}`, `\`\`\`html\n${attack}`, `[${attack}](/x "${attack}")`])
      expect({ text, beyond: beyond(markdownToHtml(text)) }).toEqual({ text, beyond: [] })
    expect(beyond(sanitize(attack))).toEqual([])
  })

  it('halves of characters are none in addresses', () => {
    for (const text of ['[[a\ud800]]', '[a](b\udfff)', '<a href="a\ud800">b</a>', '![\udc00](\ud800)', '# \ud800'])
      expect(renderMarkdown(text, { isWiki: true }).isWellFormed()).toBe(true)
  })

  it.each(FORMULAS)('%s becomes nothing beyond the list, nor beyond that of MathML (MD-22)', (formula) => {
    for (const text of [
      formula,
      `a ${formula}`,
      `<div>\n\n${formula}`,
      `<b>x</b> ${formula} <i>y</i>`,
      `| a |\n|---|\n| ${formula} |`,
      `> # ${formula}`,
    ])
      expect({ text, beyond: beyond(renderMarkdown(text, { mathOf: mathml }), true) }).toEqual({ text, beyond: [] })
  })

  it.each(ATTACKS)('%s within and around formulas becomes nothing beyond the lists (MD-22)', (attack) => {
    for (const text of [`$${attack}$`, `$$\n${attack}\n$$`, `$\\text{${attack}}$`, `$x$ ${attack} $y$`, `<div title="\n\n$x$ ${attack}`])
      expect({ text, beyond: beyond(renderMarkdown(text, { mathOf: mathml }), true) }).toEqual({ text, beyond: [] })
  })

  it.each(seeds(20, 400))('attacks that are cut and put together anew, seed %i', { tags: ['long'] }, (seed) => {
    const next = random(seed).below
    for (let round = 0; round < 50; round++) {
      const text = Array.from({ length: 1 + next(6) }, () => {
        const attack = ALL[next(ALL.length)] as string
        const from = next(attack.length)
        return attack.slice(from, from + 1 + next(attack.length))
      }).join(['', ' ', '\n', '\n\n', '"', '>'][next(6)])
      expect({ text, beyond: beyond(markdownToHtml(text)) }).toEqual({ text, beyond: [] })
      expect({ text, beyond: beyond(renderMarkdown(text, { mathOf: mathml }), true) }).toEqual({ text, beyond: [] })
    }
  })
})
