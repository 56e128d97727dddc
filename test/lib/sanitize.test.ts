import { load } from 'cheerio'
import { describe, expect, it } from 'vitest'
import { markdownToHtml } from '../../src/lib/text/markdown.js'
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
]

const ELEMENTS =
  'a abbr b bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark ol p pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr'.split(
    ' ',
  )
const ATTRIBUTES =
  'align alt border cellpadding cellspacing checked cite class colspan datetime dir disabled headers height href id itemprop lang name open reversed rowspan scope span src start style title type valign value width'.split(
    ' ',
  )

/** Browsers ignore these in addresses. */
const IGNORED = /^[\0-\x20]+|[\t\n\r]/g

/** What a browser would have of the HTML that is not on the list. */
function beyond(html: string): string[] {
  const $ = load(`<div id="outer">${html}</div>`)
  const found = $('body > *').length === 1 ? [] : ['it ends the element around it']
  for (const element of $('#outer *').toArray()) {
    if (!('attribs' in element)) continue
    if (!ELEMENTS.includes(element.tagName)) found.push(element.tagName)
    for (const [name, value] of Object.entries(element.attribs)) {
      const allowed = {
        href: /^(?:https?:|mailto:|(?![a-z][a-z0-9+.-]*:))/i,
        src: /^(?:https?:|(?![a-z][a-z0-9+.-]*:))/i,
        style: /^text-align:/,
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

  it.each(seeds(20, 400))('attacks that are cut and put together anew, seed %i', { tags: ['long'] }, (seed) => {
    const next = random(seed).below
    for (let round = 0; round < 50; round++) {
      const text = Array.from({ length: 1 + next(6) }, () => {
        const attack = ATTACKS[next(ATTACKS.length)] as string
        const from = next(attack.length)
        return attack.slice(from, from + 1 + next(attack.length))
      }).join(['', ' ', '\n', '\n\n', '"', '>'][next(6)])
      expect({ text, beyond: beyond(markdownToHtml(text)) }).toEqual({ text, beyond: [] })
    }
  })
})
