import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { PipelineBasic, presentPipelineBasic } from '../../entities/ci/pipeline.js'
import {
  GivenVariable,
  presentGivenVariable,
  presentSchedule,
  presentScheduleDetails,
  Schedule,
  ScheduleWithLast,
} from '../../entities/ci/schedule.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, datetime, filledIn, idPaging, oneOf, opt, orDefault, paging, rowId, str, updateOf } from '../../http/params.js'
import { PIPELINE_STATES } from '../../rules/pipeline-states.js'
import { listPipelines, SCOPES } from '../../services/ci/pipelines.js'
import { scheduleOf } from '../../services/ci/schedules/row.js'
import { playSchedule } from '../../services/ci/schedules/run.js'
import { createSchedule, deleteSchedule, getSchedule, listSchedules, takeSchedule, updateSchedule } from '../../services/ci/schedules/schedules.js'
import { createScheduleVariable, deleteScheduleVariable, getScheduleVariable, updateScheduleVariable } from '../../services/ci/schedules/variables.js'

const AT = '/projects/:id/pipeline_schedules'
const ONE = `${AT}/:pipeline_schedule_id`
const read = onProjectSignedIn('read_pipeline')
const change = onProjectSignedIn('update_build')
const create = onProjectSignedIn('create_pipeline')

const pipeline_schedule_id = rowId()
const byId = z.object({ pipeline_schedule_id })
const key = str()
const variable_type = opt(oneOf(['env_var', 'file']))
const projectOf = ({ project }: ProjectSubject) => ({ fullPath: fullPathOf(project) })

/** Schedules (CI-223 to CI-226). */
export const schedules = [
  endpoint({
    method: 'GET',
    path: AT,
    summary: 'List the schedules of a project',
    access: read,
    input: z.object({ scope: opt(oneOf(['active', 'inactive'])), ...paging }),
    output: z.array(Schedule),
    handler: async ({ ctx, subject, input, view }) =>
      pageOf(await listSchedules(ctx, subject, input), input, (record) => presentSchedule(record, view)),
  }),
  endpoint({
    method: 'GET',
    path: ONE,
    summary: 'Get a schedule',
    access: read,
    input: byId,
    output: ScheduleWithLast,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentScheduleDetails(await getSchedule(ctx, caller, subject, input.pipeline_schedule_id), projectOf(subject), view),
  }),
  endpoint({
    method: 'GET',
    path: `${ONE}/pipelines`,
    summary: 'List the pipelines of a schedule',
    access: read,
    input: z.object({
      pipeline_schedule_id,
      scope: opt(oneOf(SCOPES)),
      status: opt(oneOf(PIPELINE_STATES)),
      updated_after: opt(datetime()),
      updated_before: opt(datetime()),
      sort: orDefault(oneOf(['asc', 'desc']), 'asc'),
      ...idPaging,
    }),
    output: z.array(PipelineBasic),
    async handler({ ctx, subject, input, view }) {
      const { pipeline_schedule_id: id, ...filter } = input
      const schedule = (await scheduleOf(ctx, subject, id)).id
      const found = await listPipelines(ctx, subject, { ...filter, schedule, order_by: 'id' })
      return pageOf(found, input, (pipeline) => presentPipelineBasic(pipeline, projectOf(subject), view)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'POST',
    path: AT,
    summary: 'Create a schedule',
    description: 'Its pipelines are made as the caller.',
    access: create,
    input: z.object({
      description: documented.title(),
      ref: filledIn(),
      cron: documented.title(),
      cron_timezone: orDefault(documented.short(), 'UTC'),
      active: orDefault(bool(), true),
    }),
    output: ScheduleWithLast,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentScheduleDetails(await createSchedule(ctx, caller, subject, input), projectOf(subject), view),
  }),
  endpoint({
    method: 'PUT',
    path: ONE,
    summary: 'Update a schedule',
    description: 'For its owner and administrators: it runs with the rights of its owner.',
    access: change,
    input: updateOf(
      z.object({
        pipeline_schedule_id,
        description: opt(documented.title()),
        ref: opt(documented.filled()),
        cron: opt(documented.title()),
        cron_timezone: opt(documented.filled()),
        active: opt(bool()),
      }),
    ),
    output: ScheduleWithLast,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentScheduleDetails(await updateSchedule(ctx, caller, subject, input.pipeline_schedule_id, input), projectOf(subject), view),
  }),
  endpoint({
    method: 'POST',
    path: `${ONE}/take_ownership`,
    summary: 'Take ownership of a schedule',
    access: change,
    input: byId,
    output: ScheduleWithLast,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentScheduleDetails(await takeSchedule(ctx, caller, subject, input.pipeline_schedule_id), projectOf(subject), view),
  }),
  endpoint({
    method: 'DELETE',
    path: ONE,
    summary: 'Delete a schedule',
    description: 'Its pipelines stay.',
    access: change,
    input: byId,
    handler: ({ ctx, caller, subject, input }) => deleteSchedule(ctx, caller, subject, input.pipeline_schedule_id),
  }),
  endpoint({
    method: 'POST',
    path: `${ONE}/play`,
    summary: 'Run a schedule now',
    description: 'As the caller; when it runs next is not changed.',
    access: create,
    input: byId,
    output: z.strictObject({ message: z.string() }).meta({ id: 'Accepted', description: 'That something will be done.' }),
    async handler({ ctx, caller, subject, input }) {
      await playSchedule(ctx, caller, subject, input.pipeline_schedule_id)
      return { message: '201 Created' }
    },
  }),
  endpoint({
    method: 'POST',
    path: `${ONE}/variables`,
    summary: 'Create a variable of a schedule',
    access: change,
    input: z.object({ pipeline_schedule_id, key, value: str(), variable_type }),
    output: GivenVariable,
    async handler({ ctx, caller, subject, input }) {
      const given = { key: input.key, value: input.value, file: input.variable_type === 'file' }
      return presentGivenVariable(await createScheduleVariable(ctx, caller, subject, input.pipeline_schedule_id, given))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${ONE}/variables/:key`,
    summary: 'Get a variable of a schedule',
    access: change,
    input: z.object({ pipeline_schedule_id, key }),
    output: GivenVariable,
    handler: async ({ ctx, caller, subject, input }) =>
      presentGivenVariable(await getScheduleVariable(ctx, caller, subject, input.pipeline_schedule_id, input.key)),
  }),
  endpoint({
    method: 'PUT',
    path: `${ONE}/variables/:key`,
    summary: 'Update a variable of a schedule',
    access: change,
    input: z.object({ pipeline_schedule_id, key, value: opt(str()), variable_type }),
    output: GivenVariable,
    async handler({ ctx, caller, subject, input }) {
      const file = input.variable_type && input.variable_type === 'file'
      return presentGivenVariable(
        await updateScheduleVariable(ctx, caller, subject, input.pipeline_schedule_id, { key: input.key, value: input.value, file }),
      )
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${ONE}/variables/:key`,
    summary: 'Delete a variable of a schedule',
    access: change,
    input: z.object({ pipeline_schedule_id, key }),
    output: GivenVariable,
    status: 202,
    handler: async ({ ctx, caller, subject, input }) =>
      presentGivenVariable(await deleteScheduleVariable(ctx, caller, subject, input.pipeline_schedule_id, input.key)),
  }),
]
