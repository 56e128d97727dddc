/** The most words that are listed. */
const MAX_LISTED = 20

/** Words with commas between them and `and` before the last; further ones are counted. */
export function listed(words: readonly string[]): string {
  const shown = words.length > MAX_LISTED ? [...words.slice(0, MAX_LISTED), `${words.length - MAX_LISTED} more`] : words
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}
