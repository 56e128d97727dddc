import { getProjectFor, type ProjectSubject } from '../../access/rules.js'
import { createIssue } from '../../services/issuables/issues/create.js'
import type { SeedIssue, SeedMergeRequest, SeedNote } from './declaration.js'
import { type ProjectContainer, seedStatus } from './groups.js'
import { type ApiObject, below, entries, type Seeder, seedFault, withPosition } from './seeder.js'

export async function seedIssues(seeder: Seeder, container: ProjectContainer, issues: SeedIssue[] | undefined): Promise<void> {
  const subjects = new Map<string, ProjectSubject>()
  for (const [issue, at] of entries(container.at, 'issues', issues)) {
    const { state, notes } = issue
    const author = issue.author ?? container.as ?? seeder.administrator
    const path = `${container.path}/issues/${await seedIssue(seeder, container, { at, author, issue, subjects })}`
    await seedNotes(seeder, { at, path, as: author }, notes)
    const rest = { ...(state === 'closed' && { state_event: 'close' }), ...lockedBy(issue) }
    if (Object.keys(rest).length > 0) await seeder.call({ at, method: 'PUT', path, as: container.as, body: rest })
  }
}

/**
 * Creates an issue and returns its iid. Calls the service instead of the API, because a seed may have thousands of
 * issues. `subjects` caches the project as each author sees it.
 */
async function seedIssue(
  seeder: Seeder,
  container: ProjectContainer,
  { at, author, issue, subjects }: { at: string; author: string; issue: SeedIssue; subjects: Map<string, ProjectSubject> },
): Promise<number> {
  const { ctx } = seeder.world
  const { title, description, confidential, due_date, created_at } = issue
  const params = await issuableParams(seeder, container, issue, at)
  const caller = await seeder.caller(below(at, 'author'), author)
  const id = container.path.slice('/projects/'.length)
  const subject = subjects.get(author) ?? (await withPosition(below(at, 'author'), getProjectFor(ctx, caller, id)))
  subjects.set(author, subject)
  if (!subject.can('create_issue')) throw seedFault(below(at, 'author'), `${author} may not make issues here`)
  if (created_at !== undefined && !subject.can('admin_issue')) throw seedFault(below(at, 'created_at'), `${author} may not set it`)
  const given = { title, description, confidential, due_date, ...params, ...(created_at !== undefined && { created_at: new Date(created_at) }) }
  const made = await withPosition(at, createIssue(ctx, caller, subject, given))
  const { iid } = made.issue
  const applied = {
    labels: made.labels.length > 0,
    assigned: made.assignees.length > 0,
    milestone: made.milestone !== null,
    due: made.issue.due_date !== null,
  }
  await applyMissing(seeder, container, { at, path: `${container.path}/issues/${iid}`, applied }, { ...params, due_date })
  return iid
}

export async function seedMergeRequests(seeder: Seeder, container: ProjectContainer, requests: SeedMergeRequest[] | undefined): Promise<void> {
  for (const [request, at] of entries(container.at, 'merge_requests', requests)) {
    const { title, description, source, target = container.defaultBranch, state, draft, squash, remove_source_branch } = request
    const author = request.author ?? container.as
    const head = container.heads.get(source)
    if (head === undefined) throw seedFault(below(at, 'source'), `there is no branch ${source} in this seed`)
    const params = await issuableParams(seeder, container, request, at)
    const body = {
      title: draft ? `WIP: ${title}` : title,
      source_branch: source,
      target_branch: target,
      description,
      squash,
      remove_source_branch,
      ...params,
    }
    const made = await seeder.call({ at, method: 'POST', path: `${container.path}/merge_requests`, as: author, body })
    const path = `${container.path}/merge_requests/${made.iid}`
    await applyMissing(seeder, container, { at, path, applied: appliedOf(made) }, params)
    await seedNotes(seeder, { at, path, as: author }, request.notes)
    for (const [status, position] of entries(at, 'statuses', request.statuses))
      await seedStatus(seeder, container, { at: position, sha: head, ref: source }, status)
    if (state === 'merged') await seeder.call({ at: below(at, 'state'), method: 'PUT', path: `${path}/merge`, as: request.merged_by, body: {} })
    const rest = { ...(state === 'closed' && { state_event: 'close' }), ...lockedBy(request) }
    if (Object.keys(rest).length > 0) await seeder.call({ at, method: 'PUT', path, as: container.as, body: rest })
  }
}

const lockedBy = ({ discussion_locked }: { discussion_locked?: boolean | undefined }) =>
  discussion_locked === undefined ? {} : { discussion_locked }

interface IssuableParams {
  labels?: string[]
  assignee_ids?: number[]
  milestone_id?: number
}

/** Replaces names in the seed by the ids that the API expects. */
async function issuableParams(
  seeder: Seeder,
  { milestones }: ProjectContainer,
  given: SeedIssue | SeedMergeRequest,
  at: string,
): Promise<IssuableParams> {
  const { labels, assignees, milestone } = given
  const milestone_id = milestone === undefined ? undefined : milestones.get(milestone)
  if (milestone !== undefined && milestone_id === undefined)
    throw seedFault(below(at, 'milestone'), `there is no milestone ${milestone} in this seed`)
  return {
    ...(labels && { labels }),
    ...(assignees && { assignee_ids: await seeder.userIds(below(at, 'assignees'), assignees) }),
    ...(milestone_id !== undefined && { milestone_id }),
  }
}

/** Which parameters the service has applied. */
interface Applied {
  labels: boolean
  assigned: boolean
  milestone: boolean
  due: boolean
}

const appliedOf = ({ labels, assignees, milestone, due_date }: ApiObject): Applied => ({
  labels: (labels as unknown[]).length > 0,
  assigned: (assignees as unknown[]).length > 0,
  milestone: milestone !== null,
  due: typeof due_date === 'string',
})

/** Sets, as the creator of the project, the fields that the author may not set, which the service ignores silently. */
async function applyMissing(
  seeder: Seeder,
  { as }: ProjectContainer,
  { at, path, applied }: { at: string; path: string; applied: Applied },
  { labels = [], assignee_ids = [], milestone_id, due_date }: IssuableParams & { due_date?: string | undefined },
): Promise<void> {
  const missing = {
    ...(labels.length > 0 && !applied.labels && { labels }),
    ...(assignee_ids.length > 0 && !applied.assigned && { assignee_ids }),
    ...(milestone_id !== undefined && !applied.milestone && { milestone_id }),
    ...(due_date !== undefined && !applied.due && { due_date }),
  }
  if (Object.keys(missing).length === 0) return
  const changed = appliedOf(await seeder.call({ at, method: 'PUT', path, as, body: missing }))
  if (assignee_ids.length > 0 && !changed.assigned) throw seedFault(below(at, 'assignees'), 'none of them can be assigned here')
}

async function seedNotes(seeder: Seeder, { at, path, as }: { at: string; path: string; as: string | undefined }, notes: SeedNote[] | undefined) {
  for (const [note, position] of entries(at, 'notes', notes)) {
    const { author = as, ...body } = typeof note === 'string' ? { body: note } : note
    const made = await seeder.call({ at: position, method: 'POST', path: `${path}/notes`, as: author, body })
    if (body.created_at !== undefined && Date.parse(String(made['created_at'])) !== Date.parse(body.created_at))
      throw seedFault(below(position, 'created_at'), `${author} may not set it`)
  }
}
