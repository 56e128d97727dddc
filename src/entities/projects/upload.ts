import { z } from 'zod'
import type { UploadRecord } from '../../services/projects/uploads.js'

/** An uploaded file (UP-1). */
export const UploadedFile = z
  .strictObject({ id: z.int(), alt: z.string(), url: z.string(), full_path: z.string(), markdown: z.string() })
  .meta({ id: 'UploadedFile', description: 'An uploaded file and the Markdown that refers to it.' })

/** `shown`: whether it is an image or video, which Markdown embeds instead of linking. */
export function presentUpload({ id, secret, filename, fullPath }: UploadRecord, shown: boolean): z.infer<typeof UploadedFile> {
  const alt = shown ? filename.replace(/\.[^.]*$/, '') : filename
  const url = `/uploads/${secret}/${filename}`
  return { id, alt, url, full_path: `/${fullPath}${url}`, markdown: `${shown ? '!' : ''}[${alt}](${url})` }
}
