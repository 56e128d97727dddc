/** The title of a commit: the first line of its message, cut when it is long (C-2). */
export function titleOf(message: string): string {
  const line = (message.trimStart().split('\n', 1)[0] ?? '').trim()
  if (line === '') return '--no commit message'
  const characters = [...line]
  if (characters.length < 100) return line
  const head = characters.slice(0, 81)
  const space = head.lastIndexOf(' ')
  return `${characters.slice(0, space > 0 ? space : 80).join('')}…`
}
