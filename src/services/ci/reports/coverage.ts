import { and, desc, eq, sql } from 'drizzle-orm'
import type { Project, ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { artifacts, commitStatuses, pipelines } from '../../../db/schema/index.js'
import { reportOf } from './read.js'

/** Reports of one pipeline that are read for its marks. */
const MAX_REPORTS = 20

/** How often lines of files ran, by line, from the reports of a pipeline's latest jobs (CI-253). */
async function lineHitsOf(ctx: Context, project: Project, pipelineId: number, paths: readonly string[]): Promise<Map<string, Map<number, number>>> {
  const rows = await ctx.db.write
    .select({ artifact: artifacts })
    .from(commitStatuses)
    .innerJoin(artifacts, and(eq(artifacts.job_id, commitStatuses.id), eq(artifacts.file_type, 'cobertura')))
    .where(and(eq(commitStatuses.project_id, project.id), eq(commitStatuses.pipeline_id, pipelineId), sql`${commitStatuses.latest}`))
    .orderBy(desc(artifacts.id))
    .limit(MAX_REPORTS)
  const found = new Map<string, Map<number, number>>()
  for (const { artifact } of rows) {
    const result = await reportOf(ctx, project, artifact, 'cobertura')
    if (!('lines' in result)) continue
    for (const path of paths) {
      if (!Object.hasOwn(result.lines, path)) continue
      const hits = found.get(path) ?? new Map<number, number>()
      for (const [line, count] of result.lines[path] ?? []) hits.set(line, (hits.get(line) ?? 0) + count)
      found.set(path, hits)
    }
  }
  return found
}

/** The same of the files of a merge request, where its head pipeline is one of the project and of this commit. */
export async function headCoverage(
  ctx: Context,
  { project, can }: ProjectSubject,
  { pipeline, sha }: { pipeline: number | null; sha: string },
  files: readonly { new_path: string; deleted_file: boolean }[],
): Promise<Map<string, Map<number, number>> | undefined> {
  if (pipeline === null || files.length === 0 || !can('read_pipeline')) return undefined
  const [found] = await ctx.db.write
    .select({ id: pipelines.id })
    .from(pipelines)
    .where(and(eq(pipelines.id, pipeline), eq(pipelines.project_id, project.id), eq(pipelines.sha, sha)))
  const paths = files.flatMap(({ new_path, deleted_file }) => (deleted_file ? [] : [new_path]))
  const hits = found ? await lineHitsOf(ctx, project, found.id, paths) : null
  return hits && hits.size > 0 ? hits : undefined
}
