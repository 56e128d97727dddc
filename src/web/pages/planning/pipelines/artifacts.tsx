import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../../../access/rules.js'
import { notFound } from '../../../../failures.js'
import { gitPath, opt, rowId, str } from '../../../../http/params.js'
import { folderOf } from '../../../../services/ci/artifacts/browse.js'
import { archiveOf, artifactOf, contentOf, entryOf } from '../../../../services/ci/artifacts/read.js'
import { getJob } from '../../../../services/ci/jobs.js'
import { sizeText } from '../../../components/facts.js'
import { Icon } from '../../../components/icon.js'
import { Row, Rows } from '../../../components/list.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { Download, page } from '../../../page.js'
import { ciAddress } from './shared.js'

const reads = onProjectSignedIn('read_pipeline')
const job_id = rowId()
const fileName = (name: string) => name.replace(/[^\w.-]/g, '_')
const encoded = (path: string) => path.split('/').map(encodeURIComponent).join('/')

/** The archive of a job, or one of its reports. */
export const artifactsPage = page({
  at: 'P/-/jobs/:job_id/artifacts/download',
  access: reads,
  input: z.object({ job_id, file_type: opt(str()) }),
  async show({ ctx, subject, input }) {
    const { filename, file_type, ...found } = await artifactOf(ctx, subject, input.job_id, input.file_type ?? 'archive')
    return new Download(file_type === 'archive' ? 'application/zip' : 'application/octet-stream', fileName(filename), await contentOf(ctx, found))
  },
})

/** The folders of an archive (CI-256). */
const browse = (at: 'P/-/jobs/:job_id/artifacts/browse' | 'P/-/jobs/:job_id/artifacts/browse/*') =>
  page({
    at,
    access: reads,
    input: z.object({ job_id, path: opt(gitPath()) }),
    async show({ ctx, subject, input, view }) {
      const path = (input.path ?? '').split('/').filter(Boolean).join('/')
      const [job, archive] = await Promise.all([getJob(ctx, subject, input.job_id), archiveOf(ctx, subject, input.job_id)])
      const folder = await folderOf(ctx, archive, path)
      if (!folder) throw notFound()
      const home = `${view.links.prefix}${ciAddress(subject, `jobs/${input.job_id}`)}`
      const parts = path === '' ? [] : path.split('/').slice(0, folder.isFile ? -1 : undefined)
      const below = (name: string) => encoded([...parts, name].join('/'))
      return {
        title: `${t('Artifacts of {name}', { name: job.status.name })} · ${fullPathOf(subject.project)}`,
        body: (
          <ProjectLayout view={view} subject={subject} tab="ci">
            <div class="heading">
              <h1>
                <Phrase text="Artifacts of {link}" link={<a href={home}>{job.status.name}</a>} />
              </h1>
              <div class="toolbar">
                <a class="button" href={`${home}/artifacts/download`}>
                  {t('Download all')}
                </a>
              </div>
            </div>
            <p class="wrap">
              <a href={`${home}/artifacts/browse`}>{archive.filename}</a>
              {parts.map((part, at) => (
                <>
                  {' / '}
                  <a key={part} href={`${home}/artifacts/browse/${encoded(parts.slice(0, at + 1).join('/'))}`}>
                    {part}
                  </a>
                </>
              ))}
            </p>
            <Rows empty={t('This folder is empty.')}>
              {folder.entries.map(({ name, size }) => (
                <Row key={name} actions={size !== null && <span class="dim">{sizeText(size)}</span>}>
                  <span class="wrap">
                    <Icon name={size === null ? 'folder' : 'file'} />{' '}
                    <a href={`${home}/artifacts/${size === null ? 'browse' : 'raw'}/${below(name)}`}>{name}</a>
                  </span>
                </Row>
              ))}
            </Rows>
            {folder.isCut && <p class="note">{t('There is more than is shown here: download the archive.')}</p>}
          </ProjectLayout>
        ),
      }
    },
  })

/** One file of an archive, which a browser saves and does not show (CI-133). */
const file = page({
  at: 'P/-/jobs/:job_id/artifacts/raw/*',
  access: reads,
  input: z.object({ job_id, path: gitPath() }),
  async show({ ctx, subject, input }) {
    const { stream } = await entryOf(ctx, await archiveOf(ctx, subject, input.job_id), input.path)
    return new Download('application/octet-stream', fileName(input.path.split('/').at(-1) ?? 'file'), stream)
  },
})

export const artifactPages = [browse('P/-/jobs/:job_id/artifacts/browse'), browse('P/-/jobs/:job_id/artifacts/browse/*'), file]
