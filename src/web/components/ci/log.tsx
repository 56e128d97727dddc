import { AnsiUp } from 'ansi_up'
import type { Slices } from '../../../lib/async/slices.js'
import { inChunks, PagePart } from '../../page-part.js'
import { LogText } from '../markup.js'
import { spanText } from './span.js'

/** Bytes of the end of a log that its page shows. */
export const SHOWN_BYTES = 500_000
/** Lines of them. */
const SHOWN_LINES = 10_000
const MAX_DEPTH = 10
const LINES_AT_ONCE = 500

interface LogLine {
  number: number
  html: string
}

interface LogSection {
  /** Its own number, as several may have one name. */
  id: number
  name: string
  title: LogLine | null
  isOpen: boolean
  begin: number
  /** Null while it goes on. */
  seconds: number | null
  items: LogItem[]
}

type LogItem = LogLine | LogSection

export interface Log {
  items: LogItem[]
  /** What comes before is left out. */
  isCut: boolean
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what terminals are told
const SECTION = /section_(start|end):(\d{1,12}):([\w.-]{1,128})(\[[^\]\r\n]{0,256}\])?\r(?:\x1b\[0K)?/g
/** Colours and weights, of a bounded number at once; the reader of colours waits for the end of what it does not know. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: what terminals are told
const STYLE = /^\x1b\[[\d;]{0,64}m$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: what terminals are told
const ESCAPE = /\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[^[\]]?/g
/** No text has these, and terminals show nothing for them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: what terminals are told
const CONTROLS = /[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]/g

/** What a terminal shows of a line: what follows the last return to its beginning, without moves of the cursor. */
function shownOf(line: string): string {
  const pieces = line.split('\r').map((piece) => piece.replace(ESCAPE, (sequence) => (STYLE.test(sequence) ? sequence : '')).replace(CONTROLS, ''))
  return pieces.findLast((piece) => piece.replace(ESCAPE, '') !== '') ?? pieces.join('')
}

const COLORS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

/** The named colour that is nearest to one of 24 bits, as the page has no styles of its own. */
function nameOf(rgb: number[]): string {
  const [low, high] = [Math.min(...rgb), Math.max(...rgb)]
  if (high - low < 48) return high < 96 ? 'black' : high < 192 ? 'bright-black' : 'white'
  const bits = rgb.reduce((sum, value, i) => sum + (value > (low + high) / 2 ? 1 << i : 0), 0)
  return COLORS[bits] as string
}

const WEIGHTS: Record<string, string> = {
  'font-weight:bold': 'ansi-bold',
  'opacity:0.7': 'ansi-faint',
  'font-style:italic': 'ansi-italic',
  'text-decoration:underline': 'ansi-underline',
}

/** Classes in place of the styles that the reader of colours writes; texts have no `<` any more. */
const withClasses = (html: string) =>
  html.replace(/<span( style="([^"]*)")?( class="([^"]*)")?>/g, (_, _style, styles = '', _class, classes = '') => {
    const named = (styles as string).split(';').flatMap((style) => {
      const [, ground, rgb] = /^(background-)?color:rgb\(([\d,]+)\)$/.exec(style) ?? []
      if (rgb) return `ansi-${nameOf(rgb.split(',').map(Number))}-${ground ? 'bg' : 'fg'}`
      return WEIGHTS[style] ?? []
    })
    return `<span class="${[...named, ...(classes ? [classes] : [])].join(' ')}">`
  })

/** Reads the end of a log: colours become classes, and sections nest (WB-701). */
export async function readLog(slices: Slices, bytes: Buffer, isCut: boolean): Promise<Log> {
  const text = bytes.toString('utf8')
  const from = isCut ? text.indexOf('\n') + 1 : 0
  const all = text.slice(from).split('\n')
  if (all.at(-1) === '') all.pop()
  const ansi = new AnsiUp()
  ansi.use_classes = true
  const root: LogItem[] = []
  const open: LogSection[] = []
  let number = 0
  let sections = 0

  const read = (line: string) => {
    const started: LogSection[] = []
    const rest = line.includes('section_')
      ? line.replace(SECTION, (_, which: string, time: string, name: string, options = '') => {
          const here = open.findLastIndex((one) => one.name === name)
          if (which === 'end') {
            if (here < 0) return ''
            const ended = open[here] as LogSection
            ended.seconds = Math.max(0, Number(time) - ended.begin)
            open.length = here
          } else if (open.length < MAX_DEPTH) {
            const isOpen = !options.includes('collapsed=true')
            const section: LogSection = { id: ++sections, name, title: null, isOpen, begin: Number(time), seconds: null, items: [] }
            ;(open.at(-1)?.items ?? root).push(section)
            open.push(section)
            started.push(section)
          }
          return ''
        })
      : line
    const shown = shownOf(rest)
    if (rest !== line && shown.replace(ESCAPE, '') === '') return
    const made = { number: ++number, html: withClasses(ansi.ansi_to_html(shown)) }
    const title = started.at(-1)
    if (title) title.title = made
    else (open.at(-1)?.items ?? root).push(made)
  }
  for (const lines of inChunks(all.slice(-SHOWN_LINES), LINES_AT_ONCE)) await slices.run(() => lines.forEach(read))
  return { items: root, isCut: isCut || all.length > SHOWN_LINES }
}

/** `isTitle`: it opens and closes a section, and so cannot have a link. */
const Line = ({ line: { number, html }, isTitle = false }: { line: LogLine; isTitle?: boolean }) => (
  <div class="log-line" id={`L${number}`}>
    {isTitle ? <b>{number}</b> : <a href={`#L${number}`}>{number}</a>}
    <LogText html={html} />
  </div>
)

const Section = ({ section: { id, name, title, isOpen, seconds, items } }: { section: LogSection }) => (
  <details class="section" id={`section-${id}`} open={isOpen}>
    <summary>
      {title ? <Line line={title} isTitle /> : <div class="log-line">{name.replaceAll('_', ' ')}</div>}
      {seconds !== null && <span class="dim">{spanText(seconds)}</span>}
    </summary>
    <Items items={items} />
  </details>
)

const Items = ({ items }: { items: LogItem[] }) => (
  <>
    {inChunks(items, LINES_AT_ONCE).map((chunk, i) => (
      <PagePart key={i}>
        {chunk.map((item) => ('items' in item ? <Section key={`s${item.id}`} section={item} /> : <Line key={item.number} line={item} />))}
      </PagePart>
    ))}
  </>
)

/** The lines of a log, each with an anchor. */
export const LogLines = ({ log }: { log: Log }) => (
  <div class="log" role="log">
    <Items items={log.items} />
  </div>
)

const linesOf = (items: LogItem[]): LogLine[] =>
  items.flatMap((item) => ('items' in item ? [...(item.title ? [item.title] : []), ...linesOf(item.items)] : [item]))

/** The last lines of a log, as HTML. */
export async function endOfLog(slices: Slices, bytes: Buffer, isCut: boolean, count: number): Promise<string[]> {
  const { items } = await readLog(slices, bytes, isCut)
  return linesOf(items)
    .slice(-count)
    .map(({ html }) => html)
}

/** The last lines of a log, without numbers. */
export const LogEnd = ({ lines }: { lines: string[] }) => (
  <div class="log">
    {lines.map((html, i) => (
      <div class="log-line" key={i}>
        <LogText html={html} />
      </div>
    ))}
  </div>
)
