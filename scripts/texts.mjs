import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'

/** Attributes of components and elements, and properties of records, that are shown as text. */
const SHOWN = new Set(
  'label title placeholder aria-label heading summary hint empty alt legend notice alert description advice columns none caption'.split(' '),
)
/** Elements whose content is for programs, or typed as it stands. */
const AS_IT_STANDS = new Set(['code', 'kbd', 'pre', 'samp'])
/** Files whose texts no page shows by themselves. */
const NOT_READ = /\/(language|assets|diagrams|editor)\/[^/]+$|\/icons\.ts$/
const WORD = /\p{L}{2}/u
/** Texts that are data, or the same in every language. */
const DATA = /^(UTC|\.gitignore for|Closes #|Draft:)|%\{/

const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesBelow(path) : /\.tsx?$/.test(path) ? [path] : []
  })

const literal = (node) => (ts.isStringLiteralLike(node) ? [node.text] : [])

/** The literal texts that an expression may be. */
function textsOf(node) {
  if (ts.isStringLiteralLike(node)) return [node.text]
  if (ts.isTemplateExpression(node)) return [node.head.text, ...node.templateSpans.map((span) => span.literal.text)]
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)]
  if (ts.isBinaryExpression(node)) return textsOf(node.right)
  if (ts.isJsxExpression(node)) return node.expression ? textsOf(node.expression) : []
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return textsOf(node.expression)
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(textsOf)
  return []
}

const isAsItStands = (node) => {
  for (let at = node.parent; at; at = at.parent) if (ts.isJsxElement(at) && AS_IT_STANDS.has(at.openingElement.tagName.getText())) return true
  return false
}

/** The texts of pages that are translated, by their English, and those that are not. */
function readPages(root) {
  const [texts, faults] = [new Map(), []]
  for (const path of filesBelow(join(root, 'src/web'))) {
    const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
    const place = (node) => `${relative(root, path)}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    const use = (node, key, one) => texts.has(key) || texts.set(key, { place: place(node), one })
    const refuse = (node, found) => {
      for (const text of found)
        if (WORD.test(text) && !DATA.test(text.trim())) faults.push(`${place(node)} not translated: ${text.trim().slice(0, 80)}`)
    }
    const isRead = !NOT_READ.test(path)
    const visit = (node) => {
      if (ts.isCallExpression(node)) {
        const [first, second, third] = node.arguments
        const name = node.expression.getText()
        if ((name === 't' || name === 'text') && first) for (const key of textsOf(first)) use(node, key)
        if (name === 'plural' && third) for (const key of literal(third)) use(node, key, literal(second)[0])
      }
      if (ts.isJsxSelfClosingElement(node) && node.tagName.getText() === 'Phrase')
        for (const attribute of node.attributes.properties)
          if (attribute.name?.getText() === 'text' && attribute.initializer) for (const key of textsOf(attribute.initializer)) use(node, key)
      if (ts.isVariableDeclaration(node) && node.name.getText() === 'SERVICE_TEXTS') for (const key of textsOf(node.initializer)) use(node, key)
      if (isRead && ts.isJsxText(node) && !isAsItStands(node)) refuse(node, [node.text])
      if (isRead && ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent) && !isAsItStands(node)) refuse(node, textsOf(node))
      if (isRead && (ts.isJsxAttribute(node) || ts.isPropertyAssignment(node)) && node.initializer)
        if (SHOWN.has(node.name.getText().replace(/'/g, ''))) refuse(node, textsOf(node.initializer))
      ts.forEachChild(node, visit)
    }
    visit(file)
  }
  return { texts, faults }
}

const placesOf = (text) => [...new Set(text.match(/\{\w+\}/g))].sort().join(' ')
const edgesOf = (text) => [/^\s/.test(text), /\s$/.test(text)].join()

/** Whether a translation has the places of its text, and is a text for each number where that is. */
function faultOf(key, one, found) {
  if (one === undefined) {
    if (typeof found !== 'string' || found === '') return 'is no text'
    if (placesOf(key) !== placesOf(found)) return `has the places ${placesOf(found) || 'none'}, not ${placesOf(key) || 'none'}`
    return edgesOf(key) === edgesOf(found) || /^[;:,!?]/.test(key) ? null : 'begins or ends with a space, or does not'
  }
  if (typeof found !== 'object' || typeof found.one !== 'string' || typeof found.other !== 'string') return 'has no texts for one and others'
  const known = new Set([...one.matchAll(/\{\w+\}/g), ...key.matchAll(/\{\w+\}/g)].map(([each]) => each).concat('{count}'))
  const others = Object.values(found).flatMap((text) => text.match(/\{\w+\}/g) ?? [])
  return others.every((each) => known.has(each)) ? null : 'has other places'
}

/** The texts of all pages: what is shown without a translation, and what a catalogue lacks, has for nothing, or has otherwise (WB-805). */
export function checkTexts(root) {
  const { texts, faults } = readPages(root)
  const folder = join(root, 'src/web/language')
  const catalogues = readdirSync(folder).filter((name) => name.endsWith('.json'))
  for (const name of catalogues) {
    const catalogue = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    for (const [key, { place, one }] of texts) {
      if (!Object.hasOwn(catalogue, key)) faults.push(`${place} ${name} has no translation of: ${key}`)
      else {
        const fault = faultOf(key, one, catalogue[key])
        if (fault) faults.push(`${place} ${name}: the translation of "${key}" ${fault}`)
      }
    }
    for (const key of Object.keys(catalogue)) if (!texts.has(key)) faults.push(`src/web/language/${name} no page shows: ${key}`)
  }
  return { texts: texts.size, catalogues: catalogues.length, faults }
}
