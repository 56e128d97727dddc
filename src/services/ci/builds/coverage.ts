import { eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { projects } from '../../../db/schema/index.js'
import { readTrace } from './chunks.js'
import type { RunningBuild } from './running.js'

/** Bytes at the end of a log in which its coverage is looked for. */
const LOOKED_AT = 1_048_576

/** The coverage that the log of a job states, by its pattern or that of the project; null if it has none (CI-115, FD-13). */
export async function coverageOf(ctx: Context, { job, project, definition, trace_size: size }: RunningBuild): Promise<number | null> {
  if (size === 0) return null
  const pattern = definition.coverage ?? (await projectPattern(ctx, project))
  if (pattern === null) return null
  const end = await readTrace(ctx, job, Math.max(0, size - LOOKED_AT), size)
  return ctx.cpu.ci.coverage(pattern, end.toString('utf8'))
}

async function projectPattern(ctx: Context, project: number): Promise<string | null> {
  const [found] = await ctx.db.write.select({ pattern: projects.build_coverage_regex }).from(projects).where(eq(projects.id, project))
  return found?.pattern ?? null
}
