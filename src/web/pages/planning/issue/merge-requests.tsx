import { z } from 'zod'
import type { IssueSubject } from '../../../../access/issues.js'
import { fullPathOf } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { orDefault } from '../../../../http/params.js'
import { issueBranchName } from '../../../../rules/refs/issue-branch.js'
import type { listRelated } from '../../../../services/issuables/merge-requests/reading/of-issue.js'
import { Field, FormTag, Submit } from '../../../components/form.js'
import { StateIcon } from '../../../components/list.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { projectLinks } from '../../../links.js'
import type { PageView } from '../../../page.js'
import { addressOf } from './address.js'

export const mayBranch = (subject: IssueSubject) =>
  subject.issue.state === 'opened' && subject.can('create_branch') && subject.can('create_merge_request') && !subject.project.empty_repo

interface RelatedProps {
  view: PageView
  subject: IssueSubject
  related: Awaited<ReturnType<typeof listRelated>>['items']
  mayCreate: boolean
}

export const newRequest = z.object({ branch_name: orDefault(documented.filled(), ''), ref: orDefault(documented.filled(), '') })

const ICONS = {
  opened: { icon: 'git-pull-request', kind: 'success' },
  merged: { icon: 'git-merge', kind: 'merged' },
  closed: { icon: 'git-pull-request-closed', kind: 'danger' },
  locked: { icon: 'git-merge', kind: 'waiting' },
} as const

export function RelatedRequests({ view, subject, related, mayCreate }: RelatedProps) {
  if (related.length === 0 && !mayCreate) return null
  const { issue, project } = subject
  const f = fieldsOf(view, newRequest)
  return (
    <section>
      <h2>{t('Merge requests')}</h2>
      {related.length > 0 && (
        <ul class="rows">
          {related.map(({ request, path }) => (
            <li key={request.id}>
              <StateIcon {...ICONS[request.state]} label={request.state} />
              <div class="what">
                <span>
                  <a href={projectLinks(view, path).page(`merge_requests/${request.iid}`)}>{request.title}</a>{' '}
                  <span class="dim">
                    {path === fullPathOf(project) ? '' : path}!{request.iid}
                  </span>
                </span>
              </div>
            </li>
          ))}
        </ul>
      )}
      {mayCreate && (
        <details class="box" open={view.submitted?.values['branch_name'] !== undefined}>
          <summary class="head">{t('Create a merge request for this issue')}</summary>
          <FormTag view={view} action={`${addressOf(subject)}/create_merge_request`} class="form note">
            <div class="columns">
              <Field {...f.branch_name} label={t('New branch')} value={issueBranchName(project.issue_branch_template, issue)} />
              <Field {...f.ref} label={t('From')} value={project.default_branch} />
            </div>
            <Submit label={t('Create branch and merge request')} class="" />
          </FormTag>
        </details>
      )}
    </section>
  )
}
