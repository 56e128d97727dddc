import { z } from 'zod'
import type { View } from '../../http/view.js'
import { VISIBILITIES, visibilityName } from '../../rules/visibility.js'
import type { ListedSnippet } from '../../services/content/snippets.js'
import { presentUserRef, UserRef } from '../identity/user.js'

export const Snippet = z
  .strictObject({
    id: z.int(),
    title: z.string(),
    file_name: z.string().nullable(),
    description: z.string().nullable(),
    visibility: z.enum(VISIBILITIES),
    author: UserRef,
    updated_at: z.iso.datetime(),
    created_at: z.iso.datetime(),
    project_id: z.int().nullable(),
    web_url: z.url(),
    raw_url: z.url(),
    files: z.array(z.strictObject({ path: z.string(), raw_url: z.url() })),
  })
  .meta({ id: 'Snippet', description: 'A snippet of a user or of a project.' })

export function presentSnippet({ snippet, author, fullPath }: ListedSnippet, view: View): z.infer<typeof Snippet> {
  const web_url = `${fullPath === null ? view.links.base : view.links.project(fullPath)}/snippets/${snippet.id}`
  const raw_url = `${web_url}/raw`
  return {
    id: snippet.id,
    title: snippet.title,
    file_name: snippet.file_name,
    description: snippet.description,
    visibility: visibilityName(snippet.visibility),
    author: presentUserRef(author, view),
    updated_at: snippet.updated_at.toISOString(),
    created_at: snippet.created_at.toISOString(),
    project_id: snippet.project_id,
    web_url,
    raw_url,
    files: [{ path: snippet.file_name, raw_url }],
  }
}
