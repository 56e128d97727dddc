import { z } from 'zod'
import { bool, int, oneOf, opt, orDefault, paging, str, where } from '../../../../http/params.js'
import { openedLines } from '../../../components/diff/whole-file.js'
import { discussionInput } from '../../../components/discussion/load.js'

/** An anchor, a line or the id of a commit: they stand in every link of the page. */
const MAX_NAME = 200
const name = () => where(str(), (text) => text.length <= MAX_NAME, 'is invalid')

export const changesInput = z.object({
  view: opt(oneOf(['inline', 'parallel'])),
  w: opt(bool()),
  diff_id: opt(int({ min: 1 })),
  start_sha: opt(name()),
  commit_id: opt(name()),
  /** The file (by its anchor) and the line that are commented on. */
  on: opt(name()),
  line: opt(name()),
  /** The first line of a range that ends at this one. */
  from: opt(int({ min: 1 })),
  /** The file (by its anchor) whose unchanged lines are shown. */
  open: opt(name()),
  around: openedLines.around,
  /** Shows only the file. */
  only: orDefault(bool(), false),
  ...discussionInput,
  page: paging.page,
})
export type Input = z.infer<typeof changesInput>

/** What is kept in the address while a reader moves through the changes. */
export const keptOf = ({ view, w, diff_id, start_sha, commit_id, open, around, page: number }: Input): Record<string, string> => ({
  ...(view && { view }),
  ...(w && { w: '1' }),
  ...(diff_id !== undefined && { diff_id: String(diff_id) }),
  ...(start_sha && { start_sha }),
  ...(commit_id && { commit_id }),
  ...(open && { open }),
  ...(open && around !== undefined && { around: String(around) }),
  ...(number > 1 && { page: String(number) }),
})

export const withQuery = (path: string, query: Record<string, string>) => {
  const text = String(new URLSearchParams(query))
  return text ? `${path}?${text}` : path
}
