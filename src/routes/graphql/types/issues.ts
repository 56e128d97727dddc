import { z } from 'zod'
import { canIssue } from '../../../access/can.js'
import { findIssueFor } from '../../../access/issues.js'
import type { ProjectSubject } from '../../../access/rules.js'
import { Issue, presentIssue } from '../../../entities/issuables/issue.js'
import { presentTimeStats } from '../../../entities/issuables/time-stats.js'
import type { IssueRecord } from '../../../services/issuables/issues/list.js'
import { aboutIssue } from '../../../services/notes/noteables.js'
import type { Call } from '../call.js'
import { PAGED, partOfList } from '../connection.js'
import { globalId } from '../global-id.js'
import { type Fields, field, namesOf, objectType } from '../object-type.js'
import { discussionsOn, NO_ELEMENTS, notesOn } from './notes.js'

const REFERENCE = z.object({ full: z.boolean().nullish() })

async function subjectOf({ issue }: IssueRecord, call: Call) {
  const project = await call.loaders.projects.load(issue.project_id)
  return project && findIssueFor(call.ctx, call.caller, project, issue.iid)
}

const fields: Fields<IssueRecord> = {
  id: ({ issue }) => globalId('Issue', issue.id),
  type: () => 'ISSUE',
  discussionLocked: ({ issue }) => issue.discussion_locked ?? false,
  timeEstimate: ({ issue }) => issue.time_estimate,
  totalTimeSpent: ({ issue }) => issue.total_time_spent,
  humanTimeEstimate: ({ issue }) => presentTimeStats(issue).human_time_estimate,
  humanTotalTimeSpent: ({ issue }) => presentTimeStats(issue).human_total_time_spent,
  taskCompletionStatus: ({ issue }) => ({ count: issue.task_count, completedCount: issue.task_completed_count }),
  moved: ({ issue }) => issue.moved_to_id !== null,
  reference: field(REFERENCE, ({ issue, path }: IssueRecord, { full }) => `${full ? path : ''}#${issue.iid}`),
  milestone: ({ milestone, milestone_path, path }) => milestone && { milestone, path: milestone_path ?? path },
  labels: field(PAGED, async ({ issue }: IssueRecord, args, { loaders }) => partOfList((await loaders.issueLabels.load(issue.id)) ?? [], args)),
  author: ({ author }) => author,
  assignees: field(PAGED, ({ assignees }: IssueRecord, args) => partOfList(assignees, args)),
  webPath: (record, _, call) => call.pathOf(presentIssue(record, call.today, call.view).web_url),
  discussions: field(PAGED, async (record: IssueRecord, args, call) => {
    call.countList()
    const subject = await subjectOf(record, call)
    return subject ? discussionsOn(aboutIssue(subject), args, call) : NO_ELEMENTS
  }),
  notes: field(PAGED, async (record: IssueRecord, args, call) => {
    call.countList()
    const subject = await subjectOf(record, call)
    return subject ? notesOn(aboutIssue(subject), args, call) : NO_ELEMENTS
  }),
  userPermissions: async ({ issue }, _, call) => {
    const project = await call.loaders.projects.load(issue.project_id)
    const may = (ability: Parameters<ProjectSubject['can']>[0]) =>
      project !== null && canIssue({ ...project, user: call.caller.user }, ability, issue)
    return {
      adminIssue: may('admin_issue'),
      createNote: may('create_note'),
      readIssue: may('read_issue'),
      updateIssue: may('update_issue'),
    }
  },
}

export const issueTypes = {
  Issue: objectType<IssueRecord>({
    fields,
    shown: (record, { today, view }) => presentIssue(record, today, view),
    entity: namesOf(Issue),
  }),
}
