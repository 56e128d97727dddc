import { eq } from 'drizzle-orm'
import { type ActorUser, actingAs, actorOf, type SignedIn } from '../../../access/actor.js'
import { checkAddress } from '../../../access/addresses.js'
import { countBadToken } from '../../../access/authenticate.js'
import { findCallingJob } from '../../../access/jobs/job-tokens.js'
import { getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { commitStatuses, pipelineTriggers, users } from '../../../db/schema/index.js'
import { invalidRecord, notFound } from '../../../failures.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { rootWithRoom } from '../bridges/trigger.js'
import { runPipeline } from '../create.js'

/** A call that triggers a pipeline. */
export interface TriggerCall {
  /** Of a trigger, or of a job that runs. */
  token: string
  /** The id or full path of the project. */
  project: string
  ref: string
  variables: [key: string, value: string][]
  /** All that was sent, without the token. */
  payload: Record<string, unknown>
}

/** The most characters of what was sent, which jobs get as the file `TRIGGER_PAYLOAD`. */
const MAX_PAYLOAD = 65_536
const MAX_VARIABLES = 100
/** Minimum time between two recorded uses of a token, in milliseconds. */
const LAST_USED_INTERVAL_MS = 60_000

const refusal = (text: string) => invalidRecord({ base: [text] })

/** Makes a pipeline for who has the token of a trigger, as its owner, or of a job, as its user (CI-221, CI-222). */
export async function triggerPipelineBy(ctx: Context, call: TriggerCall): Promise<{ subject: ProjectSubject; id: number }> {
  const { caller, source, project, root_id } = (await ofTrigger(ctx, call.token)) ?? (await ofJob(ctx, call.token)) ?? (await unknown(ctx))
  const subject = await getProjectFor(ctx, caller, call.project)
  if (project !== null && subject.project.id !== project) throw notFound('Project')
  const payload = JSON.stringify(call.payload)
  if (lengthOf(payload) > MAX_PAYLOAD) throw invalidRecord({ TRIGGER_PAYLOAD: [tooLong(MAX_PAYLOAD)] })
  if (call.variables.length > MAX_VARIABLES) throw refusal(`There are more than ${MAX_VARIABLES} variables`)
  const variables = [...call.variables.map(([key, value]) => ({ key, value })), { key: 'TRIGGER_PAYLOAD', value: payload, file: true }]
  return { subject, id: await runPipeline(ctx, caller, subject, { ref: call.ref, variables, source, ...(root_id && { root_id }) }) }
}

interface Credential {
  caller: SignedIn
  source: 'trigger' | 'pipeline'
  /** The only project that it is good for; null: those that its user may use. */
  project: number | null
  root_id?: number
}

async function ofTrigger(ctx: Context, token: string): Promise<Credential | null> {
  const [found] = await ctx.db.write
    .select({ trigger: pipelineTriggers, owner: users })
    .from(pipelineTriggers)
    .innerJoin(users, eq(users.id, pipelineTriggers.owner_id))
    .where(eq(pipelineTriggers.digest, digestOf(token)))
  if (!found) return null
  const { trigger, owner } = found
  if (owner.state !== 'active') throw refusal('Insufficient permissions to create a new pipeline')
  const now = ctx.now()
  if (!trigger.last_used_at || now.getTime() - trigger.last_used_at.getTime() > LAST_USED_INTERVAL_MS)
    await ctx.db.write.update(pipelineTriggers).set({ last_used_at: now }).where(eq(pipelineTriggers.id, trigger.id))
  return { caller: actingAs(actorOf(owner as ActorUser)), source: 'trigger', project: trigger.project_id }
}

async function ofJob(ctx: Context, token: string): Promise<Credential | null> {
  const found = await findCallingJob(ctx, token)
  if (!found) return null
  await checkAddress(ctx, found.user.id, ctx.origin?.address ?? '')
  const [row] = await ctx.db.write.select({ pipeline: commitStatuses.pipeline_id }).from(commitStatuses).where(eq(commitStatuses.id, found.job.id))
  const root_id = row && (await rootWithRoom(ctx, row.pipeline))
  if (!root_id) throw refusal('The pipeline of this job has led to as many pipelines as it may')
  return { caller: { user: found.user, token: { id: 0, kind: 'job', scopes: [] }, job: found.job }, source: 'pipeline', project: null, root_id }
}

/** 404, as if there were no project; guesses are counted (SEC-26). */
async function unknown(ctx: Context): Promise<never> {
  await countBadToken(ctx, ctx.origin?.address ?? '')
  throw notFound()
}
