import { z } from 'zod'
import { textOfUpload } from '../../rules/texts/uploads.js'
import type { UploadRecord } from '../../services/projects/uploads.js'

/** An uploaded file (UP-1). */
export const UploadedFile = z
  .strictObject({ id: z.int(), alt: z.string(), url: z.string(), full_path: z.string(), markdown: z.string() })
  .meta({ id: 'UploadedFile', description: 'An uploaded file and the Markdown that refers to it.' })

/** `shown`: whether it is an image or video, which Markdown embeds instead of linking. */
export function presentUpload(upload: UploadRecord, shown: boolean): z.infer<typeof UploadedFile> {
  const { alt, url, markdown } = textOfUpload(upload, shown)
  return { id: upload.id, alt, url, full_path: `/${upload.fullPath}${url}`, markdown }
}
