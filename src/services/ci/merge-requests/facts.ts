import { and, desc, eq, isNull, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { ActorUser } from '../../../access/actor.js'
import { findMergeRequestFor } from '../../../access/merge-requests.js'
import type { Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import {
  labels,
  mergeRequestLabels,
  mergeRequestPipelines,
  mergeRequests,
  mergeRequestVersions,
  milestones,
  namespaces,
  projects,
  users,
} from '../../../db/schema/index.js'
import type { Oid } from '../../../git/types.js'
import type { Variable } from '../../../rules/ci/types.js'
import { headRef } from '../../../rules/refs/merge-request-refs.js'
import { findVisibleProject } from '../../identity/acting-users.js'

/** What a pipeline knows of the merge request that it is for. */
export interface RequestFacts {
  source_branch: string
  /** The merge base of the target branch, in the version of the pipeline's commit; null if there is none. */
  base: Oid | null
  variables: Variable[]
}

/** What the variables of a pipeline say of merge requests. */
export interface RequestsOfPipeline {
  /** Null: the pipeline is for a branch or tag. */
  request: RequestFacts | null
  /** References of open merge requests of its branch. */
  open_requests: string[]
}

/** References that `CI_OPEN_MERGE_REQUESTS` has at most, as in the original. */
const MAX_OPEN = 4

const sourceProjects = alias(projects, 'source')
const sourceNamespaces = alias(namespaces, 'source_namespace')
const pathOf = (namespace: typeof namespaces | typeof sourceNamespaces, project: typeof projects | typeof sourceProjects) =>
  sql<string>`${namespace.full_path} || '/' || ${project.path}`

/** The merge request that a pipeline was made for; null if there is none. */
export async function requestOfPipeline(ctx: Pick<Context, 'db'>, pipeline: number): Promise<number | null> {
  const [found] = await ctx.db.write
    .select({ id: mergeRequestPipelines.merge_request_id })
    .from(mergeRequestPipelines)
    .where(eq(mergeRequestPipelines.pipeline_id, pipeline))
  return found?.id ?? null
}

/** What is known of a merge request for a pipeline of this commit (CI-207). */
async function factsOf(ctx: Pick<Context, 'db' | 'links'>, id: number, sha: string): Promise<RequestFacts | null> {
  const [row] = await ctx.db.write
    .select({
      request: mergeRequests,
      path: pathOf(namespaces, projects),
      source_path: pathOf(sourceNamespaces, sourceProjects),
      assignees: sql<
        string | null
      >`(select string_agg(u.username, ',' order by p.place) from unnest(${mergeRequests.assignee_ids}) with ordinality as p (id, place)
        join ${users} u on u.id = p.id)`,
      milestone: milestones.title,
      labels: sql<string[]>`(select coalesce(json_agg(l.title order by l.title), '[]') from ${mergeRequestLabels} ml
        join ${labels} l on l.id = ml.label_id where ml.merge_request_id = ${mergeRequests.id})`,
      version: { id: mergeRequestVersions.id, base: mergeRequestVersions.base_commit_sha },
    })
    .from(mergeRequests)
    .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(sourceProjects, eq(sourceProjects.id, mergeRequests.source_project_id))
    .leftJoin(sourceNamespaces, eq(sourceNamespaces.id, sourceProjects.namespace_id))
    .leftJoin(milestones, eq(milestones.id, mergeRequests.milestone_id))
    .leftJoin(mergeRequestVersions, and(eq(mergeRequestVersions.merge_request_id, mergeRequests.id), eq(mergeRequestVersions.head_commit_sha, sha)))
    .where(eq(mergeRequests.id, id))
    .orderBy(desc(mergeRequestVersions.id))
    .limit(1)
  if (!row) return null
  const { request, version } = row
  const values: Record<string, string | null | undefined> = {
    CI_MERGE_REQUEST_EVENT_TYPE: 'detached',
    CI_MERGE_REQUEST_ID: String(request.id),
    CI_MERGE_REQUEST_IID: String(request.iid),
    CI_MERGE_REQUEST_REF_PATH: headRef(request.iid),
    CI_MERGE_REQUEST_PROJECT_ID: String(request.project_id),
    CI_MERGE_REQUEST_PROJECT_PATH: row.path,
    CI_MERGE_REQUEST_PROJECT_URL: ctx.links.project(row.path),
    CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: request.source_branch,
    // these two are for pipelines of merged results alone
    CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: '',
    CI_MERGE_REQUEST_TARGET_BRANCH_SHA: '',
    CI_MERGE_REQUEST_TARGET_BRANCH_NAME: request.target_branch,
    CI_MERGE_REQUEST_TITLE: request.title,
    CI_MERGE_REQUEST_ASSIGNEES: row.assignees,
    CI_MERGE_REQUEST_MILESTONE: row.milestone,
    CI_MERGE_REQUEST_LABELS: row.labels.length > 0 ? row.labels.join(',') : null,
    CI_MERGE_REQUEST_DIFF_ID: version && String(version.id),
    CI_MERGE_REQUEST_DIFF_BASE_SHA: version?.base,
    ...(request.source_project_id !== null && {
      CI_MERGE_REQUEST_SOURCE_PROJECT_ID: String(request.source_project_id),
      CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: row.source_path,
      CI_MERGE_REQUEST_SOURCE_PROJECT_URL: ctx.links.project(row.source_path),
    }),
  }
  return {
    source_branch: request.source_branch,
    base: version?.base ?? null,
    variables: Object.entries(values).flatMap(([key, value]) => (value == null ? [] : [{ key, value }])),
  }
}

/** References of the newest open merge requests of a branch that a user may read (CI-208). */
async function openRequests(ctx: Context, user: ActorUser, project: number, branch: string): Promise<string[]> {
  const rows = await ctx.db.write
    .select({ iid: mergeRequests.iid, target: mergeRequests.project_id, path: pathOf(namespaces, projects) })
    .from(mergeRequests)
    .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(
      and(
        eq(mergeRequests.source_project_id, project),
        eq(mergeRequests.source_branch, branch),
        eq(mergeRequests.state, 'opened'),
        isNull(mergeRequests.deleted_at),
      ),
    )
    .orderBy(desc(mergeRequests.id))
    .limit(MAX_OPEN)
  const readable = await Promise.all(
    rows.map(async ({ iid, target }) => {
      const subject = await findVisibleProject(ctx, { user }, target)
      return subject !== null && (await findMergeRequestFor(ctx, { user }, subject, iid)) !== null
    }),
  )
  return rows.flatMap(({ path, iid }, i) => (readable[i] ? [`${path}!${iid}`] : []))
}

/** What a pipeline of a project, with the rights of a user, knows of merge requests. */
export async function requestsOf(
  ctx: Context,
  {
    request: id,
    project,
    ref,
    tag,
    sha,
    user,
  }: { request: number | null; project: Project; ref: string; tag: boolean; sha: string; user: ActorUser },
): Promise<RequestsOfPipeline> {
  const request = id === null ? null : await factsOf(ctx, id, sha)
  return { request, open_requests: tag ? [] : await openRequests(ctx, user, project.id, request?.source_branch ?? ref) }
}
