/**
 * Characters that are not seen, or that change the order in which others are seen: with them a text may read otherwise
 * than a program reads it (WB-395).
 */

/** Controls but the tab, what renderers ignore (bidirectional controls, joiners, tags, selectors …), and odd ends of lines. */
const CANDIDATE = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u
const CANDIDATES = new RegExp(CANDIDATE, 'gu')
/** Letters of scripts that joiners and selectors shape. */
const AFTER_SHAPED =
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]$/u
const AFTER_EMOJI = /(?:\p{Extended_Pictographic}\ufe0f?|\p{Emoji_Modifier})$/u
/** A flag of a region, as far as it goes. */
const WITHIN_FLAG = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{0,6}$/u

/** Candidates of one line that are looked at; the others of a line with more are replaced. */
const MAX_OF_LINE = 1_000

const NAMES: Record<string, string> = {
  'U+0008': 'backspace',
  'U+001B': 'escape',
  'U+000D': 'carriage return',
  'U+00AD': 'soft hyphen',
  'U+061C': 'Arabic letter mark',
  'U+200B': 'zero width space',
  'U+200C': 'zero width non-joiner',
  'U+200D': 'zero width joiner',
  'U+200E': 'left-to-right mark',
  'U+200F': 'right-to-left mark',
  'U+202A': 'left-to-right embedding',
  'U+202B': 'right-to-left embedding',
  'U+202C': 'pop directional formatting',
  'U+202D': 'left-to-right override',
  'U+202E': 'right-to-left override',
  'U+2060': 'word joiner',
  'U+2066': 'left-to-right isolate',
  'U+2067': 'right-to-left isolate',
  'U+2068': 'first strong isolate',
  'U+2069': 'pop directional isolate',
  'U+3164': 'Hangul filler',
  'U+FEFF': 'zero width no-break space',
}

export interface HiddenCharacter {
  char: string
  /** Such as `U+202E`. */
  code: string
  name: string
}

/** Whether a line has such a character where no script or emoji needs it. */
export function hasHidden(line: string, isFirst = false): boolean {
  return CANDIDATE.test(line) && partsOfLine(line, isFirst).length > 1
}

/** The texts of a line and the hidden characters between them. The first line of a file may begin with a mark of its encoding. */
export function partsOfLine(line: string, isFirst = false): (string | HiddenCharacter)[] {
  const parts: (string | HiddenCharacter)[] = []
  let [from, seen] = [0, 0]
  for (const { 0: char, index } of line.matchAll(CANDIDATES)) {
    if (char === '\t' || (char === '\r' && index === line.length - 1) || (isFirst && index === 0 && char === '\ufeff')) continue
    if (++seen > MAX_OF_LINE) {
      parts.push(line.slice(from).replace(CANDIDATES, (other) => (other === '\t' ? other : '\ufffd')))
      return parts
    }
    const end = index + char.length
    if (isNeeded(line.slice(Math.max(0, index - 16), index), char, line.slice(end, end + 2))) continue
    const point = char.codePointAt(0) as number
    const code = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`
    parts.push(line.slice(from, index), { char, code, name: NAMES[code] ?? (/\p{Cc}/u.test(char) ? 'control character' : 'invisible character') })
    from = end
  }
  return [...parts, line.slice(from)]
}

/** Joiners and selectors within emoji and after letters of scripts that they shape. */
function isNeeded(before: string, char: string, after: string): boolean {
  const point = char.codePointAt(0) as number
  if (point === 0x200d && AFTER_EMOJI.test(before) && /^\p{Extended_Pictographic}/u.test(after)) return true
  if (point === 0x200c || point === 0x200d || (point >= 0x180b && point <= 0x180f)) return AFTER_SHAPED.test(before)
  if (point === 0xfe0f && /[\d#*]$/.test(before)) return after.startsWith('\u20e3')
  if (point === 0xfe0e || point === 0xfe0f) return /[\p{Extended_Pictographic}\p{sc=Han}]$/u.test(before)
  if ((point >= 0xfe00 && point <= 0xfe0d) || (point >= 0xe0100 && point <= 0xe01ef)) return /\p{sc=Han}$/u.test(before)
  return point >= 0xe0030 && point <= 0xe007f && WITHIN_FLAG.test(before)
}
