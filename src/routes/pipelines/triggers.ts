import { z } from 'zod'
import { anyone, fullPathOf, onProjectSignedIn } from '../../access/rules.js'
import { Pipeline, presentPipeline } from '../../entities/ci/pipeline.js'
import { presentTrigger, Trigger } from '../../entities/ci/trigger.js'
import { forbidden } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { type Endpoint, endpoint, pageOf } from '../../http/endpoint.js'
import { filledIn, opt, paging, rowId, str } from '../../http/params.js'
import { getPipeline } from '../../services/ci/pipelines.js'
import { triggerPipelineBy } from '../../services/ci/triggers/run.js'
import { createTrigger, getTrigger, listTriggers, revokeTrigger, updateTrigger } from '../../services/ci/triggers/triggers.js'

const access = onProjectSignedIn('admin_pipeline')
const AT = '/projects/:id/triggers'
const trigger_id = rowId()

/** Credentials among what is sent, which jobs do not get. */
const CREDENTIALS = new Set(['token', 'private_token', 'access_token', 'job_token', 'sudo'])

const run = (path: string): Endpoint =>
  endpoint({
    method: 'POST',
    path,
    summary: 'Trigger a pipeline with a token',
    description: 'The token of a trigger, or of a job that runs. Jobs get all that is sent as the file `TRIGGER_PAYLOAD`.',
    access: anyone,
    input: z.looseObject({
      id: str(),
      token: str(),
      ref: filledIn(),
      variables: z.record(z.string(), z.string()).optional(),
    }),
    output: Pipeline,
    answers: [400, 403, 404],
    async handler({ ctx, input, view, header }) {
      // the call is the delivery of a webhook
      if (header('x-gitlab-event') === 'Pipeline Hook') throw forbidden()
      const { id: project, token, ref, variables = {} } = input
      const payload = Object.fromEntries(Object.entries(input).filter(([name]) => !CREDENTIALS.has(name)))
      const { subject, id } = await triggerPipelineBy(ctx, { project, token, ref, variables: Object.entries(variables), payload })
      return presentPipeline(await getPipeline(ctx, subject, id), { fullPath: fullPathOf(subject.project) }, view)
    },
  })

/** Tokens that trigger pipelines, and the calls that do (CI-220 to CI-222). */
export const triggers = [
  endpoint({
    method: 'GET',
    path: AT,
    summary: 'List the triggers of a project',
    access,
    input: z.object(paging),
    output: z.array(Trigger),
    handler: async ({ ctx, caller, subject, input, view }) =>
      pageOf(await listTriggers(ctx, caller, subject, input), input, (trigger) => presentTrigger(trigger, view)),
  }),
  endpoint({
    method: 'GET',
    path: `${AT}/:trigger_id`,
    summary: 'Get a trigger',
    access,
    input: z.object({ trigger_id }),
    output: Trigger,
    handler: async ({ ctx, caller, subject, input, view }) => presentTrigger(await getTrigger(ctx, caller, subject, input.trigger_id), view),
  }),
  endpoint({
    method: 'POST',
    path: AT,
    summary: 'Create a trigger',
    description: 'Its pipelines are made as the caller.',
    access,
    input: z.object({ description: documented.short() }),
    output: Trigger,
    handler: async ({ ctx, caller, subject, input, view }) => presentTrigger(await createTrigger(ctx, caller, subject, input.description), view),
  }),
  endpoint({
    method: 'PUT',
    path: `${AT}/:trigger_id`,
    summary: 'Update a trigger',
    description: 'For its owner.',
    access,
    input: z.object({ trigger_id, description: opt(documented.short()) }),
    output: Trigger,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentTrigger(await updateTrigger(ctx, caller, subject, input.trigger_id, input), view),
  }),
  endpoint({
    method: 'DELETE',
    path: `${AT}/:trigger_id`,
    summary: 'Revoke a trigger',
    access,
    input: z.object({ trigger_id }),
    handler: ({ ctx, subject, input }) => revokeTrigger(ctx, subject, input.trigger_id),
  }),
  run('/projects/:id/trigger/pipeline'),
  run('/projects/:id/ref/:ref/trigger/pipeline'),
]
