import { z } from 'zod'
import { fullPathOf } from '../../../access/rules.js'
import { paging } from '../../../http/params.js'
import { requestsOfPipelines } from '../../../services/ci/merge-requests/of-pipelines.js'
import { mayRunRequestPipeline, runRequestPipeline } from '../../../services/ci/merge-requests/run.js'
import { stagesOf } from '../../../services/ci/pipelines.js'
import { sourceOf } from '../../../services/issuables/merge-requests/reading/load.js'
import { listRequestPipelines } from '../../../services/issuables/merge-requests/reading/pipelines.js'
import { PipelineRows } from '../../components/ci/pipeline-rows.js'
import { ActionButton, FormFaults } from '../../components/form.js'
import { Pager } from '../../components/list.js'
import { t } from '../../language/language.js'
import { ProjectLayout } from '../../layout/project.js'
import { form, page, Redirect } from '../../page.js'
import { AT, addressOf, read } from './address.js'
import { RequestHead } from './head.js'

const PER_PAGE = 30

export const requestPipelinesPage = page({
  at: `${AT}/pipelines`,
  access: read,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const source = await sourceOf(ctx, caller, subject, subject.request)
    const reads = subject.can('read_pipeline') && source?.can('read_pipeline') ? source : null
    const { items, total } = reads
      ? (await listRequestPipelines(ctx, caller, subject, { page: input.page, per_page: PER_PAGE })).page
      : { items: [], total: 0 }
    const ids = items.map(({ id }) => id)
    const [stages, requests, mayRun] = await Promise.all([
      reads ? stagesOf(ctx, reads, ids) : new Map(),
      requestsOfPipelines(ctx, caller, ids),
      mayRunRequestPipeline(ctx, caller, subject),
    ])
    return {
      title: `${t('Pipelines of !{iid}', { iid: subject.request.iid })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <RequestHead view={view} subject={subject} source={source} tab="/pipelines" />
          <FormFaults view={view} />
          {mayRun && (
            <div class="toolbar below">
              <ActionButton view={view} action={`${addressOf(subject)}/pipelines`} label={t('Run pipeline')} />
            </div>
          )}
          <PipelineRows
            view={view}
            subject={reads ?? subject}
            items={items}
            stages={stages}
            requests={requests}
            empty={
              reads
                ? t('There is no pipeline yet. Jobs run for a merge request where their rules want merge_request_event.')
                : t('You may not read the pipelines of the source project.')
            }
          />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const requestPipelineForm = form({
  at: `${AT}/pipelines`,
  access: read,
  on: requestPipelinesPage,
  async submit({ ctx, caller, subject }) {
    const { pipeline } = await runRequestPipeline(ctx, caller, subject)
    return new Redirect(`${addressOf(subject)}/pipelines`, { notice: t('Pipeline #{id} is made.', { id: pipeline.id }) })
  },
})
