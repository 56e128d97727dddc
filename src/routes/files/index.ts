import { z } from 'zod'
import { onProject, onProjectSignedIn } from '../../access/rules.js'
import { Blame, presentBlame } from '../../entities/repository/blame.js'
import { File, FileChange, fileHeaders, presentChange, presentFile } from '../../entities/repository/file.js'
import { refused } from '../../failures.js'
import { Content } from '../../http/content.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { bool, gitPath, int, oneOf, opt, orDefault, str } from '../../http/params.js'
import { blameFile } from '../../services/repository/blame.js'
import { openBlob } from '../../services/repository/blobs.js'
import { fileMetadata, readFile, writeFile } from '../../services/repository/files.js'

const read = onProject('download_code')
const write = onProjectSignedIn('push_code')
const scope = 'read_repository'
const path = '/projects/:id/repository/files/:file_path'

const authored = { start_branch: opt(str()), author_email: opt(documented.authorEmail()), author_name: opt(documented.authorName()) }
const fileContent = z.object({
  file_path: gitPath(),
  branch: documented.filled(),
  content: str(),
  commit_message: str(),
  ...authored,
  // C-39 treats any encoding other than `base64` as text; files accept only the two of RF-5 (W-20), so that a
  // misspelt encoding does not store binary content as its base64 text
  encoding: orDefault(oneOf(['text', 'base64']), 'text'),
  execute_filemode: opt(bool()),
  last_commit_id: opt(str()),
})

/** A file's metadata as headers. */
const headOf = (url: string, summary: string) =>
  endpoint({
    method: 'HEAD',
    path: url,
    summary,
    status: 200,
    answers: [413],
    access: read,
    scope,
    input: z.object({ file_path: gitPath(), ref: str() }),
    async handler({ ctx, subject, input, gone }) {
      const file = await fileMetadata(ctx, subject, input.file_path, input.ref, gone())
      return new Answer(200, '', { ...fileHeaders(file), 'content-type': 'application/json' })
    },
  })

const change = (method: 'POST' | 'PUT', action: 'create' | 'update') =>
  endpoint({
    method,
    path,
    summary: action === 'create' ? 'Create a file' : 'Update a file',
    access: write,
    largeBody: true,
    input: fileContent,
    output: FileChange,
    async handler({ ctx, caller, subject, input }) {
      const { file_path, content, encoding, execute_filemode, last_commit_id, ...commit } = input
      await writeFile(
        ctx,
        subject,
        caller,
        { action, file_path, content, encoding, execute_filemode, ...(action === 'update' && { last_commit_id }) },
        commit,
      )
      return presentChange(file_path, input.branch)
    },
  })

/** Files (RF-1 to RF-7). */
export const files = [
  endpoint({
    method: 'GET',
    path,
    summary: 'Get a file',
    answers: [413],
    access: read,
    scope,
    input: z.object({ file_path: gitPath(), ref: str() }),
    output: File,
    async handler({ ctx, subject, input }) {
      return presentFile(await readFile(ctx, subject, input.file_path, input.ref))
    },
  }),
  headOf(path, 'Get the metadata of a file as headers'),
  endpoint({
    method: 'GET',
    path: `${path}/raw`,
    summary: 'Get the raw content of a file',
    raw: ['text/plain', 'application/octet-stream'],
    access: read,
    scope,
    input: z.object({ file_path: gitPath(), ref: opt(str()) }),
    async handler({ ctx, subject, input, gone }) {
      const signal = gone()
      const file = await fileMetadata(ctx, subject, input.file_path, input.ref || undefined, signal)
      const { size, type, open } = await openBlob(ctx, subject, file.blob, signal)
      return new Content({ etag: `"${file.blob}"`, size, headers: { ...fileHeaders(file), 'content-type': type }, open })
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/blame`,
    summary: 'Get the blame of a file',
    answers: [413],
    access: read,
    scope,
    input: z.object({
      file_path: gitPath(),
      ref: str(),
      range: z.object({ start: int({ min: 1 }), end: int({ min: 1 }) }, 'is invalid').optional(),
    }),
    output: z.array(Blame),
    async handler({ ctx, subject, input, gone }) {
      const { file_path, ref, range } = input
      if (range && range.start > range.end) throw refused('range[start] should be less than or equal to range[end]')
      return (await blameFile(ctx, subject, { path: file_path, ref, range, signal: gone() })).map(presentBlame)
    },
  }),
  headOf(`${path}/blame`, 'Get the metadata of a file as headers, before its lines are asked for'),
  change('POST', 'create'),
  change('PUT', 'update'),
  endpoint({
    method: 'DELETE',
    path,
    summary: 'Delete a file',
    access: write,
    input: z.object({ file_path: gitPath(), branch: documented.filled(), commit_message: str(), ...authored, last_commit_id: opt(str()) }),
    async handler({ ctx, caller, subject, input }) {
      const { file_path, last_commit_id, ...commit } = input
      await writeFile(ctx, subject, caller, { action: 'delete', file_path, last_commit_id }, commit)
    },
  }),
]
