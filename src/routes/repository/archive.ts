import { z } from 'zod'
import { onProject } from '../../access/rules.js'
import { attachment } from '../../http/disposition.js'
import { Answer, type Endpoint, endpoint } from '../../http/endpoint.js'
import { oneOf, opt, orDefault, str } from '../../http/params.js'
import { ARCHIVE_FORMATS, type ArchivePlan, planArchive, streamArchive } from '../../services/repository/archive.js'

const access = onProject('download_code')
const scope = 'read_repository'
const input = z.object({ sha: opt(str()), format: orDefault(oneOf(ARCHIVE_FORMATS), 'tar.gz'), path: opt(str()) })

const TYPES = { tar: 'application/x-tar', 'tar.gz': 'application/gzip', 'tar.bz2': 'application/x-bzip2', zip: 'application/zip' }

const headersOf = ({ kind, filename }: ArchivePlan) => ({ 'content-type': TYPES[kind], 'content-disposition': attachment(filename) })

const at = (path: string): Endpoint[] => [
  endpoint({
    method: 'GET',
    path,
    summary: 'Download an archive of the repository',
    description: 'Of the default branch, unless `sha` names another revision.',
    raw: ['application/gzip', 'application/x-bzip2', 'application/x-tar', 'application/zip'],
    answers: [406],
    access,
    scope,
    input,
    async handler({ ctx, subject, input, gone }) {
      const signal = gone()
      const plan = await planArchive(ctx, subject, input)
      return new Answer(200, await streamArchive(ctx, subject, plan, signal), headersOf(plan))
    },
  }),
  endpoint({
    method: 'HEAD',
    path,
    summary: 'Get the headers of an archive',
    status: 200,
    answers: [406],
    access,
    scope,
    input,
    async handler({ ctx, subject, input }) {
      return new Answer(200, '', headersOf(await planArchive(ctx, subject, input)))
    },
  }),
]

/** Archives (RE-6). */
export const archives = [...at('/projects/:id/repository/archive'), ...at('/projects/:id/repository/archive.:format')]
