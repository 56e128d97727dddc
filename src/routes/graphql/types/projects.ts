import { z } from 'zod'
import type { ProjectAbility } from '../../../access/abilities/project.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import { Project, presentProject } from '../../../entities/projects/project.js'
import { nullOnFailure } from '../../../failures.js'
import { visibilityName } from '../../../rules/visibility.js'
import { listProjectSnippets } from '../../../services/content/snippets.js'
import { listIssues } from '../../../services/issuables/issues/list.js'
import { getLabel } from '../../../services/issuables/labels.js'
import { listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import type { Call } from '../call.js'
import { PAGED, paged, partOfPages } from '../connection.js'
import { globalId, idFrom } from '../global-id.js'
import { type Fields, field, namesOf, objectType } from '../object-type.js'
import { issueArguments, issueFilter, requestArguments, requestFilter } from './issuable-filters.js'
import { LABELS, labelsIn, MILESTONES, milestonesIn } from './labels.js'
import { MEMBERS, membersOf } from './members.js'
import { JOBS, jobsOf, PIPELINE, PIPELINES, pipelineOf, pipelinesOf } from './pipelines.js'

const IID = z.object({ iid: z.string() })
const ISSUES = z.object({ ...paged, ...issueArguments })
const REQUESTS = z.object({ ...paged, ...requestArguments })

/** The abilities behind the permissions that the schema names. */
const PERMISSIONS: Record<string, ProjectAbility> = {
  adminOperations: 'manage_hooks',
  adminProject: 'manage_project',
  archiveProject: 'archive_project',
  changeNamespace: 'transfer_project',
  changeVisibilityLevel: 'change_visibility',
  createIssue: 'create_issue',
  createLabel: 'manage_label',
  createMergeRequestFrom: 'create_merge_request',
  createMergeRequestIn: 'propose_merge_request',
  createPipeline: 'create_pipeline',
  createSnippet: 'create_snippet',
  createWiki: 'write_wiki',
  downloadCode: 'download_code',
  forkProject: 'fork',
  pushCode: 'push_code',
  readMergeRequest: 'read_merge_request',
  readProject: 'read_project',
  readProjectMember: 'read_member',
  readWiki: 'read_wiki',
  removeForkProject: 'unlink_fork',
  removeProject: 'remove_project',
  renameProject: 'rename_project',
  requestAccess: 'request_access',
  updateWiki: 'write_wiki',
  uploadFile: 'upload_file',
}

const inProject = (iid: string) => ({ state: 'all' as const, scope: 'all' as const, in: ['title' as const], iids: [idFrom(iid)] })
const FIRST = { page: 1, per_page: 1, order_by: 'created_at', sort: 'desc' } as const

const withIssues = (project: ProjectSubject) => project.can('read_issue')
const withRequests = (project: ProjectSubject, { caller }: Call) => caller.user !== null && project.can('read_own_merge_request')

async function onlyIssue(project: ProjectSubject, iid: string, call: Call) {
  if (!withIssues(project)) return null
  call.countList()
  const filter = { ...inProject(iid), ...FIRST, with_labels_details: false }
  return (await listIssues(call.ctx, call.caller, { project }, filter)).items[0] ?? null
}

async function onlyRequest(project: ProjectSubject, iid: string, call: Call) {
  if (!withRequests(project, call)) return null
  call.countList()
  return (await listMergeRequests(call.ctx, call.caller, { project }, { ...inProject(iid), ...FIRST })).items[0] ?? null
}

const record = ({ project }: ProjectSubject, { loaders }: Call) => loaders.projectRecords.load(project.id)

const fields: Fields<ProjectSubject> = {
  id: ({ project }) => globalId('Project', project.id),
  fullPath: ({ project }) => fullPathOf(project),
  // which lists show to everybody who sees the project
  visibility: ({ project }) => visibilityName(project.visibility),
  archived: ({ project }) => project.archived,
  mergeRequestsFfOnlyEnabled: ({ project }) => project.merge_method === 'ff',
  squashReadOnly: ({ project }) => project.squash_option === 'always' || project.squash_option === 'never',
  allowsMultipleMergeRequestAssignees: () => false,
  allowsMultipleMergeRequestReviewers: () => false,
  group: async ({ project: { namespace } }, _, { loaders }) =>
    namespace.kind === 'group' ? ((await loaders.groups.load(namespace.id))?.group ?? null) : null,
  namespace: ({ project: { namespace } }) => ({
    id: globalId(namespace.kind === 'group' ? 'Group' : 'Namespaces::UserNamespace', namespace.id),
    name: namespace.name,
    path: namespace.path,
    fullName: namespace.full_name,
    fullPath: namespace.full_path,
    visibility: visibilityName(namespace.visibility),
  }),
  repository: (subject) => (subject.can('download_code') ? subject : null),
  userPermissions: ({ can }) => Object.fromEntries(Object.entries(PERMISSIONS).map(([name, ability]) => [name, can(ability)])),
  issue: field(IID, (project: ProjectSubject, { iid }, call) => onlyIssue(project, iid, call)),
  mergeRequest: field(IID, (project: ProjectSubject, { iid }, call) => onlyRequest(project, iid, call)),
  issues: field(ISSUES, (project: ProjectSubject, args, call) => {
    if (!withIssues(project)) return null
    call.countList()
    return partOfPages(args, (paging) => listIssues(call.ctx, call.caller, { project }, issueFilter(args, paging)))
  }),
  mergeRequests: field(REQUESTS, (project: ProjectSubject, args, call) => {
    if (!call.caller.user || !project.can('read_merge_request')) return null
    call.countList()
    return partOfPages(args, (paging) => listMergeRequests(call.ctx, call.caller, { project }, requestFilter(args, paging)))
  }),
  label: field(z.object({ title: z.string() }), async (project: ProjectSubject, { title }, call) => {
    const { ctx, caller } = call
    if (!caller.user || !project.can('read_label')) return null
    call.countList()
    const found = await nullOnFailure(getLabel(ctx, caller, { project }, title))
    // digits are taken as an id there
    return found?.label.title === title ? found.label : null
  }),
  labels: field(LABELS, (project: ProjectSubject, args, call) => labelsIn({ project }, args, call)),
  milestones: field(MILESTONES, (project: ProjectSubject, args, call) => milestonesIn({ project }, args, call)),
  projectMembers: field(MEMBERS, (project: ProjectSubject, args, call) => membersOf(project, args, call)),
  pipeline: field(PIPELINE, pipelineOf),
  pipelines: field(PIPELINES, pipelinesOf),
  jobs: field(JOBS, jobsOf),
  snippets: field(PAGED, (project: ProjectSubject, args, call) => {
    const { ctx, caller } = call
    if (!caller.user || !project.can('read_snippet')) return null
    call.countList()
    return partOfPages(args, (paging) => listProjectSnippets(ctx, project, caller, paging))
  }),
}

export const projectTypes = {
  Project: objectType<ProjectSubject>({
    fields,
    shown: async (subject, call) => {
      const found = await record(subject, call)
      return found && presentProject(found, call.view)
    },
    entity: namesOf(Project),
  }),
}
