import { z } from 'zod'
import type { FileTemplate, LicenseTemplate } from '../../services/content/templates.js'

/** A template in a list. */
export const TemplateName = z.strictObject({ key: z.string(), name: z.string() }).meta({ id: 'TemplateName', description: 'A template in a list.' })

export const presentTemplateName = (name: string): z.infer<typeof TemplateName> => ({ key: name, name })

export const Template = z
  .strictObject({ name: z.string(), content: z.string() })
  .meta({ id: 'Template', description: 'A text that a new file or description may begin with.' })

export const presentTemplate = ({ name, content }: FileTemplate): z.infer<typeof Template> => ({ name, content })

export const LicenseText = z
  .strictObject({
    key: z.string(),
    name: z.string(),
    nickname: z.string().nullable(),
    html_url: z.url(),
    source_url: z.url().nullable(),
    popular: z.boolean(),
    description: z.string(),
    conditions: z.array(z.string()),
    permissions: z.array(z.string()),
    limitations: z.array(z.string()),
    content: z.string(),
  })
  .meta({ id: 'License', description: 'A licence with its text, and what it asks and permits.' })

export const presentLicense = (license: LicenseTemplate): z.infer<typeof LicenseText> => ({
  key: license.key,
  name: license.name,
  nickname: license.nickname,
  html_url: license.html_url,
  source_url: license.source_url,
  popular: license.popular,
  description: license.description,
  conditions: license.conditions,
  permissions: license.permissions,
  limitations: license.limitations,
  content: license.content,
})
