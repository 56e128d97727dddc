import { z } from 'zod'
import type { IssueSubject } from '../../../../access/issues.js'
import * as documented from '../../../../http/documented.js'
import { orDefault } from '../../../../http/params.js'
import { ActionButton, Field, FormTag, Submit } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import type { PageView } from '../../../page.js'
import { addressOf } from './address.js'

export const duplicate = z.object({ duplicate_of: orDefault(documented.filled(), '') })
export const moved = z.object({ to_project: orDefault(documented.filled(), '') })

export function MoreActions({ view, subject, mayUpdate }: { view: PageView; subject: IssueSubject; mayUpdate: boolean }) {
  const at = addressOf(subject)
  const { issue } = subject
  const mayMove = subject.may('move_issue') && issue.moved_to_id === null
  const mayDelete = subject.may('admin_issue')
  if (!mayMove && !mayUpdate && !mayDelete) return null
  const { duplicate_of } = fieldsOf(view, duplicate)
  const { to_project } = fieldsOf(view, moved)
  return (
    <details class="box attributes" open={['to_project', 'duplicate_of'].some((name) => view.submitted?.values[name] !== undefined)}>
      <summary class="head">{t('More')}</summary>
      <div class="note">
        {mayUpdate && issue.state === 'opened' && (
          <FormTag view={view} action={`${at}/duplicate`}>
            <Field {...duplicate_of} label={t('Duplicate of')} hint={t('Such as #12 or group/project#12.')} />
            <Submit label={t('Close as duplicate')} class="" />
          </FormTag>
        )}
        {mayMove && (
          <FormTag view={view} action={`${at}/move`}>
            <Field {...to_project} label={t('Move to the project')} hint={t('Its path, such as group/project.')} />
            <Submit label={t('Move issue')} class="" />
          </FormTag>
        )}
        {mayDelete && <ActionButton view={view} action={at} method="DELETE" label={t('Delete issue')} class="danger" />}
      </div>
    </details>
  )
}
