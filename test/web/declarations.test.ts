import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { forms, pages } from '../../src/web/index.js'
import type { Form, Page } from '../../src/web/page.js'

const FOLDER = join(import.meta.dirname, '../../src/web/pages')
const declared = [
  ...pages.map((page) => ({ name: `page ${page.at}`, ...page })),
  ...forms.map((form) => ({ name: `form ${form.method} ${form.at}`, ...form })),
]
const namesOf = (those: { name: string }[]) => those.map(({ name }) => name)

describe('what pages and forms declare about the account (WB-203)', () => {
  it('is said by each that has no subject but the signed-in user', () => {
    const silent = declared.filter(({ access, ownerOnly }) => access.rule === 'signed in' && ownerOnly === undefined)
    expect(
      namesOf(silent),
      'Declare `ownerOnly: true` if it shows or changes the account of the user (keys, tokens, passwords, sessions, consent), otherwise `ownerOnly: false`.',
    ).toEqual([])
  })

  it('closes all below /-/profile, /oauth and /users but signing out', () => {
    const open = declared.filter(({ at, ownerOnly }) => /^\/(?:-\/profile|oauth|users)(?:\/|$)/.test(at) && !ownerOnly)
    expect(namesOf(open), 'Declare `ownerOnly: true`: an administrator who acts as the user must not open it.').toEqual(['form POST /users/sign_out'])
  })
})

describe('the site', () => {
  it('has every page and form that a module exports', async () => {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
    const modules = await Promise.all(
      files.map(async (file) => [file, (await import(/* @vite-ignore */ join(FOLDER, file))) as Record<string, unknown>] as const),
    )
    const isDeclared = (value: unknown): value is Page | Form => typeof value === 'object' && value !== null && 'at' in value && 'access' in value
    // by address: a test may have its own copies of modules
    const keyOf = (each: Page | Form) => ('submit' in each ? `form ${each.method} ${each.at}` : `page ${each.at}`)
    const listed = new Set(namesOf(declared))
    const missing = modules.flatMap(([file, exported]) =>
      Object.entries(exported).flatMap(([name, value]) =>
        [value].flat().some((each) => isDeclared(each) && !listed.has(keyOf(each))) ? [`${file}: ${name}`] : [],
      ),
    )
    expect(missing, 'List it in the index.ts of its family.').toEqual([])
    expect(listed.size).toBeGreaterThan(300)
  })
})
