const linesOf = (text: string) => text.split(/\r?\n/)

/** Whether a text has a mark of a conflict with one of these labels that is no line of either side itself. */
export function hasMarks(text: string, labels: readonly string[], sides: readonly string[]): boolean {
  const marks = new Set(labels.flatMap((label) => [`<<<<<<< ${label}`, `>>>>>>> ${label}`]))
  for (const side of sides) for (const line of linesOf(side)) marks.delete(line)
  return linesOf(text).some((line) => marks.has(line))
}
