import { z } from 'zod'
import type { TreeEntry as GitTreeEntry } from '../../git/types.js'
import { encodedPath, presentEncodedPath } from './encoded-path.js'

export const TreeEntry = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    type: z.enum(['tree', 'blob', 'commit']),
    path: z.string(),
    encoded_path: encodedPath(),
    mode: z.string(),
  })
  .meta({ id: 'TreeEntry', description: 'An entry of a folder.' })

export function presentTreeEntry({ oid, name, type, path, bytePath, mode }: GitTreeEntry): z.infer<typeof TreeEntry> {
  return { id: oid, name, type, path, ...presentEncodedPath(bytePath ?? path), mode }
}

export const Blob = z
  .strictObject({ size: z.int(), encoding: z.literal('base64'), content: z.string(), sha: z.string() })
  .meta({ id: 'RepositoryBlob', description: 'The content of a file, by the id of its object.' })
