import { escapeHtml } from '../../lib/text/html.js'

/** Colours of pages (`values.css`), which mail programs cannot take from there. */
const LIGHT = {
  ground: '#ffffff',
  soft: '#f6f8f8',
  line: '#e1e6e7',
  text: '#1b2124',
  dim: '#566267',
  accent: '#0b6a6a',
  onAccent: '#ffffff',
  link: '#0b5cad',
  added: '#e9f7ee',
  removed: '#fdeeec',
}
const DARK: typeof LIGHT = {
  ground: '#14171a',
  soft: '#1a1e22',
  line: '#2a3035',
  text: '#e3e7e9',
  dim: '#9aa6ac',
  accent: '#5fc4bd',
  onAccent: '#0d1f1e',
  link: '#7cb7f5',
  added: '#12291b',
  removed: '#2f1a19',
}

const colored = (c: typeof LIGHT) => `
body, .page { background: ${c.ground}; color: ${c.text} }
a { color: ${c.link} }
.dim, .dim a, blockquote { color: ${c.dim} }
.button { background: ${c.accent}; color: ${c.onAccent} }
.page, pre, td, th, blockquote { border-color: ${c.line} }
pre, code { background: ${c.soft} }
.added { background: ${c.added} }
.removed { background: ${c.removed} }`

const STYLE = `
body { margin: 0; font: 15px/1.5 system-ui, sans-serif }
.page { max-width: 42em; margin: 0 auto; padding: 16px; overflow-wrap: break-word }
h1 { margin: 4px 0 16px; font-size: 20px; line-height: 1.3 }
h1 a { color: inherit; text-decoration: none }
.dim { font-size: 13px }
.place { margin: 0 }
.button { display: inline-block; margin: 4px 0; padding: 8px 16px; border-radius: 6px; font-weight: 600; text-decoration: none }
pre, code { border-radius: 4px; font: 13px/1.5 ui-monospace, monospace }
pre { margin: 12px 0; padding: 8px; border: 1px solid; overflow-x: auto }
.diff { padding: 0 }
.diff span { display: block; padding: 0 8px; white-space: pre-wrap }
img { max-width: 100% }
table { border-collapse: collapse }
td, th { padding: 4px 8px; border: 1px solid }
blockquote { margin: 0; padding-left: 12px; border-left: 3px solid }
.end { margin-top: 24px }
${colored(LIGHT)}
@media (prefers-color-scheme: dark) {${colored(DARK)}
}`

/** What stands on top: where it is, and what it is about. */
export interface MailHeading {
  place: { text: string; link: string }
  title: { text: string; link: string }
  /** Who did what; null where a part says so. */
  lead: string | null
}

export const linkHtml = ({ text, link }: { text: string; link: string }, kind = '') =>
  `<a${kind && ` class="${kind}"`} href="${escapeHtml(link)}">${escapeHtml(text)}</a>`

const headingHtml = ({ place, title, lead }: MailHeading) =>
  [`<p class="dim place">${linkHtml(place)}</p>`, `<h1>${linkHtml(title)}</h1>`, ...(lead === null ? [] : [`<p>${escapeHtml(lead)}</p>`])].join('\n')

const LINE_KINDS: Record<string, string> = { '+': 'added', '-': 'removed' }

/** Lines of a diff, each with its sign. */
export function diffHtml(lines: string): string {
  const shown = lines.split('\n').map((line) => {
    const kind = LINE_KINDS[line.charAt(0)]
    return `<span${kind ? ` class="${kind}"` : ''}>${escapeHtml(line) || ' '}</span>`
  })
  return `<pre class="diff">${shown.join('')}</pre>`
}

/** A mail as a page of one column, in light or dark colours as the mail program has them (ML-29). */
export const mailPage = (content: { subject: string; heading?: MailHeading | undefined; body: string; footer: string }) => `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${escapeHtml(content.subject)}</title><style>${STYLE}</style></head>
<body><div class="page">
${content.heading ? `${headingHtml(content.heading)}\n` : ''}${content.body}
<div class="dim end">
${content.footer}
</div></div></body></html>
`
