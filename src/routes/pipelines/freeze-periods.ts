import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { FreezePeriod, presentFreezePeriod } from '../../entities/ci/freeze-period.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { opt, orDefault, paging, rowId, str, updateOf } from '../../http/params.js'
import {
  createFreezePeriod,
  deleteFreezePeriod,
  getFreezePeriod,
  listFreezePeriods,
  updateFreezePeriod,
} from '../../services/ci/environments/freeze-periods.js'

const read = onProjectSignedIn('read_environment')
const manage = onProjectSignedIn('admin_pipeline')
const AT = '/projects/:id/freeze_periods'
const ONE = `${AT}/:freeze_period_id`
const byId = { freeze_period_id: rowId() }

/** When a project is not to be deployed (FZ-1 to FZ-3). */
export const freezePeriods = [
  endpoint({
    method: 'GET',
    path: AT,
    summary: 'List freeze periods',
    access: read,
    input: z.object(paging),
    output: z.array(FreezePeriod),
    handler: async ({ ctx, subject, input }) => pageOf(await listFreezePeriods(ctx, subject, input), input, presentFreezePeriod),
  }),
  endpoint({
    method: 'GET',
    path: ONE,
    summary: 'Get a freeze period',
    access: read,
    input: z.object(byId),
    output: FreezePeriod,
    handler: async ({ ctx, subject, input }) => presentFreezePeriod(await getFreezePeriod(ctx, subject, input.freeze_period_id)),
  }),
  endpoint({
    method: 'POST',
    path: AT,
    summary: 'Create a freeze period',
    access: manage,
    input: z.object({ freeze_start: documented.filled(), freeze_end: documented.filled(), cron_timezone: orDefault(str(), 'UTC') }),
    output: FreezePeriod,
    handler: async ({ ctx, subject, input }) => presentFreezePeriod(await createFreezePeriod(ctx, subject, input)),
  }),
  endpoint({
    method: 'PUT',
    path: ONE,
    summary: 'Change a freeze period',
    access: manage,
    input: updateOf(
      z.object({ ...byId, freeze_start: opt(documented.filled()), freeze_end: opt(documented.filled()), cron_timezone: opt(documented.filled()) }),
    ),
    output: FreezePeriod,
    handler: async ({ ctx, subject, input: { freeze_period_id: id, ...given } }) =>
      presentFreezePeriod(await updateFreezePeriod(ctx, subject, id, given)),
  }),
  endpoint({
    method: 'DELETE',
    path: ONE,
    summary: 'Delete a freeze period',
    access: manage,
    input: z.object(byId),
    handler: ({ ctx, subject, input }) => deleteFreezePeriod(ctx, subject, input.freeze_period_id),
  }),
]
