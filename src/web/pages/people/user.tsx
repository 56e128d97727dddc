import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { anyone } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { nullOnFailure } from '../../../failures.js'
import { oneOf, opt, paging, searchText, str } from '../../../http/params.js'
import { avatarUrl } from '../../../rules/avatar-url.js'
import { listEventsOfGroup, listEventsOfUser } from '../../../services/activity/events.js'
import type { User } from '../../../services/identity/users.js'
import { listProjects } from '../../../services/projects/list.js'
import { Pager } from '../../components/list.js'
import { Activity } from '../../components/people/activity.js'
import { Avatar } from '../../components/people/avatar.js'
import { listedProjects, ProjectRows, pathsOf } from '../../components/projects/project-rows.js'
import { SearchForm } from '../../components/search.js'
import { dayText } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { GroupLayout } from '../../layout/group.js'
import { homeOfGroup, inUrl } from '../../links.js'
import { Plain, page } from '../../page.js'
import { onGroupPage, onUsername } from '../../subjects.js'

const PER_PAGE = 20

/** Whether there is a user of this name, for forms and programs (WB-376); closed with all of `/users` (WB-203). */
export const userExists = page({
  at: '/users/:username/exists',
  access: anyone,
  ownerOnly: true,
  input: z.object({ username: str() }),
  async show({ ctx, caller, input: { username } }) {
    const exists = (await nullOnFailure(onUsername.find(ctx, caller, { id: username }))) !== null
    return new Plain('application/json; charset=utf-8', JSON.stringify({ exists }))
  },
})

/** What a user did that the caller may see; nothing of a private profile. */
async function activityOf(ctx: Context, caller: Caller, user: User, number: number) {
  const none = { items: [], total: 0 }
  const events = listEventsOfUser(ctx, caller, String(user.id), { sort: 'desc', page: number, per_page: PER_PAGE })
  const { items, total } = (await nullOnFailure(events)) ?? none
  return { items, total, paths: await pathsOf(ctx, caller.user, items) }
}

/** What people say about themselves; of a private profile only they and administrators see it (WB-342). */
const Details = ({ user }: { user: User }) => (
  <>
    {user.bio && <p>{user.bio}</p>}
    {user.location && <p class="dim">{user.location}</p>}
    {user.organization && <p class="dim">{user.organization}</p>}
    {user.website_url && (
      <p>
        <a href={/^https?:/i.test(user.website_url) ? user.website_url : `http://${user.website_url}`} rel="nofollow noopener">
          {user.website_url}
        </a>
      </p>
    )}
    {user.public_email && (
      <p>
        <a href={`mailto:${user.public_email}`}>{user.public_email}</a>
      </p>
    )}
  </>
)

export const userPage = page({
  at: 'U',
  access: onUsername,
  input: z.object({ page: paging.page, tab: opt(oneOf(['projects', 'activity'])) }),
  async show({ ctx, caller, subject: user, input, view }) {
    const tab = input.tab ?? 'projects'
    const shown = tab === 'activity' ? await activityOf(ctx, caller, user, input.page) : null
    const filter = { ownerId: user.id, order_by: 'last_activity_at', sort: 'desc', page: input.page, per_page: PER_PAGE } as const
    const { items, total } = await listProjects(ctx, caller, filter)
    const projects = await listedProjects(ctx, caller.user, items)
    const isShown = !user.private_profile || user.id === caller.user?.id || caller.user?.admin === true
    return {
      title: user.name,
      card: { text: isShown ? user.bio : null, image: avatarUrl(user, { base: view.links.base, service: view.avatarService }) },
      feed: { title: t('Activity of {name}', { name: user.name }), at: `/${inUrl(user.username)}.atom` },
      body: (
        <div class="with-aside">
          <div>
            <nav class="tabs" aria-label={t('User')}>
              <a href={`${view.links.prefix}/${user.username}`} {...(tab === 'projects' && { 'aria-current': 'page' })}>
                {t('Projects')}
              </a>
              <a href={`${view.links.prefix}/${user.username}?tab=activity`} {...(tab === 'activity' && { 'aria-current': 'page' })}>
                {t('Activity')}
              </a>
            </nav>
            <h1 class="hidden">{tab === 'activity' ? t('Activity') : t('Projects')}</h1>
            {shown ? (
              <Activity view={view} events={shown.items} paths={shown.paths} empty={t('Nothing that you may see.')} />
            ) : (
              <ProjectRows view={view} projects={projects} empty={t('There are no projects that you may see.')} />
            )}
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={shown ? shown.total : total} />
          </div>
          <aside>
            <Avatar view={view} user={user} size="huge" />
            <h1>{user.name}</h1>
            <p class="dim">@{user.username}</p>
            {user.kind === 'bot' && <p class="badge">{t('bot')}</p>}
            {user.state !== 'active' && (
              <p class="badge waiting">{user.state === 'deactivated' ? t('deactivated') : user.state === 'banned' ? t('banned') : t('blocked')}</p>
            )}
            {isShown ? <Details user={user} /> : <p class="dim">{t('This profile is private.')}</p>}
            {isShown && (
              <p class="dim">
                <Phrase text="Here since {day}" day={dayText(user.created_at)} />
              </p>
            )}
            {view.viewer && view.viewer.id !== user.id && (
              <p>
                <a href={`${view.links.prefix}/abuse_reports/new?user_id=${user.id}`} rel="nofollow">
                  {t('Report abuse')}
                </a>
              </p>
            )}
            {view.viewer?.admin && (
              <p>
                <a href={`${view.links.prefix}/admin/users/${inUrl(user.username)}`}>{t('Administration of this account')}</a>
              </p>
            )}
          </aside>
        </div>
      ),
    }
  },
})

export const groupPage = page({
  at: 'G',
  access: onGroupPage,
  input: z.object({ page: paging.page, filter: opt(searchText()) }),
  async show({ ctx, caller, subject, input, view }) {
    const { group } = subject
    const filter = {
      group: { id: group.id, subgroups: true },
      search: input.filter,
      order_by: 'last_activity_at',
      sort: 'desc',
      page: input.page,
      per_page: PER_PAGE,
    } as const
    const { items, total } = await listProjects(ctx, caller, filter)
    const projects = await listedProjects(ctx, caller.user, items)
    return {
      title: group.full_name,
      card: { text: group.description },
      feed: { title: t('Activity of {fullName}', { fullName: group.full_name }), at: `${homeOfGroup(subject)}.atom` },
      body: (
        <GroupLayout
          view={view}
          subject={subject}
          tab="projects"
          heading={t('Projects')}
          tools={
            <>
              <a class="button ghost" href={`${view.links.prefix}/groups/${inUrl(group.full_path)}/-/search`}>
                {t('Search this group')}
              </a>
              {view.viewer && subject.can('create_subgroup') && (
                <a class="button" href={`${view.links.prefix}/groups/new?parent_id=${group.id}`}>
                  {t('New subgroup')}
                </a>
              )}
              {view.viewer && subject.can('create_project') && (
                <a class="button primary" href={`${view.links.prefix}/projects/new?namespace_id=${group.id}`}>
                  {t('New project')}
                </a>
              )}
            </>
          }
        >
          {group.description && <p>{group.description}</p>}
          <SearchForm
            action={`${view.links.prefix}/groups/${inUrl(group.full_path)}`}
            label={t('Find a project')}
            name="filter"
            value={input.filter}
          />
          <ProjectRows view={view} projects={projects} empty={t('There are no projects that you may see.')} />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </GroupLayout>
      ),
    }
  },
})

/** What happened in the projects of a group and of the groups below it. */
export const groupActivityPage = page({
  at: 'G/-/activity',
  access: onGroupPage,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { items, total } = await listEventsOfGroup(ctx, caller, subject, { sort: 'desc', page: input.page, per_page: PER_PAGE })
    return {
      title: `${t('Activity')} · ${subject.group.full_path}`,
      feed: { title: t('Activity of {fullName}', { fullName: subject.group.full_name }), at: `${homeOfGroup(subject)}.atom` },
      body: (
        <GroupLayout view={view} subject={subject} tab="activity" heading={t('Activity')}>
          <Activity
            view={view}
            events={items}
            paths={await pathsOf(ctx, caller.user, items)}
            empty={t('Nothing has happened in the projects that you may see.')}
          />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </GroupLayout>
      ),
    }
  },
})
