import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { mergeRequests, notes, suggestions } from '../db/schema/index.js'
import { Failure, notFound } from '../failures.js'
import type { Access } from './access.js'
import { type MergeRequestSubject, onMergeRequest } from './merge-requests.js'
import { pathNumber } from './path-number.js'

const onRequest = onMergeRequest('create_note', { hidden: 'missing', kind: 'Suggestion' })

/** The merge request of a suggestion, for those who may write notes there: 404 if it is not visible. */
export const onSuggestion: Access<MergeRequestSubject, true> = {
  rule: 'signed in, merge request of the suggestion: create_note',
  signedIn: true,
  early: false,
  path: z.object({ id: z.string() }),
  async find(ctx, caller, params) {
    const [row] = await ctx.db.write
      .select({ project: mergeRequests.project_id, iid: mergeRequests.iid })
      .from(suggestions)
      .innerJoin(notes, eq(notes.id, suggestions.note_id))
      .innerJoin(mergeRequests, eq(mergeRequests.id, notes.noteable_id))
      .where(eq(suggestions.id, pathNumber(params['id'] as string) ?? 0))
    if (!row) throw notFound('Suggestion')
    return onRequest.find(ctx, caller, { id: String(row.project), merge_request_iid: String(row.iid) }).catch((error: unknown) => {
      throw error instanceof Failure && error.kind === 'not_found' ? notFound('Suggestion') : error
    })
  },
}
