import { z } from 'zod'
import { admin } from '../../access/rules.js'
import { Activity, presentActivity } from '../../entities/identity/activity.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { date, opt, paging } from '../../http/params.js'
import { listActivities } from '../../services/identity/activities.js'

/** Last activities (U-38 to U-40). */
export const activities = [
  endpoint({
    method: 'GET',
    path: '/user/activities',
    summary: 'List the last activity of users',
    access: admin,
    input: z.object({ from: opt(date()), ...paging }),
    output: z.array(Activity),
    handler: async ({ ctx, input }) => pageOf(await listActivities(ctx, input), input, presentActivity),
  }),
]
