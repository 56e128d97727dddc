/** A pattern for JavaScript and Postgres, regardless of case: what the title of a draft begins with (MR-4). */
export const DRAFT_MARK = String.raw`^\s*(?:\[(?:draft|WIP)\]|\(draft\)|(?:draft|WIP):|WIP )`

const mark = new RegExp(DRAFT_MARK, 'i')

/** Whether a title marks a draft. */
export const isDraft = (title: string) => mark.test(title)
