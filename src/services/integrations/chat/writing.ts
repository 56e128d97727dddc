import type { ChatMessage, Piece } from './message.js'

/** How a chat writes texts and links. */
export interface Writing {
  text(text: string): string
  link(text: string, href: string): string
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ')
/** Between a sign and a name it keeps people from being called by a text that somebody wrote (SV-8). */
const GAP = '\u200b'
const uncalled = (text: string) => text.replaceAll('@', `@${GAP}`)
const inTags = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const inMarkdown = (text: string) => uncalled(text).replace(/[\\`*_[\]()~<>#|]/g, '\\$&')
/** An address within a link: no sign that ends it. */
const address = (href: string) =>
  href
    .replace(/[\s<>|()\\"]/g, encodeURIComponent)
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')

export const slackWriting: Writing = { text: inTags, link: (text, href) => `<${address(href)}|${oneLine(inTags(text)).replaceAll('|', '¦')}>` }
export const markdownWriting: Writing = { text: inMarkdown, link: (text, href) => `[${oneLine(inMarkdown(text))}](${address(href)})` }
export const mattermostWriting: Writing = { ...slackWriting, text: (text) => uncalled(inTags(text)) }
/** Google's chat has no signs to escape with. */
export const googleWriting: Writing = {
  text: (text) => text.replaceAll('<', `<${GAP}`),
  link: (text, href) => `<${address(href)}|${oneLine(text).replace(/[<>|]/g, ' ')}>`,
}
export const htmlWriting: Writing = {
  text: inTags,
  link: (text, href) => `<a href="${inTags(href).replaceAll('"', '&quot;')}">${oneLine(inTags(text))}</a>`,
}

const written = (pieces: Piece[], { text, link }: Writing) =>
  pieces.map((piece) => (typeof piece === 'string' ? oneLine(text(piece)) : link(piece.text, piece.href))).join('')

export const lineOf = ({ line }: ChatMessage, writing: Writing) => written(line, writing)

/** What stands below the line; somebody's Markdown is kept where the chat reads Markdown. */
export function detailsOf({ details, text }: ChatMessage, writing: Writing): string {
  const own = writing === markdownWriting ? uncalled(text).replaceAll('<', `<${GAP}`) : writing.text(text)
  return [...details.map((line) => written(line, writing)), ...(own.trim() === '' ? [] : [own])].join('\n')
}

/** All of it as one text. */
export const wholeText = (message: ChatMessage, writing: Writing) =>
  [lineOf(message, writing), detailsOf(message, writing)].filter((part) => part !== '').join('\n')
