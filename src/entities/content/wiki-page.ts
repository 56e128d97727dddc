import { z } from 'zod'
import { FORMATS, titleOfSlug } from '../../rules/wiki-page.js'
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
