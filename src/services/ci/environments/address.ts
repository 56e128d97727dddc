import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { and, eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { artifacts, deployments } from '../../../db/schema/index.js'
import { expandVariables } from '../../../rules/ci/expand-variables.js'
import type { Variable } from '../../../rules/ci/types.js'
import type { RunningBuild } from '../builds/running.js'

/** Bytes of a file with variables, as it comes and unpacked. */
const MAX_BYTES = 65_536
const ASSIGNMENT = /^\s*([A-Za-z_]\w*)=(.*?)\s*$/

/** Completes the address of what a job has deployed by the variables that the job itself has made (CI-283). */
export async function lateAddress(ctx: Context, { job, definition }: RunningBuild): Promise<void> {
  if (!definition.environment?.url?.includes('$')) return
  const [found] = await ctx.db.write.select({ url: deployments.url }).from(deployments).where(eq(deployments.job_id, job))
  if (!found?.url?.includes('$')) return
  const variables = await dotenvOf(ctx, job)
  if (variables.length > 0)
    await ctx.db.write
      .update(deployments)
      .set({ url: expandVariables(found.url, variables) })
      .where(eq(deployments.job_id, job))
}

async function dotenvOf(ctx: Context, job: number): Promise<Variable[]> {
  const [file] = await ctx.db.write
    .select()
    .from(artifacts)
    .where(and(eq(artifacts.job_id, job), eq(artifacts.file_type, 'dotenv')))
  const stream = file && file.size <= MAX_BYTES ? await ctx.artifacts.get(file.oid) : null
  if (!stream) return []
  const bytes = await buffer(stream)
  // a file that cannot be unpacked has no variables
  const text = await promisify(gunzip)(bytes, { maxOutputLength: MAX_BYTES }).then(String, () => '')
  return text.split('\n').flatMap((line) => {
    const [, key, value] = ASSIGNMENT.exec(line) ?? []
    return key === undefined || value === undefined ? [] : [{ key, value: value.replace(/^(["'])(.*)\1$/, '$2') }]
  })
}
