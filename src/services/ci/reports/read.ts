import { buffer } from 'node:stream/consumers'
import { fullPathOf, type Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Artifact } from '../artifacts/read.js'
import type { ReportResult } from '../compiler.js'

/** Bytes of a report as it is stored. */
const MAX_STORED = 8_388_608

/** What a report of a job says; an error is a text (CI-250). */
export async function reportOf(
  ctx: Context,
  project: Project,
  { oid, size, file_format }: Artifact,
  of: 'junit' | 'cobertura',
): Promise<ReportResult> {
  if (size > MAX_STORED) return { error: 'the report is too large' }
  const stream = await ctx.artifacts.get(oid)
  if (!stream) return { error: 'the report is gone' }
  const bytes = new Uint8Array(await buffer(stream))
  return ctx.cpu.ci.report({ of, bytes, gzip: file_format === 'gzip', project: of === 'cobertura' ? fullPathOf(project) : '' }, oid)
}
