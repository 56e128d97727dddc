import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { presentTimeStats, TimeStats } from '../../entities/issuables/time-stats.js'
import { type Endpoint, endpoint } from '../../http/endpoint.js'
import { documentedWith, str } from '../../http/params.js'
import {
  addSpentTime,
  resetEstimate,
  resetSpentTime,
  setEstimate,
  type TimedTarget,
  type TimeRecord,
} from '../../services/issuables/time-tracking.js'

/** A pattern for durations such as `1w 3h30m`, for the reference; the parser accepts more forms (TT-11). */
const PARTS = '[1-9][0-9]{0,2}(mo|w|d|h|m|s)( ?[1-9][0-9]?(w|d|h|m|s)){0,4}'

interface TimeTrackingRoutes<Subject> {
  /** The path of the issue or merge request, and its name in summaries. */
  path: string
  noun: string
  read: Access<Subject, true>
  write: Access<Subject, true>
  target(subject: Subject): TimedTarget
  record(subject: Subject): TimeRecord
}

/** The endpoints of time tracking (IS-11 to IS-13, TT-1 to TT-10, X-14). */
export function timeTrackingOf<Subject>({ path, noun, read, write, target, record }: TimeTrackingRoutes<Subject>): Endpoint[] {
  const reset = (what: string, summary: string, change: typeof resetEstimate) =>
    endpoint({
      method: 'POST',
      path: `${path}/${what}`,
      summary,
      access: write,
      status: 200,
      output: TimeStats,
      async handler({ ctx, caller, subject }) {
        return presentTimeStats(await change(ctx, target(subject), caller.user.id))
      },
    })
  const duration = (pattern: string) => z.object({ duration: documentedWith(str(), { pattern, maxLength: 255 }) })
  return [
    endpoint({
      method: 'POST',
      path: `${path}/time_estimate`,
      summary: `Set the time estimate of ${noun}`,
      access: write,
      status: 200,
      input: duration(`^${PARTS}$`),
      output: TimeStats,
      async handler({ ctx, caller, subject, input }) {
        return presentTimeStats(await setEstimate(ctx, target(subject), caller.user.id, input.duration))
      },
    }),
    reset('reset_time_estimate', `Reset the time estimate of ${noun}`, resetEstimate),
    endpoint({
      method: 'POST',
      path: `${path}/add_spent_time`,
      summary: `Add spent time to ${noun}`,
      access: write,
      input: duration(`^-?${PARTS}$`),
      output: TimeStats,
      async handler({ ctx, caller, subject, input }) {
        return presentTimeStats(await addSpentTime(ctx, target(subject), caller.user.id, input.duration))
      },
    }),
    reset('reset_spent_time', `Reset the spent time of ${noun}`, resetSpentTime),
    endpoint({
      method: 'GET',
      path: `${path}/time_stats`,
      summary: `Get the time tracking of ${noun}`,
      access: read,
      output: TimeStats,
      handler: async ({ subject }) => presentTimeStats(record(subject)),
    }),
  ]
}
