import katex from 'katex'
import { inVariant } from './math-letters.js'

/** Longer formulas, such with more macros, nested deeper or of more MathML are shown as their source. */
const MAX_SOURCE = 4_096
const MAX_EXPANSIONS = 200
const MAX_DEPTH = 50
const MAX_MATHML = 65_536
/** Distances in a formula, in em, each: it is not to cover what is beside it. */
const MAX_EM = 20

const ELEMENTS = new Set(
  'math semantics annotation mrow mi mn mo mtext mspace ms msup msub msubsup munder mover munderover mmultiscripts mprescripts mfrac msqrt mroot mtable mtr mlabeledtr mtd mstyle mpadded mphantom menclose none'.split(
    ' ',
  ),
)
/** What `distance` is true of has a length. */
const ATTRIBUTES = new Map(
  'accent accentunder bevelled columnalign columnlines columnspacing depth display displaystyle encoding fence form height largeop linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator side stretchy symmetric voffset width'
    .split(' ')
    .map((name) => [name, /^(?:columnspacing|depth|height|linethickness|lspace|maxsize|minsize|rowspacing|rspace|voffset|width)$/.test(name)]),
)

/** MathML of a formula of TeX; null if it is none, or too much. Runs nothing, loads nothing, leads nowhere (MD-22). */
export function mathml(source: string, isBlock: boolean): string | null {
  if (source.length > MAX_SOURCE) return null
  try {
    const html = katex.renderToString(source, {
      displayMode: isBlock,
      output: 'mathml',
      maxExpand: MAX_EXPANSIONS,
      maxSize: MAX_EM,
      strict: 'ignore',
      trust: false,
    })
    // numbers of equations count those of the page
    const made = /^<span class="katex">(<math [\s\S]*<\/math>)<\/span>$/
      .exec(html)?.[1]
      ?.replace(/<mtd class ?="(?:mtr-glue|mml-eqn-num)"><\/mtd>/g, '')
    return made === undefined || made.length > MAX_MATHML ? null : checked(made)
  } catch {
    // it is no TeX, expands or nests without an end
    return null
  }
}

const isShort = (length: string) => length.split(' ').every((each) => !(Math.abs(Number.parseFloat(each)) > (each.endsWith('%') ? 100 : MAX_EM)))

interface Table {
  columns: string[]
  column: number
}

/**
 * What the library has made, if it is of the elements and attributes of the list alone. Browsers take neither the
 * alignment of cells from their table, which becomes a class, nor most variants of letters, which become those letters.
 */
function checked(made: string): string | null {
  const parts: string[] = []
  const tables: Table[] = []
  let [depth, from, variant] = [0, 0, '']
  for (const { 0: tag, 1: end, 2: name = '', 3: attributes = '', 4: empty, index } of made.matchAll(
    /<(\/?)([a-z]+)((?: [a-z]+="[^"<>]*")*)(\/?)>/g,
  )) {
    const text = made.slice(from, index)
    from = index + tag.length
    if (!ELEMENTS.has(name) || text.includes('<')) return null
    if (end) depth--
    else if (!empty) depth++
    if (depth > MAX_DEPTH) return null
    parts.push(inVariant(text, variant))
    variant = ''
    const kept: string[] = []
    let columns: string[] = []
    for (const [all, attribute = '', value = ''] of attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)) {
      if (attribute === 'columnalign') columns = value.split(' ')
      if (attribute === 'xmlns' || attribute === 'class' || attribute === 'columnalign') continue
      if (attribute === 'mathvariant' && value !== 'normal') {
        variant = value
        continue
      }
      const isLength = ATTRIBUTES.get(attribute)
      if (isLength === undefined || (isLength && !isShort(value))) return null
      kept.push(all)
    }
    if (name === 'mtable') end ? tables.pop() : tables.push({ columns, column: 0 })
    const table = tables.at(-1)
    if (table && name === 'mtr') table.column = 0
    if (table && name === 'mtd' && !end) {
      const align = table.columns[table.column++]
      if (align === 'left' || align === 'right') kept.push(` class="${align}"`)
    }
    parts.push(`<${end}${name}${kept.join('')}>${empty ? `</${name}>` : ''}`)
  }
  return from === made.length && depth === 0 ? parts.join('') : null
}
