import { Buffer } from 'node:buffer'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { type ExposedArtifact, exposedArtifacts } from '../../../services/ci/artifacts/exposed.js'
import { traceOf } from '../../../services/ci/builds/trace.js'
import { type JobRecord, listPipelineJobs } from '../../../services/ci/jobs.js'
import { type StageState, stagesOf } from '../../../services/ci/pipelines.js'
import type { SingleMergeRequest } from '../../../services/issuables/merge-requests/reading/load.js'
import { endOfLog, LogEnd } from '../../components/ci/log.js'
import { StageDots } from '../../components/ci/pipeline-rows.js'
import { PipelineBadge } from '../../components/files/code.js'
import { said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'

/** Failed jobs of which the box shows the end of the log, with so many lines, which are looked for in so many bytes. */
const MAX_FAILED = 3
const LINES = 10
const BYTES = 8_192

/** What the box says of the head pipeline besides its state. */
export interface HeadPipeline {
  stages: StageState[]
  failed: { job: JobRecord; lines: string[] }[]
  /** How many jobs have failed. */
  total: number
  exposed: ExposedArtifact[]
}

async function lastLines(ctx: Context, source: ProjectSubject, job: JobRecord): Promise<string[]> {
  if (!job.build || job.build.erased_at) return []
  const trace = await traceOf(ctx, source, job.status.id)
  const start = Math.max(0, trace.size - BYTES)
  if (trace.size === 0) return []
  const pieces: Buffer[] = []
  for await (const piece of trace.open(start, trace.size)) pieces.push(piece as Buffer)
  return endOfLog(ctx.cpu.slices, Buffer.concat(pieces), start > 0, LINES)
}

/** The stages and the failed jobs of the head pipeline; null if there is none that the viewer may read (WB-722). */
export async function loadHeadPipeline(
  ctx: Context,
  source: ProjectSubject | null,
  { head_pipeline }: SingleMergeRequest,
): Promise<HeadPipeline | null> {
  if (!source || !head_pipeline) return null
  const { id } = head_pipeline
  const [stages, { items, total }, exposed] = await Promise.all([
    stagesOf(ctx, source, [id]),
    listPipelineJobs(ctx, source, id, { scope: ['failed'], page: 1, per_page: MAX_FAILED }),
    exposedArtifacts(ctx, source, id),
  ])
  const failed = await Promise.all(items.map(async (job) => ({ job, lines: await lastLines(ctx, source, job) })))
  return { stages: stages.get(id) ?? [], failed, total, exposed }
}

interface HeadProps {
  view: PageView
  record: SingleMergeRequest
  head: HeadPipeline | null
}

/** The head pipeline in one line: its state, stages and coverage. */
export function HeadPipelineLine({ view, record, head }: HeadProps) {
  const { head_pipeline: pipeline, source_path, pipeline_status } = record
  if (!pipeline || source_path === null || pipeline_status === null)
    return (
      <>
        {t('The pipeline')} {pipeline_status && <PipelineBadge state={pipeline_status} />}
      </>
    )
  return (
    <>
      <a href={`${view.links.prefix}/${inUrl(source_path)}/-/pipelines/${pipeline.id}`}>
        {pipeline.source === 'merge_request_event' ? t('The pipeline of the merge request') : t('The pipeline of the branch')} #{pipeline.id}
      </a>{' '}
      <PipelineBadge state={pipeline_status} /> <StageDots stages={head?.stages} />
      {pipeline.coverage !== null && (
        <span class="dim">
          {' '}
          <Phrase text="Coverage {round} %" round={Math.round(pipeline.coverage * 100) / 100} />
        </span>
      )}
    </>
  )
}

/** The jobs of it that have failed, with the end of their logs. */
export function FailedJobs({ view, record: { source_path }, head }: HeadProps) {
  if (!head || source_path === null) return null
  const at = `${view.links.prefix}/${inUrl(source_path)}/-`
  return (
    <>
      {head.failed.map(({ job: { status, build }, lines }) => (
        <details key={status.id} class="failed-job">
          <summary>
            {t('{name} failed', { name: status.name })}
            {status.failure_reason ? `: ${said(status.failure_reason.replaceAll('_', ' '))}` : ''}
            {status.allow_failure ? t(', which it may') : ''}
          </summary>
          {lines.length > 0 ? <LogEnd lines={lines} /> : <p class="dim">{t('It has no log.')}</p>}
          {build && (
            <a href={`${at}/jobs/${status.id}`}>
              <Phrase text="Whole log of {name}" name={status.name} />
            </a>
          )}
        </details>
      ))}
      {head.total > head.failed.length && (
        <p class="dim">
          <Phrase text="{count} more jobs have failed." count={head.total - head.failed.length} />
        </p>
      )}
    </>
  )
}

/** The artifacts of it that the configuration shows here. */
export function ExposedArtifacts({ view, record: { source_path }, head }: HeadProps) {
  if (!head || source_path === null || head.exposed.length === 0) return null
  const at = `${view.links.prefix}/${inUrl(source_path)}/-/jobs`
  return (
    <>
      {head.exposed.map(({ job, name, path }) => (
        <div key={job}>
          <Phrase
            text="View exposed artifact: {link}"
            link={<a href={`${at}/${job}/artifacts/browse${path ? `/${path.split('/').map(encodeURIComponent).join('/')}` : ''}`}>{name}</a>}
          />
        </div>
      ))}
    </>
  )
}
