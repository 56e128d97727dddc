import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Context } from '../../context.js'
import { commitStatuses, deployments, featureFlags, issues, mergeRequests, notes, pipelines, type RowImage, releases } from '../../db/schema/index.js'
import { Failure } from '../../failures.js'
import { ZERO } from '../../git/types.js'
import type { HookChange } from '../outbox/changes.js'
import { deliverSample, type HookAttempt } from './attempts.js'
import type { WebhookEvent } from './event.js'
import type { Hook } from './hooks.js'
import { loadPayloadData, type PayloadData, type ProjectData } from './payload-data.js'
import { repositoryIn } from './payloads/commits.js'
import { deploymentOf } from './payloads/deployments.js'
import { featureFlagOf } from './payloads/feature-flags.js'
import { sampleOf } from './payloads/issuables.js'
import { jobOf } from './payloads/jobs.js'
import { noteOf } from './payloads/notes.js'
import { pipelineOf } from './payloads/pipelines.js'
import { pushOf } from './payloads/push.js'
import { releaseOf } from './payloads/releases.js'
import { wikiSample } from './payloads/wikis.js'

/** The triggers that the test endpoint accepts (HK-5). */
export const TRIGGERS = [
  'push_events',
  'tag_push_events',
  'issues_events',
  'confidential_issues_events',
  'merge_requests_events',
  'note_events',
  'pipeline_events',
  'job_events',
  'wiki_page_events',
  'releases_events',
  'deployment_events',
  'feature_flag_events',
] as const

export type Trigger = (typeof TRIGGERS)[number]

/** The newest row of a project. */
async function newest({ ctx }: PayloadData, table: PgTable, where: SQL | undefined): Promise<RowImage | null> {
  const [found] = await ctx.db.write
    .select({ image: sql<RowImage>`to_jsonb(${table})` })
    .from(table)
    .where(where)
    .orderBy(desc(sql`id`))
    .limit(1)
  return found?.image ?? null
}

const change = (source: string, project: number, actor: number, after: RowImage): HookChange => ({
  id: 0,
  transaction: 0n,
  source,
  operation: 'INSERT',
  project_id: project,
  actor_id: actor,
  before: null,
  after,
  hooks: true,
  mail: false,
  created_at: new Date(0),
})

type Sample = (data: PayloadData, project: ProjectData, actor: number) => Promise<WebhookEvent[] | string>

const issue =
  (confidential: boolean): Sample =>
  async (data, project, actor) => {
    const row = await newest(data, issues, and(eq(issues.project_id, project.id), eq(issues.confidential, confidential)))
    return row ? sampleOf(data, 'issues', project, row, actor) : 'Ensure the project has issues.'
  }

const push =
  (prefix: 'refs/heads/' | 'refs/tags/'): Sample =>
  async (data, project, actor) => {
    const repository = repositoryIn(data, project)
    const refs = await repository.refs(prefix)
    const usual = refs.find(({ name }) => name === `refs/heads/${project.row['default_branch']}`) ?? refs[0]
    if (!usual) return prefix === 'refs/heads/' ? 'Ensure the project has at least one commit.' : 'Ensure the project has at least one tag.'
    const parent = prefix === 'refs/heads/' ? (await repository.commit(usual.oid))?.parents[0] : undefined
    return [await pushOf(data, project, actor, { ref: usual.name, old: parent ?? ZERO, new: usual.oid })]
  }

const SAMPLES: Record<Trigger, Sample> = {
  push_events: push('refs/heads/'),
  tag_push_events: push('refs/tags/'),
  issues_events: issue(false),
  confidential_issues_events: issue(true),
  async merge_requests_events(data, project, actor) {
    const row = await newest(data, mergeRequests, sql`${mergeRequests.project_id} = ${project.id} and ${mergeRequests.deleted_at} is null`)
    return row ? sampleOf(data, 'merge_requests', project, row, actor) : 'Ensure the project has merge requests.'
  },
  async note_events(data, project, actor) {
    const row = await newest(data, notes, and(eq(notes.project_id, project.id), eq(notes.system, false)))
    const events = row ? await noteOf(data, change('notes', project.id, actor, row)) : []
    return events.length > 0 ? events : 'Ensure the project has notes.'
  },
  async pipeline_events(data, project) {
    const row = await newest(data, pipelines, eq(pipelines.project_id, project.id))
    return row ? pipelineOf(data, row) : 'Ensure the project has CI pipelines.'
  },
  async job_events(data, project) {
    const row = await newest(data, commitStatuses, and(eq(commitStatuses.project_id, project.id), eq(commitStatuses.kind, 'build')))
    return row ? jobOf(data, row) : 'Ensure the project has CI jobs.'
  },
  async wiki_page_events(data, project, actor) {
    const event = await wikiSample(data, project, actor)
    return event ? [event] : 'Ensure the wiki is enabled and has pages.'
  },
  async releases_events(data, project, actor) {
    const row = await newest(data, releases, eq(releases.project_id, project.id))
    return row ? releaseOf(data, change('releases', project.id, actor, row)) : 'Ensure the project has releases.'
  },
  async deployment_events(data, project) {
    const row = await newest(data, deployments, eq(deployments.project_id, project.id))
    return row ? deploymentOf(data, row) : 'Ensure the project has deployments.'
  },
  async feature_flag_events(data, project, actor) {
    const row = await newest(data, featureFlags, eq(featureFlags.project_id, project.id))
    return row ? featureFlagOf(data, row, actor) : 'Ensure the project has feature flags.'
  },
}

/** Delivers a sample made from data of a project at once (HK-5). */
export async function testHook(ctx: Context, hook: Hook, projectId: number, trigger: Trigger, actor: number): Promise<HookAttempt> {
  const data = await loadPayloadData(ctx, [])
  const project = await data.project(projectId)
  const events = project ? await SAMPLES[trigger](data, project, actor) : 'Ensure the group has a project.'
  if (typeof events === 'string' || !events[0])
    throw new Failure('unprocessable', { message: typeof events === 'string' ? events : 'There is nothing to build a sample from' })
  return deliverSample(ctx, hook, events[0])
}

/** The sample for tests of system hooks (HK-9). */
export const SYSTEM_SAMPLE = {
  event_name: 'project_create',
  name: 'Sample',
  path: 'sample',
  path_with_namespace: 'somebody/sample',
  project_id: 1,
  owner_name: 'Someone',
  owner_email: 'example@example.com',
  project_visibility: 'private',
}

/** Delivers the sample of system hooks at once. */
export const testSystemHook = (ctx: Context, hook: Hook): Promise<HookAttempt> =>
  deliverSample(ctx, hook, { listens: 'system', event: 'System Hook', project: null, body: SYSTEM_SAMPLE })
