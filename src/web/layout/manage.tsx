import type { ComponentChildren } from 'preact'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { homeOfGroup, homeOfProject } from '../links.js'
import type { PageView } from '../page.js'
import { GroupLayout } from './group.js'
import { ProjectLayout } from './project.js'
import { SidedLayout } from './settings.js'
import { groupSettings, projectSettings } from './settings-pages.js'

interface Props<Subject> {
  view: PageView
  subject: Subject
  /** The path of the page that is open, below the project or group. */
  at: string
  title: string
  children: ComponentChildren
}

/** A page of the settings of a project, with the others beside it. */
export const ProjectSettings = ({ view, subject, ...rest }: Props<ProjectSubject>) => (
  <ProjectLayout view={view} subject={subject} tab="settings">
    <SidedLayout view={view} label="Settings" below={homeOfProject(subject)} pages={projectSettings(subject)} {...rest} />
  </ProjectLayout>
)

export const GroupSettings = ({ view, subject, ...rest }: Props<GroupSubject>) => (
  <GroupLayout view={view} subject={subject} tab="settings">
    <SidedLayout view={view} label="Settings" below={homeOfGroup(subject)} pages={groupSettings(subject)} {...rest} />
  </GroupLayout>
)
