import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const BOOK = 'docs/spec'
const CITING = ['src', 'test', 'docs', 'bench']
const TEXT = /\.([cm]?[jt]sx?|md|txt|json|sh|sql|css)$/
const ID = /\b([A-Z]{1,3})-\d+[a-z]?\b/g
/** Prefixes of names that look like rule ids: standards, and references to other trackers in test data. */
const NO_FAMILY = new Set(['A', 'AES', 'BSD', 'CRC', 'ISO', 'PRJ', 'RFC', 'RSA', 'SHA', 'SSH', 'UTF'])

/**
 * A rule starts a line, a list item or a table row: `- **G-1**`, `| W-3 |`, `| PR-2 (P2) |`, `**SEC-1.**`, `EV-6 (P1).`
 */
const RULE = /^(?:[-*] |\| )?(?:\*\*)?([A-Z]{1,3}-\d+[a-z]?)\b(?: \(P[123]\))?(?:\.?\*\*(?: \|)?|\.| \|)/

/** The ids that docs/spec defines, and errors in definitions: duplicate ids, and ids without an anchor. */
function readRules(root) {
  const rules = new Set()
  const faults = []
  for (const name of readdirSync(join(root, BOOK)).filter((name) => name.endsWith('.md'))) {
    const lines = readFileSync(join(root, BOOK, name), 'utf8').split('\n')
    for (const [at, line] of lines.entries()) {
      const id = RULE.exec(line)?.[1]
      if (id === undefined) continue
      if (rules.has(id)) faults.push(`${BOOK}/${name}:${at + 1} ${id} is defined twice`)
      if (!line.includes(`<a id="${id}"></a>`)) faults.push(`${BOOK}/${name}:${at + 1} ${id} has no anchor <a id="${id}"></a>`)
      rules.add(id)
    }
  }
  return { rules, faults }
}

function textsOf(root, folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => TEXT.test(name))
    .map((name) => `${folder}/${name}`)
}

/** Citations, in code, tests, docs and benchmarks, of rules that docs/spec does not define. */
export function checkRules(root) {
  const { rules, faults } = readRules(root)
  const files = CITING.flatMap((folder) => textsOf(root, folder))
  for (const path of files) {
    const lines = readFileSync(join(root, path), 'utf8').split('\n')
    for (const [at, line] of lines.entries())
      for (const [id, family] of line.matchAll(ID))
        if (!rules.has(id) && !NO_FAMILY.has(family)) faults.push(`${path}:${at + 1} cites ${id}, which ${BOOK} does not define`)
  }
  return { rules: rules.size, files: files.length, faults }
}
