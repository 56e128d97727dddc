import type { ComponentChildren } from 'preact'
import type { GroupSubject } from '../../access/rules.js'
import { Badge } from '../components/list.js'
import { t } from '../language/language.js'
import { groupLinks } from '../links.js'
import type { PageView } from '../page.js'
import { ParentLinks, visibilityOf } from './project.js'
import { firstOf, groupSettings } from './settings-pages.js'
import { type Tab, Tabs } from './tabs.js'

export type GroupTab =
  | 'projects'
  | 'issues'
  | 'merge_requests'
  | 'milestones'
  | 'labels'
  | 'subgroups'
  | 'packages'
  | 'activity'
  | 'members'
  | 'settings'

interface Props {
  view: PageView
  subject: GroupSubject
  tab: GroupTab
  /** What the page is, for those who do not see it; a page with a visible heading gives none. */
  heading?: string
  /** What the reader can do on the page, or false: it stands beside the heading, which is then seen. */
  tools?: ComponentChildren
  children: ComponentChildren
}

/** A page of a group; its path and its tabs stand in the band at the top (WB-520). */
export function GroupLayout({ view, subject, tab, heading, tools, children }: Props) {
  const { group } = subject
  const links = groupLinks(view, group.full_path)
  const parts = group.full_path.split('/')
  const isSignedIn = view.viewer !== null
  const first = firstOf(groupSettings(subject))
  const tabs: Tab<GroupTab>[] = [
    ['projects', t('Projects'), links.home, true, { icon: 'folder' }],
    ['subgroups', t('Subgroups'), links.page('subgroups'), true, { icon: 'users' }],
    ['issues', t('Issues'), links.page('issues'), true, { icon: 'circle-dot' }],
    ['merge_requests', t('Merge requests'), links.page('merge_requests'), isSignedIn, { icon: 'git-pull-request' }],
    ['milestones', t('Milestones'), links.page('milestones'), isSignedIn, { icon: 'milestone' }],
    ['labels', t('Labels'), links.page('labels'), isSignedIn, { icon: 'tag' }],
    ['packages', t('Packages'), links.page('packages'), true, { icon: 'package' }],
    ['activity', t('Activity'), links.page('activity'), true, { icon: 'activity' }],
    ['members', t('Members'), links.page('group_members'), isSignedIn, { icon: 'user' }],
    ['settings', t('Settings'), `${links.home}/${first}`, isSignedIn && first !== undefined, { icon: 'settings' }],
  ]
  view.frame.band = {
    path: (
      <>
        {parts.length > 1 && <ParentLinks view={view} fullPath={parts.slice(0, -1).join('/')} base="/groups" />}
        <a class="name" href={links.home}>
          {group.name}
        </a>
        <Badge kind="outline">{visibilityOf(group.visibility)}</Badge>
      </>
    ),
    tabs: <Tabs of={t('Group')} tabs={tabs} current={tab} />,
    make: [],
  }
  return (
    <>
      {heading && tools !== undefined ? (
        <div class="heading">
          <h1>{heading}</h1>
          <div class="toolbar">{tools}</div>
        </div>
      ) : (
        heading && <h1 class="hidden">{heading}</h1>
      )}
      {children}
    </>
  )
}
