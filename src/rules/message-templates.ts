import { lengthOf, tooLong } from './path.js'

/** What templates of commit messages may contain as `%{name}` (PR-44). */
export const PLACEHOLDERS = [
  'source_branch',
  'target_branch',
  'title',
  'description',
  'issues',
  'reference',
  'url',
  'merged_by',
  'co_authored_by',
  'approved_by',
  'reviewed_by',
  'first_commit',
  'first_multiline_commit',
  'all_commits',
] as const
export type Placeholder = (typeof PLACEHOLDERS)[number]

const MAX_TEMPLATE = 500
const PLACEHOLDER = /%\{([^{}\s]*)\}/g

/** What is wrong with a template. */
export function templateFaults(template: string): string[] {
  if (lengthOf(template) > MAX_TEMPLATE) return [tooLong(MAX_TEMPLATE)]
  const unknown = [...template.matchAll(PLACEHOLDER)].map(([, name]) => name as string).filter((name) => !isKnown(name))
  return [...new Set(unknown)].map((name) => `has an unknown placeholder %{${name}}`)
}

const isKnown = (name: string): name is Placeholder => PLACEHOLDERS.some((known) => known === name)

/** The placeholders that a template contains. */
export const placeholdersIn = (template: string): Placeholder[] => PLACEHOLDERS.filter((name) => template.includes(`%{${name}}`))

/** The message. A line that has only placeholders without a value is left out, with the empty line before it. */
export function fillTemplate(template: string, values: Partial<Record<Placeholder, string>>): string {
  const fill = (line: string) => line.replace(PLACEHOLDER, (text, name: string) => (isKnown(name) ? (values[name] ?? '') : text))
  const lines: string[] = []
  for (const line of template.replaceAll('\r\n', '\n').split('\n')) {
    const filled = fill(line)
    if (filled.trim() === '' && line.trim() !== '') {
      if (lines.at(-1) === '') lines.pop()
    } else lines.push(filled)
  }
  return lines.join('\n').trim()
}
