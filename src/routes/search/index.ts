import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import { fullPathOf, onGroupSignedIn, onProjectAfterInput, signedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { presentSnippet, Snippet } from '../../entities/content/snippet.js'
import { Issue, presentIssue } from '../../entities/issuables/issue.js'
import { FoundMergeRequest, presentFoundMergeRequest } from '../../entities/issuables/merge-request.js'
import { Milestone, presentMilestone } from '../../entities/issuables/milestone.js'
import type { Standpoint } from '../../entities/issuables/references.js'
import { Note, presentNote } from '../../entities/notes/note.js'
import { BasicProject, presentBasicProject } from '../../entities/projects/project.js'
import { FoundCommit, presentCommit } from '../../entities/repository/commit.js'
import { FoundBlob, presentFoundBlob } from '../../entities/repository/found-blob.js'
import { endpoint, type PageAnswer, pageOf } from '../../http/endpoint.js'
import { bool, oneOf, opt, paging, searchText, str } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { dayOf } from '../../lib/text/day.js'
import type { IssuableSource } from '../../services/issuables/list.js'
import { listProjects } from '../../services/projects/list.js'
import { loadProjects } from '../../services/projects/load.js'
import { searchBlobs, searchCommits, searchWiki } from '../../services/search/code.js'
import { type IssuableSearch, searchIssues, searchMergeRequests } from '../../services/search/issuables.js'
import { searchMilestones } from '../../services/search/milestones.js'
import { searchNotes } from '../../services/search/notes.js'
import { searchSnippets } from '../../services/search/snippets.js'

interface SearchRequest {
  ctx: Context
  caller: SignedIn
  input: IssuableSearch
  view: View
}

/** Declared in the order in which errors name missing parameters (S-2). */
const input = <const Scopes extends readonly [string, ...string[]]>(scopes: Scopes) =>
  z.object({
    search: searchText(),
    scope: oneOf(scopes),
    state: opt(oneOf(['all', 'opened', 'closed', 'merged'])),
    confidential: opt(bool()),
    order_by: opt(oneOf(['created_at'])),
    sort: opt(oneOf(['asc', 'desc'])),
    ...paging,
  })

const ISSUABLES = ['issues', 'merge_requests', 'milestones'] as const

/** Searches the scopes that exist globally, in groups and in projects. */
async function issuables(
  { ctx, caller, input, view }: SearchRequest,
  scope: (typeof ISSUABLES)[number],
  at: IssuableSource,
  from: Standpoint,
): Promise<PageAnswer> {
  const today = dayOf(ctx.now())
  switch (scope) {
    case 'issues':
      return pageOf(await searchIssues(ctx, caller, at, input), input, (issue) => presentIssue(issue, today, view, from))
    case 'merge_requests':
      return pageOf(await searchMergeRequests(ctx, caller, at, input), input, (request) => presentFoundMergeRequest(request, today, view, from))
    case 'milestones':
      return pageOf(await searchMilestones(ctx, caller, at, input.search, input), input, (milestone) => presentMilestone(milestone, today, view))
  }
}

/** Projects, archived ones included (S-7); for a group, not those that are only shared with it (S-17). */
async function projects({ ctx, caller, input, view }: SearchRequest, group?: number): Promise<PageAnswer> {
  const { items, total } = await listProjects(ctx, caller, {
    words: input.search,
    order_by: 'id',
    sort: 'desc',
    page: input.page,
    per_page: input.per_page,
    ...(group !== undefined && { group: { id: group, subgroups: true, shared: false } }),
  })
  const load = (ids: number[]) => loadProjects(ctx, caller.user, ids)
  const rendered = await ctx.caches.rendered.render('found project', items, load, (project) => presentBasicProject(project, view))
  return pageOf({ items: rendered, total }, input, (element) => element)
}

/** The contract's path, and the one that clients use. */
const both = (of: '/groups' | '/projects') => [`${of}/:id/-/search`, `${of}/:id/search`]

/** Searches (S-1 to S-30). */
export const search = [
  endpoint({
    method: 'GET',
    path: '/search',
    summary: 'Search all projects and groups',
    description: 'The results have the shape of the `scope`.',
    answers: [404],
    access: signedIn,
    input: input(['projects', ...ISSUABLES, 'snippet_titles', 'snippet_blobs']),
    output: z.array(z.union([BasicProject, Issue, FoundMergeRequest, Milestone, Snippet])),
    async handler({ ctx, caller, input, view }) {
      const asked = { ctx, caller, input, view }
      const { scope } = input
      if (scope === 'projects') return projects(asked)
      if (scope !== 'snippet_titles' && scope !== 'snippet_blobs') return issuables(asked, scope, 'everywhere', 'everywhere')
      const page = await searchSnippets(ctx, caller, scope === 'snippet_titles' ? 'title' : 'content', input.search, input)
      return pageOf(page, input, (snippet) => presentSnippet(snippet, view))
    },
  }),
  ...both('/groups').map((path) =>
    endpoint({
      method: 'GET',
      path,
      summary: 'Search the projects of a group and its descendants',
      answers: [404],
      access: onGroupSignedIn('read_group'),
      input: input(['projects', ...ISSUABLES]),
      output: z.array(z.union([BasicProject, Issue, FoundMergeRequest, Milestone])),
      async handler({ ctx, caller, subject, input, view }) {
        const asked = { ctx, caller, input, view }
        if (input.scope === 'projects') return projects(asked, subject.group.id)
        return issuables(asked, input.scope, { group: subject }, { group: subject.group.full_path })
      },
    }),
  ),
  ...both('/projects').map((path) =>
    endpoint({
      method: 'GET',
      path,
      summary: 'Search a project',
      answers: [404],
      access: onProjectAfterInput('read_project'),
      input: input([...ISSUABLES, 'notes', 'wiki_blobs', 'commits', 'blobs']).extend({ ref: opt(str()) }),
      output: z.array(z.union([Issue, FoundMergeRequest, Milestone, Note, FoundBlob, FoundCommit])),
      async handler({ ctx, caller, subject, input, view, gone }) {
        const { scope, search: text } = input
        const where = { ref: input.ref || undefined, signal: gone() }
        const { project } = subject
        switch (scope) {
          case 'notes':
            return pageOf(await searchNotes(ctx, caller, subject, text, input), input, (note) => presentNote(note, view))
          case 'commits': {
            const place = { fullPath: fullPathOf(project) }
            const page = await searchCommits(ctx, subject, text, input, where)
            return pageOf(page, input, (commit) => ({ ...presentCommit(commit, place, view), project_id: project.id }))
          }
          case 'blobs':
          case 'wiki_blobs': {
            const find = scope === 'blobs' ? searchBlobs : searchWiki
            const page = await find(ctx, subject, text, input, where)
            return pageOf(page, input, (found) => presentFoundBlob(found, { ref: page.ref, project_id: project.id }))
          }
          default:
            return issuables({ ctx, caller, input, view }, scope, { project: subject }, { project: true })
        }
      },
    }),
  ),
]
