import { z } from 'zod'
import { shownPath } from '../../lib/text/byte-path.js'
import type { CodeMatch } from '../../services/search/code.js'
import { encodedPath, presentEncodedPath } from './encoded-path.js'

/**
 * A search result in code: the matching lines of a file, or the beginning of a file whose path matches (section 2,
 * S-25, S-26).
 */
export const FoundBlob = z
  .strictObject({
    basename: z.string(),
    data: z.string(),
    filename: z.string(),
    encoded_path: encodedPath(),
    id: z.string().nullable(),
    ref: z.string(),
    startline: z.int(),
    project_id: z.int(),
  })
  .meta({ id: 'FoundBlob', description: 'A part of a file or wiki page that a search found.' })

export const presentFoundBlob = ({ path, oid, line, text }: CodeMatch, at: { ref: string; project_id: number }): z.infer<typeof FoundBlob> => ({
  basename: shownPath(oid === null ? withoutExtension(path) : nameOf(path)),
  data: text,
  filename: shownPath(path),
  ...presentEncodedPath(path),
  id: oid,
  ref: at.ref,
  startline: line,
  project_id: at.project_id,
})

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)

/** A leading dot does not start an extension. */
function withoutExtension(path: string): string {
  const name = nameOf(path)
  const dot = name.lastIndexOf('.')
  return dot > 0 && /[^.]/.test(name.slice(0, dot)) ? path.slice(0, path.length - name.length + dot) : path
}
