import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { anyone, onProject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { tooMany } from '../../../failures.js'
import { orDefault, searchText } from '../../../http/params.js'
import { isFeatureOn } from '../../../services/core/instance-features.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { listProjects } from '../../../services/projects/list.js'
import { searchIssues, searchMergeRequests } from '../../../services/search/issuables.js'
import { type Choice, choicesAnswer } from '../../components/choices.js'
import { Marked } from '../../components/marked.js'
import { projectsOf } from '../../components/projects/project-rows.js'
import { plural, t } from '../../language/language.js'
import { inUrl } from '../../links.js'
import { type PageView, page } from '../../page.js'

/** Suggestions of each kind. */
const MAX_SHOWN = 5
/** Characters from which words are looked for: fewer are in almost everything. */
const MIN_WORDS = { project: 2, everywhere: 3 }
/** Requests of one user, or of one address without a session, in a minute. */
const MAX_REQUESTS = 120
const WINDOW_S = 60

const paged = { page: 1, per_page: MAX_SHOWN }

interface Asked {
  ctx: Context
  caller: Caller
  view: PageView
  text: string
}

async function projectChoices({ ctx, caller, view, text }: Asked): Promise<Choice[]> {
  if (text.length < MIN_WORDS.project) return []
  const { items } = await listProjects(ctx, caller, {
    words: text,
    search_namespaces: true,
    uncounted: true,
    order_by: 'last_activity_at',
    sort: 'desc',
    ...paged,
  })
  return (await projectsOf(ctx, caller.user, items)).map(({ project, namespace }) => {
    const path = `${namespace.full_path}/${project.path}`
    return { to: `${view.links.prefix}/${inUrl(path)}`, text: <Marked text={path} wanted={text} /> }
  })
}

/** Issues and merge requests, by `#7`, `!7`, a number alone, or words; as in the search, only for those who are signed in beyond a project. */
async function issuableChoices({ ctx, caller, view, text }: Asked, at: IssuableSource): Promise<{ issues: Choice[]; requests: Choice[] }> {
  const [, sign, digits] = /^([#!]?)(\d+)$/.exec(text) ?? []
  const isShort = text.length < MIN_WORDS[at === 'everywhere' ? 'everywhere' : 'project']
  if ((digits === undefined && isShort) || !caller.user) return { issues: [], requests: [] }
  const asked = { search: digits === undefined ? text : `#${digits}`, ...paged }
  const [issues, requests] = await Promise.all([
    sign === '!' ? { items: [] } : searchIssues(ctx, caller, at, asked),
    sign === '#' ? { items: [] } : searchMergeRequests(ctx, caller, at, asked),
  ])
  const choice = (path: string, scope: string, mark: string, { iid, title, state }: { iid: number; title: string; state: string }): Choice => ({
    to: `${view.links.prefix}/${inUrl(path)}/-/${scope}/${iid}`,
    text: (
      <>
        <Marked text={title} wanted={digits === undefined ? text : ''} /> <span class="dim">{`${at === 'everywhere' ? path : ''}${mark}${iid}`}</span>
      </>
    ),
    note: state === 'opened' ? undefined : state,
  })
  return {
    issues: issues.items.map(({ issue, path }) => choice(path, 'issues', '#', issue)),
    requests: requests.items.map(({ request, path }) => choice(path, 'merge_requests', '!', request)),
  }
}

async function suggest(asked: Asked, subject: ProjectSubject | null) {
  const { ctx, caller } = asked
  if (!(await isFeatureOn(ctx, 'search_suggestions', subject?.project))) return choicesAnswer([], '')
  const who = caller.user ? `user ${caller.user.id}` : ctx.origin?.address
  const { count } = await ctx.access.counters.add(`suggestions of ${who}`, WINDOW_S)
  if (count > MAX_REQUESTS) throw tooMany(WINDOW_S)
  const [projects, { issues, requests }] = await Promise.all([
    projectChoices(asked),
    issuableChoices(asked, subject ? { project: subject } : 'everywhere'),
  ])
  const groups = [
    { label: subject ? t('Issues of this project') : t('Issues'), choices: issues },
    { label: subject ? t('Merge requests of this project') : t('Merge requests'), choices: requests },
    { label: t('Projects'), choices: projects },
  ]
  // a name is rather that of a project where there is no project yet
  if (!subject) groups.unshift(...groups.splice(2))
  const all = groups.reduce((sum, { choices }) => sum + choices.length, 0)
  return choicesAnswer(groups, asked.text === '' ? '' : plural(all, '{count} suggestion. Enter searches.', '{count} suggestions. Enter searches.'))
}

const input = z.object({ search: orDefault(searchText(), '') })

/** What the field at the top offers while something is typed (WB-563). */
export const suggestionsPage = page({
  at: '/search/suggestions',
  access: anyone,
  input,
  show: ({ ctx, caller, view, input }) => suggest({ ctx, caller, view, text: input.search.trim() }, null),
})

/** The same on a page of a project. */
export const projectSuggestionsPage = page({
  at: 'P/-/search/suggestions',
  access: onProject('read_project'),
  input,
  show: ({ ctx, caller, subject, view, input }) => suggest({ ctx, caller, view, text: input.search.trim() }, subject),
})
