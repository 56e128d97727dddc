import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { oneOf, orDefault, searchText } from '../../../http/params.js'
import { emojiNamed } from '../../../lib/text/emoji.js'
import { labelChoices, milestoneChoices } from '../../../services/issuables/choices.js'
import { listIssues } from '../../../services/issuables/issues/list.js'
import { listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import { listProjectUsers } from '../../../services/projects/people.js'
import { Plain, page } from '../../page.js'

const MAX_SHOWN = 10

interface Suggestion {
  /** What is inserted. */
  value: string
  label: string
}

/** A name behind a sign, in quotes where it needs them. */
const named = (sign: string, name: string) => `${sign}${/^[\w.-]+$/.test(name) ? name : `"${name}"`}`

const SIGNS = ['@', '#', '!', '~', '%', ':'] as const

/** What begins with a sign and a text, among what the caller may see (WB-128). */
async function suggest(ctx: Context, caller: SignedIn, subject: ProjectSubject, sign: (typeof SIGNS)[number], term: string): Promise<Suggestion[]> {
  const source = { project: subject }
  const paged = { page: 1, per_page: MAX_SHOWN }
  const number = /^\d{1,9}$/.test(term) ? { iids: [Number(term)] } : { search: term }
  const filter = { ...number, ...paged, scope: 'all', in: ['title'], order_by: 'updated_at', sort: 'desc' } as const
  switch (sign) {
    case '@': {
      const { items } = await listProjectUsers(ctx, subject.project.id, { search: term, ...paged })
      return items.map(({ username, name }) => ({ value: `@${username}`, label: name }))
    }
    case '#': {
      if (!subject.can('read_issue')) return []
      const { items } = await listIssues(ctx, caller, source, { ...filter, in: ['title'], state: 'all', with_labels_details: false })
      return items.map(({ issue }) => ({ value: `#${issue.iid}`, label: issue.title }))
    }
    case '!': {
      if (!subject.can('read_own_merge_request')) return []
      const { items } = await listMergeRequests(ctx, caller, source, { ...filter, in: ['title'], state: 'all' })
      return items.map(({ request }) => ({ value: `!${request.iid}`, label: request.title }))
    }
    case '~':
      if (!subject.can('read_label')) return []
      return (await labelChoices(ctx, source, term)).map(({ name }) => ({ value: named('~', name), label: '' }))
    case '%':
      if (!subject.can('read_milestone')) return []
      return (await milestoneChoices(ctx, source, term)).map(({ title }) => ({ value: named('%', title), label: '' }))
    case ':':
      return emojiNamed(term.toLowerCase(), MAX_SHOWN).map(({ name, emoji }) => ({ value: `:${name}:`, label: emoji }))
  }
}

/** What the editor offers while somebody types. */
export const completionPage = page({
  at: 'P/-/autocomplete_sources',
  access: onProjectSignedIn('read_project'),
  input: z.object({ type: oneOf(SIGNS), term: orDefault(searchText(), '') }),
  async show({ ctx, caller, subject, input }) {
    const found = await suggest(ctx, caller, subject, input.type, input.term.trim())
    return new Plain('application/json; charset=utf-8', JSON.stringify(found.slice(0, MAX_SHOWN)))
  },
})
