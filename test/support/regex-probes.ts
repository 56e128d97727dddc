/** Characters that probes repeat whatever the pattern, and those from which a class is represented. */
const GENERIC = ['a', '0', ' ', '\n', '/', '-', '.', '\\', '"', '<', 'é']
const REPRESENTATIVES = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), 'é', '\u00a0', '\u2028', '漢', '😀']
/** Representatives of one atom, and characters of one pattern. */
const MAX_ATOM_CHARS = 3
const MAX_PATTERN_CHARS = 24
/** A quantifier without a lower maximum is probed. */
const MANY = 100

type Node =
  | { kind: 'atom'; chars: string[] }
  | { kind: 'group'; choices: Node[][]; name: string; looksAround: boolean }
  | { kind: 'reference'; name: string }
  | { kind: 'repeat'; of: Node; min: number; max: number }

/** Where a quantifier starts to repeat: text that leads there, what it repeats, and text that ends a match. */
interface Place {
  before: string
  repeats: string[]
  after: string
}

const TOKEN =
  /\\(?:[pPu]\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|k<[^>]*>|c[a-z]|\d+|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|\((?:\?(?:<(?![=!])[^>]*>|<?[=!]|:))?|(?:[*+?]|\{\d+(?:,\d*)?\})\??|[\s\S]/giu

/** Parses a pattern: classes and escapes stay as they are written and are represented by characters that they match. */
function parse(pattern: RegExp): Node[][] {
  const tokens = pattern.source.match(TOKEN) ?? []
  const flags = pattern.flags.replace(/[gy]/g, '')
  let at = 0
  let groups = 0
  const atom = (token: string): Node => {
    const single = new RegExp(`^(?:${token})$`, flags)
    return { kind: 'atom', chars: REPRESENTATIVES.filter((char) => single.test(char)) }
  }
  const group = (opening: string): Node => {
    const [, named] = /^\(\?<(.+)>$/.exec(opening) ?? []
    const name = named ?? (opening === '(' ? String(++groups) : '')
    const choices = alternatives()
    at++ // the closing parenthesis
    return { kind: 'group', choices, name, looksAround: /[=!]$/.test(opening) && named === undefined }
  }
  const alternatives = (): Node[][] => {
    const choices: Node[][] = [[]]
    for (let token = tokens[at]; token !== undefined && token !== ')'; token = tokens[at]) {
      at++
      const sequence = choices.at(-1) as Node[]
      const [, backwards] = /^\\(?:k<(.*)>|[1-9]\d*)$/.exec(token) ?? []
      if (token === '|') choices.push([])
      else if (token.startsWith('(')) sequence.push(group(token))
      else if (/^(?:[*+?]|\{\d)/.test(token)) sequence.push({ kind: 'repeat', of: sequence.pop() as Node, ...bounds(token) })
      else if (/^\\[1-9k]/.test(token)) sequence.push({ kind: 'reference', name: backwards ?? token.slice(1) })
      else if (!/^(?:[\^$]|\\b)$/i.test(token)) sequence.push(atom(token))
    }
    return choices
  }
  return alternatives()
}

function bounds(quantifier: string): { min: number; max: number } {
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}/.exec(quantifier) ?? []
  if (least !== undefined) return { min: Number(least), max: most ? Number(most) : comma ? Number.POSITIVE_INFINITY : Number(least) }
  return { min: quantifier.startsWith('+') ? 1 : 0, max: quantifier.startsWith('?') ? 1 : Number.POSITIVE_INFINITY }
}

/** A text that the nodes match, or nearly so: assertions count for nothing. */
function sample(nodes: Node[], captured: Map<string, string>, choice = 0): string {
  return nodes
    .map((node) => {
      if (node.kind === 'atom') return node.chars[0] ?? ''
      if (node.kind === 'reference') return captured.get(node.name) ?? ''
      if (node.kind === 'repeat') return sample([node.of], captured, choice).repeat(Math.min(node.min, MANY))
      if (node.looksAround) return ''
      const text = sample(node.choices[choice % node.choices.length] ?? [], captured)
      captured.set(node.name, text)
      return text
    })
    .join('')
}

function placesIn(choices: Node[][], before = '', after = ''): Place[] {
  return choices.flatMap((nodes) =>
    nodes.flatMap((node, i) => {
      const captured = new Map<string, string>()
      const lead = before + sample(nodes.slice(0, i), captured)
      const rest = sample(nodes.slice(i + 1), captured) + after
      return placesOf(node, lead, rest)
    }),
  )
}

function placesOf(node: Node, before: string, after: string): Place[] {
  if (node.kind === 'group') return placesIn(node.choices, before, after)
  if (node.kind !== 'repeat') return []
  const inner = placesOf(node.of, before, after)
  if (node.max < MANY) return inner
  const { of } = node
  const repeats =
    of.kind === 'atom' ? of.chars.slice(0, MAX_ATOM_CHARS) : of.kind === 'group' ? of.choices.map((_, choice) => sample([of], new Map(), choice)) : []
  return [{ before, repeats: repeats.filter((text) => text !== ''), after }, ...inner]
}

const charsOf = (choices: Node[][]): string[] =>
  choices.flat().flatMap((node) => {
    if (node.kind === 'atom') return [...node.chars.slice(0, 1), ...node.chars.slice(-1)]
    if (node.kind === 'group') return charsOf(node.choices)
    return node.kind === 'repeat' ? charsOf([[node.of]]) : []
  })

/** A probe: one text repeated, within two others. */
export interface Probe {
  before: string
  repeated: string
  after: string
}

/**
 * Texts on which a pattern that is not linear takes its time: at its beginning each of its characters and common
 * ones, and at each place where it repeats something what it repeats there or elsewhere. None if it repeats nothing.
 */
export function probesOf(pattern: RegExp): Probe[] {
  const choices = parse(pattern)
  const places = placesIn(choices)
  if (places.length === 0) return []
  const repeats = places.flatMap((place) => place.repeats)
  const chars = [...new Set(charsOf(choices))].slice(0, MAX_PATTERN_CHARS)
  // a pattern that may match anywhere starts again at each of these
  const beginnings = places.flatMap(({ before }) => (before === '' ? [] : [before]))
  const anywhere = { before: '', repeats: [...chars, ...GENERIC, ...beginnings], after: '' }
  // what one choice takes at the beginning of a text, another one may meet behind it
  const behind = pattern.source.includes('^') ? [{ ...anywhere, before: '\0' }] : []
  const probes = [anywhere, ...behind, ...places].flatMap(({ before, repeats: own, after }) =>
    [...own, ...repeats].flatMap((repeated) => ['\0', '\n!', `${after}\0`].map((end) => ({ before, repeated, after: end }))),
  )
  return [...new Map(probes.map((probe) => [JSON.stringify(probe), probe])).values()]
}
