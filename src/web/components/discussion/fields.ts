import { z } from 'zod'
import * as documented from '../../../http/documented.js'
import { bool, idList, opt, orDefault, str } from '../../../http/params.js'

/** The text of a note, and where the form that changes it leads. */
export const noteText = z.object({ note: z.object({ note: orDefault(documented.filled(), '') }), back: opt(str()) })
export const commentText = noteText.omit({ back: true })
export const replyText = noteText.extend({ how: opt(str()), resolve: opt(bool()) })
export const changedText = noteText.extend({ before: opt(str()) })
export const selectedSuggestions = z.object({ ids: orDefault(idList(), []), commit_message: opt(str()), back: opt(str()) })
