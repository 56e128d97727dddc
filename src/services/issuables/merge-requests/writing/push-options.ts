import { and, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import { findMergeRequestFor, type MergeRequestSubject } from '../../../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../../../access/rules.js'
import type { Context, Move } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { Failure, failureText, nullOnFailure } from '../../../../failures.js'
import { isUnavailable } from '../../../../lib/unavailable.js'
import { partsOfMessage } from '../../../../rules/commit-title.js'
import { isDraft } from '../../../../rules/draft.js'
import type { MergeRequestOptions } from '../../../../rules/push-options.js'
import { findVisibleProject } from '../../../identity/acting-users.js'
import { getUserNamed } from '../../../identity/users.js'
import { repositoryOf } from '../../../repository/repositories.js'
import { findMilestoneTitled } from '../../milestones.js'
import { acceptMergeRequest } from '../merging/accept.js'
import { createMergeRequest } from './create.js'
import { branchesOf } from './push-messages.js'
import { updateMergeRequest } from './update.js'

/** The most branches of one push whose merge requests are opened or changed. */
const MAX_BRANCHES = 10
/** The longest part of an option that a warning repeats. */
const MAX_SHOWN = 100

const shown = (text: string) => ([...text].length > MAX_SHOWN ? `${[...text].slice(0, MAX_SHOWN).join('')}…` : text)

/** A push with options for merge requests. */
interface PushWithOptions {
  caller: SignedIn
  source: ProjectSubject
  /** The project that the merge requests are for. */
  target: ProjectSubject
  options: MergeRequestOptions
  people: People
}

/** What the options name. */
interface People {
  assign: number[]
  unassign: number[]
  milestone_id: number | undefined
}

/**
 * Opens or changes the merge request of each pushed branch, with the rights of the pusher (PO-5 to PO-8). The refs have
 * moved: what fails is returned as warnings (PO-4).
 */
export async function applyMergeRequestOptions(
  ctx: Context,
  caller: SignedIn,
  source: ProjectSubject,
  moves: Move[],
  options: MergeRequestOptions,
): Promise<string[]> {
  const target = await targetOf(ctx, caller, source)
  const pushed = branchesOf(target, moves)
  const wanted = options.target
  if (!target.can('propose_merge_request')) return [`You may not open merge requests in ${fullPathOf(target.project)}`]
  if (pushed.length === 0) return ['No branch was pushed that a merge request can be opened for']
  if (pushed.length > MAX_BRANCHES) return [`Too many branches pushed (${pushed.length} were pushed, limit is ${MAX_BRANCHES})`]
  if (wanted !== undefined && !(await repositoryOf(ctx, target.project).ref(`refs/heads/${wanted}`)))
    return [`Branch ${shown(wanted)} does not exist`]
  const { people, warnings } = await lookUp(ctx, caller, target, options)
  for (const move of pushed) {
    try {
      warnings.push(...(await applyTo(ctx, { caller, source, target, options, people }, move)))
    } catch (error) {
      if (error instanceof Failure) warnings.push(failureText(error.body))
      else {
        if (!isUnavailable(error)) ctx.log.error({ err: error }, 'a push option could not be carried out')
        warnings.push('An unknown error occurred')
      }
    }
  }
  return [...new Set(warnings)]
}

/** The project that a fork was made from, if the pusher may open merge requests there; otherwise the project itself. */
async function targetOf(ctx: Context, caller: SignedIn, source: ProjectSubject): Promise<ProjectSubject> {
  const { forked_from_id } = source.project
  const parent = forked_from_id === null ? null : await findVisibleProject(ctx, caller, forked_from_id)
  return parent?.can('propose_merge_request') ? parent : source
}

/** Finds the users and the milestone that the options name; each that is missing gives a warning. */
async function lookUp(ctx: Context, caller: SignedIn, target: ProjectSubject, { assign, unassign, label, unlabel, milestone }: MergeRequestOptions) {
  const warnings: string[] = []
  const idsOf = async (names: string[]) => {
    const ids: number[] = []
    for (const name of names) {
      const user = await nullOnFailure(getUserNamed(ctx, caller, name.trim().replace(/^@/, '')))
      if (user) ids.push(user.id)
      else warnings.push(`User ${shown(name)} was not found`)
    }
    return ids
  }
  const needsRole = milestone !== undefined || [assign, unassign, label, unlabel].some((list) => list.length > 0)
  if (needsRole && !target.can('manage_merge_request')) {
    warnings.push('Labels, milestones and assignees need a role in the target project')
    return { people: { assign: [], unassign: [], milestone_id: undefined }, warnings }
  }
  const found = milestone === undefined ? null : await findMilestoneTitled(ctx, target, milestone.trim())
  if (milestone !== undefined && !found) warnings.push(`Milestone ${shown(milestone)} was not found`)
  return { people: { assign: await idsOf(assign), unassign: await idsOf(unassign), milestone_id: found?.id }, warnings }
}

async function applyTo(ctx: Context, push: PushWithOptions, move: Move & { branch: string }): Promise<string[]> {
  const { caller, target, options, people } = push
  const open = await findOpen(ctx, push, move.branch)
  if (!open && !options.create) return [`A merge_request.create push option is required to create a merge request for branch ${move.branch}`]
  const request = open ? await change(ctx, push, open) : await create(ctx, push, move)
  const warnings =
    people.assign.length > 0 && !people.assign.some((id) => request.assignee_ids.includes(id))
      ? ['None of the users can be assigned to the merge request']
      : []
  if (!options.merge_when_pipeline_succeeds) return warnings
  const subject = await findMergeRequestFor(ctx, caller, target, request.iid)
  if (!subject?.may('accept_merge_request')) return [...warnings, 'You may not merge this merge request']
  await acceptMergeRequest(ctx, caller, subject, { merge_when_pipeline_succeeds: true, awaits_pipeline: true, sha: move.new })
  return warnings
}

/** The open merge request of a branch: of several, the one for the wanted target, otherwise the oldest. */
async function findOpen(ctx: Context, { caller, source, target, options }: PushWithOptions, branch: string): Promise<MergeRequestSubject | null> {
  const [found] = await ctx.db.write
    .select({ iid: mergeRequests.iid })
    .from(mergeRequests)
    .where(
      and(
        eq(mergeRequests.project_id, target.project.id),
        eq(mergeRequests.source_project_id, source.project.id),
        eq(mergeRequests.source_branch, branch),
        isOpen,
      ),
    )
    .orderBy(sql`${mergeRequests.target_branch} = ${options.target ?? ''} desc`, mergeRequests.id)
    .limit(1)
  return found ? findMergeRequestFor(ctx, caller, target, found.iid) : null
}

/** Titles, as drafts if that is wanted (PO-6). */
const titled = (title: string, { draft }: MergeRequestOptions) => (draft && !isDraft(title) ? `Draft: ${title}` : title)

async function create(
  ctx: Context,
  { caller, source, target, options, people }: PushWithOptions,
  { new: head, branch, skip_ci }: Move & { branch: string },
) {
  const target_branch = options.target ?? target.project.default_branch
  const { title, description } = await textsOf(ctx, { source, target }, { head, branch, target_branch })
  const { request } = await createMergeRequest(ctx, caller, source, {
    source_branch: branch,
    target_branch,
    target_project_id: target.project.id,
    title: titled(options.title ?? title, options),
    description: options.description ?? description,
    labels: options.label.filter((label) => !options.unlabel.includes(label)),
    assignee_ids: people.assign.filter((id) => !people.unassign.includes(id)),
    milestone_id: people.milestone_id,
    remove_source_branch: options.remove_source_branch,
    skip_ci,
  })
  return request
}

/** The texts of a merge request without any: those of its only commit, otherwise the words of the branch (PO-5). */
async function textsOf(
  ctx: Context,
  { source, target }: Pick<PushWithOptions, 'source' | 'target'>,
  { head, branch, target_branch }: { head: string; branch: string; target_branch: string },
): Promise<{ title: string; description: string }> {
  const repository = repositoryOf(ctx, source.project)
  const start = await repositoryOf(ctx, target.project).ref(`refs/heads/${target_branch}`)
  // a fork need not have the newest commits of its source
  const known = start && (await repository.commit(start)) ? start : await repository.ref(`refs/heads/${source.project.default_branch}`)
  const { oids, total } = known ? await repository.range([known], head, 1) : { oids: [], total: 0 }
  const [only] = total === 1 ? await repository.commits(oids) : []
  const { first, text } = partsOfMessage(only?.message.trim() ?? '')
  if (first !== '') return { title: [...first.slice(0, 2 * MAX_TITLE)].slice(0, MAX_TITLE).join(''), description: text }
  const words = branch.replace(/[-_]+/g, ' ').trim() || branch
  return { title: words.charAt(0).toUpperCase() + words.slice(1), description: '' }
}

/** The longest title. */
const MAX_TITLE = 255

async function change(ctx: Context, { caller, options, people }: PushWithOptions, subject: MergeRequestSubject) {
  const { request } = subject
  const title = titled(options.title ?? request.title, options)
  const assigned = [...new Set([...request.assignee_ids, ...people.assign])].filter((id) => !people.unassign.includes(id))
  const changes = {
    ...(title !== request.title && { title }),
    ...(options.description !== undefined && { description: options.description }),
    ...(options.target !== undefined && { target_branch: options.target }),
    ...(options.remove_source_branch !== undefined && { remove_source_branch: options.remove_source_branch }),
    ...(options.label.length > 0 && { add_labels: options.label }),
    ...(options.unlabel.length > 0 && { remove_labels: options.unlabel }),
    ...(people.milestone_id !== undefined && { milestone_id: people.milestone_id }),
    ...(people.assign.length + people.unassign.length > 0 && { assignee_ids: assigned }),
  }
  if (Object.keys(changes).length === 0) return request
  if (!subject.may('update_merge_request')) throw new Failure('forbidden', { message: `You may not change merge request !${request.iid}` })
  return (await updateMergeRequest(ctx, caller, subject, changes)).request
}
