import type { ComponentChildren, VNode } from 'preact'
import type { Access } from '../../../../access/access.js'
import type { Caller } from '../../../../access/actor.js'
import { findIssueFor, type IssueSubject } from '../../../../access/issues.js'
import { fullPathOf, type GroupSubject, getProjectFor, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { forbidden, notFound } from '../../../../failures.js'
import { listMembers, sourceOfGroup } from '../../../../services/groups/members.js'
import type { UserRefRecord } from '../../../../services/identity/user-ref.js'
import type { BoardSource } from '../../../../services/issuables/boards.js'
import { MAX_CHOICES } from '../../../../services/issuables/choices.js'
import { listProjectUsers } from '../../../../services/projects/people.js'
import { t } from '../../../language/language.js'
import { GroupLayout } from '../../../layout/group.js'
import { ProjectLayout } from '../../../layout/project.js'
import { homeOfGroup, homeOfProject } from '../../../links.js'
import type { PageView } from '../../../page.js'

/** What boards of a project and of a group differ in. */
export interface BoardPlace<Subject> {
  /** `P/-` or `G/-`. */
  at: 'P/-' | 'G/-'
  read: Access<Subject, true>
  write: Access<Subject, true>
  mayManage(subject: Subject): boolean
  source(subject: Subject): BoardSource
  /** The address before `/-/`, without the prefix of the service. */
  home(subject: Subject): string
  name(subject: Subject): string
  /** Who can be the assignee of a list; the first hundred. */
  people(ctx: Context, subject: Subject): Promise<UserRefRecord[]>
  /** The issue of a card; 404 for what the caller does not see, 403 for what they may not move. */
  issue(ctx: Context, caller: Caller, subject: Subject, card: { issue_iid: number; project?: string | undefined }): Promise<IssueSubject>
  Frame(props: { view: PageView; subject: Subject; children: ComponentChildren }): VNode
}

async function movable(ctx: Context, caller: Caller, project: ProjectSubject, iid: number): Promise<IssueSubject> {
  const issue = project.can('read_issue') ? await findIssueFor(ctx, caller, project, iid) : null
  if (!issue) throw notFound(t('Issue'))
  if (!issue.may('manage_issue')) throw forbidden()
  return issue
}

const PAGE = { page: 1, per_page: MAX_CHOICES }

export const ofProject: BoardPlace<ProjectSubject> = {
  at: 'P/-',
  read: onProjectSignedIn('read_issue'),
  write: onProjectSignedIn('manage_issue'),
  mayManage: (subject) => subject.can('manage_issue'),
  source: (project) => ({ project }),
  home: homeOfProject,
  name: ({ project }) => fullPathOf(project),
  people: async (ctx, { project }) => (await listProjectUsers(ctx, project.id, PAGE)).items,
  issue: (ctx, caller, subject, { issue_iid }) => movable(ctx, caller, subject, issue_iid),
  Frame: (props) => <ProjectLayout {...props} tab="issues" />,
}

export const ofGroup: BoardPlace<GroupSubject> = {
  at: 'G/-',
  read: onGroupSignedIn('read_group'),
  write: onGroupSignedIn('manage_label'),
  mayManage: (subject) => subject.can('manage_label'),
  source: (group) => ({ group }),
  home: homeOfGroup,
  name: ({ group }) => group.full_path,
  people: async (ctx, subject) => (await listMembers(ctx, sourceOfGroup(subject), { inherited: true, ...PAGE })).items.map(({ user }) => user),
  async issue(ctx, caller, { group }, { issue_iid, project = '' }) {
    if (!project.startsWith(`${group.full_path}/`)) throw notFound(t('Project'))
    return movable(ctx, caller, await getProjectFor(ctx, caller, project), issue_iid)
  },
  Frame: (props) => <GroupLayout {...props} tab="issues" />,
}
