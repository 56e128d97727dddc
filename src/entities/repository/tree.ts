import { z } from 'zod'
import type { TreeEntry as GitTreeEntry } from '../../git/types.js'

export const TreeEntry = z
  .strictObject({ id: z.string(), name: z.string(), type: z.enum(['tree', 'blob', 'commit']), path: z.string(), mode: z.string() })
  .meta({ id: 'TreeEntry', description: 'An entry of a folder.' })

export function presentTreeEntry({ oid, name, type, path, mode }: GitTreeEntry): z.infer<typeof TreeEntry> {
  return { id: oid, name, type, path, mode }
}

export const Blob = z
  .strictObject({ size: z.int(), encoding: z.literal('base64'), content: z.string(), sha: z.string() })
  .meta({ id: 'RepositoryBlob', description: 'The content of a file, by the id of its object.' })
