import { z } from 'zod'
import { onProject } from '../../access/rules.js'
import { Content } from '../../http/content.js'
import { archiveHeaders } from '../../http/disposition.js'
import { type Endpoint, endpoint } from '../../http/endpoint.js'
import { gitPath, oneOf, opt, orDefault, str } from '../../http/params.js'
import { ARCHIVE_FORMATS, openArchive, planArchive } from '../../services/repository/archive.js'

const access = onProject('download_code')
const scope = 'read_repository'
const input = z.object({ sha: opt(str()), format: orDefault(oneOf(ARCHIVE_FORMATS), 'tar.gz'), path: opt(gitPath()) })

const archiveEndpoint = (method: 'GET' | 'HEAD', path: string, summary: string) =>
  endpoint({
    method,
    path,
    summary,
    description: 'Archives the default branch, unless `sha` is given.',
    ...(method === 'GET' && { raw: ['application/gzip', 'application/x-bzip2', 'application/x-tar', 'application/zip'] }),
    ...(method === 'HEAD' && { status: 200 }),
    answers: [304, 406],
    access,
    scope,
    input,
    async handler({ ctx, subject, input, gone }) {
      const signal = gone()
      const plan = await planArchive(ctx, subject, input)
      return new Content({ etag: `W/"${plan.name}"`, headers: archiveHeaders(plan), open: () => openArchive(ctx, subject, plan, signal) })
    },
  })

const at = (path: string): Endpoint[] => [
  archiveEndpoint('GET', path, 'Download an archive of the repository'),
  archiveEndpoint('HEAD', path, 'Get the headers of an archive'),
]

/** Archives (RE-6, RE-13). */
export const archives = [...at('/projects/:id/repository/archive'), ...at('/projects/:id/repository/archive.:format')]
