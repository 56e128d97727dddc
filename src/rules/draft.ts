const MARK = /^\s*(?:\[(?:draft|WIP)\]|\(draft\)|(?:draft|WIP):|WIP )/i

/** What the title of a draft begins with, as a pattern for Postgres, regardless of case (MR-4). */
export const DRAFT_MARK = MARK.source

/** The title with no mark of a draft. */
export function withoutDraftMark(title: string): string {
  let bare = title
  while (MARK.test(bare)) bare = bare.replace(MARK, '')
  return bare.trim()
}

/** Whether a title marks a draft. */
export const isDraft = (title: string) => MARK.test(title)
