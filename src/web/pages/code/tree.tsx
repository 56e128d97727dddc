import { z } from 'zod'
import { ANONYMOUS } from '../../../access/actor.js'
import { fullPathOf, onProject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound, nullOnFailure } from '../../../failures.js'
import type { TreeEntry } from '../../../git/types.js'
import { paging, str } from '../../../http/params.js'
import { hasBytes } from '../../../lib/text/byte-path.js'
import { submodulePage, submoduleUrls } from '../../../rules/submodules.js'
import { lastPipelinesOf } from '../../../services/ci/pipelines.js'
import { findLatestRelease } from '../../../services/content/releases.js'
import { findUsersByAddress } from '../../../services/identity/user-ref.js'
import { listBadges } from '../../../services/projects/badges/badges.js'
import { hasStarred } from '../../../services/projects/update.js'
import { languagesOf } from '../../../services/repository/languages.js'
import type { LastChanges } from '../../../services/repository/last-changes.js'
import { licenseOf } from '../../../services/repository/license.js'
import { Command } from '../../components/command.js'
import { ArchiveLinks, Author, CopyButton, PathLinks, PipelineIcon, shortId } from '../../components/files/code.js'
import { momentOf, titleOf } from '../../components/files/commit.js'
import { ActionButton } from '../../components/form.js'
import { Icon } from '../../components/icon.js'
import { Pager } from '../../components/list.js'
import { BadgeLink, picturedBadges } from '../../components/projects/badges.js'
import { Time } from '../../components/time.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl, projectLinks } from '../../links.js'
import { type Html, type PageView, page, Redirect } from '../../page.js'
import { FindFile, RefSwitch } from './finders.js'
import { ReadmeBox, readmeIn } from './readme.js'
import { changesSoon, entryAt, type Place, placeOf, refreshed } from './revision.js'

const PER_PAGE = 500
const parentOf = (path: string) => path.split('/').slice(0, -1).join('/')

const RANK = { tree: 0, commit: 1, blob: 2 } as const

/** A folder, sorted as people look for it. */
async function entriesOf({ repository, commit, path }: Place): Promise<TreeEntry[]> {
  const entries = await repository.tree(commit.oid, path, { recursive: false })
  if (!entries) throw notFound()
  return [...entries].sort((a, b) => RANK[a.type] - RANK[b.type] || (a.name < b.name ? -1 : 1))
}

/** Larger lists of submodules are not read. */
const MAX_GITMODULES = 256 * 1024

/** The page of the submodule at a path of a revision; null without one. */
async function submodulePages(view: PageView, subject: ProjectSubject, { repository, commit }: Place): Promise<(path: string) => string | null> {
  const entry = await repository.entry(commit.oid, '.gitmodules')
  const text = entry?.type === 'blob' ? await repository.blobStart(entry.oid, MAX_GITMODULES) : null
  const urls = submoduleUrls(text?.toString('utf8') ?? '')
  return (path) => {
    const url = urls.get(path)
    const found = url === undefined ? null : submodulePage(url, fullPathOf(subject.project))
    if (!found) return null
    return 'path' in found ? `${view.links.prefix}/${inUrl(found.path)}` : found.address
  }
}

/** The table of a folder, with its README. */
async function folder(ctx: Context, subject: ProjectSubject, view: PageView, place: Place, number: number) {
  const caller = ctx.origin?.caller ?? ANONYMOUS
  const { commit, links, ref, path } = place
  const entries = await entriesOf(place)
  const shown = entries.slice((number - 1) * PER_PAGE, number * PER_PAGE)
  const [{ changes, isComplete }, users, states, readme, pageOf] = await Promise.all([
    changesSoon(ctx, subject, commit.oid, path),
    findUsersByAddress(ctx, [commit.author.email]),
    subject.can('read_pipeline') ? lastPipelinesOf(ctx, subject, [commit.oid]) : new Map(),
    readmeIn(ctx, caller, subject, place, entries),
    shown.some(({ type }) => type === 'commit') ? submodulePages(view, subject, place) : () => null,
  ])
  return (
    <>
      <div class="box files" id="files" {...refreshed(view, isComplete)}>
        <div class="head">
          <span class="grow line">
            <Author view={view} commit={commit} users={users} />
            <a href={links.commit(commit.oid)} class="title cut">
              {titleOf(commit)}
            </a>
          </span>
          <span class="line dim">
            <PipelineIcon state={states.get(commit.oid)?.status} />
            <a href={links.commit(commit.oid)} class="wide-only">
              <code>{shortId(commit.oid)}</code>
            </a>
            <CopyButton label={t('Copy the commit id')} of="commit-id" />
            <span id="commit-id" hidden>
              {commit.oid}
            </span>
            <Time at={momentOf(commit.committer)} />
            <a href={links.commits(ref, path)} class="button ghost square" aria-label={t('History')}>
              <Icon name="history" />
            </a>
          </span>
        </div>
        <table>
          <thead class="hidden">
            <tr>
              <th>{t('Name')}</th>
              <th>{t('Last change')}</th>
              <th>{t('Date')}</th>
            </tr>
          </thead>
          <tbody>
            {path !== '' && (
              <tr>
                <td colspan={3}>
                  <a href={links.tree(ref, parentOf(path))} aria-label={t('Parent folder')}>
                    ..
                  </a>
                </td>
              </tr>
            )}
            {shown.map((entry) => (
              <EntryRow key={entry.bytePath ?? entry.path} entry={entry} place={place} changes={changes} submodule={pageOf(entry.path)} />
            ))}
          </tbody>
        </table>
      </div>
      <Pager view={view} page={number} perPage={PER_PAGE} total={entries.length} />
      {readme && <ReadmeBox readme={readme} />}
    </>
  )
}

const NewFile = ({ subject, place: { links, ref, path, branch } }: { subject: ProjectSubject; place: Place }) =>
  branch !== null && subject.can('push_code') && !hasBytes(path) ? (
    <a class="button" href={links.newFile(ref, path)}>
      <Icon name="plus" />
      {t('New file')}
    </a>
  ) : null

interface EntryProps {
  entry: TreeEntry
  place: Place
  changes: LastChanges
  /** The page of the submodule that the entry is. */
  submodule: string | null
}

function EntryRow({ entry, place: { links, ref }, changes, submodule }: EntryProps) {
  const path = entry.bytePath ?? entry.path
  const change = changes.get(path)
  const to = entry.type === 'tree' ? links.tree(ref, path) : links.blob(ref, path)
  return (
    <tr>
      <td class={entry.type === 'tree' ? 'folder' : ''}>
        <Icon name={entry.type === 'tree' ? 'folder' : entry.type === 'commit' ? 'git-branch' : entry.mode === '120000' ? 'link' : 'file'} />{' '}
        {entry.type === 'commit' && submodule ? (
          <a href={submodule} rel="nofollow noopener">
            {entry.name}
          </a>
        ) : entry.type !== 'commit' ? (
          <a href={to}>{entry.name}</a>
        ) : (
          entry.name
        )}
        {entry.type === 'commit' && <code class="dim"> @ {shortId(entry.oid)}</code>}
      </td>
      <td class="dim">
        {change && (
          <a href={links.commit(change.oid)} class="quiet">
            {titleOf(change)}
          </a>
        )}
      </td>
      <td class="dim date">{change && <Time at={momentOf(change.committer)} />}</td>
    </tr>
  )
}

export const treePage = page({
  at: 'P/-/tree/*',
  access: onProject('download_code'),
  input: z.object({ path: str(), page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const entry = await entryAt(place)
    if (entry?.type === 'blob') return new Redirect(place.links.blob(place.ref, place.path).slice(view.links.prefix.length))
    // what a submodule has is elsewhere: its folder has the link
    if (entry?.type === 'commit') return new Redirect(place.links.tree(place.ref, parentOf(place.path)).slice(view.links.prefix.length))
    return {
      title: `${place.path || place.ref} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code" heading={t('Files in {path}', { path: place.path || place.ref })}>
          <div class="toolbar code-bar">
            <RefSwitch place={place} page="tree" />
            <PathLinks links={place.links} project={subject.project.path} revision={place.ref} path={place.path} last="tree" />
            <span class="last line">
              <FindFile place={place} />
              <NewFile subject={subject} place={place} />
            </span>
          </div>
          {await folder(ctx, subject, view, place, input.page)}
        </ProjectLayout>
      ),
    }
  },
})

/** The home of a project: its files at the default branch, and what it is. */
export const projectPage = page({
  at: 'P',
  access: onProject('read_project'),
  async show({ ctx, caller, subject, view }): Promise<Html> {
    const { project } = subject
    const title = fullPathOf(project)
    const links = projectLinks(view, title)
    const code = subject.can('download_code') ? await home(ctx, subject, view) : null
    const viewer = view.viewer
    const [languages, release, license, isStarred, badges] = await Promise.all([
      code ? languagesOf(ctx, project.id) : ({} as Record<string, number>),
      code ? findLatestRelease(ctx, subject) : null,
      code ? nullOnFailure(licenseOf(ctx, subject)) : null,
      viewer ? hasStarred(ctx, project.id, viewer.id) : false,
      listBadges(ctx, caller, { project: subject }, { page: 1, per_page: MAX_BADGES }).then(({ items }) => picturedBadges(ctx, items)),
    ])
    const shares = Object.entries(languages).filter(([, share]) => share >= 0.5)
    return {
      title,
      card: { text: project.description, image: projectPicture(view, project) },
      feed: { title: t('Activity of {title}', { title }), at: `${homeOfProject(subject)}.atom` },
      body: (
        <ProjectLayout view={view} subject={subject} tab="code" heading={title}>
          <div class="with-aside">
            <div>{code ?? <p class="empty">{t('The files of this project are not shown to you.')}</p>}</div>
            <aside>
              <section>
                <h2>{t('About')}</h2>
                {project.description ? <p>{project.description}</p> : <p class="dim">{t('It has no description.')}</p>}
                {project.tag_list.length > 0 && (
                  <p class="topics">
                    {project.tag_list.map((topic) => (
                      <a key={topic} class="badge" href={`${view.links.prefix}/explore?${new URLSearchParams({ topic })}`}>
                        {topic}
                      </a>
                    ))}
                  </p>
                )}
                {badges.length > 0 && (
                  <p class="topics">
                    {badges.map((badge) => (
                      <BadgeLink key={badge.id} badge={badge} />
                    ))}
                  </p>
                )}
              </section>
              <section>
                <div class="toolbar">
                  <span class="group low">
                    {viewer && subject.can('star') ? (
                      <ActionButton
                        view={view}
                        action={`/${inUrl(title)}/toggle_star`}
                        label={isStarred ? t('Unstar') : t('Star')}
                        icon="star"
                        fields={{ starred: String(!isStarred) }}
                      />
                    ) : null}
                    {viewer ? (
                      <a class="button" href={links.page('starrers')}>
                        {plural(project.star_count, '{count} star', '{count} stars')}
                      </a>
                    ) : (
                      <span class="badge">{plural(project.star_count, '{count} star', '{count} stars')}</span>
                    )}
                  </span>
                  <span class="group low">
                    {viewer && subject.can('fork') && (
                      <a class="button" href={links.page('forks/new')}>
                        <Icon name="git-fork" />
                        {t('Fork')}
                      </a>
                    )}
                    <a class="button" href={links.page('forks')}>
                      {plural(project.forks_count, '{count} fork', '{count} forks')}
                    </a>
                  </span>
                </div>
                <ul class="side-list">
                  {license && (
                    <li>
                      <Icon name="scale" />
                      <a href={links.blob(project.default_branch, license.path)}>{license.license.name}</a>
                    </li>
                  )}
                  {viewer && subject.can('read_member') && (
                    <li>
                      <Icon name="users" />
                      <a href={links.page('project_members')}>{t('Members')}</a>
                    </li>
                  )}
                  {viewer && subject.can('read_snippet') && (
                    <li>
                      <Icon name="scissors" />
                      <a href={links.page('snippets')}>{t('Snippets')}</a>
                    </li>
                  )}
                </ul>
              </section>
              {release && (
                <section>
                  <h2>{t('Latest release')}</h2>
                  <p class="line">
                    <Icon name="tag" />
                    <a href={links.release(release.tag)}>{release.name}</a>
                    <span class="dim">
                      <Time at={release.released_at} />
                    </span>
                  </p>
                </section>
              )}
              {shares.length > 0 && (
                <section>
                  <h2>{t('Languages')}</h2>
                  <LanguageBar view={view} shares={shares.slice(0, MAX_LANGUAGES)} />
                </section>
              )}
            </aside>
          </div>
        </ProjectLayout>
      ),
    }
  },
})

const projectPicture = ({ links }: PageView, { id, avatar }: ProjectSubject['project']) =>
  avatar && `${links.base}/uploads/-/system/project/avatar/${id}/${encodeURIComponent(avatar)}`

const MAX_LANGUAGES = 6
/** The most badges of a project that are shown. */
const MAX_BADGES = 50

/** The shares of the languages as a bar, with their names and numbers below it; the rest is left empty. */
function LanguageBar({ view, shares }: { view: PageView; shares: [string, number][] }) {
  let at = 0
  return (
    <>
      <svg class="languages" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        {shares.map(([name, share]) => {
          const from = at
          at += share
          return <rect key={name} x={from} width={share} height="8" />
        })}
      </svg>
      <ul class="languages">
        {shares.map(([name, share]) => (
          <li key={name}>
            <a href={`${view.links.prefix}/explore?${new URLSearchParams({ language: name })}`}>{name}</a>{' '}
            <span class="dim">{share < 1 ? share.toFixed(1) : Math.round(share)} %</span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** The address of the editor of the settings for a repository (WB-186). */
function editorAddress(editor: string, repository: string): string {
  if (editor.includes('%{url}')) return editor.replaceAll('%{url}', encodeURIComponent(repository))
  const address = new URL(editor)
  address.searchParams.set('url', repository)
  return address.href
}

const CloneAddress = ({ label, address }: { label: string; address: string }) => (
  <div class="copied">
    <code id={`clone-${label}`}>{address}</code>
    <CopyButton label={t('Copy the {label} address', { label })} of={`clone-${label}`} />
  </div>
)

/** The addresses of the repository, and its files as archives. */
function CloneMenu({ view, subject: { project } }: { view: PageView; subject: ProjectSubject }) {
  const path = fullPathOf(project)
  const { settings, links } = view
  return (
    <details class="menu end">
      <summary class="button primary">
        <Icon name="download" />
        {t('Clone')}
        <Icon name="chevron-down" />
      </summary>
      <div class="items large">
        <p class="dim">{t('SSH')}</p>
        <CloneAddress label={t('SSH')} address={links.ssh(path)} />
        <p class="dim">{t('HTTP')}</p>
        <CloneAddress label={t('HTTP')} address={links.http(path)} />
        {settings.webide_enabled && settings.webide_url && (
          <p>
            <a class="button" href={editorAddress(settings.webide_url, links.http(path))} rel="noopener">
              {t('Open in the web editor')}
            </a>
          </p>
        )}
        <p>
          <Phrase
            text="Download: {archiveLinks}"
            archiveLinks={<ArchiveLinks links={projectLinks(view, path)} project={project} revision={project.default_branch} />}
          />
        </p>
      </div>
    </details>
  )
}

async function home(ctx: Context, subject: ProjectSubject, view: PageView) {
  const { project } = subject
  const place = await nullOnFailure(placeOf(ctx, subject, view, project.default_branch))
  if (!place) return <EmptyProject view={view} subject={subject} />
  const heads = await place.repository.refsPage('refs/heads/', { skip: 0, limit: 0 })
  const tags = await place.repository.refsPage('refs/tags/', { skip: 0, limit: 0 })
  return (
    <>
      <div class="toolbar code-bar">
        <RefSwitch place={place} page="tree" />
        <a class="button ghost" href={place.links.commits(place.ref)}>
          <Icon name="git-commit-horizontal" />
          {t('Commits')}
        </a>
        <a class="button ghost" href={place.links.page('branches')}>
          <Icon name="git-branch" />
          {plural(heads.total, '1 branch', '{count} branches')}
        </a>
        <a class="button ghost" href={place.links.page('tags')}>
          <Icon name="tag" />
          {plural(tags.total, '1 tag', '{count} tags')}
        </a>
        <span class="last line">
          <FindFile place={place} />
          <NewFile subject={subject} place={place} />
          <CloneMenu view={view} subject={subject} />
        </span>
      </div>
      {await folder(ctx, subject, view, place, 1)}
    </>
  )
}

function EmptyProject({ view, subject: { project, can } }: { view: PageView; subject: ProjectSubject }) {
  const address = view.links.ssh(fullPathOf(project))
  if (project.import_status === 'scheduled' || project.import_status === 'started')
    return <p class="empty">{t('The project is being imported. Open this page again in a while.')}</p>
  // why an import has failed is for maintainers, as in the API
  if (project.import_status === 'failed' && can('manage_project'))
    return (
      <p class="flash alert">
        {t('The import has failed: {importError}. Delete the project and import it again, or push to it.', {
          importError: project.import_error ?? t('the reason is not known'),
        })}
      </p>
    )
  if (!can('push_code')) return <p class="empty">{t('Nothing has been pushed to this project yet.')}</p>
  const https = view.links.http(fullPathOf(project))
  const links = projectLinks(view, fullPathOf(project))
  return (
    <>
      <section class="empty">
        <Icon name="git-branch" />
        <h2>{t('This project is empty')}</h2>
        <p>{t('Push what you have, or start with a file here.')}</p>
        <div class="toolbar">
          <a class="button primary" href={links.newFile(project.default_branch)}>
            <Icon name="plus" />
            {t('New file')}
          </a>
        </div>
      </section>
      <h2>{t('From the command line')}</h2>
      <div class="columns even">
        <section>
          <h3>{t('You have a repository')}</h3>
          <Command id="have-1" text={`git remote add origin ${address}`} />
          <Command id="have-2" text="git push -u origin --all" />
          <Command id="have-3" text="git push origin --tags" />
        </section>
        <section>
          <h3>{t('You start afresh')}</h3>
          <Command id="new-1" text={`git clone ${address}`} />
          <Command id="new-2" text={`cd ${project.path} && git switch -c ${project.default_branch} && echo "# ${project.name}" > README.md`} />
          <Command id="new-3" text={`git add . && git commit -m "First commit" && git push -u origin ${project.default_branch}`} />
        </section>
      </div>
      <p class="dim">
        <Phrase
          text="No key here yet? {link}, or use {https} with an {link2}."
          link={<a href={`${view.links.prefix}/-/profile/keys`}>{t('Add an SSH key')}</a>}
          https={https}
          link2={<a href={`${view.links.prefix}/-/profile/personal_access_tokens`}>{t('access token')}</a>}
        />
      </p>
    </>
  )
}

/** A path below a project that is no page: a file or folder of the default branch, as relative links in mails name it. */
export const pathPage = page({
  at: 'P/*',
  access: onProject('download_code'),
  input: z.object({ path: str() }),
  async show({ ctx, subject, input, view }) {
    const { project } = subject
    const place = await placeOf(ctx, subject, view, project.default_branch)
    const entry = await entryAt({ ...place, path: input.path })
    if (!entry || entry.type === 'commit') throw notFound()
    const to = entry.type === 'tree' ? place.links.tree(project.default_branch, input.path) : place.links.blob(project.default_branch, input.path)
    return new Redirect(to.slice(view.links.prefix.length))
  },
})
