/** The first line, without copying a message of megabytes. */
function firstLine(message: string): string {
  const start = message.search(/\S/)
  if (start < 0) return ''
  const end = message.indexOf('\n', start)
  return message.slice(start, end < 0 ? undefined : end)
}

/** The title of a commit: the first line of its message, truncated if long (C-2). */
export function titleOf(message: string): string {
  const line = firstLine(message).trim()
  if (line === '') return '--no commit message'
  const characters = [...line.slice(0, 400)]
  if (characters.length < 100) return line
  const head = characters.slice(0, 81)
  const space = head.lastIndexOf(' ')
  return `${characters.slice(0, space > 0 ? space : 80).join('')}…`
}

/** A message as its first line and what follows, without white space around it; not split into its lines, of which it may have a million. */
export function partsOfMessage(message: string): { first: string; text: string } {
  const end = message.indexOf('\n')
  return end < 0 ? { first: message, text: '' } : { first: message.slice(0, end), text: message.slice(end + 1).trim() }
}
