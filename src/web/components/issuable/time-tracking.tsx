import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import type { Context } from '../../../context.js'
import { invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { oneOf, orDefault } from '../../../http/params.js'
import { humanDuration } from '../../../rules/duration.js'
import { addSpentTime, resetEstimate, resetSpentTime, setEstimate, type TimedTarget } from '../../../services/issuables/time-tracking.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import type { PageView } from '../../page.js'
import { ActionButton, Field, FormTag, Submit } from '../form.js'
import { Icon } from '../icon.js'

export const timeSpent = z.object({
  what: oneOf(['spent', 'estimate', 'reset_spent', 'reset_estimate']),
  duration: orDefault(documented.filled(), ''),
})

/** Does what a button of the form says; a fault of the duration stands beside its field. */
export async function trackTime(ctx: Context, { user }: SignedIn, target: TimedTarget, { what, duration }: z.infer<typeof timeSpent>): Promise<void> {
  try {
    if (what === 'spent') await addSpentTime(ctx, target, user.id, duration)
    else if (what === 'estimate') await setEstimate(ctx, target, user.id, duration)
    else await (what === 'reset_spent' ? resetSpentTime : resetEstimate)(ctx, target, user.id)
  } catch (error) {
    const message = (error as { body?: { message?: Record<string, string[]> } }).body?.message
    const fault = message?.['time_spent'] ?? message?.['time_estimate']
    throw fault ? invalidRecord({ duration: fault }) : error
  }
}

interface TimeTrackingProps {
  view: PageView
  /** Of the issue or merge request, without the prefix of the service. */
  at: string
  times: { time_estimate: number; total_time_spent: number }
  mayUpdate: boolean
}

/** The time that is estimated and spent, with a menu in which both are changed. */
export function TimeTracking({ view, at, times: { time_estimate: estimate, total_time_spent: spent }, mayUpdate }: TimeTrackingProps) {
  if (!mayUpdate && estimate === 0 && spent === 0) return null
  const f = fieldsOf(view, timeSpent)
  return (
    <section id="side_time">
      {mayUpdate ? (
        <details class="menu end side-menu" open={view.submitted?.values['duration'] !== undefined}>
          <summary>
            <h2>
              <Phrase text="Time{span}" span={<span class="hidden">{t(': change')}</span>} />
              <Icon name="pencil" />
            </h2>
          </summary>
          <div class="items large">
            <FormTag view={view} action={`${at}/time`} attributes={{ 'data-into': 'side_time' }}>
              <Field {...f.duration} label={t('Time')} hint={t('Such as 1h 30m; -30m takes away.')} />
              <div class="toolbar">
                <Submit label={t('Add spent time')} name={f.what.name} value="spent" class="" />
                <Submit label={t('Set estimate')} name={f.what.name} value="estimate" class="" />
              </div>
            </FormTag>
            {(spent > 0 || estimate > 0) && (
              <div class="toolbar">
                {spent > 0 && (
                  <ActionButton view={view} action={`${at}/time`} label={t('Reset spent time')} fields={{ what: 'reset_spent' }} into="side_time" />
                )}
                {estimate > 0 && (
                  <ActionButton view={view} action={`${at}/time`} label={t('Remove estimate')} fields={{ what: 'reset_estimate' }} into="side_time" />
                )}
              </div>
            )}
          </div>
        </details>
      ) : (
        <h2>{t('Time')}</h2>
      )}
      <p>
        {spent > 0 ? t('{humanDuration} spent', { humanDuration: humanDuration(spent) }) : t('Nothing spent')}
        {estimate > 0 && ` ${t('of {humanDuration}', { humanDuration: humanDuration(estimate) })}`}
      </p>
      {estimate > 0 && (
        <progress max={estimate} value={Math.min(spent, estimate)} aria-label={t('Time spent')}>
          {Math.round((spent / estimate) * 100)} %
        </progress>
      )}
    </section>
  )
}
