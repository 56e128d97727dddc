import { and, eq, isNull } from 'drizzle-orm'
import type { Caller } from '../../../access/actor.js'
import { canProject } from '../../../access/can.js'
import type { Context } from '../../../context.js'
import { inIds } from '../../../db/conditions.js'
import { mergeRequestPipelines, mergeRequests } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { loadProjects } from '../../projects/load.js'

/** A merge request that a pipeline was made for. */
export interface PipelineRequest {
  iid: number
  title: string
  source_branch: string
  project_id: number
  /** Full path of its project. */
  fullPath: string
}

const selectRequests = statement('merge requests of pipelines', (db) =>
  db
    .select({
      pipeline: mergeRequestPipelines.pipeline_id,
      iid: mergeRequests.iid,
      title: mergeRequests.title,
      source_branch: mergeRequests.source_branch,
      project_id: mergeRequests.project_id,
    })
    .from(mergeRequestPipelines)
    .innerJoin(mergeRequests, eq(mergeRequests.id, mergeRequestPipelines.merge_request_id))
    .where(and(inIds(mergeRequestPipelines.pipeline_id), isNull(mergeRequests.deleted_at))),
)

/** The merge requests that these pipelines are for, by the id of the pipeline, where the viewer may read them. */
export async function requestsOfPipelines(ctx: Context, { user }: Pick<Caller, 'user'>, ids: number[]): Promise<Map<number, PipelineRequest>> {
  const rows = ids.length > 0 ? await selectRequests(ctx.db, null).execute({ ids }) : []
  const records = rows.length > 0 ? await loadProjects(ctx, user, [...new Set(rows.map(({ project_id }) => project_id))]) : []
  const paths = new Map(
    records.flatMap(({ project, namespace, level }) =>
      canProject({ user, level, project }, 'read_merge_request') ? [[project.id, `${namespace.full_path}/${project.path}`] as const] : [],
    ),
  )
  return new Map(
    rows.flatMap(({ pipeline, ...request }) => {
      const fullPath = paths.get(request.project_id)
      return fullPath === undefined ? [] : [[pipeline, { ...request, fullPath }] as const]
    }),
  )
}
