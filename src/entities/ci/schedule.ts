import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { ScheduleDetails, ScheduleRecord } from '../../services/ci/schedules/schedules.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { PipelineBasic, presentPipelineBasic } from './pipeline.js'

/** A variable that a pipeline gets, as it was given. */
export const GivenVariable = z
  .strictObject({ variable_type: z.enum(['env_var', 'file']), key: z.string(), value: z.string().nullable() })
  .meta({ id: 'GivenVariable', description: 'A variable that was given to a pipeline or schedule.' })

export const Schedule = z
  .strictObject({
    id: z.int(),
    description: z.string(),
    ref: z.string(),
    cron: z.string(),
    cron_timezone: z.string(),
    next_run_at: z.iso.datetime(),
    active: z.boolean(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    owner: UserRef.nullable(),
  })
  .meta({ id: 'PipelineSchedule', description: 'When a pipeline is made by itself.' })

export const ScheduleWithLast = z
  .strictObject({ ...Schedule.shape, last_pipeline: PipelineBasic.nullable(), variables: z.array(GivenVariable).optional() })
  .meta({ id: 'PipelineScheduleDetails', description: 'A schedule with its last pipeline, and for those who may change it its variables.' })

export const presentGivenVariable = ({ key, value, file }: { key: string; value: string | null; file: boolean }): z.infer<typeof GivenVariable> => ({
  variable_type: file ? 'file' : 'env_var',
  key,
  value,
})

export const presentSchedule = ({ schedule, owner }: ScheduleRecord, view: View): z.infer<typeof Schedule> => ({
  id: schedule.id,
  description: schedule.description,
  ref: schedule.ref,
  cron: schedule.cron,
  cron_timezone: schedule.cron_timezone,
  next_run_at: schedule.next_run_at.toISOString(),
  active: schedule.active,
  created_at: schedule.created_at.toISOString(),
  updated_at: schedule.updated_at.toISOString(),
  owner: owner && presentUserRef(owner, view),
})

export const presentScheduleDetails = (
  { last, variables, ...record }: ScheduleDetails,
  project: { fullPath: string },
  view: View,
): z.infer<typeof ScheduleWithLast> =>
  Object.assign(presentSchedule(record, view), {
    last_pipeline: last && presentPipelineBasic(last, project, view),
    ...(variables && { variables: variables.map(presentGivenVariable) }),
  })
