import { expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp()

/** Takes about ten seconds to mark, although no line of it is long. */
const hostile = (n: number) => `// ${n}\n${`${'a'.repeat(1_900)}\n`.repeat(200)}`

it('an anonymous reader of hostile files leaves others their pages with marks, and sees text alone (SEC-276)', async () => {
  const who = await aUser(t.ctx)
  const names = Array.from({ length: 12 }, (_, n) => n)
  const files = {
    ...Object.fromEntries(names.map((n) => [`${n}.java`, hostile(n)])),
    ...Object.fromEntries(names.map((n) => [`${n}.ts`, `const fair = ${n}\n`])),
    'long.ts': `const a = 1\nconst b = '${'a'.repeat(2_000)}'\n`,
  }
  const project = await aProject(t.ctx, { creator: who, visibility: 'public', files })
  const at = `/${project.fullPath}/-/blob/main`
  const stranger = new TestBrowser(t.url)
  const reader = new TestBrowser(t.url)
  await reader.signIn(who)
  const attacks = names.map((n) => stranger.open(`${at}/${n}.java`))
  const marked: string[] = []
  for (const n of names) {
    const page = await reader.open(`${at}/${n}.ts`)
    expect(page.$('.lines .code').text()).toBe(`const fair = ${n}`)
    marked.push(page.$('.hljs-keyword').text())
  }
  expect(marked.filter((word) => word === 'const').length).toBeGreaterThanOrEqual(names.length / 2)
  for (const { status, $ } of await Promise.all(attacks))
    expect([status, $('.lines tr').length, $('.lines [class^=hljs]').length]).toEqual([200, 201, 0])
  const long = await reader.open(`${at}/long.ts`)
  expect([long.status, long.$('.lines tr').length, long.$('.lines [class^=hljs]').length]).toEqual([200, 2, 0])
  const blame = await reader.open(`/${project.fullPath}/-/blame/main/0.java`)
  expect([blame.status, blame.$('.lines [class^=hljs]').length]).toEqual([200, 0])
  expect((await fetch(`${t.url}/-/readiness`)).status).toBe(200)
})

it('a megabyte of links, addresses or brackets is rendered, or shown as it is, by every way (MD-4)', async () => {
  const who = await aUser(t.ctx)
  for (const atom of ['![', '[', 'owner/project#1 ', 'a@b.c ', '<http://a', 'http://a.b ', '[a](b)', '*a ', '~~a']) {
    const paragraph = atom.repeat(Math.floor(16_384 / atom.length))
    const text = `${paragraph}\n\n`.repeat(Math.floor(1_048_576 / (paragraph.length + 2)))
    const { body } = await t.api('post', '/markdown', who).send({ text, gfm: true }).expect(201)
    expect(body.html.length).toBeGreaterThan(1_000_000)
  }
})
