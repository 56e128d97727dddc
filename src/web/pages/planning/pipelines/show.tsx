import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import { rowId } from '../../../../http/params.js'
import { downstreamOf, type LinkedPipeline, upstreamOf } from '../../../../services/ci/bridges/list.js'
import { retryPipeline } from '../../../../services/ci/builds/actions.js'
import { closedEnvironments } from '../../../../services/ci/environments/protected.js'
import { type BuildFacts, type JobRecord, listPipelineJobs } from '../../../../services/ci/jobs.js'
import { type PipelineRequest, requestsOfPipelines } from '../../../../services/ci/merge-requests/of-pipelines.js'
import { cancelPipeline, findPipelineVariables, getPipeline, type PipelineRecord } from '../../../../services/ci/pipelines.js'
import { mayRunOn } from '../../../../services/ci/target.js'
import { RequestLink } from '../../../components/ci/pipeline-rows.js'
import { spanText } from '../../../components/ci/span.js'
import { Facts } from '../../../components/facts.js'
import { PipelineBadge, PipelineIcon, shortId } from '../../../components/files/code.js'
import { ActionButton } from '../../../components/form.js'
import { Row, Rows } from '../../../components/list.js'
import { PersonLink } from '../../../components/people/person-link.js'
import { Time } from '../../../components/time.js'
import { said, t, text } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { projectLinks } from '../../../links.js'
import { form, type PageView, page, Redirect } from '../../../page.js'
import { PagePart } from '../../../page-part.js'
import { MOVES } from './job.js'
import { ciAddress, durationText, JobActions } from './shared.js'

/** Jobs that the page of a pipeline shows. */
const SHOWN_JOBS = 500
/** Characters of the value of a variable that it shows. */
const SHOWN_VALUE = 1_000

interface Stage {
  index: number
  name: string
  jobs: JobRecord[]
}

/** The jobs by stage, in the order of stages. */
function stagesOf(jobs: JobRecord[]): Stage[] {
  const stages = new Map<number, Stage>()
  for (const job of jobs) {
    const { stage_index: index } = job
    const stage = stages.get(index) ?? { index, name: job.status.stage, jobs: [] }
    stage.jobs.push(job)
    stages.set(index, stage)
  }
  return [...stages.values()].sort((a, b) => a.index - b.index)
}

interface JobProps {
  view: PageView
  subject: ProjectSubject
  job: JobRecord
  mayRun: boolean
  /** The pipeline that it has triggered. */
  downstream: LinkedPipeline | undefined
}

const pipelineAddress = (view: PageView, { pipeline, fullPath }: LinkedPipeline) => `${projectLinks(view, fullPath).page(`pipelines/${pipeline.id}`)}`

const VERBS = {
  start: text('deploys to'),
  stop: text('stops'),
  prepare: text('prepares'),
  verify: text('verifies'),
  access: text('uses'),
} as const satisfies Record<NonNullable<BuildFacts['environment']>['action'], string>

/** What of a job is not its state: what it waits for, and where it deploys to. */
const About = ({ build }: { build: BuildFacts }) => (
  <>
    {build.needs && build.needs.length > 0 && (
      <span class="dim">
        <Phrase text="needs {needs}" needs={build.needs.join(', ')} />
      </span>
    )}
    {build.environment && (
      <span class="dim">
        {t(VERBS[build.environment.action])} {build.environment.name}
      </span>
    )}
    {build.scheduled_at && (
      <span class="dim">
        <Phrase text="begins {time}" time={<Time at={build.scheduled_at} />} />
      </span>
    )}
  </>
)

function JobRow({ view, subject, job, mayRun, downstream }: JobProps) {
  const { status, build } = job
  const elsewhere = status.target_url && /^https?:/i.test(status.target_url) ? status.target_url : null
  return (
    <Row
      actions={
        <>
          <PipelineBadge state={status.status} />
          <JobActions view={view} subject={subject} job={job} mayRun={mayRun} inPipeline />
        </>
      }
    >
      <span id={`job_${status.id}`}>
        {build && !build.isBridge ? (
          <a href={view.links.prefix + ciAddress(subject, `jobs/${status.id}`)}>
            <strong>{status.name}</strong>
          </a>
        ) : elsewhere ? (
          <a href={elsewhere} rel="nofollow noopener">
            <strong>{status.name}</strong>
          </a>
        ) : (
          <strong>{status.name}</strong>
        )}{' '}
        <span class="dim">{durationText(status.started_at, status.finished_at)}</span>
      </span>
      {downstream && (
        <span>
          <a href={pipelineAddress(view, downstream)}>
            {downstream.pipeline.source === 'parent_pipeline' ? t('Child pipeline') : downstream.fullPath} #{downstream.pipeline.id}
          </a>{' '}
          <PipelineIcon state={downstream.pipeline.status} of="" />
        </span>
      )}
      {build && <About build={build} />}
      {status.failure_reason && <span class="dim">{said(status.failure_reason.replaceAll('_', ' '))}</span>}
      {status.allow_failure && status.status === 'failed' && <span class="dim">{t('may fail')}</span>}
      {status.description && <span>{status.description}</span>}
    </Row>
  )
}

interface PipelineProps {
  view: PageView
  subject: ProjectSubject
  pipeline: PipelineRecord
  jobs: JobRecord[]
  total: number
  /** Whether the reader may run jobs of its branch or tag. */
  mayRun: boolean
  /** Environments to which the reader may not deploy. */
  closed: ReadonlySet<string>
  upstream: LinkedPipeline | null
  /** The merge request that it is for. */
  request: PipelineRequest | undefined
  downstream: Map<number, LinkedPipeline>
  /** What it was made with, for those who may read that. */
  variables: { key: string; value: string | null }[]
}

function Pipeline({ view, subject, pipeline, jobs, total, mayRun, closed, upstream, request, downstream, variables }: PipelineProps) {
  const { id, status } = pipeline
  const links = projectLinks(view, fullPathOf(subject.project))
  const at = ciAddress(subject, `pipelines/${id}`)
  const canRetry =
    mayRun &&
    subject.can('update_build') &&
    jobs.some(
      ({ build, status: { status } }) => build && (status === 'failed' || status === 'canceled') && !closed.has(build.environment?.name ?? ''),
    )
  const canCancel =
    (mayRun || pipeline.source === 'external') && subject.can('cancel_pipeline') && jobs.some(({ status: { status } }) => MOVES.includes(status))
  const commitLink = (sha: string) => (
    <a href={links.commit(sha)}>
      <code>{shortId(sha)}</code>
    </a>
  )
  return (
    <section id="pipeline" {...(MOVES.includes(status) && { 'data-refresh': view.links.prefix + at, 'data-every': '5' })}>
      <div class="heading">
        <h1>
          <Phrase text="Pipeline #{id} {pipelineBadge}" id={id} pipelineBadge={<PipelineBadge state={status} />} />
        </h1>
        <div class="toolbar">
          {jobs.some(({ build }) => build?.artifacts.some(({ file_type }) => file_type === 'junit')) && (
            <a class="button" href={`${view.links.prefix}${at}/test_report`}>
              {t('Tests')}
            </a>
          )}
          {canRetry && <ActionButton view={view} action={`${at}/retry`} label={t('Retry failed jobs')} />}
          {canCancel && <ActionButton view={view} action={`${at}/cancel`} label={t('Cancel pipeline')} />}
        </div>
      </div>
      {pipeline.yaml_errors !== null && (
        <div class="flash alert">
          <strong>{t('The CI configuration has faults:')}</strong> <span class="message">{pipeline.yaml_errors}</span>
        </div>
      )}
      <Facts
        facts={[
          [t('Merge request'), request && <RequestLink view={view} request={request} project={pipeline.project_id} />],
          [pipeline.tag ? t('Tag') : t('Branch'), request?.source_branch ?? pipeline.ref],
          [t('Commit'), commitLink(pipeline.sha)],
          [t('Before'), pipeline.before_sha && /[^0]/.test(pipeline.before_sha) ? commitLink(pipeline.before_sha) : null],
          [t('Made by'), said(pipeline.source.replaceAll('_', ' '))],
          [
            t('Triggered by'),
            upstream && (
              <a href={pipelineAddress(view, upstream)}>
                {upstream.fullPath === fullPathOf(subject.project) ? t('Pipeline') : upstream.fullPath} #{upstream.pipeline.id}
              </a>
            ),
          ],
          [t('For'), pipeline.user && <PersonLink view={view} user={pipeline.user} />],
          [t('Created'), <Time key="created" at={pipeline.created_at} />],
          [t('Duration'), pipeline.duration === null ? null : spanText(pipeline.duration)],
          [t('Coverage'), pipeline.coverage === null ? null : `${Math.round(pipeline.coverage * 100) / 100} %`],
        ]}
      />
      {variables.length > 0 && (
        <details>
          <summary>{t('Variables')}</summary>
          <Facts facts={variables.map(({ key, value }) => [key, value === null ? t('cannot be decrypted') : value.slice(0, SHOWN_VALUE)])} />
        </details>
      )}
      {jobs.length === 0 ? (
        <p class="empty">{t('This pipeline has no jobs.')}</p>
      ) : (
        <div class="stages">
          {stagesOf(jobs).map((stage) => (
            <section key={stage.index} aria-label={t('Stage {name}', { name: stage.name })}>
              <h2>{stage.name}</h2>
              <PagePart>
                <Rows empty="">
                  {stage.jobs.map((job) => (
                    <JobRow
                      key={job.status.id}
                      view={view}
                      subject={subject}
                      job={job}
                      mayRun={mayRun && !closed.has(job.build?.environment?.name ?? '')}
                      downstream={downstream.get(job.status.id)}
                    />
                  ))}
                </Rows>
              </PagePart>
            </section>
          ))}
        </div>
      )}
      {total > jobs.length && (
        <p class="dim">
          <Phrase text="{total} more jobs are in the API." total={total - jobs.length} />
        </p>
      )}
    </section>
  )
}

export const pipelinePage = page({
  at: 'P/-/pipelines/:pipeline_id',
  access: onProjectSignedIn('read_pipeline'),
  input: z.object({ pipeline_id: rowId() }),
  async show({ ctx, caller, subject, input, view }) {
    const [pipeline, { items, total }, upstream, requests] = await Promise.all([
      getPipeline(ctx, subject, input.pipeline_id),
      listPipelineJobs(ctx, subject, input.pipeline_id, { bridges: false, page: 1, per_page: SHOWN_JOBS }),
      upstreamOf(ctx, caller, input.pipeline_id),
      requestsOfPipelines(ctx, caller, [input.pipeline_id]),
    ])
    const bridges = items.flatMap(({ status, build }) => (build?.isBridge ? [status.id] : []))
    const [downstream, mayRun, closed, variables] = await Promise.all([
      downstreamOf(ctx, caller, bridges),
      mayRunOn(ctx, subject, pipeline),
      closedEnvironments(ctx, subject, caller),
      findPipelineVariables(ctx, caller, subject, pipeline),
    ])
    return {
      title: `${t('Pipeline #{id}', { id: pipeline.id })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <Pipeline
            view={view}
            subject={subject}
            pipeline={pipeline}
            jobs={items}
            total={total}
            mayRun={mayRun}
            closed={closed}
            upstream={upstream}
            request={requests.get(pipeline.id)}
            downstream={downstream}
            variables={variables ?? []}
          />
        </ProjectLayout>
      ),
    }
  },
})

export const pipelineRetry = form({
  at: 'P/-/pipelines/:pipeline_id/retry',
  access: onProjectSignedIn('update_build'),
  input: z.object({ pipeline_id: rowId() }),
  async submit({ ctx, subject, caller, input }) {
    await retryPipeline(ctx, subject, caller, input.pipeline_id)
    return new Redirect(ciAddress(subject, `pipelines/${input.pipeline_id}`), { notice: t('The failed jobs are tried again.') })
  },
})

export const pipelineCancel = form({
  at: 'P/-/pipelines/:pipeline_id/cancel',
  access: onProjectSignedIn('cancel_pipeline'),
  input: z.object({ pipeline_id: rowId() }),
  async submit({ ctx, subject, input }) {
    await cancelPipeline(ctx, subject, input.pipeline_id)
    return new Redirect(ciAddress(subject, `pipelines/${input.pipeline_id}`), { notice: t('The pipeline is canceled.') })
  },
})
