/** A change that a note suggests: its lines replace the line of the note, and as many before and after it (WB-100). */
export interface SuggestedChange {
  lines_above: number
  lines_below: number
  /** The new lines, each with its end; empty: the lines are removed. */
  content: string
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)/
const SUGGESTION = /^suggestion(?::-(\d{1,3})\+(\d{1,3}))?\s*$/
const MAX_LINES = 100
const MAX_SUGGESTIONS = 20

/** The parts of a note in their order: Markdown, and suggestions in between. */
export function partsOfNote(text: string): (string | SuggestedChange)[] {
  const parts: (string | SuggestedChange)[] = []
  let plain: string[] = []
  /** The fence that is open, and what is in it if it is a suggestion. */
  let open: { fence: string; change: SuggestedChange | null; lines: string[] } | null = null
  let count = 0
  for (const line of text.split('\n')) {
    const [, fence = '', info = ''] = FENCE.exec(line) ?? []
    if (open) {
      const closes = fence.startsWith(open.fence) && info.trim() === ''
      if (!open.change) plain.push(line)
      else if (closes) {
        if (plain.length > 0) parts.push(plain.join('\n'))
        plain = []
        parts.push({ ...open.change, content: open.lines.map((each) => `${each}\n`).join('') })
      } else open.lines.push(line)
      if (closes) open = null
    } else if (fence !== '') {
      const [, above = '0', below = '0'] = SUGGESTION.exec(info.trim()) ?? []
      const isSuggestion = SUGGESTION.test(info.trim()) && Number(above) <= MAX_LINES && Number(below) <= MAX_LINES && count < MAX_SUGGESTIONS
      if (isSuggestion) count++
      else plain.push(line)
      open = { fence, change: isSuggestion ? { lines_above: Number(above), lines_below: Number(below), content: '' } : null, lines: [] }
    } else plain.push(line)
  }
  // a suggestion without an end is not one
  if (open?.change) plain.push(`${open.fence}suggestion`, ...open.lines)
  if (plain.length > 0) parts.push(plain.join('\n'))
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
