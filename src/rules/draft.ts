const MARK = /^\s*(?:\[(?:draft|WIP)\]|\(draft\)|(?:draft|WIP):|WIP )/i

/** What the title of a draft begins with, as a pattern for Postgres, regardless of case (MR-4). */
export const DRAFT_MARK = MARK.source

/** Whether a title marks a draft. */
export const isDraft = (title: string) => MARK.test(title)
