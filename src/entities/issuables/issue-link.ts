import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { LinkRecord, IssueLink as LinkRow } from '../../services/issuables/issues/links.js'
import type { IssueRecord } from '../../services/issuables/issues/list.js'
import { Issue, presentIssue } from './issue.js'

const link_type = z.literal('relates_to')

/** An issue that another one is linked with (PT-20). */
export const LinkedIssue = z
  .strictObject({ ...Issue.shape, issue_link_id: z.int(), link_type, link_created_at: z.iso.datetime(), link_updated_at: z.iso.datetime() })
  .meta({ id: 'LinkedIssue', description: 'An issue that another one is linked with.' })

export const IssueLink = z
  .strictObject({ id: z.int(), source_issue: Issue, target_issue: Issue, link_type })
  .meta({ id: 'IssueLink', description: 'That two issues have to do with each other.' })

export function presentLinkedIssue({ link, issue }: { link: LinkRow; issue: IssueRecord }, today: string, view: View): z.infer<typeof LinkedIssue> {
  const created = link.created_at.toISOString()
  return Object.assign(presentIssue(issue, today, view), {
    issue_link_id: link.id,
    link_type: 'relates_to' as const,
    link_created_at: created,
    link_updated_at: created,
  })
}

export const presentIssueLink = ({ link, source, target }: LinkRecord, today: string, view: View): z.infer<typeof IssueLink> => ({
  id: link.id,
  source_issue: presentIssue(source, today, view),
  target_issue: presentIssue(target, today, view),
  link_type: 'relates_to',
})
