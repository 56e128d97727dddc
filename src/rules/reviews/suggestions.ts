/** A change that a note suggests: its lines replace the line of the note, and as many before and after it (WB-100). */
export interface SuggestedChange {
  lines_above: number
  lines_below: number
  /** The new lines, each with its end; empty: the lines are removed. */
  content: string
}

/** A line that opens or closes a block of code. A note may have a million lines, so that only these are looked at. */
const FENCES = /(?<![^\n]) {0,3}(`{3,}|~{3,})([^\n]*)/g
const SUGGESTION = /^suggestion(?::-(\d{1,3})\+(\d{1,3}))?\s*$/
const MAX_LINES = 100
const MAX_SUGGESTIONS = 20
/** Of the content of one: more are shown as code. */
const MAX_CONTENT_LINES = 1_000

/** The parts of a note in their order: Markdown, and suggestions in between. */
export function partsOfNote(text: string): (string | SuggestedChange)[] {
  const parts: (string | SuggestedChange)[] = []
  /** Where the Markdown begins that is in no part yet. */
  let plain = 0
  /** The fence that is open, and where it and what follows it begin; with what it suggests, if it does. */
  let open: { fence: string; change: SuggestedChange | null; start: number; content: number } | null = null
  let count = 0
  for (const { index, 0: line, 1: fence = '', 2: rest = '' } of text.matchAll(FENCES)) {
    const info = rest.trim()
    const next = index + line.length + 1
    if (!open) {
      const [, above = '0', below = '0'] = SUGGESTION.exec(info) ?? []
      const isSuggestion = SUGGESTION.test(info) && Number(above) <= MAX_LINES && Number(below) <= MAX_LINES && count < MAX_SUGGESTIONS
      if (isSuggestion) count++
      const change = isSuggestion ? { lines_above: Number(above), lines_below: Number(below), content: '' } : null
      open = { fence, change, start: index, content: next }
    } else if (fence.startsWith(open.fence) && info === '') {
      const content = text.slice(open.content, index)
      if (open.change && content.split('\n', MAX_CONTENT_LINES + 2).length <= MAX_CONTENT_LINES + 1) {
        if (open.start > plain) parts.push(text.slice(plain, open.start - 1))
        parts.push({ ...open.change, content })
        plain = next
      }
      open = null
    }
  }
  // a suggestion without an end is not one
  if (plain <= text.length) parts.push(text.slice(plain))
  return parts
}

export const suggestionsIn = (text: string): SuggestedChange[] => partsOfNote(text).filter((part) => typeof part !== 'string')

export const SUGGESTION_MESSAGE = 'Apply %{suggestions_count} suggestion(s) to %{files_count} file(s)'

/** What the message of the commit that applies suggestions is made of. */
export interface SuggestionMessageValues {
  branch_name: string
  files_count: number
  file_paths: string
  project_name: string
  project_path: string
  suggestions_count: number
  user_full_name: string
  username: string
}

/** Fills the template of a project (PR-44); unknown names stay. */
export const suggestionMessage = (template: string, values: SuggestionMessageValues): string =>
  template.replace(/%\{([a-z_]+)\}/g, (text, name: string) => String(name in values ? values[name as keyof SuggestionMessageValues] : text))
