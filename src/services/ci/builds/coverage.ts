import type { Context } from '../../../context.js'
import { compilePattern } from '../../../rules/ci/regex.js'
import { readTrace } from './chunks.js'
import type { RunningBuild } from './running.js'

/** Bytes at the end of a log in which its coverage is looked for. */
const LOOKED_AT = 1_048_576

/** The coverage that a log states: the last match of the job's pattern; null if it has none (CI-115). */
export async function coverageOf(ctx: Context, { job, definition, trace_size: size }: RunningBuild): Promise<number | null> {
  if (definition.coverage === null || size === 0) return null
  const text = (await readTrace(ctx, job, Math.max(0, size - LOOKED_AT), size)).toString('utf8')
  const pattern = compilePattern(definition.coverage)
  if (!pattern) return null
  const matcher = pattern.matcher(text)
  let found: string | null = null
  while (matcher.find()) found = matcher.groupCount() > 0 ? matcher.group(1) : matcher.group(0)
  const number = /\d+(?:\.\d+)?/.exec(found ?? '')
  return number ? Number(number[0]) : null
}
