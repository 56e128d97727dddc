import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const SETTINGS = 'docs/settings.md'
const LIST = 'test/settings.txt'
/** Tests of stored values in general, which see no effect. */
const GENERAL = new Set(['test/settings-table.test.ts', 'test/routes/settings/index.test.ts', 'test/access/secrets.test.ts'])
/** Settings that may be without effect; one more needs a decision. */
const MOST_STORED_ONLY = 9

/** The settings, and whether each has an effect. */
function readSettings(root) {
  const rows = readFileSync(join(root, SETTINGS), 'utf8').matchAll(/^\| `(\w+)` \| .* \| (.+) \|$/gm)
  return new Map([...rows].map(([, name, effect]) => [name, !effect.startsWith('stored only')]))
}

/** The tests of a file: title → text. Those that are skipped are left out. */
function testsOf(root, path) {
  const tests = new Map()
  const visit = (node) => {
    const called = ts.isCallExpression(node) && node.expression.getText()
    const [title] = called ? node.arguments : []
    if (called && /^it(\.each\b|$)/.test(called) && title && ts.isStringLiteralLike(title)) tests.set(title.text, node.getText())
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true))
  return tests
}

function faultOf(root, { setting, path, title }, files) {
  if (GENERAL.has(path)) return `${path} is about stored values, not about the effect of ${setting}`
  try {
    files[path] ??= { tests: testsOf(root, path), text: readFileSync(join(root, path), 'utf8') }
  } catch {
    return `${path} does not exist`
  }
  const { tests, text } = files[path]
  const test = tests.get(title)
  if (test === undefined) return `${path} has no test "${title}"`
  if (!new RegExp(`\\b${setting}\\b`).test(text)) return `${path} does not name ${setting}`
  return /\bexpect\b/.test(test) ? null : `the test "${title}" expects nothing`
}

/** Proves that a test names each setting that has an effect, as `test/settings.txt` says: `setting → file: title`. */
export function checkSettings(root) {
  const settings = readSettings(root)
  const lines = readFileSync(join(root, LIST), 'utf8').split('\n').filter(Boolean)
  const faults = []
  const listed = new Set()
  const files = {}
  for (const line of lines) {
    const [, setting, path, title] = /^(\w+) → (\S+): (.+)$/.exec(line) ?? []
    if (setting === undefined) faults.push(`${LIST}: not of the form "setting → file: title": ${line}`)
    else if (listed.has(setting)) faults.push(`${LIST} has ${setting} twice`)
    else if (settings.get(setting) !== true)
      faults.push(`${LIST} has ${setting}, which ${settings.has(setting) ? 'has no effect' : 'does not exist'}`)
    else {
      const fault = faultOf(root, { setting, path, title }, files)
      if (fault) faults.push(`${LIST}: ${fault}`)
    }
    listed.add(setting)
  }
  for (const [name, acts] of settings) if (acts && !listed.has(name)) faults.push(`${LIST} names no test that sees the effect of ${name}`)
  const storedOnly = [...settings.values()].filter((acts) => !acts).length
  if (storedOnly > MOST_STORED_ONLY) faults.push(`${SETTINGS} has ${storedOnly} settings without effect, more than ${MOST_STORED_ONLY}`)
  return { settings: settings.size, faults }
}
