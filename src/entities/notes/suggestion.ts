import { z } from 'zod'
import type { SuggestionRecord } from '../../services/notes/suggestions.js'

/** A suggestion (DI-16). */
export const Suggestion = z
  .strictObject({
    id: z.int(),
    from_line: z.int(),
    to_line: z.int(),
    appliable: z.boolean(),
    applied: z.boolean(),
    from_content: z.string(),
    to_content: z.string(),
  })
  .meta({ id: 'Suggestion', description: 'Lines that a note suggests in place of others.' })

/** A suggestion that has just been applied. */
export const presentApplied = ({ suggestion, from, to, before }: SuggestionRecord): z.infer<typeof Suggestion> => ({
  id: suggestion.id,
  from_line: from,
  to_line: to,
  appliable: false,
  applied: true,
  from_content: before,
  to_content: suggestion.content,
})
