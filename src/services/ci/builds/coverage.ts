import type { Context } from '../../../context.js'
import { readTrace } from './chunks.js'
import type { RunningBuild } from './running.js'

/** Bytes at the end of a log in which its coverage is looked for. */
const LOOKED_AT = 1_048_576

/** The coverage that the log of a job states, by its pattern; null if it has none (CI-115). */
export async function coverageOf(ctx: Context, { job, definition, trace_size: size }: RunningBuild): Promise<number | null> {
  if (definition.coverage === null || size === 0) return null
  const end = await readTrace(ctx, job, Math.max(0, size - LOOKED_AT), size)
  return ctx.cpu.ci.coverage(definition.coverage, end.toString('utf8'))
}
