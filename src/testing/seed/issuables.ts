import type { SeedIssue, SeedMergeRequest, SeedNote } from './declaration.js'
import { type ProjectPlace, statusOf } from './places.js'
import { below, entries, type Made, type Seeder, seedFault } from './seeder.js'

export async function seedIssues(seeder: Seeder, place: ProjectPlace, issues: SeedIssue[] | undefined): Promise<void> {
  for (const [issue, at] of entries(place.at, 'issues', issues)) {
    const { title, description, state, confidential, due_date, created_at, notes } = issue
    const author = issue.author ?? place.as
    const asked = await askedOf(seeder, place, issue, at)
    const body = { title, description, confidential, due_date, created_at, ...asked }
    const made = await seeder.call({ at, method: 'POST', path: `${place.path}/issues`, as: author, body })
    if (created_at !== undefined && Date.parse(String(made['created_at'])) !== Date.parse(created_at))
      throw seedFault(below(at, 'created_at'), `${author} may not set it`)
    const path = `${place.path}/issues/${made.iid}`
    await complete(seeder, place, { at, path, made }, { ...asked, confidential, due_date })
    await seedNotes(seeder, { at, path, as: author }, notes)
    const rest = { ...(state === 'closed' && { state_event: 'close' }), ...lockedBy(issue) }
    if (Object.keys(rest).length > 0) await seeder.call({ at, method: 'PUT', path, as: place.as, body: rest })
  }
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
    await complete(seeder, place, { at, path, made }, asked)
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

/** Adds as the creator of the project what the author may not say, which the API passes over in silence. */
async function complete(
  seeder: Seeder,
  { as }: ProjectPlace,
  { at, path, made }: { at: string; path: string; made: Made },
  asked: Asked & { confidential?: boolean | undefined; due_date?: string | undefined },
): Promise<void> {
  const { labels, assignee_ids, milestone_id, confidential, due_date } = asked
  const missing = {
    ...(labels && labels.length > 0 && (made['labels'] as string[]).length === 0 && { labels }),
    ...(assignee_ids && assignee_ids.length > 0 && (made['assignees'] as Made[]).length === 0 && { assignee_ids }),
    ...(milestone_id !== undefined && made['milestone'] === null && { milestone_id }),
    ...(confidential && made['confidential'] === false && { confidential }),
    ...(due_date !== undefined && made['due_date'] === null && { due_date }),
  }
  if (Object.keys(missing).length > 0) await seeder.call({ at, method: 'PUT', path, as, body: missing })
}

async function seedNotes(seeder: Seeder, { at, path, as }: { at: string; path: string; as: string | undefined }, notes: SeedNote[] | undefined) {
  for (const [note, place] of entries(at, 'notes', notes)) {
    const { author = as, ...body } = typeof note === 'string' ? { body: note } : note
    const made = await seeder.call({ at: place, method: 'POST', path: `${path}/notes`, as: author, body })
    if (body.created_at !== undefined && Date.parse(String(made['created_at'])) !== Date.parse(body.created_at))
      throw seedFault(below(place, 'created_at'), `${author} may not set it`)
  }
}
