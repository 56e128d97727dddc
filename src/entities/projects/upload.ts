import { z } from 'zod'
import { textOfUpload, type UploadRecord } from '../../services/projects/uploads.js'

/** An uploaded file (UP-1). */
export const UploadedFile = z
  .strictObject({ id: z.int(), alt: z.string(), url: z.string(), full_path: z.string(), markdown: z.string() })
  .meta({ id: 'UploadedFile', description: 'An uploaded file and the Markdown that refers to it.' })

export function presentUpload(upload: UploadRecord): z.infer<typeof UploadedFile> {
  const { alt, url, markdown } = textOfUpload(upload)
  return { id: upload.id, alt, url, full_path: `/${upload.fullPath}${url}`, markdown }
}
