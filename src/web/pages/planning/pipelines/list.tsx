import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../../../access/rules.js'
import { oneOf, opt, paging, str } from '../../../../http/params.js'
import { requestsOfPipelines } from '../../../../services/ci/merge-requests/of-pipelines.js'
import { listPipelines, SCOPES, stagesOf } from '../../../../services/ci/pipelines.js'
import { getCommit } from '../../../../services/repository/commits/read.js'
import { PipelineRows } from '../../../components/ci/pipeline-rows.js'
import { shortId } from '../../../components/files/code.js'
import { Pager } from '../../../components/list.js'
import { Prose } from '../../../components/markup.js'
import { renderText } from '../../../components/render-text.js'
import { SearchForm } from '../../../components/search.js'
import { said, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { homeOfProject, projectLinks } from '../../../links.js'
import { page, Redirect } from '../../../page.js'

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
    const ids = items.map(({ id }) => id)
    const [stages, requests] = await Promise.all([stagesOf(ctx, subject, ids), requestsOfPipelines(ctx, caller, ids)])
    const links = projectLinks(view, fullPathOf(subject.project))
    const scopes = (
      <nav class="group" aria-label={t('Kind of pipelines')}>
        {[undefined, ...SCOPES].map((scope) => (
          <a
            key={scope}
            class="button"
            href={`${links.page('pipelines')}?${new URLSearchParams({ ...(scope && { scope }), ...(input.ref && { ref: input.ref }), ...(input.sha && { sha: input.sha }) })}`}
            {...(scope === input.scope && { 'aria-current': 'page' })}
          >
            {scope ? said(scope.charAt(0).toUpperCase() + scope.slice(1)) : t('All')}
          </a>
        ))}
      </nav>
    )
    return {
      title: `${t('Pipelines')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="ci"
          heading={t('Pipelines')}
          tools={
            <>
              {scopes}
              {subject.can('download_code') && (
                <a class="button" href={links.page('ci/lint')}>
                  {t('Configuration')}
                </a>
              )}
              <a class="button" href={links.page('environments')}>
                {t('Environments')}
              </a>
              <a class="button" href={links.page('pipeline_schedules')}>
                {t('Schedules')}
              </a>
              {subject.can('read_feature_flag') && (
                <a class="button" href={links.page('feature_flags')}>
                  {t('Feature flags')}
                </a>
              )}
              {subject.can('create_pipeline') && (
                <a class="button primary" href={links.page('pipelines/new')}>
                  {t('Run pipeline')}
                </a>
              )}
            </>
          }
        >
          {runners && <Prose html={runners} />}
          <SearchForm
            action={links.page('pipelines')}
            label={t('Branch or tag')}
            name="ref"
            value={input.ref}
            hidden={{ ...(input.scope && { scope: input.scope }), ...(input.sha && { sha: input.sha }) }}
          />
          {input.sha && (
            <p>
              <Phrase
                text="Of the commit {link}"
                link={
                  <a href={links.commit(input.sha)}>
                    <code>{shortId(input.sha)}</code>
                  </a>
                }
              />
            </p>
          )}
          <PipelineRows
            view={view}
            subject={subject}
            items={items}
            stages={stages}
            requests={requests}
            empty={
              input.ref || input.scope || input.sha
                ? t('There are no such pipelines.')
                : t('There is no pipeline yet: a push with a .gitlab-ci.yml makes one, and so does a status that a CI server posts.')
            }
          />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})
