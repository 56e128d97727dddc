const LARGEST = 2_147_483_647

/**
 * The id in a text of digits (G-2, SEC-52); null for a name or path. A number that is too large for an id becomes 0,
 * which no row has (G-49).
 */
export const numericId = (text: string): number | null => (/^\d+$/.test(text) ? (Number(text) <= LARGEST ? Number(text) : 0) : null)

/** The full path of a group for those who take an id or a path: one of digits alone begins with a slash, so that it is no id. */
export const asPath = (fullPath: string): string => (numericId(fullPath) === null ? fullPath : `/${fullPath}`)
