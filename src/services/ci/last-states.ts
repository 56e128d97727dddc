import { and, desc, eq, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { canProject } from '../../access/can.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { pipelines, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { PipelineState } from '../../rules/pipeline-states.js'
import { loadProjects, type ProjectRecord } from '../projects/load.js'
import { isNoChild, isOfRef } from './merge-requests/heads.js'

/** The newest pipelines of a project among which that of its default branch is looked for; older ones are not shown. */
const MAX_LOOKED_AT = 100

const selectStates = statement('last pipeline states of default branches', (db) => {
  const newest = db
    .select({ id: pipelines.id, ref: pipelines.ref, tag: pipelines.tag, status: pipelines.status })
    .from(pipelines)
    .where(and(eq(pipelines.project_id, projects.id), isNoChild, isOfRef))
    .orderBy(desc(pipelines.id))
    .limit(MAX_LOOKED_AT)
    .as('newest')
  const last = db
    .select({ status: newest.status })
    .from(newest)
    .where(sql`${newest.ref} = ${projects.default_branch} and not ${newest.tag}`)
    .orderBy(desc(newest.id))
    .limit(1)
    .as('last')
  return db.select({ id: projects.id, status: last.status }).from(projects).innerJoinLateral(last, sql`true`).where(inIds(projects.id))
})

type Read = Pick<ProjectRecord, 'project' | 'level'>

const readable = (viewer: ActorUser | null, records: readonly Read[]) =>
  records.flatMap(({ project, level }) => (canProject({ user: viewer, level, project }, 'read_pipeline') ? [project.id] : []))

/** The states of the newest pipelines of default branches, by project, where the viewer may read them (WB-525). */
export async function defaultBranchStates(ctx: Context, viewer: ActorUser | null, records: readonly Read[]): Promise<Map<number, PipelineState>> {
  const ids = readable(viewer, records)
  const rows = ids.length > 0 ? await selectStates(ctx.db, null).execute({ ids }) : []
  return new Map(rows.map(({ id, status }) => [id, status]))
}

const selectById = statement('states of pipelines', (db) =>
  db.select({ id: pipelines.id, project: pipelines.project_id, status: pipelines.status }).from(pipelines).where(inIds(pipelines.id)),
)

/** The states of the head pipelines of merge requests, by the id of the pipeline, where the viewer may read them (WB-524). */
export async function headStates(ctx: Context, viewer: ActorUser, heads: (number | null)[]): Promise<Map<number, PipelineState>> {
  const ids = heads.filter((id) => id !== null)
  if (ids.length === 0) return new Map()
  const rows = await selectById(ctx.db, null).execute({ ids })
  const may = new Set(readable(viewer, await loadProjects(ctx, viewer, [...new Set(rows.map(({ project }) => project))])))
  return new Map(rows.flatMap(({ id, project, status }) => (may.has(project) ? [[id, status] as const] : [])))
}
