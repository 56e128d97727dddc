import type { ComponentChildren } from 'preact'
import { INTERNAL, PUBLIC } from '../../access/can.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import { Badge } from '../components/list.js'
import { inUrl, projectLinks } from '../links.js'
import type { PageView } from '../page.js'
import { projectSettings } from './settings-pages.js'
import { type Tab, Tabs } from './tabs.js'

export type ProjectTab =
  | ('code' | 'commits' | 'branches' | 'tags' | 'releases' | 'issues' | 'merge_requests' | 'ci' | 'wiki' | 'snippets' | 'activity')
  | ('members' | 'settings')

interface Props {
  view: PageView
  subject: ProjectSubject
  /** Null: the page is below none of them. */
  tab: ProjectTab | null
  /** What the page is, for those who do not see it; a page with a visible heading gives none. */
  heading?: string
  children: ComponentChildren
}

const visibilityOf = (level: number) => (level === PUBLIC ? 'Public' : level === INTERNAL ? 'Internal' : 'Private')

/** A page of a project: its path, and the ways to its other pages. */
export function ProjectLayout({ view, subject, tab, heading, children }: Props) {
  const { project } = subject
  const links = projectLinks(view, fullPathOf(project))
  const readsCode = subject.can('download_code')
  const [first] = projectSettings(subject)
  const tabs: Tab<ProjectTab>[] = [
    ['code', readsCode ? 'Code' : 'Project', links.home, true],
    ['commits', 'Commits', links.page('commits'), readsCode],
    ['branches', 'Branches', links.page('branches'), readsCode],
    ['tags', 'Tags', links.page('tags'), readsCode],
    ['releases', 'Releases', links.page('releases'), readsCode],
    ['issues', 'Issues', links.page('issues'), subject.can('read_issue')],
    // as in the API, only who is signed in reads these two
    ['merge_requests', 'Merge requests', links.page('merge_requests'), view.viewer !== null && subject.can('read_merge_request')],
    ['ci', 'CI', links.page('pipelines'), view.viewer !== null && subject.can('read_pipeline')],
    ['wiki', 'Wiki', links.page('wikis/home'), subject.can('read_wiki')],
    ['snippets', 'Snippets', links.page('snippets'), view.viewer !== null && subject.can('read_snippet')],
    ['activity', 'Activity', `${links.home}/activity`, true],
    ['members', 'Members', links.page('project_members'), view.viewer !== null && subject.can('read_member')],
    ['settings', 'Settings', `${links.home}/${first?.[0]}`, view.viewer !== null && first !== undefined],
  ]
  return (
    <>
      <p class="path">
        <NamespaceLinks view={view} fullPath={project.namespace.full_path} kind={project.namespace.kind} /> /{' '}
        <a class="name" href={links.home}>
          {project.name}
        </a>{' '}
        <Badge>{visibilityOf(project.visibility)}</Badge> {project.archived && <Badge kind="waiting">Archived</Badge>}
      </p>
      <Tabs of="Project" tabs={tabs} current={tab} />
      {heading && <h1 class="hidden">{heading}</h1>}
      {children}
    </>
  )
}

function NamespaceLinks({ view, fullPath, kind }: { view: PageView; fullPath: string; kind: 'user' | 'group' }) {
  const parts = fullPath.split('/')
  const base = kind === 'group' ? '/groups' : ''
  return (
    <>
      {parts.map((part, i) => {
        const path = parts.slice(0, i + 1).join('/')
        return (
          <>
            {i > 0 && ' / '}
            <a key={path} href={`${view.links.prefix}${base}/${inUrl(path)}`}>
              {part}
            </a>
          </>
        )
      })}
    </>
  )
}
