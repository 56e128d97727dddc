import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import { noSuchRoute, tooMany } from '../../../failures.js'
import { int, orDefault, str } from '../../../http/params.js'
import { form, Plain } from '../../page.js'

/** Reports that one address may send in a minute. */
const MAX_REPORTS = 20
const WINDOW_S = 60
const text = () => orDefault(str(), '')
const place = () => orDefault(int({ min: 0 }), 0)

/** Takes the errors of the page script, for the tracker of the settings (WB-201). */
export const pageErrorForm = form({
  at: '/-/page_errors',
  access: anyone,
  openWhen: ['read_only'],
  ownProof: true,
  input: z.object({ message: text(), source: text(), line: place(), column: place(), stack: text(), page: text() }),
  async submit({ ctx, input, view }) {
    if (!view.settings.clientside_errtracker_enabled) throw noSuchRoute()
    const { count } = await ctx.access.counters.add(`page errors from ${ctx.origin?.address}`, WINDOW_S)
    if (count > MAX_REPORTS) throw tooMany(WINDOW_S)
    ctx.monitoring.errors.reportPage(input, ctx.origin?.userAgent ?? '')
    return new Plain('text/plain; charset=utf-8', '')
  },
})
