import { z } from 'zod'
import { FORMATS, titleOfSlug } from '../../rules/wiki-page.js'
import type { WikiAttachment as WikiAttachmentRecord } from '../../services/content/wiki-attachments.js'
import type { WikiPage as WikiPageRecord } from '../../services/content/wikis.js'

export const WikiPageBasic = z
  .strictObject({ slug: z.string(), title: z.string(), format: z.enum(FORMATS) })
  .meta({ id: 'WikiPageBasic', description: 'A wiki page, without its content.' })

export const WikiPage = z
  .strictObject({ ...WikiPageBasic.shape, content: z.string(), encoding: z.literal('UTF-8') })
  .meta({ id: 'WikiPage', description: 'A wiki page.' })

export const presentWikiPageBasic = ({ slug, format }: WikiPageRecord): z.infer<typeof WikiPageBasic> => ({ slug, title: titleOfSlug(slug), format })

export const presentWikiPage = (page: WikiPageRecord & { content: string }): z.infer<typeof WikiPage> =>
  Object.assign(presentWikiPageBasic(page), {
    content: page.content,
    encoding: 'UTF-8' as const,
  })

export const WikiAttachment = z
  .strictObject({
    file_name: z.string(),
    file_path: z.string(),
    branch: z.string(),
    link: z.strictObject({ url: z.string(), markdown: z.string() }),
  })
  .meta({ id: 'WikiAttachment', description: 'A file of a wiki and the Markdown that refers to it.' })

export function presentWikiAttachment({ name, path, branch, isShown }: WikiAttachmentRecord): z.infer<typeof WikiAttachment> {
  const alt = isShown ? name.replace(/\.[^.]*$/, '') : name
  return { file_name: name, file_path: path, branch, link: { url: path, markdown: `${isShown ? '!' : ''}[${alt}](${path})` } }
}
