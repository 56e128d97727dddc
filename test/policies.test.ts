import { describe, expect, it } from 'vitest'
import { buildApp } from '../src/app.js'
import { families } from '../src/routes/index.js'
import { forms, pages } from '../src/web/index.js'
import type { Form, Page } from '../src/web/page.js'
import { testApp } from './support/app.js'

const t = testApp()

/** What a page or form declares about who gets it, when, and at which other addresses. */
function factsOf(declared: Page | Form): string {
  const { access, ownerOnly, openWhen } = declared
  const { formerly, robots } = 'show' in declared ? declared : {}
  return [
    access.rule,
    ownerOnly && 'owner only',
    openWhen && `open when ${openWhen.join(' or ')}`,
    formerly && `formerly ${formerly.join(' and ')}`,
    robots && `robots: ${robots}`,
  ]
    .filter(Boolean)
    .join('; ')
}

describe('permissions of all routes (SEC-6)', () => {
  it('is written down for every endpoint, page and form, so that a changed permission shows in the diff', async () => {
    const lines = families
      .flat()
      .map(
        ({ method, path, access, scope, openWhen }) =>
          `${method} ${path}: ${access.rule}${scope ? ` (scope ${scope})` : ''}${openWhen ? `; open when ${openWhen.join(' or ')}` : ''}`,
      )
      .concat(pages.map((page) => `page ${page.at}: ${factsOf(page)}`))
      .concat(forms.map((form) => `form ${form.method} ${form.at}: ${factsOf(form)}`))
      .sort()
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./policies.txt')
  })

  it('is said of every route of the running service: one without it does not start', async () => {
    const app = await buildApp(t.ctx)
    expect(() => app.get('/without', async () => 'open')).toThrow('/without has no policy')
    await app.close()
  })
})
