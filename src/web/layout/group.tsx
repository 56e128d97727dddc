import type { ComponentChildren } from 'preact'
import type { GroupSubject } from '../../access/rules.js'
import { groupLinks, inUrl } from '../links.js'
import type { PageView } from '../page.js'
import { groupSettings } from './settings-pages.js'
import { type Tab, Tabs } from './tabs.js'

export type GroupTab = 'projects' | 'issues' | 'merge_requests' | 'milestones' | 'labels' | 'subgroups' | 'activity' | 'members' | 'settings'

interface Props {
  view: PageView
  subject: GroupSubject
  tab: GroupTab
  /** What the page is, for those who do not see it; a page with a visible heading gives none. */
  heading?: string
  children: ComponentChildren
}

/** A page of a group: its path, and the ways to its other pages. */
export function GroupLayout({ view, subject, tab, heading, children }: Props) {
  const { group } = subject
  const links = groupLinks(view, group.full_path)
  const parts = group.full_path.split('/')
  const isSignedIn = view.viewer !== null
  const [first] = groupSettings(subject)
  const tabs: Tab<GroupTab>[] = [
    ['projects', 'Projects', links.home, true],
    ['subgroups', 'Subgroups', links.page('subgroups'), true],
    ['issues', 'Issues', links.page('issues'), true],
    ['merge_requests', 'Merge requests', links.page('merge_requests'), isSignedIn],
    ['milestones', 'Milestones', links.page('milestones'), isSignedIn],
    ['labels', 'Labels', links.page('labels'), isSignedIn],
    ['activity', 'Activity', links.page('activity'), true],
    ['members', 'Members', links.page('group_members'), isSignedIn],
    ['settings', 'Settings', `${links.home}/${first?.[0]}`, isSignedIn && first !== undefined],
  ]
  return (
    <>
      <p class="path">
        {parts.slice(0, -1).map((part, i) => (
          <>
            <a key={part} href={`${view.links.prefix}/groups/${inUrl(parts.slice(0, i + 1).join('/'))}`}>
              {part}
            </a>
            {' / '}
          </>
        ))}
        <a class="name" href={links.home}>
          {group.name}
        </a>
      </p>
      <Tabs of="Group" tabs={tabs} current={tab} />
      {heading && <h1 class="hidden">{heading}</h1>}
      {children}
    </>
  )
}
