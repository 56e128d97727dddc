import type { PageView } from '../../page.js'
import { ActionButton } from '../form.js'

/** What else a list is to be had as: a calendar of issues that are due, and a table by mail (RX-34, RX-35). */
export const ListExports = ({ view, calendar, csv }: { view: PageView; calendar?: string; csv?: string | null }) =>
  calendar || csv ? (
    <div class="actions start">
      {calendar && (
        <a class="button ghost" href={`${calendar}?due_date=next_month_and_previous_two_weeks`}>
          Calendar
        </a>
      )}
      {csv && <ActionButton view={view} action={csv} label="Mail me these as CSV" class="ghost" />}
    </div>
  ) : null

/** What is said once a table was asked for. */
export const csvNotice = (total: number, what: string) => `A table of ${total} ${what} is mailed to you.`
