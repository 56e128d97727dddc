import { z } from 'zod'
import type { IssueSubject } from '../../../../access/issues.js'
import * as documented from '../../../../http/documented.js'
import { oneOf, orDefault } from '../../../../http/params.js'
import { humanDuration } from '../../../../rules/duration.js'
import { ActionButton, Field, FormTag, Submit } from '../../../components/form.js'
import { Section } from '../../../components/issuable/section.js'
import { fieldsOf } from '../../../fields.js'
import type { PageView } from '../../../page.js'
import { addressOf } from './address.js'

export const timeSpent = z.object({
  what: oneOf(['spent', 'estimate', 'reset_spent', 'reset_estimate']),
  duration: orDefault(documented.filled(), ''),
})

export function TimeTracking({ view, subject, mayUpdate }: { view: PageView; subject: IssueSubject; mayUpdate: boolean }) {
  const { time_estimate: estimate, total_time_spent: spent } = subject.issue
  const at = addressOf(subject)
  if (!mayUpdate && estimate === 0 && spent === 0) return null
  const f = fieldsOf(view, timeSpent)
  return (
    <Section title="Time">
      <p>
        {spent > 0 ? `${humanDuration(spent)} spent` : 'Nothing spent'}
        {estimate > 0 && ` of ${humanDuration(estimate)}`}
      </p>
      {estimate > 0 && (
        <progress max={estimate} value={Math.min(spent, estimate)} aria-label="Time spent">
          {Math.round((spent / estimate) * 100)} %
        </progress>
      )}
      {mayUpdate && (
        <details class="box attributes" open={view.submitted?.values['duration'] !== undefined}>
          <summary class="head">Track time</summary>
          <div class="note">
            <FormTag view={view} action={`${at}/time`}>
              <Field {...f.duration} label="Time" hint="Such as 1h 30m; -30m takes away." />
              <div class="toolbar">
                <Submit label="Add spent time" name={f.what.name} value="spent" class="" />
                <Submit label="Set estimate" name={f.what.name} value="estimate" class="" />
              </div>
            </FormTag>
            <div class="toolbar">
              {spent > 0 && <ActionButton view={view} action={`${at}/time`} label="Reset spent time" fields={{ what: 'reset_spent' }} />}
              {estimate > 0 && <ActionButton view={view} action={`${at}/time`} label="Remove estimate" fields={{ what: 'reset_estimate' }} />}
            </div>
          </div>
        </details>
      )}
    </Section>
  )
}
