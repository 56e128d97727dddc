/** A text with marks on each place where it has the wanted one, whatever its case (WB-65). */
export function Marked({ text, wanted }: { text: string; wanted: string }) {
  const parts: { text: string; hit: boolean }[] = []
  const [lower, needle] = [text.toLowerCase(), wanted.toLowerCase()]
  let done = 0
  // a letter that changes its length with its case would move the marks
  if (needle !== '' && lower.length === text.length)
    for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, done)) {
      parts.push({ text: text.slice(done, at), hit: false }, { text: text.slice(at, at + needle.length), hit: true })
      done = at + needle.length
    }
  parts.push({ text: text.slice(done), hit: false })
  return <>{parts.map((part, i) => (part.hit ? <mark key={i}>{part.text}</mark> : part.text))}</>
}
