import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkRules } from '../scripts/rules.mjs'

// Put together here, because the check reads this file too.
const MADE_UP = ['MR', '9999'].join('-')

describe('the check of cited rules', () => {
  let root: string
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'roost-rules-'))
    for (const folder of ['docs/spec', 'src', 'test', 'bench']) mkdirSync(join(root, folder), { recursive: true })
    write('docs/spec/behaviours.md', '- **G-1**<a id="G-1"></a> All paths.\n| W-3 |<a id="W-3"></a> JSON. |\nEV-6 (P1).<a id="EV-6"></a> Activity.\n')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('accepts ids that are defined in any of the forms of the documents', () => {
    write('src/a.ts', '// One (G-1), another (W-3), a range (G-1..W-3) and a third (EV-6).\n')
    expect(checkRules(root)).toEqual({ rules: 3, files: 2, faults: [] })
  })

  it.each(['src/a.ts', 'test/a.test.ts', 'bench/a.mjs', 'docs/page.md'])('finds an id in %s that is not defined', (path) => {
    write(path, `one line\n// the rule (${MADE_UP})\n`)
    expect(checkRules(root).faults).toEqual([`${path}:2 cites ${MADE_UP}, which docs/spec does not define`])
  })

  it('finds an id of a family that does not exist', () => {
    const id = ['QQ', '1'].join('-')
    write('src/a.ts', `// ${id}\n`)
    expect(checkRules(root).faults).toEqual([`src/a.ts:1 cites ${id}, which docs/spec does not define`])
  })

  it('ignores the names of standards', () => {
    write('src/a.ts', '// UTF-8, SHA-1, ISO-8601, AES-256\n')
    expect(checkRules(root).faults).toEqual([])
  })

  it('finds a rule that is defined twice, and one without an anchor', () => {
    write('docs/spec/security.md', '- **G-1.**<a id="G-1"></a> Again.\n- **G-2.** No link leads here.\n')
    expect(checkRules(root).faults).toEqual([
      'docs/spec/security.md:1 G-1 is defined twice',
      'docs/spec/security.md:2 G-2 has no anchor <a id="G-2"></a>',
    ])
  })

  it('finds nothing to complain about in this repository', () => {
    const { rules, files, faults } = checkRules(fileURLToPath(new URL('..', import.meta.url)))
    expect(faults).toEqual([])
    expect(rules).toBeGreaterThan(1000)
    expect(files).toBeGreaterThan(500)
  })
})
