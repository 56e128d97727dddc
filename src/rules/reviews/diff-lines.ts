/** A line of a unified diff: added, removed, context, the header of a part (`@`) or a remark of git (`\`). */
export interface LineOfDiff {
  sign: '+' | '-' | ' ' | '@' | '\\'
  old: number | null
  new: number | null
  /** Without the sign. */
  text: string
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** The lines of the text of a file's diff, without its header. */
export function linesOfDiff(diff: string): LineOfDiff[] {
  const lines: LineOfDiff[] = []
  let [old, now] = [0, 0]
  for (const text of diff.split('\n')) {
    const hunk = HUNK.exec(text)
    const rest = text.slice(1)
    if (hunk) {
      old = Number(hunk[1])
      now = Number(hunk[2])
      lines.push({ sign: '@', old: null, new: null, text })
    } else if (lines.length === 0)
      continue // the names of the files
    else if (text.startsWith('+')) lines.push({ sign: '+', old: null, new: now++, text: rest })
    else if (text.startsWith('-')) lines.push({ sign: '-', old: old++, new: null, text: rest })
    else if (text.startsWith(' ')) lines.push({ sign: ' ', old: old++, new: now++, text: rest })
    else if (text.startsWith('\\')) lines.push({ sign: '\\', old: null, new: null, text: text.slice(2) })
  }
  return lines
}
