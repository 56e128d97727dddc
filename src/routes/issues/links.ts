import { z } from 'zod'
import { onIssueSignedIn } from '../../access/issues.js'
import { IssueLink, LinkedIssue, presentIssueLink, presentLinkedIssue } from '../../entities/issuables/issue-link.js'
import { endpoint } from '../../http/endpoint.js'
import { int, oneOf, orDefault, rowId } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { getLink, issueToLink, linkIssues, listLinks, unlinkIssues } from '../../services/issuables/issues/links.js'

const LINKS = '/projects/:id/issues/:issue_iid/links'
const byId = { issue_link_id: rowId() }

/** Links between issues (PT-20 to PT-24). */
export const issueLinks = [
  endpoint({
    method: 'GET',
    path: LINKS,
    summary: 'List the issues that an issue is linked with',
    access: onIssueSignedIn('read_issue'),
    output: z.array(LinkedIssue),
    async handler({ ctx, caller, subject, view }) {
      return (await listLinks(ctx, caller, subject.issue.id)).map((linked) => presentLinkedIssue(linked, dayOf(ctx.now()), view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${LINKS}/:issue_link_id`,
    summary: 'Get a link of an issue',
    access: onIssueSignedIn('read_issue'),
    input: z.object(byId),
    output: IssueLink,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentIssueLink(await getLink(ctx, caller, subject.issue.id, input.issue_link_id), dayOf(ctx.now()), view),
  }),
  endpoint({
    method: 'POST',
    path: LINKS,
    summary: 'Link two issues',
    answers: [404, 409],
    access: onIssueSignedIn('manage_issue'),
    input: z.object({
      target_project_id: z.coerce.string(),
      target_issue_iid: int({ min: 1 }),
      link_type: orDefault(oneOf(['relates_to']), 'relates_to'),
    }),
    output: IssueLink,
    async handler({ ctx, caller, subject, input, view }) {
      const target = await issueToLink(ctx, caller, input.target_project_id, input.target_issue_iid)
      return presentIssueLink(await linkIssues(ctx, caller, subject, target), dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${LINKS}/:issue_link_id`,
    summary: 'Remove a link of two issues',
    access: onIssueSignedIn('manage_issue'),
    status: 200,
    input: z.object(byId),
    output: IssueLink,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentIssueLink(await unlinkIssues(ctx, caller, subject, input.issue_link_id), dayOf(ctx.now()), view),
  }),
]
