import { z } from 'zod'
import { canMergeRequest } from '../../../access/can.js'
import { findMergeRequestFor } from '../../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import { detailedStatus, MergeRequest, presentMergeRequest } from '../../../entities/issuables/merge-request.js'
import { presentTimeStats } from '../../../entities/issuables/time-stats.js'
import { listRequestCommits } from '../../../services/issuables/merge-requests/reading/contents.js'
import { lineCountsOf } from '../../../services/issuables/merge-requests/reading/details.js'
import type { MergeRequestRecord } from '../../../services/issuables/merge-requests/reading/load.js'
import { aboutMergeRequest } from '../../../services/notes/noteables.js'
import type { Call } from '../call.js'
import { mapped, PAGED, partOfList, partOfPages } from '../connection.js'
import { globalId } from '../global-id.js'
import { type Fields, field, namesOf, objectType } from '../object-type.js'
import type { CommitNode } from './code.js'
import { discussionsOn, NO_ELEMENTS, notesOn } from './notes.js'
import { loadPipeline } from './pipelines.js'
import type { UserNode } from './users.js'

const REFERENCE = z.object({ full: z.boolean().nullish() })

const projectOf = ({ request }: MergeRequestRecord, { loaders }: Call): Promise<ProjectSubject | null> => loaders.projects.load(request.project_id)

const versionOf = ({ request }: MergeRequestRecord, { loaders }: Call) =>
  request.version_id === null ? null : loaders.versions.load(request.version_id)

/** With the merge request that shows them. */
const shownIn = (request: MergeRequestRecord, user: MergeRequestRecord['author']): UserNode | null => user && { ...user, request }

async function subjectOf({ request }: MergeRequestRecord, call: Call) {
  const project = await call.loaders.projects.load(request.project_id)
  return project && findMergeRequestFor(call.ctx, call.caller, project, request.iid)
}

async function approvers({ request }: MergeRequestRecord, { loaders }: Call) {
  return ((await loaders.opinions.load(request.id)) ?? []).filter(({ approved }) => approved).map(({ user }) => user)
}

const fields: Fields<MergeRequestRecord> = {
  id: ({ request }) => globalId('MergeRequest', request.id),
  discussionLocked: ({ request }) => request.discussion_locked ?? false,
  timeEstimate: ({ request }) => request.time_estimate,
  totalTimeSpent: ({ request }) => request.total_time_spent,
  humanTimeEstimate: ({ request }) => presentTimeStats(request).human_time_estimate,
  humanTotalTimeSpent: ({ request }) => presentTimeStats(request).human_total_time_spent,
  taskCompletionStatus: ({ request }) => ({ count: request.task_count, completedCount: request.task_completed_count }),
  sourceProjectId: ({ request }) => request.source_project_id,
  reference: field(REFERENCE, ({ request, path }: MergeRequestRecord, { full }) => `${full ? path : ''}!${request.iid}`),
  milestone: ({ milestone, milestone_path, path }) => milestone && { milestone, path: milestone_path ?? path },
  labels: field(PAGED, async ({ request }: MergeRequestRecord, args, { loaders }) =>
    partOfList((await loaders.requestLabels.load(request.id)) ?? [], args),
  ),
  commitCount: async (record, _, call) => (await versionOf(record, call))?.commits_count ?? null,
  diffHeadSha: ({ request }) => request.sha,
  diffRefs: async (record, _, call) => {
    const version = await versionOf(record, call)
    return version && { baseSha: version.base_commit_sha, headSha: version.head_commit_sha, startSha: version.start_commit_sha }
  },
  diffStatsSummary: async (record, _, call) => {
    const [version, project] = await Promise.all([versionOf(record, call), projectOf(record, call)])
    const counts = version && project && (await call.countLines(() => lineCountsOf(call.ctx, project.project, version)))
    return counts && { ...counts, changes: counts.additions + counts.deletions, fileCount: Number.parseInt(version.real_size, 10) }
  },
  mergeStatusEnum: ({ request }) => request.merge_status.toUpperCase(),
  mergeable: (record) => ['mergeable', 'requested_changes'].includes(detailedStatus(record)),
  conflicts: (record, _, { today, view }) => presentMergeRequest(record, today, view).has_conflicts,
  mergeError: ({ request }) => request.merge_error,
  autoMergeEnabled: ({ request }) => request.merge_when_pipeline_succeeds,
  allowCollaboration: ({ request }) => request.allow_collaboration,
  shouldBeRebased: ({ request, rules }) => rules.merge_method !== 'merge' && request.behind_target,
  rebaseInProgress: ({ request }) => request.rebase_user_id !== null,
  author: (record) => shownIn(record, record.author),
  assignees: field(PAGED, (record: MergeRequestRecord, args) =>
    partOfList(
      record.assignees.map((user) => shownIn(record, user)),
      args,
    ),
  ),
  reviewers: field(PAGED, (record: MergeRequestRecord, args) =>
    partOfList(
      record.reviewers.map((user) => shownIn(record, user)),
      args,
    ),
  ),
  mergeUser: ({ merged_by }) => merged_by,
  project: (record, _, call) => projectOf(record, call),
  targetProject: (record, _, call) => projectOf(record, call),
  sourceProject: ({ request }, _, { loaders }) => (request.source_project_id === null ? null : loaders.projects.load(request.source_project_id)),
  headPipeline: ({ request }, _, call) => (request.head_pipeline_id === null ? null : loadPipeline(request.head_pipeline_id, call)),
  approved: async (record, _, call) => (await approvers(record, call)).length > 0,
  approvedBy: field(PAGED, async (record: MergeRequestRecord, args, call) => partOfList(await approvers(record, call), args)),
  commits: field(PAGED, async (record: MergeRequestRecord, args, call) => {
    const subject = await projectOf(record, call)
    if (!subject) return null
    call.countList()
    return mapped(
      partOfPages(args, (paging) => listRequestCommits(call.ctx, subject.project, record.request, paging)),
      (commit): CommitNode => ({ commit, fullPath: fullPathOf(subject.project) }),
    )
  }),
  discussions: field(PAGED, async (record: MergeRequestRecord, args, call) => {
    call.countList()
    const subject = await subjectOf(record, call)
    return subject ? discussionsOn(aboutMergeRequest(subject), args, call) : NO_ELEMENTS
  }),
  notes: field(PAGED, async (record: MergeRequestRecord, args, call) => {
    call.countList()
    const subject = await subjectOf(record, call)
    return subject ? notesOn(aboutMergeRequest(subject), args, call) : NO_ELEMENTS
  }),
  userPermissions: async (record, _, call) => {
    const project = await projectOf(record, call)
    const may = (ability: Parameters<ProjectSubject['can']>[0]) =>
      project !== null && canMergeRequest({ ...project, user: call.caller.user }, ability, record.request)
    return {
      adminMergeRequest: may('manage_merge_request'),
      createNote: may('create_note'),
      readMergeRequest: may('read_merge_request'),
      updateMergeRequest: may('update_merge_request'),
    }
  },
}

export const mergeRequestTypes = {
  MergeRequest: objectType<MergeRequestRecord>({
    fields,
    shown: (record, { today, view }) => presentMergeRequest(record, today, view),
    entity: namesOf(MergeRequest),
  }),
}
