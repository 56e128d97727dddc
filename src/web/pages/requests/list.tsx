import { z } from 'zod'
import { findMergeRequestFor } from '../../../access/merge-requests.js'
import { fullPathOf, onProjectSignedIn } from '../../../access/rules.js'
import { Failure, invalidRecord } from '../../../failures.js'
import { commaList, list, oneOfOrBlank, opt, orDefault, rowId, str } from '../../../http/params.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import { countMergeRequests, listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import { type MergeRequestChanges, updateMergeRequest } from '../../../services/issuables/merge-requests/writing/update.js'
import { Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Pager, Rows } from '../../components/list.js'
import { ProjectLayout } from '../../layout/project.js'
import { projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ListHead, requestFilterOf, requestFilters } from '../planning/filters.js'
import { RequestRow } from '../planning/lists.js'
import { assigneeOf } from '../planning/people.js'
import { within } from './parts.js'

const PER_PAGE = 20
const MAX_CHANGED = 100
const LISTED = ['opened', 'merged', 'closed', 'all'] as const

const queryOf = ({ address }: PageView) => (address.includes('?') ? address.slice(address.indexOf('?')) : '')

/** The merge requests of a project, with the filters of the API in the address (WB-108). */
export const mergeRequestsPage = page({
  at: 'P/-/merge_requests',
  access: onProjectSignedIn('read_merge_request'),
  input: requestFilters,
  async show({ ctx, caller, subject, input, view }) {
    const source = { project: subject }
    const filter = requestFilterOf(input, 'all')
    const [{ items, total }, counts, labels, milestones] = await Promise.all([
      listMergeRequests(ctx, caller, source, filter),
      Promise.all(LISTED.map((state) => countMergeRequests(ctx, caller, source, { ...filter, state }))),
      labelChoices(ctx, source),
      milestoneChoices(ctx, source),
    ])
    const links = projectLinks(view, fullPathOf(subject.project))
    const manages = subject.can('manage_merge_request') && items.length > 0
    const chosen = new Set([(view.submitted?.values['iids'] as unknown[] | undefined) ?? []].flat().map(String))
    const rows = (
      <Rows empty="There are no such merge requests.">
        {items.map((record) => (
          <RequestRow
            key={record.request.id}
            view={view}
            withProject={false}
            record={record}
            {...(manages && { chosen: chosen.has(String(record.request.iid)) })}
          />
        ))}
      </Rows>
    )
    return {
      title: `Merge requests · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests" heading="Merge requests">
          <div class="toolbar end">
            {subject.can('create_merge_request') && (
              <a class="button primary" href={links.page('merge_requests/new')}>
                New merge request
              </a>
            )}
          </div>
          <ListHead
            view={view}
            at={links.page('merge_requests')}
            kind="merge requests"
            state={input.state}
            counts={Object.fromEntries(LISTED.map((state, i) => [state, counts[i] ?? 0]))}
            sort={input.sort}
            search={input.search}
            labels={labels.slice(0, MAX_CHOICES)}
            milestones={milestones.slice(0, MAX_CHOICES)}
          />
          {manages ? (
            <FormTag view={view} action={`${within(subject)}/bulk_update${queryOf(view)}`}>
              <FormFaults view={view} fields={['assignee_username', 'reviewer_username']} />
              {rows}
              <details class="box bulk" open={view.submitted !== null}>
                <summary class="head">Change the chosen merge requests</summary>
                <div class="note">
                  <div class="columns">
                    <SelectField
                      view={view}
                      name="update[state_event]"
                      label="State"
                      choices={[
                        { value: '', label: 'As it is' },
                        { value: 'close', label: 'Close' },
                        { value: 'reopen', label: 'Reopen' },
                      ]}
                    />
                    <Field view={view} name="update[assignee_username]" label="Assignee" hint="A username, or none." />
                    <Field view={view} name="update[reviewer_username]" label="Reviewer" hint="A username, or none." />
                    <Field view={view} name="update[add_labels]" label="Add labels" hint="With commas between." list="list_labels" />
                    <Field view={view} name="update[remove_labels]" label="Remove labels" hint="With commas between." list="list_labels" />
                    <SelectField
                      view={view}
                      name="update[milestone_id]"
                      label="Milestone"
                      choices={[
                        { value: '', label: 'As it is' },
                        { value: '0', label: 'None' },
                        ...milestones.slice(0, MAX_CHOICES).map(({ id, title }) => ({ value: String(id), label: title })),
                      ]}
                    />
                  </div>
                  <Submit label="Change merge requests" class="" />
                </div>
              </details>
            </FormTag>
          ) : (
            rows
          )}
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

const nobody = (name: string) => (name.trim() === 'none' ? '' : name)

/** Changes several merge requests; each as one would change it alone (WB-108). */
const requestsChange = form({
  at: 'P/-/merge_requests/bulk_update',
  method: 'POST',
  access: onProjectSignedIn('manage_merge_request'),
  input: z.object({
    iids: orDefault(list(rowId(), MAX_CHANGED), []),
    update: z.object({
      state_event: opt(oneOfOrBlank(['close', 'reopen'])),
      assignee_username: opt(str()),
      reviewer_username: opt(str()),
      add_labels: opt(commaList()),
      remove_labels: opt(commaList()),
      milestone_id: opt(str()),
    }),
  }),
  on: mergeRequestsPage,
  async submit({ ctx, caller, subject, input: { iids, update }, view }) {
    const { assignee_username, reviewer_username, milestone_id, add_labels, remove_labels, state_event } = update
    if (iids.length === 0) throw invalidRecord({ base: ['needs at least one merge request: choose some.'] })
    const changes: MergeRequestChanges = {
      state_event,
      ...(add_labels?.length && { add_labels }),
      ...(remove_labels?.length && { remove_labels }),
      ...(milestone_id && { milestone_id: Number(milestone_id) || 0 }),
      ...(assignee_username?.trim() && { assignee_ids: await assigneeOf(ctx, nobody(assignee_username)) }),
      ...(reviewer_username?.trim() && { reviewer_ids: await assigneeOf(ctx, nobody(reviewer_username)) }),
    }
    let changed = 0
    for (const iid of new Set(iids)) {
      const request = await findMergeRequestFor(ctx, caller, subject, iid)
      if (!request?.may('update_merge_request')) continue
      try {
        await updateMergeRequest(ctx, caller, request, changes)
        changed++
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== 'not_found') throw error
      }
    }
    const notice = `${changed} ${changed === 1 ? 'merge request is' : 'merge requests are'} changed.`
    return new Redirect(`${within(subject)}${queryOf(view)}`, { notice })
  },
})

export const forms = { requestsChange }
