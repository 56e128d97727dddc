import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { pathNumber } from '../../../access/path-number.js'
import type { Context } from '../../../context.js'
import { Failure, invalidRecord } from '../../../failures.js'
import { commaList, list, oneOfOrBlank, opt, orDefault, rowId, str } from '../../../http/params.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { queryOf } from '../../links.js'
import type { PageView } from '../../page.js'
import { Field, FormFaults, FormTag, SelectField, Submit } from '../form.js'
import { peopleOf } from './choices.js'

/** The most issues or merge requests that are changed at once. */
const MAX_CHANGED = 100

/** The numbers of those that were chosen before the form was refused. */
export const chosenIn = ({ submitted }: PageView, field: string): Set<string> =>
  new Set([(submitted?.values[field] as unknown[] | undefined) ?? []].flat().map(String))

interface BulkProps {
  view: PageView
  /** Where the form is sent to; the filters are kept. */
  action: string
  kind: 'issues' | 'merge requests'
  milestones: { id: number; title: string }[]
  /** The rows, with their boxes. */
  children: ComponentChildren
}

/** A list whose chosen rows are changed together. */
export const BulkForm = ({ view, action, kind, milestones, children }: BulkProps) => {
  const f = fieldsOf(view, changing).update
  return (
    <FormTag view={view} action={`${action}${queryOf(view)}`}>
      <FormFaults view={view} />
      {children}
      <details class="box bulk" open={view.submitted !== null}>
        <summary class="head">{kind === 'issues' ? t('Change the chosen issues') : t('Change the chosen merge requests')}</summary>
        <div class="note">
          <div class="columns">
            <SelectField
              {...f.state_event}
              label={t('State')}
              choices={[
                { value: '', label: t('As it is') },
                { value: 'close', label: t('Close') },
                { value: 'reopen', label: t('Reopen') },
              ]}
            />
            <Field {...f.assignee_username} label={t('Assignee')} hint={t('A username, or none.')} />
            {kind === 'merge requests' && <Field {...f.reviewer_username} label={t('Reviewer')} hint={t('A username, or none.')} />}
            <Field {...f.add_labels} label={t('Add labels')} hint={t('With commas between.')} list="list_labels" />
            <Field {...f.remove_labels} label={t('Remove labels')} hint={t('With commas between.')} list="list_labels" />
            <SelectField
              {...f.milestone_id}
              label={t('Milestone')}
              choices={[
                { value: '', label: t('As it is') },
                { value: '0', label: t('None') },
                ...milestones.map(({ id, title }) => ({ value: String(id), label: title })),
              ]}
            />
          </div>
          <Submit label={kind === 'issues' ? t('Change issues') : t('Change merge requests')} class="" />
        </div>
      </details>
    </FormTag>
  )
}

export const chosenIids = orDefault(list(rowId(), MAX_CHANGED), [])

export const bulkUpdate = z.object({
  state_event: opt(oneOfOrBlank(['close', 'reopen'])),
  assignee_username: opt(str()),
  reviewer_username: opt(str()),
  add_labels: opt(commaList()),
  remove_labels: opt(commaList()),
  milestone_id: opt(str()),
})

/** The ids of the users that a field names; `[0]` for `none`, undefined if it is blank. */
export const peopleIn = async (ctx: Context, names: string | undefined, field: string): Promise<number[] | undefined> =>
  names?.trim() ? peopleOf(ctx, names.trim() === 'none' ? '' : names, field) : undefined

const changing = z.object({ update: bulkUpdate })

interface Chosen {
  iids: number[]
  update: z.infer<typeof bulkUpdate>
}

/** What the fields of the form change; blank ones change nothing. */
export async function changesIn(ctx: Context, kind: 'issue' | 'merge request', { iids, update }: Chosen) {
  if (iids.length === 0)
    throw invalidRecord({
      base: [kind === 'issue' ? t('needs at least one issue: choose some.') : t('needs at least one merge request: choose some.')],
    })
  const { state_event, add_labels, remove_labels, milestone_id } = update
  const assignee_ids = await peopleIn(ctx, update.assignee_username, 'assignee_username')
  return {
    state_event,
    ...(add_labels?.length && { add_labels }),
    ...(remove_labels?.length && { remove_labels }),
    ...(milestone_id && { milestone_id: pathNumber(milestone_id) ?? 0 }),
    ...(assignee_ids && { assignee_ids }),
  }
}

/**
 * Changes each of the chosen as if it were changed alone (WB-108, WB-124), and says how many. Those that `change`
 * answers false for, as the caller may not change them, and those that are gone are left out.
 */
export async function changeEach(iids: number[], kind: 'issue' | 'merge request', change: (iid: number) => Promise<boolean>): Promise<string> {
  let changed = 0
  for (const iid of new Set(iids))
    try {
      if (await change(iid)) changed++
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'not_found') throw error
    }
  return kind === 'issue'
    ? plural(changed, '{count} issue is changed.', '{count} issues are changed.')
    : plural(changed, '{count} merge request is changed.', '{count} merge requests are changed.')
}
