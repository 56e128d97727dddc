import type { ComponentChildren } from 'preact'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { t } from '../language/language.js'
import { homeOfGroup, homeOfProject } from '../links.js'
import type { PageView } from '../page.js'
import { GroupLayout } from './group.js'
import { ProjectLayout } from './project.js'
import { SidedLayout } from './settings.js'
import { groupSettings, projectSettings } from './settings-pages.js'

/** What a page of the settings of a project or group gives its frame. */
export interface SettingsProps<Subject> {
  view: PageView
  subject: Subject
  /** The path of the page that is open, below the project or group. */
  at: string
  title: string
  children: ComponentChildren
}

/** A page of the settings of a project, with the others beside it. */
export const ProjectSettings = ({ view, subject, ...rest }: SettingsProps<ProjectSubject>) => (
  <ProjectLayout view={view} subject={subject} tab="settings">
    <SidedLayout view={view} label={t('Settings')} below={homeOfProject(subject)} sections={projectSettings(subject)} {...rest} />
  </ProjectLayout>
)

export const GroupSettings = ({ view, subject, ...rest }: SettingsProps<GroupSubject>) => (
  <GroupLayout view={view} subject={subject} tab="settings">
    <SidedLayout view={view} label={t('Settings')} below={homeOfGroup(subject)} sections={groupSettings(subject)} {...rest} />
  </GroupLayout>
)
