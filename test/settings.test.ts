import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkSettings } from '../scripts/settings.mjs'

describe('the check of settings', () => {
  let root: string
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'roost-settings-'))
    for (const folder of ['docs', 'test/routes/settings']) mkdirSync(join(root, folder), { recursive: true })
    write(
      'docs/settings.md',
      '| setting | default | what it does |\n|---|---|---|\n| `a_text` | none | text \\| more |\n| `unused` | `1` | stored only: why |\n',
    )
    write('test/a.test.ts', "it('shows it', () => {\n  set({ a_text: 'x' })\n  expect(1).toBe(1)\n})\nit.skip('does not', () => expect(1).toBe(1))\n")
    write('test/settings.txt', 'a_text → test/a.test.ts: shows it\n')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('accepts a test that names the setting and expects something', () => {
    expect(checkSettings(root)).toEqual({ settings: 2, faults: [] })
  })

  it.each([
    ['', 'test/settings.txt names no test that sees the effect of a_text'],
    ['a_text → test/b.test.ts: shows it', 'test/settings.txt: test/b.test.ts does not exist'],
    ['a_text → test/a.test.ts: hides it', 'test/settings.txt: test/a.test.ts has no test "hides it"'],
    ['a_text → test/a.test.ts: does not', 'test/settings.txt: test/a.test.ts has no test "does not"'],
    ['a_text → test/a.test.ts: shows it\nunused → test/a.test.ts: shows it', 'test/settings.txt has unused, which has no effect'],
    ['a_text → test/a.test.ts: shows it\nother → test/a.test.ts: shows it', 'test/settings.txt has other, which does not exist'],
    [
      'a_text → test/settings-table.test.ts: shows it',
      'test/settings.txt: test/settings-table.test.ts is about stored values, not about the effect of a_text',
    ],
  ])('finds what is wrong with %j', (list, fault) => {
    write('test/settings.txt', `${list}\n`)
    expect(checkSettings(root).faults).toEqual([fault])
  })

  it('finds a file that does not name the setting, and a test that expects nothing', () => {
    write('test/a.test.ts', "it('shows it', () => expect(1).toBe(1))\n")
    expect(checkSettings(root).faults).toEqual(['test/settings.txt: test/a.test.ts does not name a_text'])
    write('test/a.test.ts', "it('shows it', () => set({ a_text: 'x' }))\n")
    expect(checkSettings(root).faults).toEqual(['test/settings.txt: the test "shows it" expects nothing'])
  })

  it('finds more settings without effect than are agreed on', () => {
    write('docs/settings.md', Array.from({ length: 10 }, (_, n) => `| \`s${n}\` | none | stored only: why |`).join('\n'))
    write('test/settings.txt', '')
    expect(checkSettings(root).faults).toEqual(['docs/settings.md has 10 settings without effect, more than 9'])
  })

  it('finds nothing to complain about in this repository', () => {
    const { settings, faults } = checkSettings(fileURLToPath(new URL('..', import.meta.url)))
    expect(faults).toEqual([])
    expect(settings).toBeGreaterThan(90)
  })
})
