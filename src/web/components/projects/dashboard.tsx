import { DELETED_PROJECTS } from '../../links.js'
import type { PageView } from '../../page.js'
import { Icon, type IconName } from '../icon.js'

const PAGES: [path: string, label: string, icon: IconName][] = [
  ['/dashboard', 'Home', 'house'],
  ['/dashboard/projects', 'Your projects', 'folder'],
  ['/dashboard/groups', 'Your groups', 'users'],
  ['/dashboard/projects/starred', 'Starred', 'star'],
  ['/dashboard/activity', 'Activity', 'activity'],
  ['/explore', 'Explore', 'globe'],
  [DELETED_PROJECTS, 'Deleted', 'trash'],
]

/** The ways between the lists of projects of a person. */
export const DashboardTabs = ({ view, at }: { view: PageView; at: string }) => (
  <nav class="tabs" aria-label="Projects">
    {PAGES.map(([path, label, icon]) => (
      <a key={path} href={view.links.prefix + path} {...(path === at && { 'aria-current': 'page' })}>
        <Icon name={icon} />
        {label}
      </a>
    ))}
  </nav>
)

/** A heading, with the buttons that make a project or a group. */
export const DashboardHeading = ({ view, title }: { view: PageView; title: string }) => (
  <div class="heading">
    <h1>{title}</h1>
    {view.viewer && (
      <span class="row">
        <a class="button" href={`${view.links.prefix}/groups/new`}>
          New group
        </a>
        <a class="button primary" href={`${view.links.prefix}/projects/new`}>
          <Icon name="plus" />
          New project
        </a>
      </span>
    )}
  </div>
)
