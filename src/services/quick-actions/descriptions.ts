import type { SignedIn } from '../../access/actor.js'
import type { IssueSubject } from '../../access/issues.js'
import type { MergeRequestSubject } from '../../access/merge-requests.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { NewIssue } from '../issuables/issues/create.js'
import { type IssueRecord, loadIssue } from '../issuables/issues/list.js'
import { type IssueChanges, updateIssue } from '../issuables/issues/update.js'
import { loadMergeRequest, type SingleMergeRequest } from '../issuables/merge-requests/reading/load.js'
import { createMergeRequest, type NewMergeRequest, targetOf } from '../issuables/merge-requests/writing/create.js'
import { type MergeRequestChanges, updateMergeRequest } from '../issuables/merge-requests/writing/update.js'
import { carryOut, type Plan, planCommands, withAttributes } from './plan.js'
import { onIssue, onMergeRequest, onNew } from './target.js'

interface Described {
  description?: string | null | undefined
  labels?: string[] | undefined
}

/** What is given for something new, with the changes of the commands: labels are added to those given. */
const forNew = <T extends Described>(given: T, { text, attributes: { add_labels, ...attributes } }: Plan): T => ({
  ...given,
  ...attributes,
  description: text,
  ...(add_labels && { labels: [...(given.labels ?? []), ...add_labels] }),
})

/** Whether anything is left to do once the attributes are written. */
const hasActs = ({ planned }: Plan) => planned.some(({ effect }) => typeof effect !== 'string' && 'act' in effect)

const written = () => Promise.resolve()

/** Creates an issue; the commands in its description are cut and carried out (QA-2). */
export async function createIssueWithCommands(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: NewIssue,
  create: (given: NewIssue) => Promise<IssueRecord>,
): Promise<IssueRecord> {
  if (!given.description) return create(given)
  const plan = await planCommands({ ctx, caller, target: onNew('Issue', subject, given.title) }, given.description)
  const made = await create(forNew(given, plan))
  if (!hasActs(plan)) return made
  const { id, project_id } = made.issue
  await carryOut(plan, { type: 'Issue', id, project_id }, written)
  return loadIssue(ctx, caller, id)
}

/** Changes an issue; the commands in a new description are cut and carried out. */
export async function updateIssueWithCommands(ctx: Context, caller: SignedIn, subject: IssueSubject, given: IssueChanges): Promise<IssueRecord> {
  if (!given.description) return updateIssue(ctx, caller, subject, given)
  const plan = await planCommands({ ctx, caller, target: { ...onIssue(subject), title: given.title ?? subject.issue.title } }, given.description)
  const after = await updateIssue(ctx, caller, subject, { ...withAttributes(given, plan.attributes), description: plan.text })
  if (!hasActs(plan)) return after
  const { id, project_id } = subject.issue
  await carryOut(plan, { type: 'Issue', id, project_id }, written)
  return loadIssue(ctx, caller, id)
}

/** Creates a merge request; the commands in its description are cut and carried out. */
export async function createMergeRequestWithCommands(
  ctx: Context,
  caller: SignedIn,
  source: ProjectSubject,
  given: NewMergeRequest,
): Promise<SingleMergeRequest> {
  if (!given.description) return createMergeRequest(ctx, caller, source, given)
  const project = await targetOf(ctx, caller, source, given.target_project_id)
  const plan = await planCommands({ ctx, caller, target: onNew('MergeRequest', project, given.title) }, given.description)
  const made = await createMergeRequest(ctx, caller, source, forNew(given, plan))
  if (!hasActs(plan)) return made
  const { id, project_id } = made.request
  await carryOut(plan, { type: 'MergeRequest', id, project_id }, written)
  return loadMergeRequest(ctx, caller, project, id)
}

/** Changes a merge request; the commands in a new description are cut and carried out. */
export async function updateMergeRequestWithCommands(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  given: MergeRequestChanges,
): Promise<SingleMergeRequest> {
  if (!given.description) return updateMergeRequest(ctx, caller, subject, given)
  const plan = await planCommands(
    { ctx, caller, target: { ...onMergeRequest(subject), title: given.title ?? subject.request.title } },
    given.description,
  )
  const after = await updateMergeRequest(ctx, caller, subject, { ...withAttributes(given, plan.attributes), description: plan.text })
  if (!hasActs(plan)) return after
  const { id, project_id } = subject.request
  await carryOut(plan, { type: 'MergeRequest', id, project_id }, written)
  return loadMergeRequest(ctx, caller, subject, id)
}
