import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller, SignedIn } from '../../access/actor.js'
import { callerOfFeedToken } from '../../access/feed-tokens.js'
import { findPathOwner } from '../../access/path-owner.js'
import { fullPathOf, getGroupFor, getProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Failure, notFound, unauthenticated } from '../../failures.js'
import { addressKind } from '../../http/address-kinds.js'
import { callerOf } from '../../http/caller.js'
import { Content, sendContent } from '../../http/content.js'
import { emptyParameterBag, type ParameterBag } from '../../http/form.js'
import { countRequest, forCall } from '../../http/mount.js'
import { parseInput } from '../../http/params.js'
import { holderOfCall, runAsHolder } from '../../lib/async/holder.js'
import { type CalendarEntry, calendarOf } from '../../lib/calendar.js'
import { asPath } from '../../lib/numeric-id.js'
import { atomOf, type Feed, type FeedEntry } from '../../lib/text/atom.js'
import { escapeHtml } from '../../lib/text/html.js'
import { wholeEnd } from '../../lib/text/whole-end.js'
import { titleOf } from '../../rules/commit-title.js'
import { EVENT_VERBS, PUSH_VERBS, TARGET_NAMES } from '../../rules/event-words.js'
import {
  type EventFilter,
  type EventRecord,
  listEventsOfGroup,
  listEventsOfProject,
  listEventsOfUser,
  listOwnEvents,
} from '../../services/activity/events.js'
import { listReleases } from '../../services/content/releases.js'
import { findUserByName } from '../../services/identity/users.js'
import { type IssueRecord, listDueIssues, listIssues } from '../../services/issuables/issues/list.js'
import type { IssuableSource } from '../../services/issuables/list.js'
import { listMergeRequests } from '../../services/issuables/merge-requests/reading/list.js'
import { loadProjects } from '../../services/projects/load.js'
import { repositoryOf } from '../../services/repository/repositories.js'
import { resolveRevision, splitRevision } from '../../services/repository/revisions.js'
import { listTags } from '../../services/repository/tags.js'
import { filterOf as issueFilterOf, filters as issueFilters } from '../issues/filters.js'
import { filterOf as requestFilterOf, filters as requestFilters } from '../merge-requests/lists.js'

const ENTRIES = 20
/** Longer paths name nothing. */
const MAX_PATH = 4_096

const NEWEST: EventFilter = { sort: 'desc', page: 1, per_page: ENTRIES }

interface Call {
  ctx: Context
  caller: Caller
  /** The full path of the project or group. */
  path: string
  /** What follows in the address: a ref and a path. */
  rest: string
  query: ParameterBag
}

type FeedParts = Omit<Feed, 'self' | 'page'>

/** A page that is a feed with `.atom` after its path, or a calendar with `.ics`. Null: there is none, but perhaps a page. */
interface FeedAddress {
  at: RegExp
  feed(call: Call): Promise<FeedParts | null>
  calendar?(call: Call): Promise<{ title: string; entries: CalendarEntry[] }>
}

const inUrl = (text: string) => text.split('/').map(encodeURIComponent).join('/')
const below = (ctx: Context, path: string, page = '') => `${ctx.links.base}/${inUrl(path)}${page && `/-/${page}`}`
/** An id that stays when the service gets another address would need a store of ids; this one names the host. */
const idOf = (ctx: Context, kind: string, id: number | string) => `tag:${new URL(ctx.links.base).hostname},2020:${kind}/${id}`

async function projectAt({ ctx, caller, path }: Call, ability: Parameters<ProjectSubject['can']>[0]): Promise<ProjectSubject> {
  const subject = await getProjectFor(ctx, caller, path)
  if (!subject.can(ability)) throw notFound()
  return subject
}

function signedInOf({ caller }: Call): SignedIn {
  if (!caller.user) throw unauthenticated()
  return caller
}

const PAGES: Record<string, string> = { Issue: 'issues', MergeRequest: 'merge_requests', Milestone: 'milestones' }

/** The sentence of an event, as the pages have it, and where it leads. */
function eventText(
  ctx: Context,
  { event, author, project, issue, request, milestone, note, ...record }: EventRecord,
  path: string,
): [string, string] {
  const home = below(ctx, path)
  if (event.push) {
    const { action, ref, ref_type, commit_count: count, commit_to } = event.push
    const commits = action !== 'removed' && count > 0 ? `: ${count} ${count === 1 ? 'commit' : 'commits'}` : ''
    const to = action === 'removed' ? '' : count === 1 && commit_to ? `commit/${commit_to}` : `commits/${inUrl(ref)}`
    return [`${author.name} ${PUSH_VERBS[action]} ${ref_type} ${ref} of ${path}${commits}`, below(ctx, path, to)]
  }
  const verb = event.action === 'pushed' ? 'pushed' : EVENT_VERBS[event.action]
  if (event.target_type === 'Project')
    return [event.action === 'created' ? `${author.name} created the project ${project.name}` : `${author.name} ${verb}: ${path}`, home]
  if (note?.commit_id)
    return [
      `${author.name} ${verb} commit ${note.commit_id.slice(0, 8)} of ${path}`,
      `${below(ctx, path, `commit/${note.commit_id}`)}#note_${note.id}`,
    ]
  const type = note ? note.noteable_type : (event.target_type ?? '')
  const iid = (issue ?? request ?? milestone)?.iid ?? record.noteable_iid
  const title = (issue ?? request ?? milestone)?.title ?? record.noteable_title ?? event.target_title ?? ''
  const page = PAGES[type]
  const text = `${author.name} ${verb} ${TARGET_NAMES[type] ?? ''}${iid ?? ''} ${title} in ${path}`
  return [text.replace(/ +/g, ' '), page && iid !== null ? below(ctx, path, `${page}/${iid}`) + (note ? `#note_${note.id}` : '') : home]
}

async function eventEntries(ctx: Context, caller: Caller, { items }: { items: EventRecord[] }): Promise<FeedEntry[]> {
  const records = await loadProjects(ctx, caller.user, [...new Set(items.map(({ event }) => event.project_id))])
  const paths = new Map(records.map(({ id, namespace, project }) => [id, `${namespace.full_path}/${project.path}`]))
  return items.flatMap((record) => {
    const { event, author } = record
    const path = paths.get(event.project_id)
    if (path === undefined) return []
    const [title, link] = eventText(ctx, record, path)
    const content = event.push?.commit_title ? `<p>${escapeHtml(event.push.commit_title)}</p>` : undefined
    return [{ id: idOf(ctx, 'event', event.id), title, link, updated: event.created_at, author: author.name, content }]
  })
}

/** Of the text of one entry, in characters; the page that it leads to has all. */
const MAX_TEXT = 10_000

function preformatted(text: string): string | undefined {
  const whole = text.trim()
  if (whole === '') return undefined
  const shown = whole.length <= MAX_TEXT ? whole : `${whole.slice(0, wholeEnd(whole, MAX_TEXT))}…\n\n(The rest is on the page.)`
  return `<pre>${escapeHtml(shown)}</pre>`
}

const dateOf = ({ seconds }: { seconds: number }) => new Date(Math.max(-8.64e12, Math.min(8.64e12, seconds)) * 1000)

/** The activity of what is at a path: a project, a group or a user. */
async function activityFeed({ ctx, caller, path }: Call): Promise<FeedParts | null> {
  const owner = await findPathOwner(ctx, caller, [path.toLowerCase()])
  if (!owner) return null
  const title = `${owner.fullPath}: activity`
  if (owner.kind === 'project') {
    const subject = await getProjectFor(ctx, caller, path)
    return { title, entries: await eventEntries(ctx, caller, await listEventsOfProject(ctx, caller, subject, NEWEST)) }
  }
  if (owner.kind === 'group') {
    const subject = await getGroupFor(ctx, caller, asPath(path))
    return { title, entries: await eventEntries(ctx, caller, await listEventsOfGroup(ctx, caller, subject, NEWEST)) }
  }
  const user = await findUserByName(ctx, path)
  if (user?.kind !== 'human' || user.removal !== null) throw notFound()
  return { title, entries: await eventEntries(ctx, caller, await listEventsOfUser(ctx, caller, String(user.id), NEWEST)) }
}

/** The newest commits of a branch, tag or path; none if the whole name, with its ending, is that of a ref. */
async function commitsFeed(call: Call): Promise<FeedParts | null> {
  const { ctx, path, rest } = call
  const subject = await projectAt(call, 'download_code')
  const repository = repositoryOf(ctx, subject.project)
  const whole = `${rest}.atom`
  if ((await repository.ref(`refs/heads/${whole}`)) ?? (await repository.ref(`refs/tags/${whole}`))) return null
  const { ref, path: file } = await splitRevision(repository, rest, { alone: true })
  const found = await resolveRevision(ctx, subject, ref)
  if (!found) throw notFound()
  const { commits } = await repository.log({ from: [found.commit], skip: 0, limit: ENTRIES, ...(file && { path: file }) })
  return {
    title: `${fullPathOf(subject.project)}: commits of ${rest}`,
    entries: commits.map((commit) => ({
      id: below(ctx, path, `commit/${commit.oid}`),
      title: titleOf(commit.message),
      link: below(ctx, path, `commit/${commit.oid}`),
      updated: dateOf(commit.committer),
      author: commit.author.name,
      content: preformatted(commit.message),
    })),
  }
}

async function tagsFeed(call: Call): Promise<FeedParts> {
  const { ctx, path } = call
  const subject = await projectAt(call, 'download_code')
  const { items } = await listTags(ctx, subject, { order_by: 'updated', sort: 'desc', page: 1, per_page: ENTRIES })
  return {
    title: `${fullPathOf(subject.project)}: tags`,
    entries: items.flatMap(({ name, tag, commit }) => {
      const by = tag?.tagger ?? commit?.committer
      if (!by) return []
      const link = below(ctx, path, `tags/${inUrl(name)}`)
      return [{ id: link, title: name, link, updated: dateOf(by), author: by.name, content: preformatted((tag ?? commit)?.message ?? '') }]
    }),
  }
}

async function releasesFeed(call: Call): Promise<FeedParts> {
  const { ctx, path } = call
  const subject = await projectAt(call, 'download_code')
  const { items } = await listReleases(ctx, subject, { order_by: 'released_at', sort: 'desc', page: 1, per_page: ENTRIES })
  return {
    title: `${fullPathOf(subject.project)}: releases`,
    entries: items.map(({ release, author }) => {
      const link = below(ctx, path, `releases/${encodeURIComponent(release.tag)}`)
      const content = preformatted(release.description)
      return {
        id: idOf(ctx, 'release', release.id),
        title: release.name ?? release.tag,
        link,
        updated: release.released_at,
        author: author.name,
        content,
      }
    }),
  }
}

/** The filters of a list of the API, from a query. */
const filterInput = z.object(issueFilters('all'))
const requestInput = z.object(requestFilters('all'))

/** The query of the page of a list, with the names of the API. */
function listQuery({ label_name: labels, milestone_title: milestone, sort, page: _, per_page: __, ...given }: ParameterBag): ParameterBag {
  const order = typeof sort === 'string' && sort.startsWith('updated') ? 'updated_at' : 'created_at'
  return Object.assign(
    emptyParameterBag(),
    { state: 'opened', order_by: order },
    labels && { labels: [labels].flat().join(',') },
    milestone && { milestone },
    given,
  )
}

const newest = { page: 1, per_page: ENTRIES } as const

type Issuable = Pick<IssueRecord['issue'], 'id' | 'iid' | 'title' | 'updated_at'>

const issueEntry = (ctx: Context, kind: 'issue' | 'merge_request', { id, iid, title, updated_at }: Issuable, path: string) => ({
  id: idOf(ctx, kind, id),
  title: `${kind === 'issue' ? '#' : '!'}${iid} ${title}`,
  link: below(ctx, path, `${kind}s/${iid}`),
  updated: updated_at,
})

/** What an address lists issues of. */
interface IssuePlace {
  source: IssuableSource
  title: string
}

async function issuesIn({ ctx, caller, query }: Call, { source, title }: IssuePlace): Promise<FeedParts> {
  const filter = issueFilterOf(parseInput(filterInput, listQuery(query)))
  const { items } = await listIssues(ctx, caller, source, { ...filter, ...newest })
  return { title, entries: items.map(({ issue, path, author }) => ({ ...issueEntry(ctx, 'issue', issue, path), author: author.name })) }
}

/** The most entries of a calendar, those that are due first. */
const MAX_DUE = 500

/** Open issues with a due date, from two weeks ago to the end of the next month unless the query says otherwise (RX-34). */
async function dueIn({ ctx, caller, query }: Call, { source, title }: IssuePlace) {
  const asked = { due_date: 'next_month_and_previous_two_weeks', ...query }
  const filter = issueFilterOf(parseInput(filterInput, listQuery(Object.assign(emptyParameterBag(), asked))))
  if (filter.due_date === '0') return { title, entries: [] }
  const { items } = await listDueIssues(ctx, caller, source, { ...filter, order_by: 'due_date', sort: 'asc', page: 1, per_page: MAX_DUE })
  const host = new URL(ctx.links.base).hostname
  return {
    title,
    entries: items.flatMap(({ id, iid, title: name, due_date: day, updated_at: updated, path }): CalendarEntry[] =>
      day === null ? [] : [{ id: `issue-${id}@${host}`, title: `${name} (${path}#${iid})`, link: below(ctx, path, `issues/${iid}`), day, updated }],
    ),
  }
}

/** A list of issues as a feed and as a calendar. */
const issueAddress = (at: RegExp, place: (call: Call) => Promise<[Call, IssuePlace]>): FeedAddress => ({
  at,
  feed: async (call) => issuesIn(...(await place(call))),
  calendar: async (call) => dueIn(...(await place(call))),
})

const GROUPED = '(?:groups/)?'
const PATH = '(?<path>[^/]+(?:/[^/]+)*?)'
const PROJECT = '(?<path>[^/]+(?:/[^/]+)+?)/(?:-/)?'

const feeds: FeedAddress[] = [
  {
    at: /^dashboard\/projects$/,
    async feed(call) {
      const caller = signedInOf(call)
      return {
        title: 'Activity of your projects',
        entries: await eventEntries(call.ctx, caller, await listOwnEvents(call.ctx, caller, { ...NEWEST, all: true })),
      }
    },
  },
  issueAddress(/^dashboard\/issues$/, async (call) => {
    signedInOf(call)
    const query = Object.assign(emptyParameterBag(), { scope: 'assigned_to_me' }, call.query)
    return [
      { ...call, query },
      { source: 'everywhere', title: 'Your issues' },
    ]
  }),
  { at: new RegExp(`^${PROJECT}commits/(?<rest>.+)$`, 's'), feed: commitsFeed },
  { at: new RegExp(`^${PROJECT}tags$`), feed: tagsFeed },
  { at: new RegExp(`^${PROJECT}releases$`), feed: releasesFeed },
  issueAddress(new RegExp(`^groups/${PATH}/-/issues$`), async (call) => {
    const group = await getGroupFor(call.ctx, call.caller, asPath(call.path))
    return [call, { source: { group }, title: `${group.group.full_path}: issues` }]
  }),
  issueAddress(new RegExp(`^${PROJECT}issues$`), async (call) => {
    const project = await projectAt(call, 'read_issue')
    return [call, { source: { project }, title: `${fullPathOf(project.project)}: issues` }]
  }),
  {
    at: new RegExp(`^${PROJECT}merge_requests$`),
    async feed(call) {
      const { ctx, path, query } = call
      const caller = signedInOf(call)
      const project = await projectAt(call, 'read_merge_request')
      const { items } = await listMergeRequests(
        ctx,
        caller,
        { project },
        { ...requestFilterOf(parseInput(requestInput, listQuery(query))), ...newest },
      )
      const entries = items.map(({ request, author }) => ({ ...issueEntry(ctx, 'merge_request', request, path), author: author.name }))
      return { title: `${fullPathOf(project.project)}: merge requests`, entries }
    },
  },
  { at: new RegExp(`^${GROUPED}${PATH}$`), feed: activityFeed },
]

type Format = 'atom' | 'ics'

/** A page, in an address, and what follows its path for a feed or a calendar; null for any other address. */
function feedIn({ url }: FastifyRequest): { page: string; self: string; format: Format } | null {
  const [path = '', query = ''] = url.split('?', 2)
  if (path.length > MAX_PATH) return null
  const named = (['atom', 'ics'] as const).find((each) => path.endsWith(`.${each}`))
  const format = named ?? (new URLSearchParams(query).get('format') === 'atom' ? 'atom' : undefined)
  if (!format) return null
  const page = named ? path.slice(0, -named.length - 1) : path.replace(/\/$/, '')
  return page === '' || page.endsWith('/') ? null : { page, self: `${page}.${format}`, format }
}

/** A token in the query is that of feeds; its older name is taken, too. */
const tokenIn = (query: ParameterBag) => [query['feed_token'], query['rss_token']].find((each) => typeof each === 'string' && each !== '')

const TYPES: Record<Format, string> = { atom: 'application/atom+xml; charset=utf-8', ics: 'text/calendar; charset=utf-8' }
const HEADERS = {
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; sandbox",
}

/** A feed, with what its address names. */
type FoundFeed = Pick<FeedAddress, 'feed' | 'calendar'> & Pick<Call, 'path' | 'rest'> & NonNullable<ReturnType<typeof feedIn>>

/** The feeds of pages (WB-230), and the calendars of issues (RX-34). */
export const pageFeeds = addressKind({
  find(request): FoundFeed | null {
    const asked = feedIn(request)
    const found = asked && findFeed(asked.page)
    return found && (asked.format === 'atom' || found.calendar) ? { ...asked, ...found } : null
  },
  answer: serveFeed,
})

/** Answers with a feed; null if there is none. */
async function serveFeed(ctx: Context, found: FoundFeed, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | null> {
  const query = Object.assign(emptyParameterBag(), request.query as ParameterBag)
  const token = tokenIn(query)
  const caller = token ? await callerOfFeedToken(ctx, String(token), request.ip) : await callerOf(ctx, request, '/events')
  await countRequest(ctx, caller.user?.id ?? null, request, reply)
  const call: Call = { ctx: forCall(ctx, request, caller), caller, query, path: found.path, rest: found.rest }
  const text = await runAsHolder(holderOfCall(caller.user?.id, request.ip), () => textOf(found, call)).catch((error: unknown) => {
    // without `/-/` it may be the older address of a page about a file
    if (error instanceof Failure && error.kind === 'not_found' && !found.page.includes('/-/')) return null
    throw error
  })
  if (text === null) return null
  const bytes = Buffer.from(text)
  const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`
  // the URL may have a token in its query
  reply.header('referrer-policy', 'no-referrer')
  return sendContent(request, reply, new Content({ etag, headers: { ...HEADERS, 'content-type': TYPES[found.format] }, open: async () => bytes }))
}

/** The text of a feed or a calendar; null if there is none. */
async function textOf(found: FoundFeed, call: Call): Promise<string | null> {
  if (found.format === 'ics') return found.calendar ? calendarOf(await found.calendar(call)) : null
  const parts = await found.feed(call)
  const { base } = call.ctx.links
  return parts && atomOf({ ...parts, self: base + found.self, page: base + found.page })
}

/** The feed of a page, with what its address names. */
function findFeed(page: string): (Pick<FeedAddress, 'feed' | 'calendar'> & Pick<Call, 'path' | 'rest'>) | null {
  const text = decoded(page.slice(1))
  if (text === null) return null
  for (const { at, feed, calendar } of feeds) {
    const found = at.exec(text)
    const { path = '', rest = '' } = found?.groups ?? {}
    if (found && !path.split('/').includes('-')) return { feed, ...(calendar && { calendar }), path, rest }
  }
  return null
}

function decoded(text: string): string | null {
  try {
    const plain = decodeURIComponent(text)
    return plain.includes('\0') ? null : plain
  } catch {
    return null
  }
}
