import { describe, expect, it } from 'vitest'
import { forms, pages } from '../../src/web/index.js'

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
