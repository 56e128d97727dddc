import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { type Probe, probesOf } from './support/regex-probes.js'

const root = fileURLToPath(new URL('../src', import.meta.url))

/** A regular expression of the source, and where it stands. */
interface Found {
  place: string
  pattern: RegExp
}

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.[jt]sx?$/.test(name))
  .map((name) => ({ name, source: ts.createSourceFile(name, readFileSync(join(root, name), 'utf8'), ts.ScriptTarget.Latest, true) }))

function everyNode(visit: (node: ts.Node, name: string) => void) {
  for (const { name, source } of sources) {
    const walk = (node: ts.Node) => {
      visit(node, name)
      ts.forEachChild(node, walk)
    }
    walk(source)
  }
}

/** The initialisers of constants, by name and file, and by name alone for those that are imported. */
const constants = new Map<string, ts.Expression>()
everyNode((node, name) => {
  if (!ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name) || !node.initializer) return
  constants.set(`${name} ${node.name.text}`, node.initializer)
  constants.set(node.name.text, node.initializer)
})

const literal = (node: ts.RegularExpressionLiteral) => {
  const end = node.text.lastIndexOf('/')
  return new RegExp(node.text.slice(1, end), node.text.slice(end + 1))
}

/** The text of an expression that consists of constants; null for any other. */
function textOf(node: ts.Node, name: string): string | null {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isRegularExpressionLiteral(node)) return literal(node).source
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'source') return textOf(node.expression, name)
  if (ts.isIdentifier(node)) {
    const initializer = constants.get(`${name} ${node.text}`) ?? constants.get(node.text)
    return initializer ? textOf(initializer, name) : null
  }
  if (!ts.isTemplateExpression(node)) return null
  const parts = node.templateSpans.map((span) => [textOf(span.expression, name), span.literal.text] as const)
  return parts.some(([value]) => value === null) ? null : node.head.text + parts.flat().join('')
}

/** All literals and all patterns made of constants; and the places of those that are made of something else. */
function findAll(): { patterns: Found[]; made: string[] } {
  const patterns: Found[] = []
  const made: string[] = []
  everyNode((node, name) => {
    if (ts.isRegularExpressionLiteral(node)) patterns.push({ place: `${name}: ${node.text}`, pattern: literal(node) })
    if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return
    if (node.expression.getText() !== 'RegExp') return
    const [source, flags] = node.arguments ?? []
    const text = source ? textOf(source, name) : null
    const place = `${name}: ${node.getText()}`
    if (text === null) made.push(place)
    else patterns.push({ place, pattern: new RegExp(text, flags && ts.isStringLiteralLike(flags) ? flags.text : '') })
  })
  return { patterns, made }
}

/** On 24 characters even a pattern that is exponential ends, on 1,000 one that is cubic; the steps keep the slow ones short. */
const LENGTHS = [20, 24, 500, 1_000, 3_000, 12_000, 30_000, 60_000]
const LIMIT_MS = 50

/** Patterns that are not linear, on text of our own. */
const ON_OUR_OWN_TEXT = new Set([
  // rules of access and addresses of routes, for the OpenAPI document
  'http/openapi/document.ts: /(project|group|issue|merge request|snippet|commit|wiki)[^:]*: ([a-z_]+)/',
  'http/openapi/parameters.ts: /:([a-z_]+)(?:\\([^)]*\\)+)?/g',
  // addresses of routes, for the calls that a test server records
  'testing/traffic/matching.ts: /(:[a-z_]+)\\([^/]*\\)/g',
])

/** CPU time of a search for all matches, in milliseconds. */
function cost(pattern: RegExp, text: string): number {
  const before = process.cpuUsage()
  text.replace(pattern, '')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Whether the pattern takes longer than it may, at any length; a collection of garbage does not do so three times. */
function exceeds(pattern: RegExp, { before, repeated, after }: Probe): boolean {
  return LENGTHS.some((length) => {
    const text = before + repeated.repeat(Math.ceil(length / repeated.length)) + after
    return [1, 2, 3].every(() => cost(pattern, text) > LIMIT_MS)
  })
}

describe('the regular expressions of the source', () => {
  const { patterns, made } = findAll()

  it('are literals or made of constants, except the patterns of our own documentation', () => {
    expect(patterns.length).toBeGreaterThan(300)
    // the marks of asynchronous parts, with a random text; the patterns of parameters, on the examples that the reference shows
    expect(made.map((each) => each.split(':')[0]).sort()).toEqual(['http/openapi/values.ts', 'web/fields.ts', 'web/page-part.tsx'])
  })

  it('take at most 50 ms on 60,000 repeated characters (SEC-67)', () => {
    const onTextOfOthers = patterns.filter(({ place }) => !ON_OUR_OWN_TEXT.has(place))
    const slow = onTextOfOthers.flatMap(({ place, pattern }) => {
      const probe = probesOf(pattern).find((each) => exceeds(pattern, each))
      return probe ? [`${place} on ${JSON.stringify(probe)}`] : []
    })
    expect(slow).toEqual([])
  })

  it.each([/^a +(\S.*?) *$/, /^(\w|\d)+$/, /<(?:a|b)*>.*<\/c>/, /^\/+|\/+$/])('would be found if they were not linear: %s', (pattern) => {
    expect(probesOf(pattern).some((each) => exceeds(pattern, each))).toBe(true)
  })
})
