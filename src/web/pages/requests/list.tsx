import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { findMergeRequestFor } from '../../../access/merge-requests.js'
import { fullPathOf, onProjectSignedIn } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { withLabelColors } from '../../../services/issuables/merge-requests/reading/label-colors.js'
import { countMergeRequests, listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import { type MergeRequestChanges, updateMergeRequest } from '../../../services/issuables/merge-requests/writing/update.js'
import { Pager, Rows } from '../../components/list.js'
import { ProjectLayout } from '../../layout/project.js'
import { projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { BulkForm, bulkUpdate, changeEach, changesIn, chosenIids, chosenIn, peopleIn, queryOf } from '../planning/bulk.js'
import { ListHead, requestFilterOf, requestFilters } from '../planning/filters.js'
import { RequestRow } from '../planning/lists.js'
import { within } from './parts.js'

const PER_PAGE = 20
const LISTED = ['opened', 'merged', 'closed', 'all'] as const

interface RequestList {
  ctx: Context
  caller: Caller
  view: PageView
  source: IssuableSource
  given: z.infer<typeof requestFilters>
  /** The address of the list. */
  at: string
  scope: Parameters<typeof requestFilterOf>[1]
  /** Where merge requests of the project can be changed together. */
  changeAt?: string | null
}

/** A list of merge requests with its states, filters and pages. */
export async function requestList({ ctx, caller, view, source, given, at, scope, changeAt = null }: RequestList) {
  const filter = requestFilterOf(given, scope)
  const project = source !== 'everywhere' && 'project' in source ? source : null
  const [{ items: found, total }, counts, labels, milestones] = await Promise.all([
    listMergeRequests(ctx, caller, source, filter),
    Promise.all(LISTED.map((state) => (state === given.state ? null : countMergeRequests(ctx, caller, source, { ...filter, state })))),
    project ? labelChoices(ctx, project) : [],
    project ? milestoneChoices(ctx, project) : [],
  ])
  const items = await withLabelColors(ctx, found)
  const manageAt = items.length > 0 ? changeAt : null
  const chosen = chosenIn(view, 'iids')
  const rows = (
    <Rows empty="There are no such merge requests.">
      {items.map((record) => (
        <RequestRow
          key={record.request.id}
          view={view}
          withProject={!project}
          record={record}
          {...(manageAt && { chosen: chosen.has(String(record.request.iid)) })}
        />
      ))}
    </Rows>
  )
  return (
    <>
      <ListHead
        view={view}
        at={at}
        kind="merge requests"
        state={given.state}
        counts={Object.fromEntries(LISTED.map((state, i) => [state, counts[i] ?? total]))}
        sort={given.sort}
        search={given.search}
        {...(project && { labels: labels.slice(0, MAX_CHOICES), milestones: milestones.slice(0, MAX_CHOICES) })}
      />
      {manageAt ? (
        <BulkForm view={view} action={manageAt} kind="merge requests" milestones={milestones.slice(0, MAX_CHOICES)}>
          {rows}
        </BulkForm>
      ) : (
        rows
      )}
      <Pager view={view} page={given.page} perPage={PER_PAGE} total={total} />
    </>
  )
}

/** The merge requests of a project, with the filters of the API in the address (WB-108). */
export const mergeRequestsPage = page({
  at: 'P/-/merge_requests',
  access: onProjectSignedIn('read_merge_request'),
  input: requestFilters,
  async show({ ctx, caller, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const at = links.page('merge_requests')
    const changeAt = subject.can('manage_merge_request') ? `${within(subject)}/bulk_update` : null
    return {
      title: `Merge requests · ${fullPathOf(subject.project)}`,
      feed: { title: `Merge requests of ${fullPathOf(subject.project)}`, at: `${within(subject)}.atom${queryOf(view)}` },
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests" heading="Merge requests">
          <div class="toolbar end">
            {subject.can('create_merge_request') && (
              <a class="button primary" href={links.page('merge_requests/new')}>
                New merge request
              </a>
            )}
          </div>
          {await requestList({ ctx, caller, view, source: { project: subject }, given: input, at, scope: 'all', changeAt })}
        </ProjectLayout>
      ),
    }
  },
})

/** Changes several merge requests; each as if it were changed alone (WB-108). */
export const requestsChange = form({
  at: 'P/-/merge_requests/bulk_update',
  access: onProjectSignedIn('manage_merge_request'),
  input: z.object({ iids: chosenIids, update: bulkUpdate }),
  on: mergeRequestsPage,
  async submit({ ctx, caller, subject, input: { iids, update }, view }) {
    const common = await changesIn(ctx, 'merge request', { iids, update })
    const reviewer_ids = await peopleIn(ctx, update.reviewer_username)
    const changes: MergeRequestChanges = { ...common, ...(reviewer_ids && { reviewer_ids }) }
    const notice = await changeEach(iids, 'merge request', async (iid) => {
      const request = await findMergeRequestFor(ctx, caller, subject, iid)
      if (!request?.may('update_merge_request')) return false
      await updateMergeRequest(ctx, caller, request, changes)
      return true
    })
    return new Redirect(`${within(subject)}${queryOf(view)}`, { notice })
  },
})
