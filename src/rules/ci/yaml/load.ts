import { type Document, isAlias, isMap, isNode, isPair, isScalar, isSeq, type Node, parseAllDocuments, type Scalar } from 'yaml'
import { TOO_LARGE } from '../includes/failures.js'
import { MAX_FILE_BYTES } from '../limits.js'
import { type Config, ConfigFault, Decimal, isConfig, Reference, TOO_BIG, type Value, weigh } from './values.js'

const OPTIONS = { version: '1.1', schema: 'failsafe', uniqueKeys: false, prettyErrors: false, logLevel: 'silent', merge: false } as const

/** The words of the original's parser, by the codes of this one. */
const FAULTS: Record<string, string> = {
  BLOCK_AS_IMPLICIT_KEY: 'mapping values are not allowed in this context',
  MULTILINE_IMPLICIT_KEY: 'mapping values are not allowed in this context',
  TAB_AS_INDENT: 'found character that cannot start any token while scanning for the next token',
  BAD_SCALAR_START: 'found character that cannot start any token while scanning for the next token',
  BAD_INDENT: 'did not find expected key while parsing a block mapping',
  MISSING_CHAR: 'could not find expected end of a value',
  UNEXPECTED_TOKEN: 'did not find expected key while parsing a block mapping',
}

/** A file with a header: `spec` in a document of its own, before the configuration. */
export interface LoadedFile {
  header: Config | null
  content: Config
}

/** Reads YAML 1.1 as the original does (CI-2); throws a `ConfigFault` for what is no configuration. */
export function loadYaml(text: string): LoadedFile {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new ConfigFault(TOO_LARGE)
  const documents = documentsOf(text)
  const [first, second] = documents.map((each) => rootOf(each))
  if (!isConfig(first)) throw new ConfigFault('Invalid configuration format')
  if (!first.has('spec') || documents.length === 1) {
    if (documents.length > 1) throw new ConfigFault('The parsed YAML has too many documents')
    return { header: null, content: first }
  }
  if (documents.length > 2) throw new ConfigFault('The parsed YAML has too many documents')
  if (!isConfig(second)) throw new ConfigFault('Invalid configuration format')
  return { header: first, content: second }
}

function documentsOf(text: string): Document[] {
  const documents = parseAllDocuments(text, OPTIONS) as Document[]
  for (const { errors } of documents) {
    const error = errors[0]
    if (!error) continue
    // the stack of the parser ends before a nesting that is not meant seriously
    if (error.message.startsWith('Maximum call stack')) throw new ConfigFault(TOO_BIG)
    const before = text.slice(0, error.pos[0]).split('\n')
    const words = FAULTS[error.code] ?? error.message
    throw new ConfigFault(`(<unknown>): ${words} at line ${before.length} column ${(before.at(-1)?.length ?? 0) + 1}`)
  }
  // markers without anything between them
  return documents.filter(({ contents }, at) => contents !== null || at === 0)
}

function rootOf(document: Document): Value {
  const anchors = new Map<string, Value>()
  const remember = (node: { anchor?: string | undefined }, value: Value) => {
    if (node.anchor !== undefined) anchors.set(node.anchor, value)
    return value
  }
  const read = (node: unknown): Value => {
    if (isAlias(node)) {
      const value = anchors.get(node.source)
      if (value === undefined) throw new ConfigFault(`Unknown alias: ${node.source}`)
      return value
    }
    if (isScalar(node)) return remember(node, scalarOf(node))
    if (isSeq(node)) {
      const values = node.items.map(read)
      if (node.tag !== '!reference') return remember(node, values)
      if (values.some((each) => typeof each !== 'string') || values.length === 0)
        throw new ConfigFault(`!reference ${JSON.stringify(node.items)} is not valid`)
      return remember(node, new Reference(values as string[]))
    }
    if (!isMap(node)) return null
    if (node.tag === '!reference') throw new ConfigFault('!reference is not valid: it takes a list')
    const map: Config = new Map()
    for (const pair of node.items) {
      if (!isPair(pair)) continue
      const key = keyOf(pair.key)
      const value = pair.value === null ? null : read(pair.value)
      if (key === '<<' && isPlain(pair.key)) mergeInto(map, value)
      else map.set(key, value)
    }
    return remember(node, map)
  }
  /** `<<` goes no deeper, and wins over what stands before it. */
  const mergeInto = (map: Config, value: Value) => {
    const maps = Array.isArray(value) ? value : [value]
    if (!maps.every(isConfig)) throw new ConfigFault('(<unknown>): a merge key takes a map or a list of maps')
    // the first of a list wins
    for (const each of maps.toReversed()) for (const [key, part] of each) map.set(key, part)
  }
  const value = read(document.contents)
  weigh(value)
  return value
}

const isPlain = (node: unknown) => isScalar(node) && node.type === 'PLAIN'

function keyOf(node: unknown): string {
  if (isScalar(node)) {
    const key = typeof node.value === 'string' ? node.value : String(node.source ?? '')
    // `:script` is a symbol of the original's language, and the same key (RX-5)
    return isPlain(node) && /^:[^:]/.test(key) ? key.slice(1) : key
  }
  throw new ConfigFault(`(<unknown>): a key must be a text${isNode(node) && (node as Node).range ? '' : ', not an alias'}`)
}

const INTEGER = /^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)$/
const FLOAT = /^[-+]?(?:[0-9][0-9_]*)?\.[0-9]*(?:[eE][+-][0-9]+)?$/
const WORDS = new Map<string, boolean | null>([
  ...['yes', 'true', 'on'].map((word) => [word, true] as const),
  ...['no', 'false', 'off'].map((word) => [word, false] as const),
  ...['null', '~', ''].map((word) => [word, null] as const),
])

/** What a plain scalar is in YAML 1.1, as the original's library has it: `on` and `yes` are true, `1e3` is a text. */
function scalarOf(node: Scalar): Value {
  const text = typeof node.value === 'string' ? node.value : ''
  if (node.tag === '!!str' || node.tag === 'tag:yaml.org,2002:str') return text
  // an empty value has no type of its own
  if (node.type !== 'PLAIN' && !(node.type === undefined && text === '')) return text
  if (text.length > 64) return text
  const word = WORDS.get(text.toLowerCase())
  if (word !== undefined) return word
  const digits = text.replaceAll('_', '')
  if (INTEGER.test(text)) return integerOf(digits)
  if (FLOAT.test(text) && /[0-9]/.test(text)) return new Decimal(Number(digits))
  return text
}

function integerOf(digits: string): number | bigint {
  const isNegative = digits.startsWith('-')
  const bare = digits.replace(/^[-+]/, '')
  const value = BigInt(/^0[0-7]+$/.test(bare) ? `0o${bare.slice(1)}` : bare || '0')
  const signed = isNegative ? -value : value
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed
}
