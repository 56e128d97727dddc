import type { Project } from '../../../access/rules.js'
import { fullPathOf } from '../../../access/rules.js'
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
  const bytes = await storedBytes(ctx, oid)
  if (!bytes) return { error: 'the report is gone' }
  return ctx.cpu.ci.report({ of, bytes, gzip: file_format === 'gzip', project: of === 'cobertura' ? fullPathOf(project) : '' }, oid)
}

async function storedBytes(ctx: Context, oid: string): Promise<Uint8Array | null> {
  const stream = await ctx.artifacts.get(oid)
  if (!stream) return null
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
  return new Uint8Array(Buffer.concat(chunks))
}
