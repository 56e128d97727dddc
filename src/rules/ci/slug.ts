const MAX_LENGTH = 63

/** `CI_COMMIT_REF_SLUG` and its like: lower case, `-` for all but letters and digits, at most 63 characters (CI-41). */
export function slug(text: string): string {
  const replaced = text
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '-')
    .slice(0, MAX_LENGTH)
  let [start, end] = [0, replaced.length]
  while (replaced[start] === '-') start++
  while (end > start && replaced[end - 1] === '-') end--
  return replaced.slice(start, end)
}
