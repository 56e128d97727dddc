import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { oneOf, opt, paging, rowId, str } from '../../../http/params.js'
import { getJob, listPipelineJobs } from '../../../services/ci/jobs.js'
import { getPipeline, listPipelines, SCOPES } from '../../../services/ci/pipelines.js'
import { getCommit } from '../../../services/repository/commits/read.js'
import { PipelineBadge, shortId } from '../../components/files/code.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { renderText } from '../../components/render-text.js'
import { SearchForm } from '../../components/search.js'
import { Time } from '../../components/time.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, projectLinks } from '../../links.js'
import { page, Redirect } from '../../page.js'

const PER_PAGE = 30
const reads = onProjectSignedIn('read_pipeline')

/** The pipelines of a commit. */
export const pipelinesOfCommitPage = page({
  at: 'P/-/commit/:sha/pipelines',
  access: reads,
  input: z.object({ sha: str() }),
  async show({ ctx, subject, input }) {
    const { oid } = await getCommit(ctx, subject, input.sha)
    return new Redirect(`${homeOfProject(subject)}/-/pipelines?sha=${oid}`)
  },
})

export const pipelinesPage = page({
  at: 'P/-/pipelines',
  access: reads,
  input: z.object({ ref: opt(str()), sha: opt(str()), scope: opt(oneOf(SCOPES)), page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { shared_runners_text } = view.settings
    const runners = subject.project.shared_runners_enabled ? await renderText(ctx, caller, null, shared_runners_text) : ''
    const filter = { ref: input.ref, sha: input.sha, scope: input.scope, order_by: 'id', sort: 'desc', page: input.page, per_page: PER_PAGE } as const
    const { items, total } = await listPipelines(ctx, subject, filter)
    const links = projectLinks(view, fullPathOf(subject.project))
    const scopes = (
      <nav class="group" aria-label="Kind of pipelines">
        {[undefined, ...SCOPES].map((scope) => (
          <a
            key={scope}
            class="button"
            href={`${links.page('pipelines')}?${new URLSearchParams({ ...(scope && { scope }), ...(input.ref && { ref: input.ref }), ...(input.sha && { sha: input.sha }) })}`}
            {...(scope === input.scope && { 'aria-current': 'page' })}
          >
            {scope ? scope.charAt(0).toUpperCase() + scope.slice(1) : 'All'}
          </a>
        ))}
      </nav>
    )
    return {
      title: `Pipelines · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci" heading="Pipelines" tools={scopes}>
          {runners && <Prose html={runners} />}
          <SearchForm
            action={links.page('pipelines')}
            label="Branch or tag"
            name="ref"
            value={input.ref}
            hidden={{ ...(input.scope && { scope: input.scope }), ...(input.sha && { sha: input.sha }) }}
          />
          {input.sha && (
            <p>
              Of the commit{' '}
              <a href={links.commit(input.sha)}>
                <code>{shortId(input.sha)}</code>
              </a>
            </p>
          )}
          <Rows empty={input.ref || input.scope || input.sha ? 'There are no such pipelines.' : 'No CI server has posted a status yet.'}>
            {items.map(({ id, ref, sha, status, updated_at }) => (
              <Row key={id} actions={<PipelineBadge state={status} />}>
                <span>
                  <a href={links.page(`pipelines/${id}`)}>
                    <strong>#{id}</strong>
                  </a>{' '}
                  {ref}
                </span>
                <span class="dim">
                  <a href={links.commit(sha)}>
                    <code>{shortId(sha)}</code>
                  </a>{' '}
                  · <Time at={updated_at} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

/** How long a job took, in words; empty while it runs. */
const durationText = (from: Date | null, to: Date | null) => {
  if (!from || !to) return ''
  const seconds = Math.round((to.getTime() - from.getTime()) / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

export const pipelinePage = page({
  at: 'P/-/pipelines/:pipeline_id',
  access: reads,
  input: z.object({ pipeline_id: rowId() }),
  async show({ ctx, subject, input, view }) {
    const [pipeline, { items, total }] = await Promise.all([
      getPipeline(ctx, subject, input.pipeline_id),
      listPipelineJobs(ctx, subject, input.pipeline_id, { scope: undefined, page: 1, per_page: 100 }),
    ])
    const links = projectLinks(view, fullPathOf(subject.project))
    return {
      title: `Pipeline #${pipeline.id} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>
            Pipeline #{pipeline.id} <PipelineBadge state={pipeline.status} />
          </h1>
          <p class="dim">
            {pipeline.ref} ·{' '}
            <a href={links.commit(pipeline.sha)}>
              <code>{shortId(pipeline.sha)}</code>
            </a>{' '}
            · <Time at={pipeline.created_at} />
            {pipeline.coverage !== null && ` · coverage ${pipeline.coverage} %`}
          </p>
          <Rows empty="This pipeline has no statuses.">
            {items.map(({ status }) => (
              <Row key={status.id} actions={<PipelineBadge state={status.status} />}>
                <span id={`job_${status.id}`}>
                  {status.target_url && /^https?:/i.test(status.target_url) ? (
                    <a href={status.target_url} rel="nofollow noopener">
                      <strong>{status.name}</strong>
                    </a>
                  ) : (
                    <strong>{status.name}</strong>
                  )}{' '}
                  <span class="dim">{durationText(status.started_at, status.finished_at)}</span>
                </span>
                {status.description && <span>{status.description}</span>}
              </Row>
            ))}
          </Rows>
          {total > items.length && <p class="dim">{total - items.length} more statuses are in the API.</p>}
        </ProjectLayout>
      ),
    }
  },
})

const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-`

/** A job is a status of a pipeline, which has its page. */
export const jobPage = page({
  at: 'P/-/jobs/:job_id',
  access: reads,
  input: z.object({ job_id: rowId() }),
  async show({ ctx, subject, input }) {
    const { pipeline, status } = await getJob(ctx, subject, input.job_id)
    return new Redirect(`${within(subject)}/pipelines/${pipeline.id}#job_${status.id}`)
  },
})
