/** A text without a character that it ends with, however often; a pattern such as `/=+$/` is quadratic (SEC-67). */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}

/** A text without a character that it begins and ends with, however often. */
export function withoutAround(text: string, character: string): string {
  let start = 0
  while (text[start] === character) start++
  return withoutTrailing(text.slice(start), character)
}
