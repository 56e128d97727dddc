import type { Slices, Steps } from '../lib/async/slices.js'
import { withoutTrailing } from '../lib/text/without-trailing.js'

/** A range of a text, by offsets. */
interface Span {
  start: number
  end: number
}

/** A reference as written; existence and visibility are checked later. `project` is null if the text names none. */
export type Reference = Span &
  (
    | { kind: 'issue' | 'merge_request' | 'snippet'; project: string | null; number: number }
    /** A user or a group. */
    | { kind: 'user'; name: string }
    | { kind: 'label' | 'milestone'; project: string | null; name: string }
    | { kind: 'commit'; project: string | null; oid: string }
    /** An issue of another tracker, such as `PROJ-12` (SV-20). */
    | { kind: 'external'; name: string }
  )

export type IssueReference = Extract<Reference, { number: number }>
export type ExternalReference = Extract<Reference, { kind: 'external' }>

/**
 * The code in a text: fenced blocks, to the end of the text if unclosed, and inline code between equal runs of
 * backticks.
 */
export const codeSpans = (slices: Slices, text: string): Promise<Span[]> => slices.steps(() => spansOf(text))

function* spansOf(text: string): Steps<Span[]> {
  const spans: Span[] = []
  let fence: { start: number; mark: string; length: number } | null = null
  let paragraph = 0
  function* endParagraph(at: number): Steps<void> {
    if (at > paragraph) yield* inlineCode(text, paragraph, at, spans)
  }
  for (let start = 0, next = STEP_CHARACTERS; start < text.length; ) {
    if (start >= next) {
      next = start + STEP_CHARACTERS
      yield
    }
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline + 1
    const line = fenceOf(text, start, end)
    if (fence) {
      if (line && line.mark === fence.mark && line.length >= fence.length && line.bare) {
        spans.push({ start: fence.start, end })
        fence = null
        paragraph = end
      }
    } else if (line && (line.mark === '~' || !line.info.includes('`'))) {
      yield* endParagraph(start)
      fence = { start, mark: line.mark, length: line.length }
    } else if (isBlank(text, start, end)) {
      yield* endParagraph(start)
      paragraph = end
    }
    start = end
  }
  if (fence) spans.push({ start: fence.start, end: text.length })
  else yield* endParagraph(text.length)
  return spans
}

/** The fence that a line may open or close; null if it has none. */
function fenceOf(text: string, start: number, end: number) {
  let at = start
  while (at < end && at - start < 4 && text[at] === ' ') at++
  const mark = text[at]
  if (at - start > 3 || (mark !== '`' && mark !== '~')) return null
  const begin = at
  while (at < end && text[at] === mark) at++
  if (at - begin < 3) return null
  const info = text.slice(at, end)
  return { mark, length: at - begin, info, bare: info.trim() === '' }
}

function isBlank(text: string, start: number, end: number) {
  for (let at = start; at < end; at++) if (!/\s/.test(text[at] as string)) return false
  return true
}

const BACKTICK = 96

/**
 * Pairs each run of backticks with the next run of the same length; each length has a queue of its own, so that no run
 * is examined twice.
 */
function* inlineCode(text: string, from: number, to: number, spans: Span[]): Steps<void> {
  const runs: Span[] = []
  for (let at = from; at < to; at++) {
    if ((at - from) % STEP_CHARACTERS === STEP_CHARACTERS - 1) yield
    if (text.charCodeAt(at) !== BACKTICK) continue
    const start = at
    while (at < to && text.charCodeAt(at) === BACKTICK) at++
    runs.push({ start, end: at })
  }
  const runsByLength = new Map<number, { list: number[]; next: number }>()
  for (const [i, { start, end }] of runs.entries()) {
    if (i % STEP_CHARACTERS === STEP_CHARACTERS - 1) yield
    const known = runsByLength.get(end - start)
    if (known) known.list.push(i)
    else runsByLength.set(end - start, { list: [i], next: 0 })
  }
  for (let i = 0, steps = 0; i < runs.length; i++) {
    if (++steps % STEP_CHARACTERS === 0) yield
    const run = runs[i] as Span
    const queue = runsByLength.get(run.end - run.start) as { list: number[]; next: number }
    while ((queue.list[queue.next] ?? Number.POSITIVE_INFINITY) <= i) queue.next++
    const close = queue.list[queue.next]
    if (close === undefined) continue
    spans.push({ start: run.start, end: (runs[close] as Span).end })
    i = close
  }
}

const MAX_PATH = 1_024
const MAX_NAME = 255
const MAX_NUMBER = 2_147_483_647

const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}_]/u.test(char)
/** Characters of project paths and usernames. */
const isPathCode = (code: number) =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 45 && code <= 57) /* - . / 0-9 */ || code === 95
const isDigit = (code: number) => code >= 48 && code <= 57
const isHex = (code: number) => isDigit(code) || (code >= 97 && code <= 102)
const isNameChar = (char: string) => /[\p{L}\p{N}_:.?&-]/u.test(char)
const isProjectPath = (path: string) => path.length <= MAX_PATH && /^[A-Za-z0-9_.][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_.][A-Za-z0-9_.-]*)*$/.test(path)

const NUMBERED: Record<string, IssueReference['kind']> = { '#': 'issue', '!': 'merge_request', $: 'snippet' }
const SIGNS = new Set('#!$@~%')
const PAGE_KINDS: Record<string, IssueReference['kind']> = { issues: 'issue', merge_requests: 'merge_request', snippets: 'snippet' }

/** Characters examined before yielding to the event loop (SEC-145). */
const STEP_CHARACTERS = 8_192
/** Regular expression matches examined before yielding. */
const STEP_MATCHES = 2_000

/**
 * All references in a text outside of code (IS-23), in order. Never throws, takes linear time, and yields regularly.
 * `base` is the URL of the service, whose page URLs are references too.
 */
export function referencesIn(slices: Slices, text: string, base?: string): Promise<Reference[]> {
  return slices.steps(function* () {
    return yield* referencesBetween(text, yield* spansOf(text), base)
  })
}

/** The references in a text that has no code, at once. */
export const referencesInPlainText = (text: string): Reference[] => atOnce(referencesBetween(text, [], undefined))

function atOnce<T>(running: Steps<T>): T {
  for (;;) {
    const step = running.next()
    if (step.done) return step.value
  }
}

/** A name for a reference: what it refers to, in the words of the text. */
export const nameOfReference = (reference: Reference): string => {
  const project = 'project' in reference ? (reference.project ?? '') : ''
  const what = 'number' in reference ? reference.number : 'oid' in reference ? reference.oid : reference.name
  return `${reference.kind} ${project} ${what}`
}

function* referencesBetween(text: string, code: Span[], base: string | undefined): Steps<Reference[]> {
  const found: Reference[] = []
  let next = 0
  /** The start of the run of path characters before `at`. */
  let word = 0
  /** The character before that run. */
  let before: string | undefined
  let at = 0
  const jump = (to: number) => {
    at = to
    word = to
    before = text[to - 1]
  }
  let pause = STEP_CHARACTERS
  while (at < text.length) {
    if (at >= pause) {
      pause = at + STEP_CHARACTERS
      yield
    }
    const span = code[next]
    if (span && at >= span.start) {
      next++
      if (at < span.end) jump(span.end)
      continue
    }
    const charCode = text.charCodeAt(at)
    if (isPathCode(charCode)) {
      at++
      const hash =
        at - word === 40 &&
        !(at < text.length && (isPathCode(text.charCodeAt(at)) || isWord(text[at]) || SIGNS.has(text[at] as string))) &&
        !isWord(before)
      if (hash && isOid(text, word)) found.push({ kind: 'commit', project: null, oid: text.slice(word, at), start: word, end: at })
      const key = at - word <= MAX_KEY && !isWord(before) ? keyBefore(text, word, at) : null
      if (key) found.push({ kind: 'external', name: key, start: word, end: word + key.length })
      continue
    }
    const char = text[at] as string
    if (char === ':' && text.startsWith('://', at) && isHttp(text, word, at) && !isWord(before)) {
      const end = endOfUrl(text, at, span?.start ?? text.length)
      const reference = base === undefined ? null : parsePageUrl(text, word, end, base)
      if (reference) found.push(reference)
      jump(end)
      continue
    }
    if (char === '\\') {
      jump(Math.min(at + 2, text.length))
      continue
    }
    const reference = isWord(before) || before === '&' || before === '\\' ? null : parseSigil(text, word, at, span?.start ?? text.length)
    if (reference) found.push(reference)
    jump(reference?.end ?? at + 1)
  }
  return found
}

/** The longest run of characters that may be a key: itself, and a few dots after it. */
const MAX_KEY = 48
const KEY = /^[A-Z][A-Z0-9_]{0,31}-[0-9]{1,10}$/

/** The key of an issue elsewhere, if the run of path characters that ends at `at` is one. */
function keyBefore(text: string, start: number, at: number): string | null {
  const next = text.charCodeAt(at)
  if (at < text.length && (isPathCode(next) || isWord(text[at]) || SIGNS.has(text[at] as string))) return null
  const run = withoutTrailing(text.slice(start, at), '.')
  return KEY.test(run) ? run : null
}

const isHttp = (text: string, start: number, end: number) =>
  (end - start === 4 && text.startsWith('http', start)) || (end - start === 5 && text.startsWith('https', start))

function isOid(text: string, start: number) {
  for (let i = start; i < start + 40; i++) if (!isHex(text.charCodeAt(i))) return false
  return true
}

/** Parses the reference whose sigil is at `at`, after the path that starts at `word`; code starts at `limit`. */
function parseSigil(text: string, word: number, at: number, limit: number): Reference | null {
  const char = text[at] as string
  const kind = NUMBERED[char]
  if (!kind && char !== '@' && char !== '~' && char !== '%') return null
  if (at - word > MAX_PATH) return null
  const path = text.slice(word, at)
  if (path !== '' && !isProjectPath(path)) return null
  const project = path === '' ? null : path
  if (kind) {
    const end = endOfNumber(text, at + 1)
    const number = Number(text.slice(at + 1, end))
    if (end === at + 1 || end - at > 11 || number < 1 || number > MAX_NUMBER || isWord(text[end])) return null
    return { kind, project, number, start: word, end }
  }
  if (char === '@') return project === null ? mention(text, at) : commitOf(text, word, at, project)
  return named(text, word, at, limit, { project, kind: char === '~' ? 'label' : 'milestone' })
}

function endOfNumber(text: string, from: number) {
  let end = from
  while (end < text.length && isDigit(text.charCodeAt(end))) end++
  return end
}

function commitOf(text: string, start: number, at: number, project: string): Reference | null {
  const end = at + 41
  if (end > text.length || !isOid(text, at + 1) || isWord(text[end])) return null
  return { kind: 'commit', project, oid: text.slice(at + 1, end), start, end }
}

function mention(text: string, at: number): Reference | null {
  let end = at + 1
  while (end < text.length && isPathCode(text.charCodeAt(end))) end++
  const after = end
  while (end > at + 1 && /[./]/.test(text[end - 1] as string)) end--
  const name = text.slice(at + 1, end)
  if (!isProjectPath(name) || (end === after && isWord(text[end]))) return null
  return { kind: 'user', name, start: at, end }
}

function named(
  text: string,
  start: number,
  at: number,
  limit: number,
  { project, kind }: { project: string | null; kind: 'label' | 'milestone' },
): Reference | null {
  if (text[at + 1] === '"') {
    for (let end = at + 2; end < limit && end - at <= MAX_NAME + 2; end++) {
      if (text[end] === '\n') return null
      if (text[end] === '"') return end === at + 2 ? null : { kind, project, name: text.slice(at + 2, end), start, end: end + 1 }
    }
    return null
  }
  let end = at + 1
  while (end < text.length) {
    const char = String.fromCodePoint(text.codePointAt(end) as number)
    if (!isNameChar(char)) break
    end += char.length
  }
  while (end > at + 1 && /[:.?&]/.test(text[end - 1] as string)) end--
  if (end === at + 1 || end - at > MAX_NAME + 1 || !isWord(text[at + 1]) === !/[\ud800-\udbff]/.test(text[at + 1] as string)) return null
  return { kind, project, name: text.slice(at + 1, end), start, end }
}

function endOfUrl(text: string, from: number, limit: number) {
  let end = from
  while (end < limit && !/[\s<>"'`]/.test(text[end] as string)) end++
  while (end > from + 3 && /[.,;:!?)\]]/.test(text[end - 1] as string)) end--
  return end
}

/** Parses the URL of a page of this service, such as `base/group/project/issues/1`. */
function parsePageUrl(text: string, start: number, end: number, base: string): Reference | null {
  if (end - start > base.length + 2 * MAX_PATH || !text.startsWith(`${base}/`, start)) return null
  const [bare = ''] = text.slice(start + base.length + 1, end).split(/[?#]/, 1)
  const parts = bare.split('/')
  const number = parts.pop() ?? ''
  const kind = PAGE_KINDS[parts.pop() ?? '']
  if (parts.at(-1) === '-') parts.pop()
  const project = parts.join('/')
  if (!kind || !/^[1-9]\d{0,9}$/.test(number) || Number(number) > MAX_NUMBER || parts.length < 2 || !isProjectPath(project)) return null
  return { kind, project, number: Number(number), start, end }
}

const CLOSING = new Set(
  ['close closes closed closing', 'fix fixes fixed fixing', 'resolve resolves resolved resolving', 'implement implements implemented implementing']
    .join(' ')
    .split(' ')
    .flatMap((word) => [word, (word[0] as string).toUpperCase() + word.slice(1)]),
)

/** The issues that a text closes (MR-83, IS-22), in order. Code does not count. */
export function closingReferences(slices: Slices, text: string, base?: string): Promise<IssueReference[]> {
  return slices.steps(function* () {
    const code = yield* spansOf(text)
    const issues = new Map<number, IssueReference>()
    for (const reference of yield* referencesBetween(text, code, base)) if (reference.kind === 'issue') issues.set(reference.start, reference)
    return yield* closedReferences(text, code, issues)
  })
}

/** The issues of another tracker that a text closes (SV-21), in order. Code does not count. */
export const closingKeys = (slices: Slices, text: string): Promise<ExternalReference[]> => slices.steps(() => closedKeys(text))

/** The same for a short text, at once. */
export const closingKeysOfShortText = (text: string): ExternalReference[] => atOnce(closedKeys(text))

function* closedKeys(text: string): Steps<ExternalReference[]> {
  const code = yield* spansOf(text)
  const keys = new Map<number, ExternalReference>()
  for (const reference of yield* referencesBetween(text, code, undefined)) if (reference.kind === 'external') keys.set(reference.start, reference)
  return yield* closedReferences(text, code, keys)
}

/** The references that follow closing words. */
function* closedReferences<Named extends Span>(text: string, code: Span[], named: Map<number, Named>): Steps<Named[]> {
  if (named.size === 0) return []
  const closedReferences: Named[] = []
  let next = 0
  let span = 0
  let steps = 0
  for (const match of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
    if (++steps % STEP_MATCHES === 0) yield
    const start = match.index
    if (start < next || !CLOSING.has(match[0])) continue
    while (span < code.length && (code[span] as Span).end <= start) span++
    if (span < code.length && start >= (code[span] as Span).start) continue
    const end = start + match[0].length
    const after = text[end] === ':' ? end + 1 : end
    let at = skipSpace(text, after)
    if (at === after) continue
    for (;;) {
      if (++steps % STEP_MATCHES === 0) yield
      const reference = named.get(skipNoun(text, at))
      if (!reference) break
      closedReferences.push(reference)
      next = reference.end
      const following = skipSeparator(text, reference.end)
      if (following === null) break
      at = following
    }
  }
  return closedReferences
}

function skipSpace(text: string, from: number) {
  let at = from
  while (at < text.length && /\s/.test(text[at] as string)) at++
  return at
}

/** The position after `issue ` or `issues `, if present. */
function skipNoun(text: string, at: number) {
  if (!text.startsWith('issue', at)) return at
  const end = text[at + 5] === 's' ? at + 6 : at + 5
  const after = skipSpace(text, end)
  return after === end ? at : after
}

/** The position after a comma, an `and`, or both; null if the list ends. */
function skipSeparator(text: string, from: number): number | null {
  const comma = skipSpace(text, from)
  const at = text[comma] === ',' ? skipSpace(text, comma + 1) : comma
  if (text.startsWith('and', at) && at > from) {
    const after = skipSpace(text, at + 3)
    if (after > at + 3) return after
  }
  return text[comma] === ',' ? at : null
}

/** Counts task list items outside of code, and how many are checked. */
export function tasksIn(slices: Slices, text: string): Promise<{ count: number; completed: number }> {
  return slices.steps(() => tasksOf(text))
}

function* tasksOf(text: string): Steps<{ count: number; completed: number }> {
  const code = yield* spansOf(text)
  let steps = 0
  const tasks = { count: 0, completed: 0 }
  let next = 0
  for (const match of text.matchAll(TASK)) {
    if (++steps % STEP_MATCHES === 0) yield
    while (next < code.length && (code[next] as Span).end <= match.index) next++
    if (next < code.length && match.index >= (code[next] as Span).start) continue
    tasks.count++
    if (match[1] !== ' ') tasks.completed++
  }
  return tasks
}

/** The text with its task of this number, from 0, checked or not; null if there is none. */
export const withTask = (slices: Slices, text: string, number: number, checked: boolean): Promise<string | null> =>
  slices.steps(function* () {
    const code = yield* spansOf(text)
    let [steps, next, task] = [0, 0, 0]
    for (const { 0: found, index } of text.matchAll(TASK)) {
      if (++steps % STEP_MATCHES === 0) yield
      while (next < code.length && (code[next] as Span).end <= index) next++
      if (next < code.length && index >= (code[next] as Span).start) continue
      if (task++ !== number) continue
      const mark = index + found.length - 2
      return `${text.slice(0, mark)}${checked ? 'x' : ' '}${text.slice(mark + 1)}`
    }
    return null
  })

const TASK = /^[ \t]{0,200}(?:>[ \t]{0,8}){0,8}(?:[-*+]|\d{1,9}[.)])[ \t]{1,8}\[([ xX])\](?=\s|$)/gm

/** Whether two texts differ only in the check marks of their tasks. */
export const sameButForTicks = async (slices: Slices, a: string, b: string): Promise<boolean> =>
  a === b || (a.length === b.length && (await withoutTicks(slices, a)) === (await withoutTicks(slices, b)))

/** The text with all tasks unchecked. */
export const withoutTicks = (slices: Slices, text: string): Promise<string> =>
  slices.steps(function* () {
    const parts: string[] = []
    let from = 0
    let steps = 0
    for (const { 0: task, index } of text.matchAll(TASK)) {
      if (++steps % STEP_MATCHES === 0) yield
      const box = index + task.length - 3
      parts.push(text.slice(from, box), '[ ]')
      from = box + 3
    }
    return [...parts, text.slice(from)].join('')
  })
