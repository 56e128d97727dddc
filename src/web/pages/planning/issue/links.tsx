import { z } from 'zod'
import type { IssueSubject } from '../../../../access/issues.js'
import { fullPathOf } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { orDefault } from '../../../../http/params.js'
import type { listLinks } from '../../../../services/issuables/issues/links.js'
import { ActionButton, Field, FormTag, Submit } from '../../../components/form.js'
import { StateIcon } from '../../../components/list.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { projectLinks } from '../../../links.js'
import type { PageView } from '../../../page.js'
import { addressOf } from './address.js'

export const newLink = z.object({ linked_issue: orDefault(documented.filled(), '') })

interface Props {
  view: PageView
  subject: IssueSubject
  linked: Awaited<ReturnType<typeof listLinks>>
  mayLink: boolean
}

/** The issues that an issue is linked with (PT-24). */
export function LinkedIssues({ view, subject, linked, mayLink }: Props) {
  if (linked.length === 0 && !mayLink) return null
  const at = `${addressOf(subject)}/links`
  return (
    <section>
      <h2>{t('Linked issues')}</h2>
      {linked.length > 0 && (
        <ul class="rows">
          {linked.map(({ link, issue: { issue, path } }) => (
            <li key={link.id}>
              <StateIcon
                {...(issue.state === 'opened' ? { icon: 'circle-dot', kind: 'success' } : { icon: 'circle-check', kind: 'merged' })}
                label={issue.state === 'opened' ? t('open') : t('closed')}
              />
              <div class="what">
                <span>
                  <a href={projectLinks(view, path).page(`issues/${issue.iid}`)}>{issue.title}</a>{' '}
                  <span class="dim">
                    {path === fullPathOf(subject.project) ? '' : path}#{issue.iid}
                  </span>
                </span>
              </div>
              {mayLink && <ActionButton view={view} action={`${at}/${link.id}`} method="DELETE" label={t('Remove link')} what={issue.title} />}
            </li>
          ))}
        </ul>
      )}
      {mayLink && (
        <details class="box" open={view.submitted?.values['linked_issue'] !== undefined}>
          <summary class="head">{t('Link another issue')}</summary>
          <FormTag view={view} action={at} class="form note">
            <Field {...fieldsOf(view, newLink).linked_issue} label={t('Issue')} hint={t('Such as #12 or group/project#12.')} />
            <Submit label={t('Link issue')} class="" />
          </FormTag>
        </details>
      )}
    </section>
  )
}
