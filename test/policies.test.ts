import { describe, expect, it } from 'vitest'
import { buildApp } from '../src/app.js'
import { families } from '../src/routes/index.js'
import { forms, pages } from '../src/web/index.js'
import { testApp } from './support/app.js'

const t = testApp()

describe('permissions of all routes (SEC-6)', () => {
  it('is written down for every endpoint, page and form, so that a changed permission shows in the diff', async () => {
    const lines = families
      .flat()
      .map(({ method, path, access, scope }) => `${method} ${path}: ${access.rule}${scope ? ` (scope ${scope})` : ''}`)
      .concat(pages.map(({ at, access }) => `page ${at}: ${access.rule}`))
      .concat(forms.map(({ at, method, access }) => `form ${method} ${at}: ${access.rule}`))
      .sort()
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./policies.txt')
  })

  it('is said of every route of the running service: one without it does not start', async () => {
    const app = await buildApp(t.ctx)
    expect(() => app.get('/without', async () => 'open')).toThrow('/without has no policy')
    await app.close()
  })
})
