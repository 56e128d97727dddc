/** The side of a conflict that is taken. */
export type Side = 'ours' | 'theirs'

/** A text with git's marks of conflicts, in which one side of each is taken; null where the marks are not whole. */
export function takeSide(text: string, side: Side, { ours, theirs }: Record<Side, string>): string | null {
  const kept: string[] = []
  let place: 'outside' | Side = 'outside'
  for (const line of text.split('\n')) {
    const bare = line.replace(/\r$/, '')
    if (place === 'outside' && bare === `<<<<<<< ${ours}`) place = 'ours'
    else if (place === 'ours' && bare === '=======') place = 'theirs'
    else if (place === 'theirs' && bare === `>>>>>>> ${theirs}`) place = 'outside'
    else if (place === 'outside' || place === side) kept.push(line)
  }
  return place === 'outside' ? kept.join('\n') : null
}

/** Whether a text still has marks of conflicts. */
export const hasMarks = (text: string): boolean => /^(?:<{7}|>{7}) \S/m.test(text)
