import { plural, t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { ActionButton } from '../form.js'

/** What else a list is to be had as: a calendar of issues that are due, and a table by mail (RX-34, RX-35). */
export const ListExports = ({ view, calendar, csv }: { view: PageView; calendar?: string; csv?: string | null }) =>
  calendar || csv ? (
    <div class="actions start">
      {calendar && (
        <a class="button ghost" href={`${calendar}?due_date=next_month_and_previous_two_weeks`}>
          {t('Calendar')}
        </a>
      )}
      {csv && <ActionButton view={view} action={csv} label={t('Mail me these as CSV')} class="ghost" />}
    </div>
  ) : null

/** What is said once a table was asked for. */
export const csvNotice = (total: number, kind: 'issues' | 'merge requests') =>
  kind === 'issues'
    ? plural(total, 'A table of {count} issues is mailed to you.', 'A table of {count} issues is mailed to you.')
    : plural(total, 'A table of {count} merge requests is mailed to you.', 'A table of {count} merge requests is mailed to you.')
