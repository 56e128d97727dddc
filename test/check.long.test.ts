// @module-tag long
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runProgram } from './support/command.js'

const repository = fileURLToPath(new URL('..', import.meta.url))

describe('npm run check -- --quick', () => {
  let root: string
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const git = (...args: string[]) => void execFileSync('git', args, { cwd: root })
  const check = async () => {
    const { code, stdout } = await runProgram(process.execPath, [join(root, 'scripts/check.mjs'), '--quick'], { cwd: root })
    return { code, lines: stdout.split('\n').filter((line) => /^(ok|FAILED|\d)|error TS| -> |^ +\S+ format/.test(line)) }
  }

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'roost-check-'))
    cpSync(join(repository, 'scripts'), join(root, 'scripts'), { recursive: true })
    for (const name of ['package.json', 'tsconfig.json', 'biome.json', '.dependency-cruiser.cjs', '.gitignore'])
      copyFileSync(join(repository, name), join(root, name))
    // a separate folder, because the check keeps a file in it
    mkdirSync(join(root, 'node_modules'))
    for (const name of readdirSync(join(repository, 'node_modules')))
      if (name !== '.cache') symlinkSync(join(repository, 'node_modules', name), join(root, 'node_modules', name))
    write('src/lib/one.ts', 'export const one = 1\n')
    write('src/services/core/two.ts', "import { one } from '../../lib/one.js'\n\nexport const two = one + one\n")
    write('src/lib/unformatted.ts', 'export const three = 3;\n')
    git('init', '--quiet')
    git('add', '.')
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '-m', 'one')
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  it('passes when nothing has changed, whatever is committed, and for a file without imports', async () => {
    const passed = { code: 0, lines: ['ok     format', 'ok     types', 'ok     layers', '3 passed, 0 failed'] }
    expect(await check()).toEqual(passed)
    write('src/lib/one.ts', 'export const one = 11\n')
    expect(await check()).toEqual(passed)
  })

  it('finds a file without its format, a wrong type and an import of a higher floor in what has changed', async () => {
    write('src/lib/one.ts', "import { two } from '../services/core/two.js'\n\nexport const one = 1\n\nexport const three: string = two\n")
    write('docs/new.json', '{"a":    1}\n')
    const { code, lines } = await check()
    expect(code).toBe(1)
    expect(lines).toEqual([
      'FAILED format',
      expect.stringContaining('docs/new.json format'),
      'FAILED types',
      expect.stringContaining('src/lib/one.ts'),
      'FAILED layers',
      expect.stringContaining('src/lib/one.ts -> src/services/core/two.ts'),
      '0 passed, 3 failed',
    ])
  })
})
