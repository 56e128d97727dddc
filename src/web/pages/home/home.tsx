import { z } from 'zod'
import { anyone, signedIn } from '../../../access/rules.js'
import { opt, paging, searchText, str } from '../../../http/params.js'
import { WholeAddress } from '../../../http/redirect.js'
import { listOwnEvents } from '../../../services/activity/events.js'
import { listProjects } from '../../../services/projects/list.js'
import { findTopic } from '../../../services/projects/topics.js'
import { Options } from '../../components/form.js'
import { Pager } from '../../components/list.js'
import { Activity } from '../../components/people/activity.js'
import { DashboardHeading, DashboardTabs } from '../../components/projects/dashboard.js'
import { listedProjects, ProjectRows, pathsOf } from '../../components/projects/project-rows.js'
import { SearchForm } from '../../components/search.js'
import { t } from '../../language/language.js'
import { page, Redirect } from '../../page.js'
import { TopicHead } from './topics.js'

const PER_PAGE = 20
const input = z.object({ page: paging.page, name: opt(searchText()) })

/** Leads on: to the dashboard, or for a visitor to the home page of the settings or to the public projects (AS-40). */
export const homePage = page({
  at: '/',
  access: anyone,
  show: async ({ view }) => {
    const { home_page_url: home } = view.settings
    return new Redirect(view.viewer ? '/dashboard' : home === null ? '/users/sign_in' : new WholeAddress(home))
  },
})

const mine = (at: string, title: () => string, filter: { membership?: boolean; starred?: boolean }, empty: () => string) =>
  page({
    at,
    robots: 'disallow',
    access: signedIn,
    ownerOnly: false,
    input,
    async show({ ctx, caller, input: { page: number, name }, view }) {
      const wanted = { ...filter, search: name, order_by: 'last_activity_at', sort: 'desc', page: number, per_page: PER_PAGE } as const
      const { items, total } = await listProjects(ctx, caller, wanted)
      return {
        title: title(),
        body: (
          <>
            <DashboardHeading view={view} title={title()} />
            <DashboardTabs view={view} at={at} />
            <SearchForm action={`${view.links.prefix}${at}`} label={t('Find a project')} name="name" value={name} />
            <ProjectRows
              view={view}
              projects={await listedProjects(ctx, caller.user, items)}
              empty={name ? t('None of these projects has this in its name.') : empty()}
            />
            <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
          </>
        ),
      }
    },
  })

export const ownProjectsPage = mine(
  '/dashboard/projects',
  () => t('Your projects'),
  { membership: true },
  () => t('You are in no project yet. Make one, or push to a new address below your name.'),
)
export const starredPage = mine(
  '/dashboard/projects/starred',
  () => t('Starred projects'),
  { starred: true },
  () => t('You have starred no project yet.'),
)

/** What happened in the projects that the viewer is a member of. */
export const ownActivityPage = page({
  at: '/dashboard/activity',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, input: { page: number }, view }) {
    const { items, total } = await listOwnEvents(ctx, caller, { all: true, sort: 'desc', page: number, per_page: PER_PAGE })
    return {
      title: t('Activity'),
      feed: { title: t('Activity of your projects'), at: '/dashboard/projects.atom' },
      body: (
        <>
          <DashboardHeading view={view} title={t('Activity')} />
          <DashboardTabs view={view} at="/dashboard/activity" />
          <Activity
            view={view}
            events={items}
            paths={await pathsOf(ctx, caller.user, items)}
            empty={t('Nothing has happened in your projects yet.')}
          />
          <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
        </>
      ),
    }
  },
})

/** The orders of the list, by the names that addresses have had from the start. */
const orders = () =>
  ({
    latest_activity_desc: [t('Latest activity'), 'last_activity_at', 'desc'],
    stars_desc: [t('Most stars'), 'star_count', 'desc'],
    created_desc: [t('Newest'), 'created_at', 'desc'],
    name_asc: [t('Name'), 'name', 'asc'],
  }) as const
type Order = keyof ReturnType<typeof orders>
const isOrder = (text: string | undefined): text is Order => text !== undefined && Object.hasOwn(orders(), text)

/** The projects that everyone, or everyone who is signed in, may see (WB-236). */
export const explorePage = page({
  at: '/explore',
  access: anyone,
  input: input.extend({ topic: opt(str()), tag: opt(str()), language: opt(str()), sort: opt(str()) }),
  async show({ ctx, caller, input: { page: number, name, topic, tag, language, sort }, view }) {
    const order = isOrder(sort) ? sort : 'latest_activity_desc'
    const [, order_by, direction] = orders()[order]
    const wantedTopic = topic || tag || undefined
    const { items, total } = await listProjects(ctx, caller, {
      search: name,
      // they may be a hundred thousand, and are counted again after each change
      uncounted: true,
      archived: false,
      topic: wantedTopic === undefined ? undefined : [wantedTopic],
      with_programming_language: language,
      order_by,
      sort: direction,
      page: number,
      per_page: PER_PAGE,
    })
    const known = wantedTopic === undefined ? null : await findTopic(ctx, caller, wantedTopic)
    return {
      title: t('Explore'),
      body: (
        <>
          <DashboardHeading view={view} title={t('Explore projects')} />
          {caller.user && <DashboardTabs view={view} at="/explore" />}
          <p>
            <a href={`${view.links.prefix}/explore/groups`}>{t('All groups')}</a> ·{' '}
            <a href={`${view.links.prefix}/explore/projects/topics`}>{t('All topics')}</a>
          </p>
          {known && <TopicHead view={view} topic={known} />}
          <search>
            <form method="get" action={`${view.links.prefix}/explore`} class="search several">
              <input name="name" type="search" value={name ?? ''} placeholder={t('Name')} aria-label={t('Name')} />
              <input name="topic" type="search" value={wantedTopic ?? ''} placeholder={t('Topic')} aria-label={t('Topic')} />
              <input name="language" type="search" value={language ?? ''} placeholder={t('Language')} aria-label={t('Programming language')} />
              <select name="sort" aria-label={t('Order')}>
                <Options choices={Object.entries(orders()).map(([value, [label]]) => ({ value, label }))} chosen={order} />
              </select>
              <button type="submit">{t('Search')}</button>
            </form>
          </search>
          <ProjectRows view={view} projects={await listedProjects(ctx, caller.user, items)} empty={t('There is no such project that you may see.')} />
          <Pager view={view} page={number} perPage={PER_PAGE} total={total} counted={false} />
        </>
      ),
    }
  },
})

/** Other addresses of the list. */
export const exploreAddresses = [
  ['/explore/projects', '/explore'],
  ['/explore/projects/trending', '/explore'],
  ['/explore/projects/starred', '/explore?sort=stars_desc'],
  ['/public', '/explore'],
  ['/public/projects', '/explore'],
].map(([at = '', to = '']) => page({ at, access: anyone, input: z.object({}), show: async () => new Redirect(to) }))
