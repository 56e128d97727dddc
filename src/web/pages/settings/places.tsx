import type { VNode } from 'preact'
import type { Access } from '../../../access/access.js'
import { fullPathOf, type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { type MemberSource, sourceOfGroup, sourceOfProject } from '../../../services/groups/members.js'
import { newestProjectOf } from '../../../services/hooks/sources.js'
import { GroupLayout } from '../../layout/group.js'
import { GroupSettings, ProjectSettings, type SettingsProps } from '../../layout/manage.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfGroup, homeOfProject } from '../../links.js'

/** What the settings of a project and of a group differ in, where both have the same pages. */
export interface Place<Subject> {
  kind: 'project' | 'group'
  /** `P/-` or `G/-`. */
  at: 'P/-' | 'G/-'
  /** What the list of members is called in its address. */
  members: 'project_members' | 'group_members'
  on(ability: 'read_member' | 'manage_members' | 'request_access' | 'manage_variables' | 'manage_hooks' | 'manage_runners'): Access<Subject, true>
  onTokens: Access<Subject, true>
  onAccessTokens: Access<Subject, true>
  manages(subject: Subject): boolean
  /** The address before `/-/`, without the prefix of the service. */
  home(subject: Subject): string
  source(subject: Subject): { kind: 'project' | 'group'; id: number; fullPath: string; name: string }
  memberSource(subject: Subject): MemberSource
  /** The project that the sample of a webhook is about. */
  sampleProject(ctx: Context, subject: Subject): Promise<number>
  /** A page of the settings. */
  Frame(props: SettingsProps<Subject>): VNode
  /** A page of the members. */
  MemberFrame(props: Omit<SettingsProps<Subject>, 'at' | 'title'>): VNode
}

export const ofProject: Place<ProjectSubject> = {
  kind: 'project',
  at: 'P/-',
  members: 'project_members',
  on: onProjectSignedIn,
  onTokens: onProjectSignedIn('manage_deploy_keys'),
  onAccessTokens: onProjectSignedIn('manage_deploy_keys'),
  manages: ({ can }) => can('manage_members'),
  home: homeOfProject,
  source: ({ project }) => ({ kind: 'project', id: project.id, fullPath: fullPathOf(project), name: fullPathOf(project) }),
  memberSource: sourceOfProject,
  sampleProject: async (_, { project }) => project.id,
  Frame: ProjectSettings,
  MemberFrame: (props) => <ProjectLayout tab="members" {...props} />,
}

export const ofGroup: Place<GroupSubject> = {
  kind: 'group',
  at: 'G/-',
  members: 'group_members',
  on: onGroupSignedIn,
  onTokens: onGroupSignedIn('manage_deploy_tokens'),
  onAccessTokens: onGroupSignedIn('manage_members'),
  manages: ({ can }) => can('manage_members'),
  home: homeOfGroup,
  source: ({ group }) => ({ kind: 'group', id: group.id, fullPath: group.full_path, name: group.full_path }),
  memberSource: sourceOfGroup,
  sampleProject: (ctx, { group }) => newestProjectOf(ctx, group.id),
  Frame: GroupSettings,
  MemberFrame: (props) => <GroupLayout tab="members" {...props} />,
}
