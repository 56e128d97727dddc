import type { ProjectSubject } from '../../../access/rules.js'
import type { NoteAward } from '../../../services/notes/award-emoji.js'
import type { NoteRecord } from '../../../services/notes/list.js'
import type { Suggestion } from '../../../services/notes/suggestion-records.js'

/** The rows of the lines that a suggestion replaces, where they are known, and of those in their place. */
export interface SuggestedLines {
  rows: string
  hidden: boolean
}

export interface ShownSuggestion extends SuggestedLines {
  suggestion: Suggestion
}

/** What notes show beside their records, and what the reader may do with them. */
export interface DiscussionParts {
  /** The address of what the notes are about, without the prefix of the service. */
  at: string
  /** The project of the texts; null for none. */
  project: ProjectSubject | null
  /** The rendered texts by the ids of the notes; a text with suggestions is in parts, with one between each two. */
  texts: ReadonlyMap<number, string[]>
  awards: ReadonlyMap<number, NoteAward[]>
  suggestions: ReadonlyMap<number, ShownSuggestion[]>
  /** The rendered texts of drafts of the reader, by their ids, in parts: HTML, and what they suggest in between. */
  draftTexts: ReadonlyMap<number, (string | SuggestedLines)[]>
  /** The rows of the lines that a thread was about when it began, by the id of its first note. */
  excerpts: ReadonlyMap<number, string>
  mayWrite: boolean
  mayAward: boolean
  /** Replies can be kept for a review. */
  mayReview: boolean
  mayEdit(record: NoteRecord): boolean
  mayResolve(record: NoteRecord): boolean
  /** Whether suggestions can be applied by the reader. */
  mayApply: boolean
  /** The note whose text is being changed, with its whole text. */
  editing: NoteRecord | null
  /** The note that is given an emoji: it offers several. */
  reacting: number | null
  /** The thread that is answered: only it has the form (WB-340). */
  replying: string | null
  /** The draft of a review whose text is being changed. */
  draft: number | null
  /** Where the forms of notes lead to afterwards, if not to the page of what they are about. */
  back: string | null
  /** The head of the newest version of a merge request: what was written about another one is outdated. */
  head: string | null
}
