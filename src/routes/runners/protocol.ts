import { z } from 'zod'
import { anyone } from '../../access/rules.js'
import { NewRunner, presentNewRunner } from '../../entities/ci/runner.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { bool, int, oneOf, opt, rowId, str } from '../../http/params.js'
import { payloadOf, Unfit } from '../../services/ci/builds/payload.js'
import { takeBuild } from '../../services/ci/builds/queue.js'
import { endBuild, reportEnd } from '../../services/ci/builds/report.js'
import { buildByToken, recordSign } from '../../services/ci/builds/running.js'
import {
  createRunner,
  recordContact,
  removeRunner,
  resetRunnerToken,
  runnerByToken,
  scopeOfToken,
  tagsOf,
} from '../../services/ci/runners/runners.js'

const text = z.string().max(1_024).optional().catch(undefined)
/** What a runner says of itself; the rest is not read. */
const info = z
  .looseObject({ name: text, version: text, revision: text, platform: text, architecture: text, executor: text })
  .optional()
  .catch(undefined)
  .meta({ description: 'What the runner says of itself: name, version, platform and what it can.' })

const known = (given: z.infer<typeof info>) =>
  given && {
    name: given.name,
    version: given.version,
    revision: given.revision,
    platform: given.platform,
    architecture: given.architecture,
    executor: given.executor,
  }

const token = str()
const ignored = z.unknown().optional().meta({ description: 'Sent by runners; not read.' })

/** What GitLab Runner calls: registration, jobs and their ends (CI-110 to CI-116). Credentials are in the body. */
export const runnerProtocol = [
  endpoint({
    method: 'POST',
    path: '/runners',
    summary: 'Register a runner with a registration token',
    access: anyone,
    input: z.object({
      token,
      description: opt(str()),
      maintenance_note: opt(str()),
      tag_list: opt(str()),
      run_untagged: opt(bool()),
      locked: opt(bool()),
      access_level: opt(oneOf(['not_protected', 'ref_protected'])),
      maximum_timeout: opt(int({ min: 1 })),
      active: opt(bool()),
      paused: opt(bool()),
      info,
    }),
    output: NewRunner,
    answers: [403],
    async handler({ ctx, input }) {
      const scope = await scopeOfToken(ctx, input.token)
      const { runner, token: made } = await createRunner(
        ctx,
        scope,
        {
          description: input.description,
          maintenance_note: input.maintenance_note,
          paused: input.paused ?? (input.active === undefined ? undefined : !input.active),
          locked: input.locked,
          run_untagged: input.run_untagged,
          protected: input.access_level === 'ref_protected',
          maximum_timeout: input.maximum_timeout,
          tags: tagsOf((input.tag_list ?? '').split(',')),
        },
        { creator: null, registered: true, info: known(input.info) },
      )
      return presentNewRunner(runner.id, made)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/runners/verify',
    summary: "Verify a runner's token",
    access: anyone,
    input: z.object({ token, system_id: ignored, info }),
    output: NewRunner,
    status: 200,
    answers: [403],
    async handler({ ctx, input }) {
      const runner = await runnerByToken(ctx, input.token)
      await recordContact(ctx, runner, known(input.info), ctx.origin?.address ?? '')
      return presentNewRunner(runner.id, input.token)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/runners',
    summary: 'Remove a runner with its token',
    access: anyone,
    input: z.object({ token }),
    answers: [403],
    async handler({ ctx, input }) {
      await removeRunner(ctx, (await runnerByToken(ctx, input.token)).id)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/runners/reset_authentication_token',
    summary: "Replace a runner's token with another",
    access: anyone,
    input: z.object({ token }),
    output: z.strictObject({ token: z.string(), token_expires_at: z.null() }).meta({ id: 'RunnerToken', description: 'The token of a runner.' }),
    answers: [403],
    async handler({ ctx, input }) {
      return { token: await resetRunnerToken(ctx, await runnerByToken(ctx, input.token)), token_expires_at: null }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/jobs/request',
    summary: 'Ask for a job',
    description: 'Answers 204 if none waits that the runner may take.',
    access: anyone,
    input: z.object({ token, last_update: ignored, session: ignored, system_id: ignored, info }),
    answers: [204, 403],
    async handler({ ctx, input }) {
      const runner = await runnerByToken(ctx, input.token)
      await recordContact(ctx, runner, known(input.info), ctx.origin?.address ?? '')
      for (;;) {
        const taken = await takeBuild(ctx, runner)
        if (!taken) return new Answer(204)
        try {
          return await payloadOf(ctx, runner, taken)
        } catch (error) {
          // the job fails with its reason, and the next one is tried
          if (!(error instanceof Unfit)) throw error
          await endBuild(ctx, taken.pipeline, taken.job, { state: 'failed', failure_reason: error.reason })
        }
      }
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/jobs/:id',
    summary: 'Report the state of a job',
    description: "The runner's token of the job is needed. `Job-Status` tells the runner whether to go on.",
    access: anyone,
    input: z.object({
      id: rowId(),
      token,
      state: opt(str()),
      failure_reason: opt(str()),
      exit_code: opt(int()),
      checksum: ignored,
      output: ignored,
      trace: ignored,
      info,
    }),
    answers: [403],
    async handler({ ctx, input }) {
      const build = await buildByToken(ctx, input.id, input.token)
      const { state } = input
      if (state === 'success' || state === 'failed') {
        await reportEnd(ctx, build, { state, failure_reason: input.failure_reason, exit_code: input.exit_code })
        return new Answer(200, String(200), { 'job-status': state })
      }
      await recordSign(ctx, build)
      return new Answer(200, String(200), { 'job-status': build.state })
    },
  }),
]
