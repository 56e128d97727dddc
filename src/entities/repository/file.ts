import { z } from 'zod'
import { shownPath } from '../../lib/text/byte-path.js'
import type { FileMetadata, FileRecord } from '../../services/repository/files.js'
import { encodedPath, presentEncodedPath } from './encoded-path.js'

const head = {
  file_name: z.string(),
  file_path: z.string(),
  encoded_path: encodedPath(),
  size: z.int(),
  encoding: z.literal('base64'),
  content_sha256: z.string(),
  ref: z.string(),
  blob_id: z.string(),
  commit_id: z.string(),
  last_commit_id: z.string(),
  execute_filemode: z.boolean(),
}

export const File = z.strictObject({ ...head, content: z.string() }).meta({ id: 'File', description: 'A file with its content.' })

/** The response to a write (RF-5). */
export const FileChange = z
  .strictObject({ file_path: z.string(), encoded_path: encodedPath(), branch: z.string() })
  .meta({ id: 'FileChange', description: 'The file and branch of a change.' })

const facts = (file: FileMetadata) => ({
  file_name: file.path.slice(file.path.lastIndexOf('/') + 1),
  file_path: file.path,
  ...presentEncodedPath(file.bytePath ?? file.path),
  size: file.size,
  encoding: 'base64' as const,
  content_sha256: file.sha256,
  ref: file.ref,
  blob_id: file.blob,
  commit_id: file.commit,
  last_commit_id: file.lastCommit,
  execute_filemode: file.executable,
})

export function presentFile(file: FileRecord): z.infer<typeof File> {
  return { ...facts(file), content: file.content.toString('base64') }
}

export function presentChange(path: string, branch: string): z.infer<typeof FileChange> {
  return { file_path: shownPath(path), ...presentEncodedPath(path), branch }
}

/** Metadata of a file as headers; characters that are not printable ASCII are percent-encoded (RF-2, SEC-70). */
export function fileHeaders(file: FileMetadata): Record<string, string> {
  const entries = Object.entries(facts(file)).map(([name, value]) => [
    `x-gitlab-${name.replaceAll('_', '-')}`,
    String(value).replace(/[^\x20-\x7e]/gu, encodeURIComponent),
  ])
  return Object.fromEntries(entries) as Record<string, string>
}
