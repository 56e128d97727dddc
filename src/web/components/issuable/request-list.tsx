import type { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import type { Context } from '../../../context.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { withLabelColors } from '../../../services/issuables/merge-requests/reading/label-colors.js'
import { countMergeRequests, listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { Pager, Rows } from '../list.js'
import { BulkForm, chosenIn } from './bulk.js'
import { ListHead, requestFilterOf, type requestFilters } from './filters.js'
import { ListExports } from './list-exports.js'
import { RequestRow } from './rows.js'

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
  /** Where the list is asked for as a table. */
  csvAt?: string | null
}

/** A list of merge requests with its states, filters and pages. */
export async function requestList({ ctx, caller, view, source, given, at, scope, changeAt = null, csvAt = null }: RequestList) {
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
    <Rows empty={t('There are no such merge requests.')}>
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
      <ListExports view={view} csv={total > 0 ? csvAt : null} />
    </>
  )
}
