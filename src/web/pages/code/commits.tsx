import { z } from 'zod'
import { fullPathOf, onProject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Commit } from '../../../git/types.js'
import { bool, date, oneOf, opt, paging, searchText, str } from '../../../http/params.js'
import { lastPipelinesOf } from '../../../services/ci/pipelines.js'
import { findUsersByAddress } from '../../../services/identity/user-ref.js'
import { PathLinks, PipelineIcon, shortId } from '../../components/files/code.js'
import { CommitText, momentOf } from '../../components/files/commit.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { dayText } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl, type ProjectLinks, projectLinks } from '../../links.js'
import { type PageView, page, Redirect } from '../../page.js'
import { RefSwitch } from './finders.js'
import { type Place, placeOf } from './revision.js'

const PER_PAGE = 40

/** What a list of commits shows beside them, in two statements. */
export async function beside(ctx: Context, subject: ProjectSubject, commits: Commit[]) {
  const [users, states] = await Promise.all([
    findUsersByAddress(
      ctx,
      commits.map(({ author }) => author.email),
    ),
    subject.can('read_pipeline')
      ? lastPipelinesOf(
          ctx,
          subject,
          commits.map(({ oid }) => oid),
        )
      : new Map(),
  ])
  return { users, states }
}

interface ListProps extends Awaited<ReturnType<typeof beside>> {
  view: PageView
  commits: Commit[]
  links: ProjectLinks
}

/** Commits by the day on which they were committed. */
export function CommitList({ view, commits, links, users, states }: ListProps) {
  const days = new Map<string, Commit[]>()
  for (const commit of commits) {
    const day = dayText(momentOf(commit.committer))
    days.set(day, [...(days.get(day) ?? []), commit])
  }
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day} class="day">
          <h2>{day}</h2>
          <Rows empty="">
            {ofDay.map((commit) => (
              <Row
                key={commit.oid}
                actions={
                  <>
                    <PipelineIcon state={states.get(commit.oid)?.status} />
                    <a href={links.commit(commit.oid)}>
                      <code>{shortId(commit.oid)}</code>
                    </a>
                    <a class="button ghost" href={links.tree(commit.oid)}>
                      {t('Files')}
                    </a>
                  </>
                }
              >
                <CommitText view={view} commit={commit} links={links} users={users} />
              </Row>
            ))}
          </Rows>
        </section>
      ))}
    </>
  )
}

/** Commits that a filter by author or message looks at, the newest first (WB-66). */
const MAX_FILTERED = 5_000

const filter = { search: opt(searchText()), author: opt(searchText()), since: opt(date()), until: opt(date()) }

interface CommitFilter {
  search?: string | undefined
  author?: string | undefined
  since?: string | undefined
  until?: string | undefined
}

const secondsOf = (day: string, days = 0) => Date.parse(`${day}T00:00:00Z`) / 1000 + days * 86_400

/** One page of the history of a place, and what was not looked at. */
async function historyOf({ repository, commit, path }: Place, { search, author, since, until }: CommitFilter, number: number) {
  const options = {
    from: [commit.oid],
    ...(path && { path }),
    ...(since && { since: secondsOf(since) }),
    // to the end of the day
    ...(until && { until: secondsOf(until, 1) - 1 }),
  }
  const skip = Math.min((number - 1) * PER_PAGE, 2 ** 40)
  if (!search && !author) return { ...(await repository.log({ ...options, skip, limit: PER_PAGE })), isCut: false }
  const { commits, total } = await repository.log({ ...options, skip: 0, limit: MAX_FILTERED })
  const has = (text: string, wanted: string | undefined) => !wanted || text.toLowerCase().includes(wanted.toLowerCase())
  const found = commits.filter(({ message, author: { name, email } }) => has(message, search) && has(`${name} <${email}>`, author))
  return { commits: found.slice(skip, skip + PER_PAGE), total: found.length, isCut: total > commits.length }
}

const Filters = ({ action, values: { search, author, since, until } }: { action: string; values: CommitFilter }) => (
  <details class="filters" open={Boolean(search || author || since || until)}>
    <summary>{t('Filter')}</summary>
    <form method="get" action={action} class="row">
      <input name="search" type="search" value={search ?? ''} placeholder={t('Text of the message')} aria-label={t('Text of the message')} />
      <input name="author" type="search" value={author ?? ''} placeholder={t('Author')} aria-label={t('Author')} />
      <label>
        {t('From')} <input name="since" type="date" value={since ?? ''} />
      </label>
      <label>
        {t('to')} <input name="until" type="date" value={until ?? ''} />
      </label>
      <button type="submit">{t('Filter')}</button>
    </form>
  </details>
)

export const commitsPage = page({
  at: 'P/-/commits/*',
  robots: 'disallow',
  access: onProject('download_code'),
  input: z.object({ path: str(), page: paging.page, ...filter }),
  async show({ ctx, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const { path, links, ref } = place
    const { commits, total, isCut } = await historyOf(place, input, input.page)
    return {
      title: `${path ? t('Commits of {path}', { path }) : t('Commits')} · ${fullPathOf(subject.project)}`,
      feed: { title: t('Commits of {path}', { path: path || ref }), at: `${links.commits(ref, path).slice(view.links.prefix.length)}.atom` },
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits" heading={t('Commits')}>
          <div class="toolbar code-bar">
            <RefSwitch place={place} page="commits" />
            {path && <PathLinks links={links} project={subject.project.path} revision={ref} path={path} />}
            {path === '' && (
              <span class="last line">
                {subject.can('read_contributors') && (
                  <a class="button ghost" href={links.page(`graphs/${inUrl(ref)}`)}>
                    {t('Contributors')}
                  </a>
                )}
                <a class="button ghost" href={links.page(`network/${inUrl(ref)}`)}>
                  {t('Graph')}
                </a>
                <a class="button" href={`${links.page('compare')}?${new URLSearchParams({ to: ref })}`}>
                  {t('Compare')}
                </a>
              </span>
            )}
          </div>
          <Filters action={links.commits(ref, path)} values={input} />
          <CommitList view={view} commits={commits} links={links} {...(await beside(ctx, subject, commits))} />
          {commits.length === 0 && <p class="empty">{t('There are no commits here.')}</p>}
          {isCut && (
            <p class="dim">
              <Phrase text="Only the newest {maxfiltered} commits were looked at." maxfiltered={MAX_FILTERED} />
            </p>
          )}
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

/** The commits of the default branch. */
export const defaultCommitsPage = page({
  at: 'P/-/commits',
  access: onProject('download_code'),
  show: async ({ subject: { project }, view }) =>
    new Redirect(projectLinks(view, fullPathOf(project)).commits(project.default_branch).slice(view.links.prefix.length)),
})

export const views = { view: opt(oneOf(['inline', 'parallel'])), w: opt(bool()) }

export function DiffViews({ view, parallel, ignoreSpace }: { view: PageView; parallel: boolean; ignoreSpace: boolean }) {
  const [path = '', query = ''] = view.address.split('?', 2)
  const to = (name: string, space = ignoreSpace) => {
    const parameters = new URLSearchParams(query)
    parameters.set('view', name)
    if (space) parameters.set('w', '1')
    else parameters.delete('w')
    return `${view.links.prefix}${path}?${parameters}`
  }
  return (
    <p class="toolbar end">
      <a href={to(parallel ? 'parallel' : 'inline', !ignoreSpace)}>{ignoreSpace ? t('Show whitespace changes') : t('Hide whitespace changes')}</a>
      {parallel ? <a href={to('inline')}>{t('Unified')}</a> : <strong>{t('Unified')}</strong>}
      {parallel ? <strong>{t('Side-by-side')}</strong> : <a href={to('parallel')}>{t('Side-by-side')}</a>}
    </p>
  )
}
