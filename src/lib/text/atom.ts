import { escapeHtml } from './html.js'

export interface FeedEntry {
  id: string
  title: string
  /** An address. */
  link: string
  updated: Date
  author: string
  /** HTML. */
  content?: string | undefined
}

export interface Feed {
  title: string
  /** The address of the feed, without a token. */
  self: string
  /** The page that shows the same. */
  page: string
  entries: FeedEntry[]
}

/** What XML 1.0 has no way to write. */
const UNWRITABLE = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

const xml = (text: string) => escapeHtml(text.replace(UNWRITABLE, '\ufffd'))

/** A feed in the Atom format (RFC 4287). It is as old as its newest entry. */
export function atomOf({ title, self, page, entries }: Feed): string {
  const newest = Math.max(0, ...entries.map(({ updated }) => updated.getTime()))
  return `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<title>${xml(title)}</title>
<id>${xml(self)}</id>
<link href="${xml(self)}" rel="self" type="application/atom+xml"/>
<link href="${xml(page)}" rel="alternate" type="text/html"/>
<updated>${timeOf(new Date(newest))}</updated>
${entries.map(entryOf).join('')}</feed>
`
}

const entryOf = ({ id, title, link, updated, author, content }: FeedEntry) => `<entry>
<id>${xml(id)}</id>
<title>${xml(title)}</title>
<link href="${xml(link)}" rel="alternate" type="text/html"/>
<updated>${timeOf(updated)}</updated>
<author><name>${xml(author)}</name></author>
${content ? `<content type="html">${xml(content)}</content>\n` : ''}</entry>
`

/** RFC 3339 has years of four digits. */
const timeOf = (time: Date) => new Date(Math.min(Math.max(time.getTime(), -62_167_219_200_000), 253_402_300_799_000)).toISOString()
