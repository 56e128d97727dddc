/** A fence of Markdown that is longer than any run of backticks in the text. */
export function fenceFor(text: string): string {
  let longest = 2
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return '`'.repeat(longest + 1)
}
