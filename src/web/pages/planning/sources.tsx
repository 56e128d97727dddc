import type { ComponentChildren, VNode } from 'preact'
import type { Access } from '../../../access/access.js'
import { fullPathOf, type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { GroupLayout } from '../../layout/group.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfGroup, homeOfProject } from '../../links.js'
import type { PageView } from '../../page.js'

type Either = { project: ProjectSubject } | { group: GroupSubject }

/** What the same pages of a project and of a group differ in. */
export interface Planning<Subject> {
  /** `P/-` or `G/-`. */
  at: 'P/-' | 'G/-'
  readLabels: Access<Subject, true>
  readMilestones: Access<Subject, true>
  manageLabels: Access<Subject, true>
  manageMilestones: Access<Subject, true>
  may(subject: Subject, ability: 'manage_label' | 'manage_milestone'): boolean
  source(subject: Subject): Either
  /** Null if the caller cannot read any. */
  issues(subject: Subject): IssuableSource | null
  requests(subject: Subject): IssuableSource | null
  /** The address before `/-/`, without the prefix of the service. */
  home(subject: Subject): string
  name(subject: Subject): string
  Frame(props: { view: PageView; subject: Subject; tab: 'labels' | 'milestones'; children: ComponentChildren }): VNode
}

export const ofProject: Planning<ProjectSubject> = {
  at: 'P/-',
  readLabels: onProjectSignedIn('read_label'),
  readMilestones: onProjectSignedIn('read_milestone'),
  manageLabels: onProjectSignedIn('manage_label'),
  manageMilestones: onProjectSignedIn('manage_milestone'),
  may: (subject, ability) => subject.can(ability),
  source: (project) => ({ project }),
  issues: (project) => (project.can('read_issue') ? { project } : null),
  requests: (project) => (project.can('read_own_merge_request') ? { project } : null),
  home: homeOfProject,
  name: ({ project }) => fullPathOf(project),
  Frame: (props) => <ProjectLayout {...props} tab="issues" />,
}

export const ofGroup: Planning<GroupSubject> = {
  at: 'G/-',
  readLabels: onGroupSignedIn('read_group'),
  readMilestones: onGroupSignedIn('read_group'),
  manageLabels: onGroupSignedIn('manage_label'),
  manageMilestones: onGroupSignedIn('manage_milestone'),
  may: (subject, ability) => subject.can(ability),
  source: (group) => ({ group }),
  issues: (group) => ({ group }),
  requests: (group) => ({ group }),
  home: homeOfGroup,
  name: ({ group }) => group.full_path,
  Frame: GroupLayout,
}
