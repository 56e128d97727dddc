import { findProjectFor, type ProjectSubject } from '../../access/rules.js'
import { createIssue } from '../../services/issuables/issues/create.js'
import type { SeedIssue, SeedMergeRequest, SeedNote } from './declaration.js'
import { type ProjectPlace, statusOf } from './groups.js'
import { below, entries, type Made, refusedAt, type Seeder, seedFault } from './seeder.js'

export async function seedIssues(seeder: Seeder, place: ProjectPlace, issues: SeedIssue[] | undefined): Promise<void> {
  const subjects = new Map<string, ProjectSubject>()
  for (const [issue, at] of entries(place.at, 'issues', issues)) {
    const { state, notes } = issue
    const author = issue.author ?? place.as ?? seeder.administrator
    const path = `${place.path}/issues/${await seedIssue(seeder, place, { at, author, issue, subjects })}`
    await seedNotes(seeder, { at, path, as: author }, notes)
    const rest = { ...(state === 'closed' && { state_event: 'close' }), ...lockedBy(issue) }
    if (Object.keys(rest).length > 0) await seeder.call({ at, method: 'PUT', path, as: place.as, body: rest })
  }
}

/** Makes an issue by the service, for a seed may have thousands; returns its iid. `subjects`: the project by authors. */
async function seedIssue(
  seeder: Seeder,
  place: ProjectPlace,
  { at, author, issue, subjects }: { at: string; author: string; issue: SeedIssue; subjects: Map<string, ProjectSubject> },
): Promise<number> {
  const { ctx } = seeder.world
  const { title, description, confidential, due_date, created_at } = issue
  const asked = await askedOf(seeder, place, issue, at)
  const caller = await seeder.caller(below(at, 'author'), author)
  const id = place.path.slice('/projects/'.length)
  const subject = subjects.get(author) ?? (await refusedAt(below(at, 'author'), findProjectFor(ctx, caller, id)))
  subjects.set(author, subject)
  if (!subject.can('create_issue')) throw seedFault(below(at, 'author'), `${author} may not make issues here`)
  if (created_at !== undefined && !subject.can('admin_issue')) throw seedFault(below(at, 'created_at'), `${author} may not set it`)
  const given = { title, description, confidential, due_date, ...asked, ...(created_at !== undefined && { created_at: new Date(created_at) }) }
  const made = await refusedAt(at, createIssue(ctx, caller, subject, given))
  const { iid } = made.issue
  const got = {
    labels: made.labels.length > 0,
    assigned: made.assignee !== null,
    milestone: made.milestone !== null,
    due: made.issue.due_date !== null,
  }
  await complete(seeder, place, { at, path: `${place.path}/issues/${iid}`, got }, { ...asked, due_date })
  return iid
}

export async function seedMergeRequests(seeder: Seeder, place: ProjectPlace, requests: SeedMergeRequest[] | undefined): Promise<void> {
  for (const [request, at] of entries(place.at, 'merge_requests', requests)) {
    const { title, description, source, target = place.defaultBranch, state, draft, squash, remove_source_branch } = request
    const author = request.author ?? place.as
    const head = place.heads.get(source)
    if (head === undefined) throw seedFault(below(at, 'source'), `there is no branch ${source} in this seed`)
    const asked = await askedOf(seeder, place, request, at)
    const body = {
      ...{ title: draft ? `WIP: ${title}` : title, source_branch: source, target_branch: target },
      ...{ description, squash, remove_source_branch, ...asked },
    }
    const made = await seeder.call({ at, method: 'POST', path: `${place.path}/merge_requests`, as: author, body })
    const path = `${place.path}/merge_requests/${made.iid}`
    await complete(seeder, place, { at, path, got: gotOf(made) }, asked)
    await seedNotes(seeder, { at, path, as: author }, request.notes)
    for (const [status, one] of entries(at, 'statuses', request.statuses)) await statusOf(seeder, place, { at: one, sha: head, ref: source }, status)
    if (state === 'merged') await seeder.call({ at: below(at, 'state'), method: 'PUT', path: `${path}/merge`, as: request.merged_by, body: {} })
    const rest = { ...(state === 'closed' && { state_event: 'close' }), ...lockedBy(request) }
    if (Object.keys(rest).length > 0) await seeder.call({ at, method: 'PUT', path, as: place.as, body: rest })
  }
}

const lockedBy = ({ discussion_locked }: { discussion_locked?: boolean | undefined }) =>
  discussion_locked === undefined ? {} : { discussion_locked }

interface Asked {
  labels?: string[]
  assignee_ids?: number[]
  milestone_id?: number
}

/** What the seed says by names, as the API wants it. */
async function askedOf(seeder: Seeder, { milestones }: ProjectPlace, given: SeedIssue | SeedMergeRequest, at: string): Promise<Asked> {
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

/** What has been taken of what was asked. */
interface Got {
  labels: boolean
  assigned: boolean
  milestone: boolean
  due: boolean
}

const gotOf = ({ labels, assignees, milestone, due_date }: Made): Got => ({
  labels: (labels as unknown[]).length > 0,
  assigned: (assignees as unknown[]).length > 0,
  milestone: milestone !== null,
  due: typeof due_date === 'string',
})

/** Adds as the creator of the project what the author may not say, which the service passes over in silence. */
async function complete(
  seeder: Seeder,
  { as }: ProjectPlace,
  { at, path, got }: { at: string; path: string; got: Got },
  { labels = [], assignee_ids = [], milestone_id, due_date }: Asked & { due_date?: string | undefined },
): Promise<void> {
  const missing = {
    ...(labels.length > 0 && !got.labels && { labels }),
    ...(assignee_ids.length > 0 && !got.assigned && { assignee_ids }),
    ...(milestone_id !== undefined && !got.milestone && { milestone_id }),
    ...(due_date !== undefined && !got.due && { due_date }),
  }
  if (Object.keys(missing).length === 0) return
  const changed = gotOf(await seeder.call({ at, method: 'PUT', path, as, body: missing }))
  if (assignee_ids.length > 0 && !changed.assigned) throw seedFault(below(at, 'assignees'), 'none of them can be assigned here')
}

async function seedNotes(seeder: Seeder, { at, path, as }: { at: string; path: string; as: string | undefined }, notes: SeedNote[] | undefined) {
  for (const [note, place] of entries(at, 'notes', notes)) {
    const { author = as, ...body } = typeof note === 'string' ? { body: note } : note
    const made = await seeder.call({ at: place, method: 'POST', path: `${path}/notes`, as: author, body })
    if (body.created_at !== undefined && Date.parse(String(made['created_at'])) !== Date.parse(body.created_at))
      throw seedFault(below(place, 'created_at'), `${author} may not set it`)
  }
}
