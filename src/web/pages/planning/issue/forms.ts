import { z } from 'zod'
import type { SignedIn } from '../../../../access/actor.js'
import { type IssueSubject, onIssueSignedIn } from '../../../../access/issues.js'
import { fullPathOf } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { forbidden, invalidRecord, nullOnFailure } from '../../../../failures.js'
import { bool, orDefault, rowId, str } from '../../../../http/params.js'
import { withoutAround } from '../../../../lib/text/without-trailing.js'
import { referencesIn, withTask } from '../../../../rules/references.js'
import { resolveIssues } from '../../../../services/activity/referenced-issues.js'
import { findVisibleProject } from '../../../../services/identity/acting-users.js'
import { linkIssues, unlinkIssues } from '../../../../services/issuables/issues/links.js'
import { moveIssue } from '../../../../services/issuables/issues/move.js'
import { addIssueTodo, subscribeToIssue } from '../../../../services/issuables/issues/participation.js'
import { deleteIssue } from '../../../../services/issuables/issues/remove.js'
import { closeAsDuplicate, updateIssue } from '../../../../services/issuables/issues/update.js'
import { createMergeRequest } from '../../../../services/issuables/merge-requests/writing/create.js'
import { aboutIssue } from '../../../../services/notes/noteables.js'
import { createBranch } from '../../../../services/repository/branches.js'
import { noteForms, reactionForm } from '../../../components/discussion/forms.js'
import { checkVersion } from '../../../components/editor/version.js'
import { sideChange } from '../../../components/issuable/side.js'
import { timeSpent, trackTime } from '../../../components/issuable/time-tracking.js'
import { t } from '../../../language/language.js'
import { inUrl } from '../../../links.js'
import { form, Redirect } from '../../../page.js'
import { addressOf, within } from './address.js'
import { attributes } from './attributes.js'
import { newLink } from './links.js'
import { mayBranch, newRequest } from './merge-requests.js'
import { duplicate, moved } from './more.js'
import { issuePage } from './show.js'

const commented = { at: issuePage.at, access: onIssueSignedIn, on: issuePage, about: aboutIssue, addressOf }
export const issueNotes = [...noteForms(commented), reactionForm(commented)]

export const issueAttributes = form({
  at: 'P/-/issues/:issue_iid/attributes',
  access: onIssueSignedIn('update_issue'),
  input: attributes,
  on: issuePage,
  async submit({ ctx, caller, subject, input: { attribute, due_date, confidential, discussion_locked, ...given } }) {
    const manages = subject.can('manage_issue')
    if (!manages && attribute !== 'access') throw forbidden()
    await updateIssue(
      ctx,
      caller,
      subject,
      attribute === 'access'
        ? { confidential, ...(manages && { discussion_locked }) }
        : attribute === 'due_date'
          ? { due_date: due_date ?? null }
          : await sideChange(ctx, attribute, given),
    )
    const seen = await nullOnFailure(
      onIssueSignedIn('read_issue').find(ctx, caller, { id: fullPathOf(subject.project), issue_iid: String(subject.issue.iid) }),
    )
    return new Redirect(seen ? addressOf(subject) : within(subject), { notice: t('Issue updated.') })
  },
})

export const issueTime = form({
  at: 'P/-/issues/:issue_iid/time',
  access: onIssueSignedIn('update_issue'),
  input: timeSpent,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    await trackTime(ctx, caller, { type: 'Issue', id: subject.issue.id, project_id: subject.issue.project_id }, input)
    return new Redirect(addressOf(subject), { notice: t('Time tracking updated.') })
  },
})

/** A click on a task of the description (WB-126). */
export const issueTasks = form({
  at: 'P/-/issues/:issue_iid/tasks',
  access: onIssueSignedIn('update_issue'),
  input: z.object({ task: str(), version: orDefault(str(), '') }),
  on: issuePage,
  async submit({ ctx, caller, subject, input: { task, version } }) {
    const { issue } = subject
    checkVersion(version, issue.description)
    const [number = '', state] = task.split(':')
    const description = await withTask(ctx.cpu.slices, issue.description, Number(number), state === '1')
    if (description === null) throw invalidRecord({ base: ['has no such task'] })
    await updateIssue(ctx, caller, subject, { description, check: (before) => checkVersion(version, before.description) })
    return new Redirect(addressOf(subject))
  },
})

export const issueSubscription = form({
  at: 'P/-/issues/:issue_iid/toggle_subscription',
  access: onIssueSignedIn('read_issue'),
  input: z.object({ subscribed: orDefault(bool(), true) }),
  on: issuePage,
  async submit({ ctx, caller, subject, input: { subscribed } }) {
    await subscribeToIssue(ctx, caller, subject, subscribed)
    return new Redirect(addressOf(subject), {
      notice: subscribed ? t('You get mails about this issue.') : t('You get no more mails about this issue.'),
    })
  },
})

export const issueTodo = form({
  at: 'P/-/issues/:issue_iid/todo',
  access: onIssueSignedIn('read_issue'),
  on: issuePage,
  async submit({ ctx, caller, subject }) {
    const todo = await addIssueTodo(ctx, caller, subject)
    return new Redirect(addressOf(subject), { notice: todo ? t('It is in your to-do list.') : t('It is in your to-do list already.') })
  },
})

export const issueRequest = form({
  at: 'P/-/issues/:issue_iid/create_merge_request',
  access: onIssueSignedIn('read_issue'),
  input: newRequest,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    if (!mayBranch(subject)) throw invalidRecord({ base: ['cannot get a merge request'] })
    const { issue, project } = subject
    const branch = input.branch_name.trim()
    await createBranch(ctx, subject, caller, { branch, ref: input.ref.trim() || project.default_branch })
    const title = issue.confidential ? `Draft: Resolve #${issue.iid}` : `Draft: Resolve "${issue.title}"`.slice(0, 255)
    const given = {
      title,
      description: `Closes #${issue.iid}`,
      source_branch: branch,
      target_branch: project.default_branch,
      assignee_ids: [caller.user.id],
    }
    const made = await createMergeRequest(ctx, caller, subject, given)
    return new Redirect(`/${inUrl(fullPathOf(project))}/-/merge_requests/${made.request.iid}`, {
      notice: t('The branch {branch} and a draft of a merge request are made.', { branch }),
    })
  },
})

export const issueDuplicate = form({
  at: 'P/-/issues/:issue_iid/duplicate',
  access: onIssueSignedIn('update_issue'),
  input: duplicate,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    const other = await otherIssue(ctx, caller, subject, 'duplicate_of', input.duplicate_of)
    await closeAsDuplicate(ctx, caller, subject, other)
    return new Redirect(addressOf(subject), { notice: t('Issue closed as a duplicate.') })
  },
})

export const issueLinking = form({
  at: 'P/-/issues/:issue_iid/links',
  access: onIssueSignedIn('manage_issue'),
  input: newLink,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    const other = await otherIssue(ctx, caller, subject, 'linked_issue', input.linked_issue)
    await linkIssues(ctx, caller, subject, other)
    return new Redirect(addressOf(subject), { notice: t('The issues are linked.') })
  },
})

export const issueUnlinking = form({
  at: 'P/-/issues/:issue_iid/links/:link_id',
  method: 'DELETE',
  access: onIssueSignedIn('manage_issue'),
  input: z.object({ link_id: rowId() }),
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    await unlinkIssues(ctx, caller, subject, input.link_id)
    return new Redirect(addressOf(subject), { notice: t('The link is removed.') })
  },
})

/** The issue that a field names as people write it; 400 if it is this one, or none that the caller sees. */
async function otherIssue(ctx: Context, caller: SignedIn, subject: IssueSubject, field: string, text: string): Promise<IssueSubject> {
  const named = /^\d{1,9}$/.test(text.trim()) ? `#${text.trim()}` : text
  const references = (await referencesIn(ctx.cpu.slices, named.slice(0, 1_000), ctx.links.base)).flatMap((each) =>
    each.kind === 'issue' && 'number' in each ? [each] : [],
  )
  const [other] = await resolveIssues(ctx, caller, subject, references.slice(0, 1))
  if (!other || other.issue.id === subject.issue.id) throw invalidRecord({ [field]: ['is no other issue that you can see'] })
  return other
}

export const issueMove = form({
  at: 'P/-/issues/:issue_iid/move',
  access: onIssueSignedIn('move_issue', 'Issue'),
  input: moved,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    const to = await findVisibleProject(ctx, caller, withoutAround(input.to_project.trim(), '/'))
    if (!to) throw invalidRecord({ to_project: ['is no project that you can see'] })
    const { issue, path } = await moveIssue(ctx, caller, subject, to.project.id)
    return new Redirect(`/${inUrl(path)}/-/issues/${issue.iid}`, { notice: t('Issue moved here.') })
  },
})

export const issueRemoval = form({
  at: 'P/-/issues/:issue_iid',
  method: 'DELETE',
  access: onIssueSignedIn('admin_issue', 'Issue'),
  async submit({ ctx, subject }) {
    await deleteIssue(ctx, subject)
    return new Redirect(within(subject), { notice: t('The issue #{iid} is deleted.', { iid: subject.issue.iid }) })
  },
})
