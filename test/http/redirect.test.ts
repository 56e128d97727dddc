import { describe, expect, it } from 'vitest'
import { isLocalPath, WholeAddress } from '../../src/http/redirect.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'
import { rawAnswer } from '../support/raw.js'

const t = testApp()

/** Other sites, in the forms in which a path may hide one. */
const ELSEWHERE = [
  '//evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/%2Fevil.example',
  '/%5Cevil.example',
  '/%09/evil.example',
  '/%0d%0aset-cookie:%20a=b',
  '/%2e%2e//evil.example',
  'https://evil.example',
  'https:evil.example',
  'javascript:alert(1)',
]

/** Whether a browser that is led to `location` from `at` stays here. */
const staysHere = (location: string, at: string) => {
  const { origin } = new URL(location, t.url + at)
  return origin === new URL(t.url).origin || origin === t.ctx.links.base
}

describe('a local path', () => {
  it('is one of this service in every browser (SEC-335, WB-9)', () => {
    for (const path of ['/', '/a/b?c=//d', '/a/-/blob/main/%E4.txt#L1', '/a?b=/../c', '/.x/..y'])
      expect([path, isLocalPath(path)]).toEqual([path, true])
    for (const path of [
      '',
      'a',
      '//a',
      '/\\a',
      '/a\\b',
      '/a\tb',
      '/a\nb',
      '/a b',
      '/ä',
      '/..//a',
      '/a/../b',
      '/%2e%2E//a',
      '/a/.',
      ...ELSEWHERE.slice(-3),
    ])
      expect([path, isLocalPath(path)]).toEqual([path, false])
  })
})

describe('a whole address', () => {
  it('has a scheme, and none that runs a script (SEC-335)', () => {
    expect(new WholeAddress('https://a.example/ä b').href).toBe('https://a.example/%C3%A4%20b')
    expect(new WholeAddress('com.example.app:/callback').href).toBe('com.example.app:/callback')
    for (const text of ['/a', '//a.example', 'javascript:alert(1)', 'DATA:text/html,a', '']) expect(() => new WholeAddress(text)).toThrow()
  })
})

describe('every redirect', () => {
  it('of an address that names another site stays here (SEC-335)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a' } })
    const browser = new TestBrowser(t.url)
    await browser.signIn(owner)
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
    const found: string[] = []
    for (const site of ELSEWHERE)
      for (const path of [
        `${site}/x.git`,
        `${site}/x.wiki.git`,
        `${site}/x/info/refs?service=git-upload-pack`,
        `${site}/x`,
        ...['/u', '/users', '/snippets', '/projects', '/profile', '/-/user_settings'].map((at) => `${at}/${site.replace(/^\//, '')}`),
        `/users/${site.replace(/^\//, '')}/projects`,
        `/${project.fullPath.toUpperCase()}${site}`,
        `/${project.fullPath}/blob/main${site}`,
        `/${project.fullPath}/-/refs/switch?ref=${site}&destination=${site}`,
        `/users/sign_in?return_to=${site}`,
        `/users/sign_in?return_to=${encodeURIComponent(`/u${site}`)}`,
      ])
        for (const headers of [`cookie: ${cookie}\r\n`, '']) {
          const line = (path.startsWith('/') ? path : `/${path}`).replace(/\s/g, '')
          const answer = await rawAnswer(
            t.url,
            `GET ${line} HTTP/1.1\r\nhost: evil.example\r\naccept: text/html\r\n${headers}connection: close\r\n\r\n`,
          )
          const { location = '' } = answer.headers
          if (answer.status >= 500 || !staysHere(location, line) || /%0d|evil\.example/i.test(String(answer.headers['set-cookie'])))
            found.push(`${line}: ${answer.status} ${location}`)
        }
    expect(found).toEqual([])
  })

  it('after sign-in leads nowhere else (SEC-335, WB-9)', async () => {
    const user = await aUser(t.ctx)
    for (const site of [
      ...ELSEWHERE,
      ...ELSEWHERE.map((each) => `/u/${each.replace(/^\//, '')}`),
      '/users/%2Fevil.example/projects',
      '//evil.example/x.git',
    ]) {
      const browser = new TestBrowser(t.url)
      await browser.open(`/users/sign_in?return_to=${encodeURIComponent(site)}`)
      const page = await browser.submit('/users/sign_in', { 'user[login]': user.username, 'user[password]': user.password })
      // the browser of these tests stops at another site
      expect([site, page.headers.get('location')]).toEqual([site, null])
      expect(page.status).toBeLessThan(500)
    }
  })
})
