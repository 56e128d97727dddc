import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { anyone, fullPathOf, type GroupSubject, getGroupFor, getProjectFor, onProject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { nullOnFailure } from '../../../failures.js'
import { oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../../http/params.js'
import { shownPath } from '../../../lib/text/byte-path.js'
import type { Page as Results } from '../../../services/core/page.js'
import { listGroups } from '../../../services/groups/list.js'
import { listUsers, loadUsers } from '../../../services/identity/user-list.js'
import { findUsersByAddress } from '../../../services/identity/user-ref.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { listProjects } from '../../../services/projects/list.js'
import { type CodeMatch, searchBlobs, searchCommits, searchWiki } from '../../../services/search/code.js'
import { searchIssues, searchMergeRequests } from '../../../services/search/issuables.js'
import { shortId } from '../../components/files/code.js'
import { CommitText } from '../../components/files/commit.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Marked } from '../../components/marked.js'
import { Avatar } from '../../components/people/avatar.js'
import { listedProjects, ProjectRows } from '../../components/projects/project-rows.js'
import { SearchForm } from '../../components/search.js'
import { Time } from '../../components/time.js'
import { said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl, type ProjectLinks, projectLinks } from '../../links.js'
import { type PageView, page, Redirect } from '../../page.js'
import { onGroupPage } from '../../subjects.js'

const PER_PAGE = 20
/** Milliseconds that a search of a repository may take; what was found until then is shown. */
const DEADLINE = { deadline: 10_000 }
/** The projects of a group whose code is searched, those with the latest activity first. */
const MAX_PROJECTS = 10
/** Lines of a match, and characters of a line, that are shown. */
const MAX_LINES = 15
const MAX_CHARACTERS = 300

const labels = () =>
  ({
    projects: t('Projects'),
    groups: t('Groups'),
    users: t('Users'),
    blobs: t('Code'),
    commits: t('Commits'),
    issues: t('Issues'),
    merge_requests: t('Merge requests'),
    wiki_blobs: t('Wiki'),
  }) as const
type Scope = keyof ReturnType<typeof labels>

interface Search {
  ctx: Context
  caller: Caller
  view: PageView
  text: string
  page: number
}

/** What was found, and how much there is. */
interface Found {
  body: ComponentChildren
  total: number
}

const ofPage = ({ page }: Search) => ({ page, per_page: PER_PAGE })
const none = () => t('Nothing was found.')

const Tabs = ({ at, scopes, scope, text }: { at: string; scopes: readonly Scope[]; scope: Scope; text: string }) => (
  <nav class="tabs" aria-label={t('Kinds of results')}>
    {scopes.map((each) => (
      <a key={each} href={`${at}?${new URLSearchParams({ search: text, scope: each })}`} {...(each === scope && { 'aria-current': 'page' })}>
        {labels()[each]}
      </a>
    ))}
  </nav>
)

interface ResultsProps {
  view: PageView
  /** With the prefix of the service. */
  at: string
  scopes: readonly Scope[]
  scope: Scope
  text: string
  page: number
  found: Found | null
}

const SearchResults = ({ view, at, scopes, scope, text, page, found }: ResultsProps) => (
  <>
    <SearchForm action={at} label={t('Search')} value={text} hidden={{ scope }} />
    <Tabs at={at} scopes={scopes} scope={scope} text={text} />
    {found ? (
      <>
        {found.body}
        <Pager view={view} page={page} perPage={PER_PAGE} total={found.total} />
      </>
    ) : (
      <p class="empty">{t('Type what you look for.')}</p>
    )}
  </>
)

async function projectResults(search: Search, group?: GroupSubject): Promise<Found> {
  const { ctx, caller, view, text } = search
  const of = group ? { group: { id: group.group.id, subgroups: true, shared: false } } : {}
  const { items, total } = await listProjects(ctx, caller, { words: text, order_by: 'last_activity_at', sort: 'desc', ...ofPage(search), ...of })
  return { body: <ProjectRows view={view} projects={await listedProjects(ctx, caller.user, items)} empty={none()} />, total }
}

async function groupResults(search: Search): Promise<Found> {
  const { ctx, caller, view, text } = search
  const { items, total } = await listGroups(ctx, caller, { search: text, all_available: true, order_by: 'name', sort: 'asc', ...ofPage(search) })
  const body = (
    <Rows empty={none()}>
      {items.map((group) => (
        <Row key={group.id}>
          <a href={`${view.links.prefix}/groups/${inUrl(group.full_path)}`}>
            <strong>{group.full_name}</strong>
          </a>
          {group.description && <span class="dim">{group.description}</span>}
        </Row>
      ))}
    </Rows>
  )
  return { body, total }
}

async function userResults(search: Search): Promise<Found> {
  const { ctx, caller, view, text } = search
  const { items, total } = await listUsers(ctx, caller, { search: text, active: true, order_by: 'id', sort: 'desc', ...ofPage(search) })
  const ids = items.map(({ id }) => id)
  const loaded = new Map((await loadUsers(ctx, caller, ids)).map((record) => [record.id, record]))
  const body = (
    <Rows empty={none()}>
      {ids.flatMap((id) => {
        const user = loaded.get(id)
        return user ? (
          <Row key={id}>
            <a class="person" href={`${view.links.prefix}/${inUrl(user.username)}`}>
              <Avatar view={view} user={user} /> <strong>{user.name}</strong> <span class="dim">@{user.username}</span>
            </a>
          </Row>
        ) : (
          []
        )
      })}
    </Rows>
  )
  return { body, total }
}

async function issuableResults(search: Search, scope: 'issues' | 'merge_requests', at: IssuableSource): Promise<Found> {
  const { ctx, caller, view, text } = search
  const asked = { search: text, ...ofPage(search) }
  const results: Results<{ id: number; path: string; iid: number; title: string; state: string; updated_at: Date }> =
    scope === 'issues' ? await issuesOf(ctx, caller, at, asked) : await requestsOf(ctx, caller, at, asked)
  const sign = scope === 'issues' ? '#' : '!'
  const body = (
    <Rows empty={none()}>
      {results.items.map(({ id, path, iid, title, state, updated_at }) => (
        <Row key={id} actions={<Badge kind={state === 'opened' ? 'success' : state === 'merged' ? 'merged' : ''}>{said(state)}</Badge>}>
          <a href={`${view.links.prefix}/${inUrl(path)}/-/${scope}/${iid}`} class="title">
            <Marked text={title} wanted={text} />
          </a>
          <span class="dim">
            {path}
            {sign}
            {iid} · <Time at={updated_at} />
          </span>
        </Row>
      ))}
    </Rows>
  )
  return { body, total: results.total }
}

type Asked = Parameters<typeof searchIssues>[3]

async function issuesOf(ctx: Context, caller: Caller, at: IssuableSource, asked: Asked) {
  const { items, total } = await searchIssues(ctx, caller, at, asked)
  return { items: items.map(({ issue, path }) => ({ ...issue, path })), total }
}

async function requestsOf(ctx: Context, caller: Caller, at: IssuableSource, asked: Asked) {
  const { items, total } = await searchMergeRequests(ctx, caller, at, asked)
  return { items: items.map(({ request, path }) => ({ ...request, path })), total }
}

/** The lines of a match around what was looked for, each no longer than can be read. */
const Match = ({ match, wanted, to }: { match: CodeMatch; wanted: string; to: string }) => {
  const lines = match.text === '' ? [] : match.text.split('\n').slice(0, MAX_LINES)
  return (
    <section class="box">
      <h2 class="head">
        <a href={to}>
          <Marked text={shownPath(match.path)} wanted={wanted} />
        </a>
      </h2>
      {lines.length > 0 && (
        <div class="file">
          <table class="lines">
            <tbody>
              {lines.map((line, i) => (
                <tr key={i}>
                  <td class="number">
                    <a href={`${to}#L${match.line + i}`}>{match.line + i}</a>
                  </td>
                  <td class="code">
                    <Marked text={around(line, wanted)} wanted={wanted} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

/** The part of a line where a text is. */
function around(line: string, wanted: string): string {
  if (line.length <= MAX_CHARACTERS) return line
  const at = Math.max(0, line.toLowerCase().indexOf(wanted.toLowerCase()) - MAX_CHARACTERS / 3)
  return `${at > 0 ? '…' : ''}${line.slice(at, at + MAX_CHARACTERS)}…`
}

async function codeResults({ ctx, view, text, page }: Search, subject: ProjectSubject, ref: string | undefined): Promise<Found> {
  const links = projectLinks(view, fullPathOf(subject.project))
  const found = await searchBlobs(ctx, subject, text, { page, per_page: PER_PAGE }, { ref, ...DEADLINE })
  return { body: <Matches found={found} links={links} text={text} />, total: found.total }
}

const Matches = ({ found, links, text }: { found: Results<CodeMatch> & { ref: string }; links: ProjectLinks; text: string }) =>
  found.items.length === 0 ? (
    <p class="empty">{none()}</p>
  ) : (
    <div>
      {found.items.map((match) => (
        <Match key={`${match.path}:${match.line}`} match={match} wanted={text} to={links.blob(found.ref, match.path)} />
      ))}
    </div>
  )

async function wikiResults({ ctx, view, text, page }: Search, subject: ProjectSubject): Promise<Found> {
  const links = projectLinks(view, fullPathOf(subject.project))
  const { items, total } = await searchWiki(ctx, subject, text, { page, per_page: PER_PAGE }, { ref: undefined, ...DEADLINE })
  const slugOf = (path: string) => path.replace(/\.[^./]+$/, '')
  const body =
    items.length === 0 ? (
      <p class="empty">{none()}</p>
    ) : (
      items.map((match) => (
        <Match key={`${match.path}:${match.line}`} match={match} wanted={text} to={links.page(`wikis/${inUrl(slugOf(match.path))}`)} />
      ))
    )
  return { body, total }
}

async function commitResults({ ctx, view, text, page }: Search, subject: ProjectSubject, ref: string | undefined): Promise<Found> {
  const links = projectLinks(view, fullPathOf(subject.project))
  const { items, total } = await searchCommits(ctx, subject, text, { page, per_page: PER_PAGE }, { ref, ...DEADLINE })
  const users = await findUsersByAddress(
    ctx,
    items.map(({ author }) => author.email),
  )
  const body = (
    <Rows empty={none()}>
      {items.map((commit) => (
        <Row
          key={commit.oid}
          actions={
            <a href={links.commit(commit.oid)}>
              <code>{shortId(commit.oid)}</code>
            </a>
          }
        >
          <CommitText view={view} commit={commit} links={links} users={users} wanted={text} />
        </Row>
      ))}
    </Rows>
  )
  return { body, total }
}

const input = { search: orDefault(searchText(), ''), page: paging.page }
const GLOBAL = ['projects', 'groups', 'users', 'issues', 'merge_requests'] as const
const OF_GROUP = ['projects', 'blobs', 'issues', 'merge_requests'] as const
const OF_PROJECT = ['blobs', 'commits', 'issues', 'merge_requests', 'wiki_blobs'] as const

/** Searches everything; with `project_id` or `group_id` leads to the search of these. */
export const searchPage = page({
  at: '/search',
  robots: 'disallow',
  access: anyone,
  input: z.object({ ...input, scope: opt(str()), project_id: opt(rowId()), group_id: opt(rowId()) }),
  async show({ ctx, caller, input, view }) {
    const text = input.search.trim()
    const query = `?${new URLSearchParams({ search: text, ...(input.scope && { scope: input.scope }) })}`
    if (input.project_id !== undefined) {
      const { project } = await getProjectFor(ctx, caller, String(input.project_id))
      return new Redirect(`/${inUrl(fullPathOf(project))}/-/search${query}`)
    }
    if (input.group_id !== undefined) {
      const { group } = await getGroupFor(ctx, caller, String(input.group_id))
      return new Redirect(`/groups/${inUrl(group.full_path)}/-/search${query}`)
    }
    // as in the API, only who is signed in looks for people and for what they write
    const scopes = caller.user ? GLOBAL : GLOBAL.slice(0, 2)
    const scope = scopes.find((each) => each === input.scope) ?? 'projects'
    const search = { ctx, caller, view, text, page: input.page }
    const find = {
      projects: () => projectResults(search),
      groups: () => groupResults(search),
      users: () => userResults(search),
      issues: () => issuableResults(search, 'issues', 'everywhere'),
      merge_requests: () => issuableResults(search, 'merge_requests', 'everywhere'),
    }
    const found = text === '' ? null : await find[scope]()
    return {
      title: text === '' ? t('Search') : `${text} · ${t('Search')}`,
      body: (
        <>
          <h1>{t('Search')}</h1>
          <SearchResults view={view} at={`${view.links.prefix}/search`} scopes={scopes} scope={scope} text={text} page={input.page} found={found} />
        </>
      ),
    }
  },
})

/** Searches a project: its code, its commits, and what people wrote. */
export const projectSearchPage = page({
  at: 'P/-/search',
  robots: 'disallow',
  access: onProject('read_project'),
  input: z.object({ ...input, scope: opt(oneOf(OF_PROJECT)), repository_ref: opt(str()) }),
  async show({ ctx, caller, subject, input, view }) {
    const text = input.search.trim()
    const may: Record<(typeof OF_PROJECT)[number], boolean> = {
      blobs: subject.can('download_code'),
      commits: subject.can('download_code'),
      issues: caller.user !== null && subject.can('read_issue'),
      merge_requests: caller.user !== null && subject.can('read_own_merge_request'),
      wiki_blobs: subject.can('read_wiki'),
    }
    const scopes = OF_PROJECT.filter((scope) => may[scope])
    const scope = scopes.find((each) => each === input.scope) ?? scopes[0] ?? 'wiki_blobs'
    const ref = input.repository_ref || undefined
    const search = { ctx, caller, view, text, page: input.page }
    const find = {
      blobs: () => codeResults(search, subject, ref),
      commits: () => commitResults(search, subject, ref),
      issues: () => issuableResults(search, 'issues', { project: subject }),
      merge_requests: () => issuableResults(search, 'merge_requests', { project: subject }),
      wiki_blobs: () => wikiResults(search, subject),
    }
    const found = text === '' || !may[scope] ? null : await find[scope]()
    const at = projectLinks(view, fullPathOf(subject.project)).page('search')
    return {
      title: `${text || t('Search')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab={null} heading={t('Search this project')}>
          <SearchResults view={view} at={at} scopes={scopes} scope={scope} text={text} page={input.page} found={found} />
        </ProjectLayout>
      ),
    }
  },
})

/** Code in the projects of a group: the first matches of each, and how many projects were looked at. */
async function groupCode({ ctx, caller, view, text }: Search, { group }: GroupSubject): Promise<Found> {
  const { items, total } = await listProjects(ctx, caller, {
    group: { id: group.id, subgroups: true, shared: false },
    order_by: 'last_activity_at',
    sort: 'desc',
    page: 1,
    per_page: MAX_PROJECTS,
  })
  const subjects = await Promise.all(items.map(({ id }) => nullOnFailure(getProjectFor(ctx, caller, String(id)))))
  const readable = subjects.filter((subject) => subject?.can('download_code')) as ProjectSubject[]
  const results: { subject: ProjectSubject; found: Awaited<ReturnType<typeof searchBlobs>> }[] = []
  // one after the other: they share the processes of the machine with all other callers
  for (const subject of readable) {
    const found = await searchBlobs(ctx, subject, text, { page: 1, per_page: 5 }, { ref: undefined, deadline: DEADLINE.deadline / MAX_PROJECTS })
    if (found.total > 0) results.push({ subject, found })
  }
  const body = (
    <>
      {total > items.length && (
        <p class="dim">
          <Phrase
            text="Only the {maxprojects} projects with the latest activity are searched, of {total}."
            maxprojects={MAX_PROJECTS}
            total={total}
          />
        </p>
      )}
      {results.length === 0 && <p class="empty">{none()}</p>}
      {results.map(({ subject, found }) => {
        const links = projectLinks(view, fullPathOf(subject.project))
        return (
          <section key={subject.project.id}>
            <h2>
              <a href={links.home}>{fullPathOf(subject.project)}</a>
            </h2>
            <Matches found={found} links={links} text={text} />
            {found.total > found.items.length && (
              <p>
                <a href={`${links.page('search')}?${new URLSearchParams({ search: text })}`}>
                  <Phrase text="All {count} matches in this project" count={found.total} />
                </a>
              </p>
            )}
          </section>
        )
      })}
    </>
  )
  return { body, total: 0 }
}

/** Searches the projects of a group and its subgroups. */
export const groupSearchPage = page({
  at: 'G/-/search',
  access: onGroupPage,
  input: z.object({ ...input, scope: opt(oneOf(OF_GROUP)) }),
  async show({ ctx, caller, subject, input, view }) {
    const text = input.search.trim()
    const scopes = caller.user ? OF_GROUP : OF_GROUP.slice(0, 2)
    const scope = scopes.find((each) => each === input.scope) ?? 'projects'
    const search = { ctx, caller, view, text, page: input.page }
    const find = {
      projects: () => projectResults(search, subject),
      blobs: () => groupCode(search, subject),
      issues: () => issuableResults(search, 'issues', { group: subject }),
      merge_requests: () => issuableResults(search, 'merge_requests', { group: subject }),
    }
    const found = text === '' ? null : await find[scope]()
    const home = `${view.links.prefix}/groups/${inUrl(subject.group.full_path)}`
    return {
      title: `${text || t('Search')} · ${subject.group.full_name}`,
      body: (
        <>
          <h1>
            <Phrase text="Search in {link}" link={<a href={home}>{subject.group.full_name}</a>} />
          </h1>
          <SearchResults view={view} at={`${home}/-/search`} scopes={scopes} scope={scope} text={text} page={input.page} found={found} />
        </>
      ),
    }
  },
})
