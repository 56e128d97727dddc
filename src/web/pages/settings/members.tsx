import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord } from '../../../failures.js'
import { clearableDate, int, oneOrMore, opt, orDefault, paging, rowId, searchText, str } from '../../../http/params.js'
import { approveRequest, denyRequest, hasRequested, listRequests, requestAccess } from '../../../services/groups/access-requests.js'
import {
  addMembers,
  changeMember,
  getMember,
  levelsToGive,
  listMembers,
  type MemberRecord,
  originsOf,
  removeMember,
} from '../../../services/groups/members.js'
import { findUserByName } from '../../../services/identity/users.js'
import { ActionButton, Field, FormFaults, FormTag, Options, SelectField, Submit } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { PersonLink } from '../../components/people/person-link.js'
import { levelChoices, levelName } from '../../components/projects/levels.js'
import { SearchForm } from '../../components/search.js'
import { dayText, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { invitationForms, invitationsSection } from './invitations.js'
import { ofGroup, ofProject, type Place } from './places.js'
import { sharesSection } from './shares.js'

const PER_PAGE = 20
/** Requests shown at once, the oldest first. */
const MAX_REQUESTS = 50

/** An expiry that a form has given, which may be no date. */
const expiry = () => opt(clearableDate())
const byUser = { user_id: rowId() }

/** All usernames as ids. */
async function idsOf(ctx: Context, names: string[]): Promise<number[]> {
  const users = await Promise.all(names.map((name) => findUserByName(ctx, name.replace(/^@/, ''))))
  const unknown = names.filter((_, i) => !users[i])
  if (unknown.length > 0) throw invalidRecord({ usernames: [t('names no account: {names}', { names: unknown.join(', ') })] })
  return users.flatMap((user) => user?.id ?? [])
}

const expires = (day: string | null) => (day === null ? '' : ` · ${t('until {day}', { day: dayText(new Date(day)) })}`)

const changed = z.object({ member: z.object({ access_level: int({ min: 0, max: 50 }), expires_at: expiry() }) })

/** Members of a project and of a group (ME-1 to ME-11), and requests to become one (AR-1 to AR-4). */
function membersOf<Subject extends ProjectSubject | GroupSubject>(of: Place<Subject>) {
  const at = `${of.at}/${of.members}` as const
  const list = (subject: Subject) => `${of.home(subject)}/-/${of.members}`
  const name = (subject: Subject) => of.source(subject).name

  const membersPage = page({
    at,
    access: of.on('read_member'),
    input: z.object({ search: opt(searchText()), page: paging.page }),
    async show({ ctx, caller, subject, input, view }) {
      const source = of.memberSource(subject)
      const manages = of.manages(subject)
      const all = await listMembers(ctx, source, { inherited: true, query: input.search, page: input.page, per_page: PER_PAGE })
      const ids = [...all.items.map(({ user }) => user.id), caller.user.id]
      const [direct, origins, requests, waits] = await Promise.all([
        listMembers(ctx, source, { inherited: false, user_ids: ids, page: 1, per_page: ids.length }),
        originsOf(ctx, source, ids),
        manages ? listRequests(ctx, source, { page: 1, per_page: MAX_REQUESTS }) : { items: [], total: 0 },
        hasRequested(ctx, source, caller.user.id),
      ])
      const own = new Map(direct.items.map((member) => [member.user.id, member]))
      return {
        title: `${t('Members')} · ${name(subject)}`,
        body: (
          <of.MemberFrame view={view} subject={subject}>
            <div class="heading">
              <h1>{t('Members')}</h1>
              <Own
                view={view}
                list={list(subject)}
                member={own.has(caller.user.id)}
                waits={waits}
                mayAsk={source.acceptsRequests && source.level === 0}
              />
            </div>
            {manages && <AddForm view={view} action={list(subject)} levels={levelsToGive(source)} />}
            {requests.items.length > 0 && (
              <section>
                <h2>{t('Waiting for access')}</h2>
                <Rows empty="">
                  {requests.items.map(({ user, requested_at }) => (
                    <Row
                      key={user.id}
                      actions={
                        <>
                          <FormTag view={view} action={`${list(subject)}/${user.id}/approve_access_request`} class="action pair">
                            <select name="access_level" aria-label={t('Role of {username}', { username: user.username })}>
                              <Options choices={levelChoices(levelsToGive(source))} chosen="30" />
                            </select>
                            <button type="submit" aria-label={t('Approve {username}', { username: user.username })}>
                              {t('Approve')}
                            </button>
                          </FormTag>
                          <ActionButton
                            view={view}
                            action={`${list(subject)}/${user.id}/deny`}
                            label={t('Deny')}
                            what={user.username}
                            class="danger"
                          />
                        </>
                      }
                    >
                      <Person view={view} user={user} />
                      <span class="dim">
                        <Phrase text="Asked {time}" time={<Time at={requested_at} />} />
                      </span>
                    </Row>
                  ))}
                </Rows>
                {requests.total > MAX_REQUESTS && (
                  <p class="hint">{t('{count} later ones are shown when these are answered.', { count: requests.total - MAX_REQUESTS })}</p>
                )}
              </section>
            )}
            <SearchForm action={view.links.prefix + list(subject)} label={t('Find a member')} value={input.search} />
            <Rows empty={input.search ? t('No member has this in their name.') : t('There are no members.')}>
              {all.items.map((member) => {
                const { user } = member
                const origin = origins.get(user.id)
                const isOwn = own.has(user.id)
                const mayChange = manages && isOwn && user.id !== source.ownerId && member.kind !== 'bot'
                return (
                  <Row
                    key={user.id}
                    actions={
                      mayChange && (
                        <>
                          <a
                            class="button"
                            href={`${view.links.prefix}${list(subject)}/${user.id}`}
                            aria-label={t('Change {username}', { username: user.username })}
                          >
                            {t('Change')}
                          </a>
                          <ActionButton
                            view={view}
                            action={`${list(subject)}/${user.id}`}
                            method="DELETE"
                            label={t('Remove')}
                            what={user.username}
                            class="danger"
                          />
                        </>
                      )
                    }
                  >
                    <Person view={view} user={user} />
                    {member.kind === 'bot' && <Badge>{t('bot')}</Badge>}
                    <span class="dim">
                      <Standing member={member} own={own.get(user.id)} origin={origin} place={source.fullPath} />
                    </span>
                  </Row>
                )
              })}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={all.total} />
            {manages && (await invitationsSection(ctx, of, subject, view))}
            {await sharesSection(ctx, caller, subject, view)}
          </of.MemberFrame>
        ),
      }
    },
  })

  const memberPage = page({
    at: `${at}/:user_id`,
    access: of.on('manage_members'),
    input: z.object(byUser),
    async show({ ctx, subject, input, view }) {
      const source = of.memberSource(subject)
      const { user, access_level, expires_at } = await getMember(ctx, source, input.user_id)
      const f = fieldsOf(view, changed).member
      return {
        title: `${user.name} · ${name(subject)}`,
        body: (
          <of.MemberFrame view={view} subject={subject}>
            <div class="page-form">
              <h1>{user.name}</h1>
              <FormTag view={view} action={`${list(subject)}/${user.id}`} method="PUT">
                <FormFaults view={view} />
                <SelectField {...f.access_level} label={t('Role')} value={String(access_level)} choices={levelChoices(levelsToGive(source))} />
                <Field {...f.expires_at} label={t('Until')} value={expires_at} hint={t('Empty: for good.')} />
                <Submit label={t('Save changes')} />
              </FormTag>
              <p>
                <a href={view.links.prefix + list(subject)}>{t('All members')}</a>
              </p>
            </div>
          </of.MemberFrame>
        ),
      }
    },
  })

  const addition = form({
    at,
    access: of.on('manage_members'),
    input: added,
    on: membersPage,
    async submit({ ctx, caller, subject, input: { member } }) {
      const names = member.usernames ?? []
      if (names.length === 0) throw invalidRecord({ usernames: ["can't be blank"] })
      await addMembers(ctx, of.memberSource(subject), caller, await idsOf(ctx, names), member)
      return new Redirect(list(subject), {
        notice: plural(names.length, '{name} is a member now.', '{count} members are added.', { name: names[0] }),
      })
    },
  })

  const change = form({
    at: `${at}/:user_id`,
    method: 'PUT',
    access: of.on('manage_members'),
    input: changed.extend(byUser),
    on: memberPage,
    async submit({ ctx, subject, input }) {
      const { user } = await changeMember(ctx, of.memberSource(subject), input.user_id, input.member)
      return new Redirect(list(subject), { notice: t('{name} is changed.', { name: user.name }) })
    },
  })

  const removal = form({
    at: `${at}/:user_id`,
    method: 'DELETE',
    access: of.on('manage_members'),
    input: z.object(byUser),
    async submit({ ctx, caller, subject, input }) {
      const { user } = await getMember(ctx, of.memberSource(subject), input.user_id)
      await removeMember(ctx, of.memberSource(subject), caller, user.id, { manages: true, unchangedSince: () => undefined })
      return new Redirect(list(subject), { notice: t('{name} is no longer a member.', { name: user.name }) })
    },
  })

  const leaving = form({
    at: `${at}/leave`,
    method: 'DELETE',
    access: of.on('read_member'),
    async submit({ ctx, caller, subject }) {
      await removeMember(ctx, of.memberSource(subject), caller, caller.user.id, { manages: false, unchangedSince: () => undefined })
      return new Redirect('/dashboard', { notice: t('You have left {name}.', { name: name(subject) }) })
    },
  })

  const request = form({
    at: `${at}/request_access`,
    access: of.on('request_access'),
    on: membersPage,
    async submit({ ctx, caller, subject }) {
      await requestAccess(ctx, of.memberSource(subject), caller)
      return new Redirect(list(subject), { notice: t('You have asked for access.') })
    },
  })

  const withdrawal = form({
    at: `${at}/request_access`,
    method: 'DELETE',
    access: of.on('read_member'),
    async submit({ ctx, caller, subject }) {
      await denyRequest(ctx, of.memberSource(subject), caller, caller.user.id, false)
      return new Redirect(list(subject), { notice: t('Your request is withdrawn.') })
    },
  })

  const approval = form({
    at: `${at}/:user_id/approve_access_request`,
    access: of.on('manage_members'),
    input: z.object({ ...byUser, access_level: orDefault(int({ min: 0, max: 50 }), 30) }),
    on: membersPage,
    async submit({ ctx, caller, subject, input }) {
      await approveRequest(ctx, of.memberSource(subject), caller, input.user_id, input.access_level)
      return new Redirect(list(subject), {
        notice: t('The request is approved, with the role {levelName}.', { levelName: levelName(input.access_level) }),
      })
    },
  })

  const denial = form({
    at: `${at}/:user_id/deny`,
    access: of.on('manage_members'),
    input: z.object(byUser),
    async submit({ ctx, caller, subject, input }) {
      await denyRequest(ctx, of.memberSource(subject), caller, input.user_id, true)
      return new Redirect(list(subject), { notice: t('Request denied.') })
    },
  })

  return [membersPage, memberPage, addition, change, removal, leaving, request, withdrawal, approval, denial, ...invitationForms(of, membersPage)]
}

type Shown = MemberRecord['user']

const Person = ({ view, user }: { view: PageView; user: Shown }) => (
  <span>
    <strong>
      <PersonLink view={view} user={user} />
    </strong>{' '}
    <span class="dim">@{user.username}</span> {user.state !== 'active' && <Badge kind="waiting">{said(user.state)}</Badge>}
  </span>
)

interface StandingProps {
  member: MemberRecord
  own: MemberRecord | undefined
  origin: string | undefined
  /** The full path of the project or group. */
  place: string
}

/** The roles of a member: their own, and what they have by a group. */
function Standing({ member, own, origin, place }: StandingProps) {
  const inherits = !own || own.access_level < member.access_level
  const by = origin === place ? ` ${t('by a share with a group')}` : ` ${t('by the group {name}', { name: origin })}`
  return (
    <>
      {own && `${levelName(own.access_level)}${expires(own.expires_at)}`}
      {own && inherits && ' · '}
      {inherits && `${levelName(member.access_level)}${origin === undefined ? '' : by}${own ? '' : expires(member.expires_at)}`}
    </>
  )
}

/** What the viewer does for themselves. */
function Own({ view, list, member, waits, mayAsk }: { view: PageView; list: string; member: boolean; waits: boolean; mayAsk: boolean }) {
  if (waits) return <ActionButton view={view} action={`${list}/request_access`} method="DELETE" label={t('Withdraw the request')} />
  if (member) return <ActionButton view={view} action={`${list}/leave`} method="DELETE" label={t('Leave')} class="danger" />
  return mayAsk ? <ActionButton view={view} action={`${list}/request_access`} label={t('Request access')} class="primary" /> : null
}

const added = z.object({ member: z.object({ usernames: opt(oneOrMore(str())), access_level: int({ min: 0, max: 50 }), expires_at: expiry() }) })

const AddForm = ({ view, action, levels }: { view: PageView; action: string; levels: number[] }) => {
  const f = fieldsOf(view, added).member
  return (
    <FormTag view={view} action={action} class="form inline">
      <FormFaults view={view} />
      <Field {...f.usernames} required label={t('Usernames')} hint={t('Several are separated by commas.')} />
      <SelectField {...f.access_level} label={t('Role')} value="30" choices={levelChoices(levels)} />
      <Field {...f.expires_at} label={t('Until')} />
      <Submit label={t('Add members')} />
    </FormTag>
  )
}

export const projectMembers = membersOf(ofProject)
export const groupMembers = membersOf(ofGroup)
