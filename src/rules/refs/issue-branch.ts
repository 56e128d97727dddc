import { withoutAround } from '../../lib/text/without-trailing.js'

const MAX_LENGTH = 100

/** A text as a part of a branch name. */
const partOf = (text: string) =>
  withoutAround(
    text
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .slice(0, MAX_LENGTH),
    '-',
  )

/**
 * The name of a branch for an issue, by the template of the project: `%{id}` and `%{title}` (WB-127). The title of a
 * confidential issue is not in it.
 */
export function issueBranchName(
  template: string | null,
  { iid, title, confidential }: { iid: number; title: string; confidential: boolean },
): string {
  const shown = confidential ? 'confidential-issue' : partOf(title)
  const filled = (template || '%{id}-%{title}').replace(/%\{id\}/g, () => String(iid)).replace(/%\{title\}/g, () => shown)
  let end = Math.min(filled.length, 2 * MAX_LENGTH)
  while ('-/.'.includes(filled.charAt(end - 1)) && end > 0) end--
  return filled.slice(0, end)
}
