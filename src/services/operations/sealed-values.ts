import { and, eq, exists, gt, isNotNull, or } from 'drizzle-orm'
import type { Database, Transaction } from '../../db/client.js'
import {
  applicationSettings,
  builds,
  featureFlagClients,
  integrations,
  mirrors,
  oauthKeys,
  otpSecrets,
  pipelineSchedules,
  pipelineScheduleVariables,
  pipelines,
  pipelineTriggers,
  pipelineVariables,
  projectImports,
  registrationTokens,
  tokens,
  variables,
  webHooks,
} from '../../db/schema/index.js'
import { BATCH, inBatches } from '../../lib/async/in-batches.js'
import { masksPurpose } from '../ci/builds/masking.js'
import { dotenvPurpose } from '../ci/reports/dotenv.js'
import { registrationPurpose } from '../ci/runners/runners.js'
import { scheduleVariablePurpose } from '../ci/schedules/variables.js'
import { triggerPurpose } from '../ci/triggers/triggers.js'
import { pipelineVariablePurpose } from '../ci/variables.js'
import { settingPurpose } from '../core/settings.js'
import { SECRETS } from '../core/settings-table.js'
import { hookPurpose } from '../hooks/hooks.js'
import { integrationPurpose } from '../hooks/integrations/integrations.js'
import { IMPERSONATION_PURPOSE } from '../identity/impersonation-tokens.js'
import { oauthKeyPurpose } from '../identity/oauth/openid.js'
import { otpPurpose } from '../identity/sign-in/second-factor.js'
import { clientPurpose } from '../projects/feature-flags/clients.js'
import { importPurpose } from '../projects/import.js'
import { mirrorPurpose } from '../projects/mirrors/address.js'
import { sourceOfVariable, variablePurpose } from '../projects/variables.js'

/** An encrypted value in the database. */
export interface SealedValue {
  /** What it is, such as `variable KEY of project 12`. */
  of: string
  sealed: string
  purpose: string
  /** Replaces it, by null if it cannot be decrypted any more; a row without it is removed. */
  replace(tx: Transaction, sealed: string | null): Promise<unknown>
}

/** All encrypted values. */
export async function* sealedValues(db: Pick<Database['write'] | Transaction, 'select'>): AsyncGenerator<SealedValue> {
  yield* variableValues(db)
  yield* jobValues(db)
  yield* pipelineVariableValues(db)
  yield* scheduleVariableValues(db)
  yield* triggerValues(db)
  yield* flagClientValues(db)
  yield* registrationValues(db)
  yield* hookValues(db)
  yield* integrationValues(db)
  yield* tokenValues(db)
  yield* otpValues(db)
  yield* importValues(db)
  yield* mirrorValues(db)
  yield* settingValues(db)
  yield* oauthKeyValues(db)
}

type Reader = Pick<Transaction, 'select'>

async function* variableValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) => db.select().from(variables).where(gt(variables.id, after)).orderBy(variables.id).limit(BATCH)
  for await (const { id, key, sealed, ...row } of inBatches(read, ({ id: last }) => last)) {
    const source = sourceOfVariable(row)
    const byId = eq(variables.id, id)
    yield {
      of: `variable ${key} of ${source.kind === 'instance' ? 'the instance' : `${source.kind} ${source.id}`}`,
      sealed,
      purpose: variablePurpose(source, key),
      replace: (tx, next) => (next === null ? tx.delete(variables).where(byId) : tx.update(variables).set({ sealed: next }).where(byId)),
    }
  }
}

/** What logs of running jobs must not show, and what jobs leave to later ones. */
async function* jobValues(db: Reader): AsyncGenerator<SealedValue> {
  const hasSecret = or(isNotNull(builds.masks), isNotNull(builds.dotenv))
  const read = (after: number) =>
    db
      .select({ job: builds.job_id, masks: builds.masks, dotenv: builds.dotenv })
      .from(builds)
      .where(and(gt(builds.job_id, after), hasSecret))
      .orderBy(builds.job_id)
      .limit(BATCH)
  for await (const { job, masks, dotenv } of inBatches(read, (row) => row.job)) {
    const byId = eq(builds.job_id, job)
    // one that is lost stays: without it the log could not be masked
    if (masks !== null)
      yield {
        of: `masks of job ${job}`,
        sealed: masks,
        purpose: masksPurpose(job),
        replace: (tx, next) => (next === null ? Promise.resolve() : tx.update(builds).set({ masks: next }).where(byId)),
      }
    if (dotenv !== null)
      yield {
        of: `dotenv variables of job ${job}`,
        sealed: dotenv,
        purpose: dotenvPurpose(job),
        replace: (tx, next) => tx.update(builds).set({ dotenv: next }).where(byId),
      }
  }
}

async function* pipelineVariableValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) =>
    db
      .select({ id: pipelines.id })
      .from(pipelines)
      .where(
        and(
          gt(pipelines.id, after),
          exists(db.select({ key: pipelineVariables.key }).from(pipelineVariables).where(eq(pipelineVariables.pipeline_id, pipelines.id))),
        ),
      )
      .orderBy(pipelines.id)
      .limit(BATCH)
  for await (const { id } of inBatches(read, (row) => row.id)) {
    for (const { key, sealed } of await db.select().from(pipelineVariables).where(eq(pipelineVariables.pipeline_id, id))) {
      const byKey = and(eq(pipelineVariables.pipeline_id, id), eq(pipelineVariables.key, key))
      yield {
        of: `variable ${key} of pipeline ${id}`,
        sealed,
        purpose: pipelineVariablePurpose(id, key),
        replace: (tx, next) =>
          next === null ? tx.delete(pipelineVariables).where(byKey) : tx.update(pipelineVariables).set({ sealed: next }).where(byKey),
      }
    }
  }
}

async function* scheduleVariableValues(db: Reader): AsyncGenerator<SealedValue> {
  const { schedule_id, key } = pipelineScheduleVariables
  const read = (after: number) =>
    db
      .select({ id: pipelineSchedules.id })
      .from(pipelineSchedules)
      .where(
        and(gt(pipelineSchedules.id, after), exists(db.select({ key }).from(pipelineScheduleVariables).where(eq(schedule_id, pipelineSchedules.id)))),
      )
      .orderBy(pipelineSchedules.id)
      .limit(BATCH)
  for await (const { id } of inBatches(read, (row) => row.id)) {
    for (const row of await db.select().from(pipelineScheduleVariables).where(eq(schedule_id, id))) {
      const byKey = and(eq(schedule_id, id), eq(key, row.key))
      yield {
        of: `variable ${row.key} of schedule ${id}`,
        sealed: row.sealed,
        purpose: scheduleVariablePurpose(id, row.key),
        replace: (tx, next) =>
          next === null ? tx.delete(pipelineScheduleVariables).where(byKey) : tx.update(pipelineScheduleVariables).set({ sealed: next }).where(byKey),
      }
    }
  }
}

/** Tokens that trigger pipelines; one that is lost still works, and is not shown any more. */
async function* triggerValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) =>
    db
      .select()
      .from(pipelineTriggers)
      .where(and(gt(pipelineTriggers.id, after), isNotNull(pipelineTriggers.sealed)))
      .orderBy(pipelineTriggers.id)
      .limit(BATCH)
  for await (const { id, project_id, sealed } of inBatches(read, (row) => row.id))
    yield {
      of: `trigger token ${id}`,
      sealed: sealed as string,
      purpose: triggerPurpose({ project_id }),
      replace: (tx, next) => tx.update(pipelineTriggers).set({ sealed: next }).where(eq(pipelineTriggers.id, id)),
    }
}

async function* flagClientValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) =>
    db
      .select()
      .from(featureFlagClients)
      .where(and(gt(featureFlagClients.project_id, after), isNotNull(featureFlagClients.sealed)))
      .orderBy(featureFlagClients.project_id)
      .limit(BATCH)
  for await (const { project_id, sealed } of inBatches(read, (row) => row.project_id))
    yield {
      of: `feature flag token of project ${project_id}`,
      sealed: sealed as string,
      purpose: clientPurpose({ project_id }),
      replace: (tx, next) => tx.update(featureFlagClients).set({ sealed: next }).where(eq(featureFlagClients.project_id, project_id)),
    }
}

/** Tokens with which runners register; another one is made instead of one that is lost. */
async function* registrationValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) =>
    db.select().from(registrationTokens).where(gt(registrationTokens.id, after)).orderBy(registrationTokens.id).limit(BATCH)
  for await (const { id, sealed, ...source } of inBatches(read, (row) => row.id)) {
    const byId = eq(registrationTokens.id, id)
    yield {
      of: `registration token of ${source.project_id !== null ? `project ${source.project_id}` : source.group_id !== null ? `group ${source.group_id}` : 'the instance'}`,
      sealed,
      purpose: registrationPurpose(source),
      replace: (tx, next) =>
        next === null ? tx.delete(registrationTokens).where(byId) : tx.update(registrationTokens).set({ sealed: next }).where(byId),
    }
  }
}

async function* hookValues(db: Reader): AsyncGenerator<SealedValue> {
  const hasSecret = or(isNotNull(webHooks.sealed_url), isNotNull(webHooks.sealed_token))
  const read = (after: number) =>
    db
      .select()
      .from(webHooks)
      .where(and(gt(webHooks.id, after), hasSecret))
      .orderBy(webHooks.id)
      .limit(BATCH)
  for await (const hook of inBatches(read, (row) => row.id)) {
    const byId = eq(webHooks.id, hook.id)
    if (hook.sealed_url !== null)
      yield {
        of: `URL of webhook ${hook.id}`,
        sealed: hook.sealed_url,
        purpose: hookPurpose(hook, 'url'),
        replace: (tx, next) => (next === null ? tx.delete(webHooks).where(byId) : tx.update(webHooks).set({ sealed_url: next }).where(byId)),
      }
    if (hook.sealed_token !== null)
      yield {
        of: `token of webhook ${hook.id}`,
        sealed: hook.sealed_token,
        purpose: hookPurpose(hook, 'token'),
        replace: (tx, next) => tx.update(webHooks).set({ sealed_token: next }).where(byId),
      }
  }
}

async function* integrationValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) =>
    db
      .select()
      .from(integrations)
      .where(and(gt(integrations.id, after), isNotNull(integrations.sealed_properties)))
      .orderBy(integrations.id)
      .limit(BATCH)
  for await (const row of inBatches(read, ({ id }) => id))
    yield {
      of: `properties of integration ${row.slug} of project ${row.project_id}`,
      sealed: row.sealed_properties as string,
      purpose: integrationPurpose(row),
      replace: (tx, sealed) => tx.update(integrations).set({ sealed_properties: sealed }).where(eq(integrations.id, row.id)),
    }
}

async function* tokenValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) =>
    db
      .select()
      .from(tokens)
      .where(and(gt(tokens.id, after), isNotNull(tokens.sealed)))
      .orderBy(tokens.id)
      .limit(BATCH)
  for await (const { id, sealed } of inBatches(read, (row) => row.id))
    yield {
      of: `impersonation token ${id}`,
      sealed: sealed as string,
      purpose: IMPERSONATION_PURPOSE,
      replace: (tx, next) => tx.update(tokens).set({ sealed: next }).where(eq(tokens.id, id)),
    }
}

async function* otpValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) => db.select().from(otpSecrets).where(gt(otpSecrets.user_id, after)).orderBy(otpSecrets.user_id).limit(BATCH)
  for await (const { user_id, sealed } of inBatches(read, (row) => row.user_id)) {
    const byUser = eq(otpSecrets.user_id, user_id)
    yield {
      of: `one-time password of user ${user_id}`,
      sealed,
      purpose: otpPurpose(user_id),
      replace: (tx, next) => (next === null ? tx.delete(otpSecrets).where(byUser) : tx.update(otpSecrets).set({ sealed: next }).where(byUser)),
    }
  }
}

/** The URLs of imports that have not ended; without one, the job ends an import as failed. */
async function* importValues(db: Reader): AsyncGenerator<SealedValue> {
  for (const { project_id: id, url } of await db.select().from(projectImports).orderBy(projectImports.project_id))
    yield {
      of: `import URL of project ${id}`,
      sealed: url,
      purpose: importPurpose(id),
      replace: (tx, next) =>
        tx
          .update(projectImports)
          .set({ url: next ?? '' })
          .where(eq(projectImports.project_id, id)),
    }
}

/** The addresses of mirrors; without one, a mirror is off until it is set again. */
async function* mirrorValues(db: Reader): AsyncGenerator<SealedValue> {
  const read = (after: number) =>
    db
      .select()
      .from(mirrors)
      .where(and(gt(mirrors.id, after), isNotNull(mirrors.sealed_url)))
      .orderBy(mirrors.id)
      .limit(BATCH)
  for await (const { id, project_id, sealed_url } of inBatches(read, (row) => row.id))
    yield {
      of: `address of mirror ${id} of project ${project_id}`,
      sealed: sealed_url as string,
      purpose: mirrorPurpose(project_id),
      replace: (tx, next) =>
        tx
          .update(mirrors)
          .set({ sealed_url: next, ...(next === null && { enabled: false }) })
          .where(eq(mirrors.id, id)),
    }
}

async function* settingValues(db: Reader): AsyncGenerator<SealedValue> {
  const [row] = await db.select({ values: applicationSettings.values }).from(applicationSettings)
  for (const name of SECRETS) {
    const sealed = row?.values[name]
    if (typeof sealed !== 'string') continue
    yield {
      of: `setting ${name}`,
      sealed,
      purpose: settingPurpose(name),
      replace: async (tx, next) => {
        const [now] = await tx.select({ values: applicationSettings.values }).from(applicationSettings).for('update')
        await tx.update(applicationSettings).set({ values: { ...now?.values, [name]: next } })
      },
    }
  }
}

/** The keys that sign id_tokens; without one, the next id_token makes it. */
async function* oauthKeyValues(db: Reader): AsyncGenerator<SealedValue> {
  for (const { kid, sealed } of await db.select().from(oauthKeys).orderBy(oauthKeys.created_at)) {
    const byKid = eq(oauthKeys.kid, kid)
    yield {
      of: `OAuth key ${kid}`,
      sealed,
      purpose: oauthKeyPurpose(kid),
      replace: (tx, next) => (next === null ? tx.delete(oauthKeys).where(byKid) : tx.update(oauthKeys).set({ sealed: next }).where(byKid)),
    }
  }
}
