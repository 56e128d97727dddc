import { eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { countBadToken } from '../../../access/authenticate.js'
import { showsSecrets } from '../../../access/scopes.js'
import type { Context } from '../../../context.js'
import { onlyRow } from '../../../db/only-row.js'
import { type RUNNER_KINDS, type RunnerInfo, registrationTokens, runnerProjects, runners } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { Failure, invalidRecord } from '../../../failures.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'
import { createdNow } from '../../core/created-now.js'
import { readOnlyNow } from '../../core/maintenance.js'
import { unsealed } from '../../core/unsealed.js'

export type Runner = typeof runners.$inferSelect
export type RunnerKind = (typeof RUNNER_KINDS)[number]

/** Whom a runner is to serve. */
export interface RunnerScope {
  kind: RunnerKind
  group_id: number | null
  project_id: number | null
}

export interface RunnerAttributes {
  description?: string | undefined
  maintenance_note?: string | undefined
  paused?: boolean | undefined
  locked?: boolean | undefined
  run_untagged?: boolean | undefined
  protected?: boolean | undefined
  maximum_timeout?: number | undefined
  tags?: string[] | undefined
}

const MAX_TAGS = 50
const MAX_TAG = 255
/** Seconds; shorter ones end jobs before they begin. */
const MIN_TIMEOUT = 600

/** What is wrong with attributes that the caller gives (CI-110). */
export function runnerFaults({
  tags = [],
  run_untagged,
  maximum_timeout,
  description,
  maintenance_note,
}: RunnerAttributes): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  if (run_untagged === false && tags.length === 0) faults['tags_list'] = ['can not be empty when runner is not allowed to pick untagged jobs']
  if (tags.length > MAX_TAGS || tags.some((tag) => tag.length > MAX_TAG))
    faults['tags_list'] = [`has more than ${MAX_TAGS} tags, or one of more than ${MAX_TAG} characters`]
  if (maximum_timeout !== undefined && maximum_timeout < MIN_TIMEOUT) faults['maximum_timeout'] = ['needs to be at least 10 minutes']
  if ((description?.length ?? 0) > 1_024) faults['description'] = ['is too long (maximum is 1024 characters)']
  if ((maintenance_note?.length ?? 0) > 1_024) faults['maintenance_note'] = ['is too long (maximum is 1024 characters)']
  return faults
}

/** Tags as runners send them: without blanks, each once. */
export const tagsOf = (given: string[]): string[] => [...new Set(given.map((tag) => tag.trim()).filter((tag) => tag !== ''))]

/** Makes a runner; its token is shown once. */
export async function createRunner(
  ctx: Context,
  scope: RunnerScope,
  attributes: RunnerAttributes,
  { creator, registered, info = {} }: { creator: number | null; registered: boolean; info?: RunnerInfo },
): Promise<{ runner: Runner; token: string }> {
  const faults = runnerFaults(attributes)
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  const token = `${registered ? '' : 'glrt-'}${newSecret(ctx.random)}`
  return ctx.db.transaction(async (tx) => {
    const runner = onlyRow(
      await tx
        .insert(runners)
        .values({
          kind: scope.kind,
          group_id: scope.group_id,
          creator_id: creator,
          digest: digestOf(token),
          registered,
          description: attributes.description ?? null,
          maintenance_note: attributes.maintenance_note ?? null,
          paused: attributes.paused ?? false,
          locked: attributes.locked ?? false,
          run_untagged: attributes.run_untagged ?? true,
          protected: attributes.protected ?? false,
          maximum_timeout: attributes.maximum_timeout ?? null,
          tags: attributes.tags ?? [],
          info,
          ...createdNow(ctx),
        })
        .returning(),
    )
    if (scope.project_id !== null) await tx.insert(runnerProjects).values({ runner_id: runner.id, project_id: scope.project_id })
    return { runner, token }
  })
}

const refusedToken = () => new Failure('forbidden', { message: '403 Forbidden' })

const selectByDigest = statement('runner by digest', (db) =>
  db
    .select()
    .from(runners)
    .where(eq(runners.digest, sql.placeholder('digest'))),
)

/** The runner with a token; 403 for any other, as runners expect (CI-111). */
export async function runnerByToken(ctx: Context, token: string): Promise<Runner> {
  const [runner] = await selectByDigest(ctx.db, null).execute({ digest: digestOf(token) })
  if (!runner) throw refusedToken()
  return runner
}

/** Seconds between two records of when a runner was seen. */
const CONTACT_INTERVAL_S = 60

/** Records where a runner was seen and what it says about itself, not at each of its calls. */
export async function recordContact(ctx: Context, runner: Runner, info: RunnerInfo | undefined, address: string): Promise<void> {
  const now = ctx.now()
  const recent = runner.contacted_at !== null && now.getTime() - runner.contacted_at.getTime() < CONTACT_INTERVAL_S * 1_000
  if (recent && runner.ip_address === address) return
  await ctx.db.write
    .update(runners)
    .set({ contacted_at: now, ip_address: address, ...(info && { info }) })
    .where(eq(runners.id, runner.id))
}

/** Binds an encrypted registration token to whom it is for. */
export const registrationPurpose = ({ group_id, project_id }: Pick<RunnerScope, 'group_id' | 'project_id'>) =>
  `registration token of ${group_id ?? '-'} ${project_id ?? '-'}`

/** Makes another registration token; the former one ends. */
export async function resetRegistrationToken(ctx: Context, source: Pick<RunnerScope, 'group_id' | 'project_id'>): Promise<string> {
  const token = newSecret(ctx.random)
  const values = { digest: digestOf(token), sealed: ctx.encryption.seal(token, registrationPurpose(source)) }
  // of several calls at once the last one counts
  await ctx.db.write.execute(sql`insert into ${registrationTokens} (group_id, project_id, digest, sealed)
    values (${source.group_id}, ${source.project_id}, ${values.digest}, ${values.sealed})
    on conflict (coalesce(group_id, 0), coalesce(project_id, 0)) do update set digest = excluded.digest, sealed = excluded.sealed`)
  return token
}

const selectRegistrationToken = statement('registration token', (db) =>
  db
    .select({ sealed: registrationTokens.sealed })
    .from(registrationTokens)
    .where(
      sql`coalesce(${registrationTokens.group_id}, 0) = ${sql.placeholder('group')} and coalesce(${registrationTokens.project_id}, 0) = ${sql.placeholder('project')}`,
    ),
)

/**
 * The registration token of a project or group, as its answers have it for those who register runners there (CI-332). It
 * is made when it is asked for first, unless the service is read-only; undefined for tokens that may not read secrets.
 * `sealed` is the encrypted one where it has been read, null where there is none.
 */
export async function runnersTokenFor(
  ctx: Context,
  { token }: Pick<SignedIn, 'token'>,
  source: Pick<RunnerScope, 'group_id' | 'project_id'>,
  sealed?: string | null,
): Promise<string | undefined> {
  if (!showsSecrets(token.scopes)) return undefined
  const opened = (found: string | undefined) => found && unsealed(ctx, found, registrationPurpose(source))
  const read = async () => {
    const [found] = await selectRegistrationToken(ctx.db, null).execute({ group: source.group_id ?? 0, project: source.project_id ?? 0 })
    return opened(found?.sealed)
  }
  const found = sealed === undefined ? await read() : opened(sealed ?? undefined)
  if (found !== undefined || (await readOnlyNow(ctx)) !== null) return found ?? undefined
  const made = newSecret(ctx.random)
  const values = { ...source, digest: digestOf(made), sealed: ctx.encryption.seal(made, registrationPurpose(source)) }
  const inserted = await ctx.db.write.insert(registrationTokens).values(values).onConflictDoNothing().returning({ id: registrationTokens.id })
  return inserted.length > 0 ? made : ((await read()) ?? undefined)
}

/** Whom a registration token lets a runner serve; 403 if it is none, and guesses are counted (SEC-26). */
export async function scopeOfToken(ctx: Context, token: string): Promise<RunnerScope> {
  const [found] = await ctx.db.write
    .select()
    .from(registrationTokens)
    .where(eq(registrationTokens.digest, digestOf(token)))
  if (!found) {
    await countBadToken(ctx, ctx.origin?.address ?? '')
    throw refusedToken()
  }
  const { group_id, project_id } = found
  return { kind: project_id !== null ? 'project_type' : group_id !== null ? 'group_type' : 'instance_type', group_id, project_id }
}

/** Gives a runner another token; the former one ends. */
export async function resetRunnerToken(ctx: Context, runner: Runner): Promise<string> {
  const token = `${runner.registered ? '' : 'glrt-'}${newSecret(ctx.random)}`
  await ctx.db.write
    .update(runners)
    .set({ digest: digestOf(token), updated_at: ctx.now() })
    .where(eq(runners.id, runner.id))
  return token
}

/** Removes a runner; its jobs that still run keep their tokens and end as they do. */
export const removeRunner = (ctx: Context, id: number) => ctx.db.write.delete(runners).where(eq(runners.id, id))

/** Seconds after which a runner that was not seen counts as offline. */
export const ONLINE_S = 7_200

/** What a job shows of its runner. */
export const runnerRefColumns = {
  id: runners.id,
  kind: runners.kind,
  description: runners.description,
  paused: runners.paused,
  info: runners.info,
  ip_address: runners.ip_address,
  contacted_at: runners.contacted_at,
}
type RunnerRef = Pick<Runner, keyof typeof runnerRefColumns>

/** A runner, and whether it was seen of late. */
export type Seen<R extends RunnerRef> = R & { online: boolean }
export type SeenRunner = Seen<Runner>
export type SeenRunnerRef = Seen<RunnerRef>

export const seenRunner = <R extends RunnerRef>(ctx: Pick<Context, 'now'>, runner: R): Seen<R> => ({
  ...runner,
  online: runner.contacted_at !== null && ctx.now().getTime() - runner.contacted_at.getTime() < ONLINE_S * 1_000,
})
