import { and, asc, eq, isNotNull } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { builds, commitStatuses } from '../../../db/schema/index.js'
import { refused } from '../../../failures.js'
import { gunzipMembers } from '../../../lib/gzip-members.js'
import { MAX_DOTENV, readDotenv } from '../../../rules/ci/reports/dotenv.js'
import type { PlannedJob, Variable } from '../../../rules/ci/types.js'
import { unsealed } from '../../core/unsealed.js'
import { isDependencyOf } from '../builds/dependencies.js'

/** Binds the encrypted variables that a job leaves to it. */
export const dotenvPurpose = (job: number) => `job ${job} dotenv`

export const DOTENV_TOO_BIG = `Dotenv Artifact Too Big. Maximum Allowable Size: ${MAX_DOTENV}`

/** The variables in a report, which is refused where the original does (CI-252). */
export function parseDotenv(bytes: Buffer, format: string): Variable[] {
  let text: string
  try {
    text = format === 'gzip' ? Buffer.concat(gunzipMembers(bytes, MAX_DOTENV + 1)).toString('utf8') : bytes.toString('utf8')
  } catch (error) {
    throw refused((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE' ? DOTENV_TOO_BIG : 'Invalid Format')
  }
  if (Buffer.byteLength(text) > MAX_DOTENV) throw refused(DOTENV_TOO_BIG)
  const variables = readDotenv(text)
  if (typeof variables === 'string') throw refused(variables)
  return variables
}

/** Keeps the variables that a job leaves to later ones. */
export const keepDotenv = async (ctx: Context, tx: Transaction, job: number, variables: Variable[]): Promise<void> =>
  void (await tx
    .update(builds)
    .set({ dotenv: ctx.encryption.seal(JSON.stringify(variables), dotenvPurpose(job)) })
    .where(eq(builds.job_id, job)))

/** The variables that earlier jobs have left to a job, those of later ones last (CI-252). */
export async function dotenvFor(ctx: Context, job: typeof commitStatuses.$inferSelect, definition: PlannedJob): Promise<Variable[]> {
  const rows = await ctx.db.write
    .select({ id: builds.job_id, dotenv: builds.dotenv })
    .from(commitStatuses)
    .innerJoin(builds, and(eq(builds.job_id, commitStatuses.id), isNotNull(builds.dotenv)))
    .where(isDependencyOf(job, definition))
    .orderBy(asc(commitStatuses.stage_index), asc(commitStatuses.id))
  return rows.flatMap((row) => unsealedDotenv(ctx, row))
}

/** The variables that a job itself has left. */
export async function dotenvOf(ctx: Context, job: number): Promise<Variable[]> {
  const rows = await ctx.db.write.select({ id: builds.job_id, dotenv: builds.dotenv }).from(builds).where(eq(builds.job_id, job))
  return rows.flatMap((row) => unsealedDotenv(ctx, row))
}

function unsealedDotenv(ctx: Context, { id, dotenv }: { id: number; dotenv: string | null }): Variable[] {
  const json = dotenv === null ? null : unsealed(ctx, dotenv, dotenvPurpose(id))
  return json === null ? [] : (JSON.parse(json) as Variable[])
}
