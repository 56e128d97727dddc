import type { ProjectSubject } from '../../../access/rules.js'
import { fullPathOf } from '../../../access/rules.js'
import type { PipelineRequest } from '../../../services/ci/merge-requests/of-pipelines.js'
import type { PipelineBasicRecord, StageState } from '../../../services/ci/pipelines.js'
import { said } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl, projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { PipelineBadge, PipelineIcon, shortId } from '../files/code.js'
import { Row, Rows } from '../list.js'
import { Time } from '../time.js'

/** A link to the merge request of a pipeline, with the path of its project where that is another one. */
export const RequestLink = ({ view, request, project }: { view: PageView; request: PipelineRequest; project: number }) => (
  <a href={`${view.links.prefix}/${inUrl(request.fullPath)}/-/merge_requests/${request.iid}`} title={request.title}>
    {request.project_id === project ? '' : request.fullPath}!{request.iid}
  </a>
)

/** The state of each stage. */
export const StageDots = ({ stages }: { stages: StageState[] | undefined }) => (
  <span class="stage-dots">
    {(stages ?? []).map(({ name, state }, i) => (
      <PipelineIcon key={i} state={state} of={`${name}:`} />
    ))}
  </span>
)

interface RowsProps {
  view: PageView
  /** The project of the pipelines. */
  subject: Pick<ProjectSubject, 'project'>
  items: PipelineBasicRecord[]
  stages: Map<number, StageState[]>
  requests: Map<number, PipelineRequest>
  empty: string
}

/** Pipelines of a project with what they are for and the state of each stage (WB-704, WB-721). */
export function PipelineRows({ view, subject, items, stages, requests, empty }: RowsProps) {
  const links = projectLinks(view, fullPathOf(subject.project))
  return (
    <Rows empty={empty}>
      {items.map(({ id, ref, sha, status, source, updated_at }) => {
        const request = requests.get(id)
        return (
          <Row
            key={id}
            actions={
              <>
                <StageDots stages={stages.get(id)} />
                <PipelineBadge state={status} />
              </>
            }
          >
            <span>
              <a href={links.page(`pipelines/${id}`)}>
                <strong>#{id}</strong>
              </a>{' '}
              {request ? (
                <Phrase text="merge request {requestLink}" requestLink={<RequestLink view={view} request={request} project={subject.project.id} />} />
              ) : (
                ref
              )}
            </span>
            <span class="dim">
              <a href={links.commit(sha)}>
                <code>{shortId(sha)}</code>
              </a>{' '}
              · {request ? '' : `${said(source.replaceAll('_', ' '))} · `}
              <Time at={updated_at} />
            </span>
          </Row>
        )
      })}
    </Rows>
  )
}
