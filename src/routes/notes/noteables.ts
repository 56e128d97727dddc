import type { z } from 'zod'
import type { ProjectAbility } from '../../access/abilities/project.js'
import type { Access } from '../../access/access.js'
import { onIssueSignedIn } from '../../access/issues.js'
import { onMergeRequest } from '../../access/merge-requests.js'
import { onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { onSnippetSignedIn } from '../../access/snippets.js'
import type { Context } from '../../context.js'
import { aboutCommit, aboutIssue, aboutMergeRequest, aboutSnippet, type NoteableSubject } from '../../services/notes/noteables.js'

/** A type that can have notes: its paths, and the access rules of its notes. */
export interface NoteableKind {
  /** Name with its article, for summaries. */
  named: string
  path: string
  /** The access rule for an ability; a 404 names `missing`. */
  access(ability: 'read' | ProjectAbility, missing?: string): Access<NoteableSubject, true>
}

/** Converts an access rule, so that its subject becomes a noteable. */
const toNoteable = <Subject extends ProjectSubject>(
  access: Access<Subject, true>,
  of: (subject: Subject, ctx: Context, params: Record<string, unknown>) => NoteableSubject | Promise<NoteableSubject>,
  path: z.ZodObject = access.path,
): Access<NoteableSubject, true> => ({
  ...access,
  path,
  find: async (ctx, caller, params) => of(await access.find(ctx, caller, params), ctx, params),
})

const issue: NoteableKind = {
  named: 'an issue',
  path: '/projects/:id/issues/:issue_iid',
  access: (ability, missing) => toNoteable(onIssueSignedIn(ability === 'read' ? 'read_issue' : ability, missing), aboutIssue),
}

const mergeRequest: NoteableKind = {
  named: 'a merge request',
  path: '/projects/:id/merge_requests/:merge_request_iid',
  access: (ability, missing) => toNoteable(onMergeRequest(ability === 'read' ? 'read_merge_request' : ability, { kind: missing }), aboutMergeRequest),
}

const snippet: NoteableKind = {
  named: 'a snippet',
  path: '/projects/:id/snippets/:snippet_id',
  access: (ability, missing) => toNoteable(onSnippetSignedIn(ability === 'read' ? 'read_snippet' : ability, missing), aboutSnippet),
}

const ofProject = onProjectSignedIn('download_code')

const commit: NoteableKind = {
  named: 'a commit',
  path: '/projects/:id/repository/commits/:sha',
  access: (ability) =>
    toNoteable(
      onProjectSignedIn(ability === 'read' ? 'download_code' : 'comment_on_commit'),
      (subject, ctx, params) => aboutCommit(ctx, subject, params['sha'] as string),
      ofProject.path.extend({ sha: ofProject.path.shape['id'] as z.ZodType }),
    ),
}

/** Types with notes and award emoji (sections 18 and 20). */
export const NOTEABLE_KINDS: NoteableKind[] = [issue, mergeRequest, snippet]

/** Types with discussions (section 19). `lines`: also on lines of a diff. */
export const DISCUSSABLE_KINDS: (NoteableKind & { lines: boolean; resolvable: boolean })[] = [
  { ...issue, lines: false, resolvable: false },
  { ...mergeRequest, lines: true, resolvable: true },
  { ...snippet, lines: false, resolvable: false },
  { ...commit, lines: true, resolvable: false },
]
