import type { ComponentChildren } from 'preact'
import { INTERNAL, issueReach, PUBLIC } from '../../access/can.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import { Badge } from '../components/list.js'
import { t } from '../language/language.js'
import { inUrl, type ProjectLinks, projectLinks } from '../links.js'
import type { PageView } from '../page.js'
import { firstOf, projectSettings } from './settings-pages.js'
import { type Tab, Tabs } from './tabs.js'

export type ProjectTab =
  | ('code' | 'commits' | 'branches' | 'tags' | 'releases' | 'issues' | 'merge_requests' | 'ci' | 'packages' | 'wiki' | 'snippets' | 'activity')
  | ('external_wiki' | 'tracker' | 'members' | 'settings')

interface Props {
  view: PageView
  subject: ProjectSubject
  /** Null: the page is below none of them. */
  tab: ProjectTab | null
  /** What the page is, for those who do not see it; a page with a visible heading gives none. */
  heading?: string
  /** What the reader can do on the page, or false: it stands beside the heading, which is then seen. */
  tools?: ComponentChildren
  children: ComponentChildren
}

/** Pages that have no tab of their own, and the one that leads to them. */
const BELOW_CODE = new Set<ProjectTab>(['commits', 'branches', 'tags', 'snippets', 'members'])

export const visibilityOf = (level: number) => (level === PUBLIC ? t('Public') : level === INTERNAL ? t('Internal') : t('Private'))

/** A page of a project; its path and its tabs stand in the band at the top (WB-520). */
export function ProjectLayout({ view, subject, tab, heading, tools, children }: Props) {
  const { project } = subject
  const links = projectLinks(view, fullPathOf(project))
  const readsCode = subject.can('download_code')
  const external = project.external_services
  const first = firstOf(projectSettings(subject))
  const issues = project.open_issues_count + (issueReach(subject) === 'all' ? project.open_confidential_issues_count : 0)
  const tabs: Tab<ProjectTab>[] = [
    ['code', readsCode ? t('Code') : t('Project'), links.home, true, { icon: 'code' }],
    ['issues', t('Issues'), links.page('issues'), subject.can('read_issue'), { icon: 'circle-dot', count: issues }],
    // as in the API, only who is signed in reads these two
    [
      'merge_requests',
      t('Merge requests'),
      links.page('merge_requests'),
      view.viewer !== null && subject.can('read_merge_request'),
      { icon: 'git-pull-request', count: view.frame.openRequests },
    ],
    ['ci', 'CI', links.page('pipelines'), view.viewer !== null && subject.can('read_pipeline'), { icon: 'workflow' }],
    ['packages', t('Packages'), links.page('packages'), subject.can('read_package'), { icon: 'package' }],
    ['wiki', t('Wiki'), links.page('wikis/home'), subject.can('read_wiki'), { icon: 'book-open' }],
    ['external_wiki', t('External wiki'), external?.wiki ?? '', external?.wiki !== undefined, { icon: 'book-open' }],
    ['tracker', external?.tracker?.title ?? '', external?.tracker?.project_url ?? '', external?.tracker !== undefined, { icon: 'circle-dot' }],
    ['releases', t('Releases'), links.page('releases'), readsCode, { icon: 'tag' }],
    ['activity', t('Activity'), `${links.home}/activity`, true, { icon: 'activity' }],
    ['settings', t('Settings'), `${links.home}/${first}`, view.viewer !== null && first !== undefined, { icon: 'settings' }],
  ]
  view.frame.band = {
    path: (
      <>
        <NamespaceLinks view={view} fullPath={project.namespace.full_path} kind={project.namespace.kind} />
        <a class="name" href={links.home}>
          {project.name}
        </a>
        <Badge kind="outline">{visibilityOf(project.visibility)}</Badge> {project.archived && <Badge kind="waiting">{t('Archived')}</Badge>}
      </>
    ),
    tabs: <Tabs of={t('Project')} tabs={tabs} current={tab && BELOW_CODE.has(tab) ? 'code' : tab} />,
    make: [
      ...(subject.can('create_issue') ? [[t('New issue'), links.page('issues/new')] as const] : []),
      ...(subject.can('create_merge_request') ? [[t('New merge request'), links.page('merge_requests/new')] as const] : []),
    ],
  }
  const below = tab === 'commits' || tab === 'branches' || tab === 'tags' ? <CodePages links={links} current={tab} /> : null
  return (
    <>
      {heading && (tools !== undefined || below) ? (
        <div class="heading">
          <h1>{heading}</h1>
          <div class="toolbar">
            {tools}
            {below}
          </div>
        </div>
      ) : (
        heading && <h1 class="hidden">{heading}</h1>
      )}
      {children}
    </>
  )
}

/** The ways between the pages of the code that have no tab. */
const CodePages = ({ links, current }: { links: ProjectLinks; current: ProjectTab }) => (
  <nav class="group" aria-label={t('Code')}>
    {(
      [
        ['code', t('Files'), links.home],
        ['commits', t('Commits'), links.page('commits')],
        ['branches', t('Branches'), links.page('branches')],
        ['tags', t('Tags'), links.page('tags')],
      ] as const
    ).map(([name, label, to]) => (
      <a key={name} class="button" href={to} {...(name === current && { 'aria-current': 'page' })}>
        {label}
      </a>
    ))}
  </nav>
)

const NamespaceLinks = ({ view, fullPath, kind }: { view: PageView; fullPath: string; kind: 'user' | 'group' }) => (
  <ParentLinks view={view} fullPath={fullPath} base={kind === 'group' ? '/groups' : ''} />
)

/** The ways to a namespace, from its outermost group on. */
export function ParentLinks({ view, fullPath, base }: { view: PageView; fullPath: string; base: string }) {
  const parts = fullPath.split('/')
  return (
    <>
      {parts.map((part, i) => {
        const path = parts.slice(0, i + 1).join('/')
        return (
          <a key={path} href={`${view.links.prefix}${base}/${inUrl(path)}`}>
            {part}
          </a>
        )
      })}
    </>
  )
}
