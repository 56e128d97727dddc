import { t } from '../../language/language.js'
import { DELETED_PROJECTS } from '../../links.js'
import type { PageView } from '../../page.js'
import { Icon, type IconName } from '../icon.js'

const pages = (): [path: string, label: string, icon: IconName][] => [
  ['/dashboard', t('Home'), 'house'],
  ['/dashboard/projects', t('Your projects'), 'folder'],
  ['/dashboard/groups', t('Your groups'), 'users'],
  ['/dashboard/projects/starred', t('Starred'), 'star'],
  ['/dashboard/activity', t('Activity'), 'activity'],
  ['/explore', t('Explore'), 'globe'],
  [DELETED_PROJECTS, t('Deleted'), 'trash'],
]

/** The ways between the lists of projects of a person. */
export const DashboardTabs = ({ view, at }: { view: PageView; at: string }) => (
  <nav class="tabs" aria-label={t('Projects')}>
    {pages().map(([path, label, icon]) => (
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
          {t('New group')}
        </a>
        <a class="button primary" href={`${view.links.prefix}/projects/new`}>
          <Icon name="plus" />
          {t('New project')}
        </a>
      </span>
    )}
  </div>
)
