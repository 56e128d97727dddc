import { z } from 'zod'
import { onIssue, onIssueSignedIn } from '../../access/issues.js'
import { onProjectSignedIn } from '../../access/rules.js'
import { presentUserRef, UserRef } from '../../entities/identity/user.js'
import { Issue, presentIssue } from '../../entities/issuables/issue.js'
import { MergeRequest, presentMergeRequest } from '../../entities/issuables/merge-request.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import {
  bool,
  clearable,
  clearableDate,
  clearableId,
  clearableIds,
  commaList,
  datetime,
  idPaging,
  int,
  needsOneOf,
  oneOf,
  opt,
  paging,
  rowId,
  str,
} from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { createIssue } from '../../services/issuables/issues/create.js'
import { loadIssue } from '../../services/issuables/issues/list.js'
import { moveIssue } from '../../services/issuables/issues/move.js'
import { listParticipants } from '../../services/issuables/issues/participation.js'
import { deleteIssue } from '../../services/issuables/issues/remove.js'
import { listClosing, listRelated } from '../../services/issuables/merge-requests/reading/of-issue.js'
import { createIssueFromThreads } from '../../services/notes/issue-from-threads.js'
import { createIssueWithCommands, updateIssueWithCommands } from '../../services/quick-actions/descriptions.js'

const ISSUE = '/projects/:id/issues/:issue_iid'

const attributes = {
  description: opt(clearable()),
  confidential: opt(bool()),
  assignee_ids: clearableIds().optional(),
  assignee_id: clearableIds().optional(),
  milestone_id: opt(clearableId()),
  labels: opt(commaList()),
  due_date: clearableDate().optional(),
  discussion_locked: opt(bool()),
}

const CHANGES = [
  'title',
  'description',
  'assignee_ids',
  'assignee_id',
  'milestone_id',
  'labels',
  'add_labels',
  'remove_labels',
  'due_date',
  'confidential',
  'discussion_locked',
  'state_event',
  'updated_at',
] as const

/** A single assignee can be given as `assignee_id` or `assignee_ids`. */
const assigneesOf = ({ assignee_ids, assignee_id }: { assignee_ids?: number[] | undefined; assignee_id?: number[] | undefined }) =>
  assignee_ids ?? assignee_id

/** Issues (IS-4 to IS-8, IS-14 to IS-16). */
export const issues = [
  endpoint({
    method: 'GET',
    path: ISSUE,
    summary: 'Get an issue',
    access: onIssue('read_issue'),
    output: Issue,
    async handler({ ctx, caller, subject, view }) {
      return presentIssue(await loadIssue(ctx, caller, subject.issue.id), dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/issues',
    summary: 'Create an issue',
    access: onProjectSignedIn('create_issue'),
    input: z.object({
      title: documented.title(),
      ...attributes,
      iid: opt(int({ min: 1 })),
      created_at: opt(datetime()),
      merge_request_to_resolve_discussions_of: opt(rowId()),
      discussion_to_resolve: opt(str()),
    }),
    output: Issue,
    async handler({ ctx, caller, subject, input, view }) {
      const given = { ...input, assignee_ids: assigneesOf(input) }
      const { merge_request_to_resolve_discussions_of: request, discussion_to_resolve: discussion } = input
      const issue = await createIssueWithCommands(ctx, caller, subject, given, (wanted) =>
        request === undefined
          ? createIssue(ctx, caller, subject, wanted)
          : createIssueFromThreads(ctx, caller, subject, wanted, { request, discussion }),
      )
      return presentIssue(issue, dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: ISSUE,
    summary: 'Update, close or reopen an issue',
    access: onIssueSignedIn('update_issue'),
    input: needsOneOf(
      z.object({
        title: opt(documented.title()),
        ...attributes,
        add_labels: opt(commaList()),
        remove_labels: opt(commaList()),
        state_event: opt(oneOf(['close', 'reopen'])),
        updated_at: opt(datetime()),
      }),
      ...CHANGES,
    ),
    output: Issue,
    async handler({ ctx, caller, subject, input, view }) {
      const issue = await updateIssueWithCommands(ctx, caller, subject, { ...input, assignee_ids: assigneesOf(input) })
      return presentIssue(issue, dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: ISSUE,
    summary: 'Delete an issue',
    answers: [412],
    access: onIssueSignedIn('admin_issue', 'Issue'),
    async handler({ ctx, subject, unchangedSince }) {
      unchangedSince(subject.issue.updated_at)
      await deleteIssue(ctx, subject)
    },
  }),
  endpoint({
    method: 'POST',
    path: `${ISSUE}/move`,
    summary: 'Move an issue to another project',
    description: 'Closes the issue and creates a copy in the other project.',
    access: onIssueSignedIn('move_issue', 'Issue'),
    input: z.object({ to_project_id: rowId() }),
    output: Issue,
    async handler({ ctx, caller, subject, input, view }) {
      return presentIssue(await moveIssue(ctx, caller, subject, input.to_project_id), dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${ISSUE}/participants`,
    summary: 'List the participants of an issue',
    access: onIssue('read_issue'),
    input: z.object(paging),
    output: z.array(UserRef),
    async handler({ ctx, subject, input, view }) {
      return pageOf(await listParticipants(ctx, subject, input), input, (person) => presentUserRef(person, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${ISSUE}/closed_by`,
    summary: 'List the merge requests that will close an issue',
    access: onIssue('read_issue'),
    input: z.object(idPaging),
    output: z.array(MergeRequest),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listClosing(ctx, caller, subject, input), input, (request) =>
        presentMergeRequest(request, dayOf(ctx.now()), view),
      ).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${ISSUE}/related_merge_requests`,
    summary: 'List the merge requests related to an issue',
    access: onIssueSignedIn('read_issue'),
    input: z.object(idPaging),
    output: z.array(MergeRequest),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listRelated(ctx, caller, subject, input), input, (request) =>
        presentMergeRequest(request, dayOf(ctx.now()), view),
      ).inOrderOfIds(input)
    },
  }),
]
