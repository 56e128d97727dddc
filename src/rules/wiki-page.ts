export const FORMATS = ['markdown', 'rdoc', 'asciidoc'] as const
export type WikiFormat = (typeof FORMATS)[number]

/** The file extension of new pages in each format (WK-7). */
export const EXTENSION: Record<WikiFormat, string> = { markdown: 'md', rdoc: 'rdoc', asciidoc: 'asciidoc' }

/** All recognised extensions. */
const FORMAT_OF: Record<string, WikiFormat> = {
  md: 'markdown',
  markdown: 'markdown',
  mkd: 'markdown',
  mkdn: 'markdown',
  mdown: 'markdown',
  rdoc: 'rdoc',
  asciidoc: 'asciidoc',
  adoc: 'asciidoc',
  asc: 'asciidoc',
}

/** The wiki page of a file path; null if it is not a page. */
export function pageOfFile(path: string): { slug: string; format: WikiFormat } | null {
  const dot = path.lastIndexOf('.')
  if (dot <= path.lastIndexOf('/') + 1) return null
  const ending = path.slice(dot + 1).toLowerCase()
  const format = Object.hasOwn(FORMAT_OF, ending) ? FORMAT_OF[ending] : undefined
  return format ? { slug: path.slice(0, dot), format } : null
}

/** The slug of a title: spaces become dashes, slashes make folders (WK-7). */
export const slugOfTitle = (title: string) => title.trim().replace(/^\/+/, '').replaceAll(' ', '-')

/** The title of a slug: its last part, with dashes read as spaces (WK-7). */
export const titleOfSlug = (slug: string) => slug.slice(slug.lastIndexOf('/') + 1).replaceAll('-', ' ')

/** Whether the file of a slug is a page, and clients that resolve `.` and `..` in addresses reach it (WK-108). */
export const isAddressable = (slug: string): boolean =>
  pageOfFile(`${slug}.md`)?.slug === slug && !slug.split('/').some((part) => part === '.' || part === '..')

/** Whether the address of a slug is that of something else: a form, a raw file, Git, what is done with a page (WK-108). */
export const isReserved = (slug: string): boolean =>
  slug === 'new' || slug === 'git_access' || /\/(?:edit|history|diff)$|(?:^|\/)raw(?:\/|$)|\.git(?:\/|$)/i.test(slug)
