/** Lines of which a quotation has at most this many before it, which say who wrote it and when. */
const MAX_INTRODUCTION = 3
/** The longest line that can introduce a quotation, in characters. */
const MAX_LINE = 400

const isQuoted = (line: string) => line.startsWith('>')
const isBlank = (line: string) => line.trim() === ''

/** Verbs after which a quotation stands, as mail programs write them in twelve languages. */
const WROTE = [
  'wrote',
  'schrieb',
  'écrit',
  'escribió',
  'scritto',
  'escreveu',
  'schreef',
  'napisał',
  'pisze',
  'skrev',
  'kirjoitti',
  'написал',
  '写道',
  'のメッセージ',
  '작성',
]

/** Whether a line, or several joined, says who wrote what follows: it ends in a colon and has such a verb or an address. */
function introduces(text: string): boolean {
  const line = text.trim()
  return (
    line.length <= MAX_LINE &&
    /[:：]$/.test(line) &&
    (WROTE.some((verb) => line.includes(verb)) || /[<[][^<>[\]\s]{1,200}@[^<>[\]\s]{1,200}[>\]]/.test(line))
  )
}

/** Lines after which everything is an older mail, as Outlook and its kin separate it. */
const SEPARATORS = [
  'original message',
  'forwarded message',
  'ursprüngliche nachricht',
  'weitergeleitete nachricht',
  "message d'origine",
  'mensaje original',
  'messaggio originale',
  'oprindelig besked',
  'oorspronkelijk bericht',
]

/** Whether a line consists of one character, at least `count` times. */
const isRuleOf = (line: string, character: string, count: number) => line.length >= count && [...line].every((each) => each === character)

const isSeparator = (line: string) => {
  if (line.length > MAX_LINE || !line.startsWith('-') || !line.endsWith('-')) return false
  const words = line
    .replace(/^-{1,40}/, '')
    .replace(/-{1,40}$/, '')
    .trim()
    .toLowerCase()
  return SEPARATORS.includes(words)
}

/** Field names with which the head of an older mail begins, and which follow soon. */
const HEAD = ['from:', 'von:', 'de :', 'de:', 'da:', 'van:', 'от:']
const HEAD_NEXT = [
  'sent:',
  'to:',
  'subject:',
  'date:',
  'gesendet:',
  'an:',
  'betreff:',
  'datum:',
  'envoyé',
  'à :',
  'objet',
  'enviado',
  'para:',
  'asunto:',
  'inviato:',
  'a:',
  'oggetto:',
  'verzonden:',
  'aan:',
  'onderwerp:',
  'assunto:',
]

const startsWithOne = (line: string, starts: string[]) => {
  const lower = line
    .slice(0, 40)
    .replace(/^[\s*_]{0,10}/, '')
    .replace(/\*/g, '')
    .toLowerCase()
  return starts.some((start) => lower.startsWith(start))
}

/** Whether the head of an older mail begins here: a line `From:` and two other fields in the next four. */
const isHead = (lines: string[], at: number) =>
  startsWithOne(lines[at] ?? '', HEAD) && lines.slice(at + 1, at + 5).filter((line) => startsWithOne(line, HEAD_NEXT)).length >= 2

/** Beginnings of the last line that phones and programs add. */
const SENT_FROM = [
  'sent from my ',
  'sent from mail for ',
  'sent from outlook',
  'get outlook for ',
  'von meinem ',
  'gesendet von ',
  'envoyé de mon ',
  'envoyé depuis ',
  'enviado desde ',
  'inviato da ',
  'verzonden vanaf ',
  'verstuurd vanaf ',
  'sendt fra ',
]

/** Where the text that somebody wrote ends: at a signature, or at an older mail that follows. */
function endOf(lines: string[]): number {
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line === '-- ' || line === '--') return at
    const bare = line.trim()
    if (isSeparator(bare) || isHead(lines, at)) return at
    if (
      isRuleOf(bare, '_', 20) &&
      isHead(
        lines,
        lines.findIndex((next, i) => i > at && !isBlank(next)),
      )
    )
      return at
  }
  return lines.length
}

/** Where a quotation at the end begins, with the lines that introduce it; the number of lines if there is none. */
function quotationAtEnd(lines: string[]): number {
  let at = lines.length
  while (at > 0 && (isBlank(lines[at - 1] ?? '') || isQuoted(lines[at - 1] ?? ''))) at--
  if (!lines.slice(at).some(isQuoted)) return introductionAt(lines, at) ?? lines.length
  return introductionAt(lines, at) ?? at
}

/** Words with which lines begin that introduce a quotation. */
const STARTS = ['on ', 'am ', 'le ', 'el ', 'il ', 'em ', 'op ', 'den ', 'w dniu ', 'dnia ', '在']

/** Where the lines before this one introduce a quotation; null if they do not. */
function introductionAt(lines: string[], end: number): number | null {
  let found: number | null = null
  for (let start = end - 1; start >= Math.max(0, end - MAX_INTRODUCTION) && !isBlank(lines[start] ?? ''); start--) {
    if (!introduces(lines.slice(start, end).join(' '))) continue
    found ??= start
    if (startsWithOne(lines[start] ?? '', STARTS)) return start
  }
  return found
}

/**
 * What somebody has written in an answer to a mail: without the mail that is quoted below or above, and without a
 * signature (ML-624). Quotations between the lines stay. Takes time in proportion to the text.
 */
export function replyIn(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').replaceAll('\u00a0', ' ').split('\n')
  const own = lines.slice(0, endOf(lines))
  const kept = own.slice(0, quotationAtEnd(own))
  // an answer below what it quotes
  let start = 0
  while (start < kept.length && isBlank(kept[start] ?? '')) start++
  for (let count = 1; count <= MAX_INTRODUCTION && start + count < kept.length; count++)
    if (isQuoted(kept[start + count] ?? '') || (isBlank(kept[start + count] ?? '') && isQuoted(kept[start + count + 1] ?? ''))) {
      if (introduces(kept.slice(start, start + count).join(' '))) {
        start += count
        while (start < kept.length && (isBlank(kept[start] ?? '') || isQuoted(kept[start] ?? ''))) start++
      }
      break
    }
  const written = kept.slice(start)
  while (written.length > 0) {
    const last = written.at(-1) ?? ''
    if (!isBlank(last) && !(written.length > 1 && SENT_FROM.some((words) => last.trim().toLowerCase().startsWith(words)) && last.length <= 100)) break
    written.pop()
  }
  return written.join('\n').trim()
}
