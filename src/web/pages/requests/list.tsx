import { z } from 'zod'
import { findMergeRequestFor } from '../../../access/merge-requests.js'
import { fullPathOf, onProjectSignedIn } from '../../../access/rules.js'
import { type MergeRequestChanges, updateMergeRequest } from '../../../services/issuables/merge-requests/writing/update.js'
import { requestCsv } from '../../../services/mail/csv.js'
import { Icon } from '../../components/icon.js'
import { bulkUpdate, changeEach, changesIn, chosenIids, peopleIn } from '../../components/issuable/bulk.js'
import { requestFilterOf, requestFilters } from '../../components/issuable/filters.js'
import { csvNotice } from '../../components/issuable/list-exports.js'
import { requestList } from '../../components/issuable/request-list.js'
import { t } from '../../language/language.js'
import { ProjectLayout } from '../../layout/project.js'
import { projectLinks, queryOf } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { within } from './address.js'

/** The merge requests of a project, with the filters of the API in the address (WB-108). */
export const mergeRequestsPage = page({
  at: 'P/-/merge_requests',
  access: onProjectSignedIn('read_merge_request'),
  input: requestFilters,
  async show({ ctx, caller, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const at = links.page('merge_requests')
    const changeAt = subject.can('manage_merge_request') ? `${within(subject)}/bulk_update` : null
    const csvAt = ctx.mail && `${within(subject)}/export_csv${queryOf(view)}`
    return {
      title: `${t('Merge requests')} · ${fullPathOf(subject.project)}`,
      feed: { title: t('Merge requests of {fullPath}', { fullPath: fullPathOf(subject.project) }), at: `${within(subject)}.atom${queryOf(view)}` },
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="merge_requests"
          heading={t('Merge requests')}
          tools={
            subject.can('create_merge_request') && (
              <a class="button primary" href={links.page('merge_requests/new')}>
                <Icon name="plus" />
                {t('New merge request')}
              </a>
            )
          }
        >
          {await requestList({ ctx, caller, view, source: { project: subject }, given: input, at, scope: 'all', changeAt, csvAt })}
        </ProjectLayout>
      ),
    }
  },
})

/** Has the list mailed as a table, with its filters (RX-35). */
export const requestsExport = form({
  at: 'P/-/merge_requests/export_csv',
  access: onProjectSignedIn('read_merge_request'),
  input: requestFilters,
  async submit({ ctx, caller, subject, input, view }) {
    const total = await requestCsv(ctx, caller, subject, { kind: 'merge_requests', filter: requestFilterOf(input, 'all') })
    return new Redirect(`${within(subject)}${queryOf(view)}`, { notice: csvNotice(total, 'merge requests') })
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
    const reviewer_ids = await peopleIn(ctx, update.reviewer_username, 'reviewer_username')
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
