import { z } from 'zod'
import { signedIn } from '../../access/rules.js'
import { onSuggestion } from '../../access/suggestions.js'
import { presentApplied, Suggestion } from '../../entities/notes/suggestion.js'
import { endpoint } from '../../http/endpoint.js'
import { idList, opt, rowId, str } from '../../http/params.js'
import { aboutMergeRequest } from '../../services/notes/noteables.js'
import { applySuggestions } from '../../services/notes/suggestions.js'

const commit_message = opt(str())

/** Suggestions become a commit (DI-16). */
export const suggestions = [
  endpoint({
    method: 'PUT',
    path: '/suggestions/:id/apply',
    summary: 'Apply a suggestion',
    answers: [409],
    access: onSuggestion,
    input: z.object({ id: rowId(), commit_message }),
    output: Suggestion,
    async handler({ ctx, caller, subject, input: { id, commit_message: message } }) {
      const { applied } = await applySuggestions(ctx, caller, aboutMergeRequest(subject), { ids: [id], message })
      return presentApplied(applied[0] as (typeof applied)[number])
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/suggestions/batch_apply',
    summary: 'Apply several suggestions',
    description: 'They are of one merge request, and become one commit.',
    answers: [409],
    access: signedIn,
    input: z.object({ ids: idList(), commit_message }),
    output: z.array(Suggestion),
    async handler({ ctx, caller, input: { ids, commit_message: message } }) {
      const subject = await onSuggestion.find(ctx, caller, { id: String(ids[0] ?? 0) })
      return (await applySuggestions(ctx, caller, aboutMergeRequest(subject), { ids, message })).applied.map(presentApplied)
    },
  }),
]
