import type { PageView } from '../../page.js'

/** The ways between the lists of projects of a person, and what makes new ones. */
export const DashboardTabs = ({ view, at }: { view: PageView; at: string }) => (
  <nav class="tabs" aria-label="Projects">
    {[
      ['/dashboard', 'Your projects'],
      ['/dashboard/groups', 'Your groups'],
      ['/dashboard/projects/starred', 'Starred'],
      ['/dashboard/activity', 'Activity'],
      ['/explore', 'Explore'],
      ['/dashboard/projects/removed', 'Deleted'],
    ].map(([path, label]) => (
      <a key={path} href={view.links.prefix + path} {...(path === at && { 'aria-current': 'page' })}>
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
          New project
        </a>
      </span>
    )}
  </div>
)
