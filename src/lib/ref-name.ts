/** No path of a file is longer, and so no ref, in its characters. */
const MAX_LENGTH = 4_096

/**
 * Whether Git accepts this as the full name of a ref, such as `refs/heads/main` (the rules of git-check-ref-format).
 */
export function checkRefName(name: string): boolean {
  return (
    name.length <= MAX_LENGTH &&
    name.includes('/') &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    !/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\.$|\p{Surrogate}/u.test(name) &&
    name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'))
  )
}
