import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import { Content } from '../../../../http/content.js'
import { oneOf, opt, rowId } from '../../../../http/params.js'
import type { PipelineState } from '../../../../rules/pipeline-states.js'
import { cancelJob, eraseJob, type JobAction, playJob, retryJob } from '../../../../services/ci/builds/actions.js'
import { readTrace } from '../../../../services/ci/builds/chunks.js'
import { traceOf } from '../../../../services/ci/builds/trace.js'
import { closedEnvironments } from '../../../../services/ci/environments/protected.js'
import { type BuildFacts, getJob, type JobRecord } from '../../../../services/ci/jobs.js'
import { mayRunOn } from '../../../../services/ci/target.js'
import { type Log, LogLines, readLog, SHOWN_BYTES } from '../../../components/ci/log.js'
import { Facts, sizeText } from '../../../components/facts.js'
import { PipelineBadge, shortId } from '../../../components/files/code.js'
import { Badge } from '../../../components/list.js'
import { PersonLink } from '../../../components/people/person-link.js'
import { Time } from '../../../components/time.js'
import { said, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { projectLinks } from '../../../links.js'
import { form, type PageView, page, Redirect } from '../../../page.js'
import { ciAddress, durationText, JobActions } from './shared.js'

const reads = onProjectSignedIn('read_pipeline')
const changes = onProjectSignedIn('update_build')
const byId = z.object({ job_id: rowId() })

/** States that change without a person. */
export const MOVES: readonly PipelineState[] = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled']

/** Why a job has no log. */
function withoutLog({ status }: JobRecord, build: BuildFacts): string {
  if (build.erased_at) return t('The log and artifacts were erased.')
  if (status.status === 'manual') return t('This job waits until somebody starts it.')
  if (status.status === 'scheduled') return t('This job waits for its time.')
  if (status.status === 'waiting_for_resource') return t('This job waits for another of its resource group to end.')
  if (status.status === 'pending') return t('This job waits for a runner.')
  if (status.status === 'created') return t('This job waits for others.')
  return status.status === 'running' ? t('The runner has sent nothing yet.') : t('This job has no log.')
}

const runnerText = ({ runner }: BuildFacts) => runner && `#${runner.id}${runner.description ? ` ${runner.description}` : ''}`

interface JobProps {
  view: PageView
  subject: ProjectSubject
  job: JobRecord
  build: BuildFacts
  /** Whether the reader may run jobs of its branch or tag. */
  mayRun: boolean
  log: Log | null
}

function Job({ view, subject, job, build, mayRun, log }: JobProps) {
  const { status, pipeline } = job
  const links = projectLinks(view, fullPathOf(subject.project))
  const at = links.page(`jobs/${status.id}`)
  const moves = MOVES.includes(status.status)
  const archive = build.artifacts.find(({ file_type }) => file_type === 'archive')
  const reports = build.artifacts.filter(({ file_type }) => file_type !== 'archive')
  return (
    <section id="job" {...(moves && { 'data-refresh': at, 'data-every': '4' })}>
      <div class="heading">
        <h1>
          {status.name} <PipelineBadge state={status.status} />
        </h1>
        <div class="toolbar">
          <JobActions view={view} subject={subject} job={job} mayRun={mayRun} />
        </div>
      </div>
      {!job.latest && <p class="note">{t('This job was retried: the pipeline has a newer attempt.')}</p>}
      <Facts
        facts={[
          [t('Stage'), status.stage],
          [t('Duration'), durationText(status.started_at, status.finished_at ?? view.now)],
          [t('Waited'), durationText(status.queued_at, status.started_at)],
          [t('Runner'), runnerText(build)],
          [t('Coverage'), status.coverage === null ? null : `${status.coverage} %`],
          [t('Failure'), status.failure_reason && said(status.failure_reason.replaceAll('_', ' '))],
          [t('May fail'), status.allow_failure ? t('yes') : null],
          [t('Begins'), status.status === 'scheduled' && build.scheduled_at ? <Time at={build.scheduled_at} /> : null],
          [t('By'), <PersonLink key="by" view={view} user={status.author} />],
          [
            t('Pipeline'),
            <a key="pipeline" href={links.page(`pipelines/${pipeline.id}`)}>
              #{pipeline.id}
            </a>,
          ],
          [
            t('Commit'),
            <>
              {pipeline.ref}{' '}
              <a href={links.commit(pipeline.sha)}>
                <code>{shortId(pipeline.sha)}</code>
              </a>
            </>,
          ],
          [
            t('Environment'),
            build.environment && (
              <a href={`${links.page('environments')}?${new URLSearchParams({ search: build.environment.name })}`}>{build.environment.name}</a>
            ),
          ],
          [t('Tags'), build.tags.length > 0 ? build.tags.map((tag) => <Badge key={tag}>{tag}</Badge>) : null],
          [
            t('Artifacts'),
            archive && (
              <>
                <a href={`${at}/artifacts/download`}>{archive.filename}</a> {sizeText(archive.size)},{' '}
                <a href={`${at}/artifacts/browse`}>{t('browse')}</a>
                {archive.expires_at && <Phrase text=", until {time}" time={<Time at={archive.expires_at} />} />}
              </>
            ),
          ],
          [
            t('Reports'),
            reports.length > 0 &&
              reports.map(({ file_type, size }) => (
                <span key={file_type}>
                  <a href={`${at}/artifacts/download?file_type=${file_type}`}>{file_type}</a> <span class="dim">{sizeText(size)}</span>{' '}
                </span>
              )),
          ],
        ]}
      />
      {log === null ? (
        <p class="empty">{withoutLog(job, build)}</p>
      ) : (
        <div class="box">
          <div class="head">
            <strong>{t('Log')}</strong> <span class="dim">{sizeText(build.trace_size)}</span>
            <a class="last" href={`${at}/raw`}>
              {t('Raw log')}
            </a>
          </div>
          {log.isCut && <p class="note">{t('Only the end of the log is here; lines are counted from there. The raw log has all of it.')}</p>}
          <LogLines log={log} />
        </div>
      )}
      {moves && (
        <noscript>
          <meta http-equiv="refresh" content="10" />
        </noscript>
      )}
    </section>
  )
}

export const jobPage = page({
  at: 'P/-/jobs/:job_id',
  access: reads,
  input: byId,
  async show({ ctx, caller, subject, input, view }) {
    const job = await getJob(ctx, subject, input.job_id)
    const { pipeline, status, build } = job
    // a status of an external server, and a job that triggers a pipeline, stand in their pipeline
    if (!build || build.isBridge) return new Redirect(`${ciAddress(subject, `pipelines/${pipeline.id}`)}#job_${status.id}`)
    const closed = build.environment && (await closedEnvironments(ctx, subject, caller)).has(build.environment.name)
    const mayRun = !closed && (await mayRunOn(ctx, subject, pipeline))
    const from = Math.max(0, build.trace_size - SHOWN_BYTES)
    const log = build.trace_size > 0 ? await readLog(ctx.cpu.slices, await readTrace(ctx, status.id, from, build.trace_size), from > 0) : null
    return {
      title: `${status.name} (#${status.id}) · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <Job view={view} subject={subject} job={job} build={build} mayRun={mayRun} log={log} />
        </ProjectLayout>
      ),
    }
  },
})

export const rawLogPage = page({
  at: 'P/-/jobs/:job_id/raw',
  access: reads,
  input: byId,
  async show({ ctx, subject, input }) {
    const { size, open } = await traceOf(ctx, subject, input.job_id)
    return new Content({
      etag: `"${input.job_id}-${size}"`,
      size,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      open: async ({ start, end } = { start: 0, end: size - 1 }) => open(start, end + 1),
    })
  },
})

type Change = (...call: [...Parameters<typeof eraseJob>]) => Promise<number>

const jobForm = (action: JobAction, change: Change, notice: () => string) =>
  form({
    at: `P/-/jobs/:job_id/${action}`,
    access: changes,
    input: byId.extend({ back: opt(oneOf(['pipeline'])) }),
    async submit({ ctx, subject, caller, input }) {
      const id = await change(ctx, subject, caller, input.job_id)
      const to = input.back ? `pipelines/${(await getJob(ctx, subject, id)).pipeline.id}` : `jobs/${id}`
      return new Redirect(ciAddress(subject, to), { notice: notice() })
    },
  })

/** What is done with a job (CI-120 to CI-123). */
export const jobForms = [
  jobForm('cancel', cancelJob, () => t('The job is canceled.')),
  jobForm('retry', retryJob, () => t('The job is tried again.')),
  jobForm(
    'play',
    (ctx, subject, caller, id) => playJob(ctx, subject, caller, id, []),
    () => t('The job is started.'),
  ),
  jobForm('erase', eraseJob, () => t('The log is erased.')),
]
