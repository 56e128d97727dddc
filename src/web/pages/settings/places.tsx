import type { ComponentChildren } from 'preact'
import type { Access } from '../../../access/access.js'
import { fullPathOf, type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { type MemberSource, sourceOfGroup, sourceOfProject } from '../../../services/groups/members.js'
import { newestProjectOf } from '../../../services/hooks/sources.js'
import { GroupLayout } from '../../layout/group.js'
import { GroupSettings, ProjectSettings } from '../../layout/manage.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfGroup, homeOfProject } from '../../links.js'
import type { PageView } from '../../page.js'

interface Frame<Subject> {
  view: PageView
  subject: Subject
  at: string
  title: string
  children: ComponentChildren
}

/** What the settings of a project and of a group differ in, where both have the same pages. */
export interface Place<Subject> {
  kind: 'project' | 'group'
  /** `P/-` or `G/-`. */
  at: 'P/-' | 'G/-'
  /** What the list of members is called in its address. */
  members: 'project_members' | 'group_members'
  on(ability: 'read_member' | 'manage_members' | 'request_access' | 'manage_variables' | 'manage_hooks'): Access<Subject, true>
  onTokens: Access<Subject, true>
  manages(subject: Subject): boolean
  /** The address before `/-/`, without the prefix of the service. */
  home(subject: Subject): string
  source(subject: Subject): { kind: 'project' | 'group'; id: number; fullPath: string; name: string }
  memberSource(subject: Subject): MemberSource
  /** The project that the sample of a webhook is about. */
  sampleProject(ctx: Context, subject: Subject): Promise<number>
  /** A page of the settings. */
  frame(props: Frame<Subject>): ComponentChildren
  /** A page of the members. */
  memberFrame(props: Omit<Frame<Subject>, 'at' | 'title'>): ComponentChildren
}

export const ofProject: Place<ProjectSubject> = {
  kind: 'project',
  at: 'P/-',
  members: 'project_members',
  on: onProjectSignedIn,
  onTokens: onProjectSignedIn('manage_deploy_keys'),
  manages: ({ can }) => can('manage_members'),
  home: homeOfProject,
  source: ({ project }) => ({ kind: 'project', id: project.id, fullPath: fullPathOf(project), name: fullPathOf(project) }),
  memberSource: sourceOfProject,
  sampleProject: async (_, { project }) => project.id,
  frame: (props) => <ProjectSettings {...props} />,
  memberFrame: ({ view, subject, children }) => (
    <ProjectLayout view={view} subject={subject} tab="members">
      {children}
    </ProjectLayout>
  ),
}

export const ofGroup: Place<GroupSubject> = {
  kind: 'group',
  at: 'G/-',
  members: 'group_members',
  on: onGroupSignedIn,
  onTokens: onGroupSignedIn('manage_deploy_tokens'),
  manages: ({ can }) => can('manage_members'),
  home: homeOfGroup,
  source: ({ group }) => ({ kind: 'group', id: group.id, fullPath: group.full_path, name: group.full_path }),
  memberSource: sourceOfGroup,
  sampleProject: (ctx, { group }) => newestProjectOf(ctx, group.id),
  frame: (props) => <GroupSettings {...props} />,
  memberFrame: ({ view, subject, children }) => (
    <GroupLayout view={view} subject={subject} tab="members">
      {children}
    </GroupLayout>
  ),
}
