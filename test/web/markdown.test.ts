import { inflateSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, setSettings, type TestProject, type TestUser } from '../support/factories.js'
import { aBareRepository } from '../support/git.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
let who: TestUser
let project: TestProject
let browser: TestBrowser

beforeAll(async () => {
  who = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
  browser = new TestBrowser(t.url)
  await browser.signIn(who)
})

/** A project whose README is this text. */
async function withReadme(text: string) {
  const made = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'README.md': text } })
  return { made, at: `/${made.fullPath}/-/blob/main/README.md` }
}

describe('pictures of texts (MD-20)', () => {
  const TEXT = `<p align="center"><picture>
  <source media="(prefers-color-scheme: dark)" srcset="docs/dark%20a.svg?raw=true, https://example.org/b.png 2x">
  <source srcset="mailto:a@example.org" type="image/png">
  <img alt="Logo" src="docs/light.svg?raw=1#x" width="40%" height="90" align="right">
</picture> <img src="a.png#gh-dark-mode-only"> <img src="a.png#gh-light-mode-only"></p>`

  it('keep their sources, size and alignment, and lead to the same revision, without a query', async () => {
    const { made, at } = await withReadme(TEXT)
    const oid = bareOf(t, made).git('rev-parse', 'main').trim()
    for (const ref of ['main', oid]) {
      const { $ } = await browser.open(at.replace('/main/', `/${ref}/`))
      const raw = `/${made.fullPath}/-/raw/${ref}`
      const sources = $('.prose source')
        .toArray()
        .map((source) => $(source).attr())
      expect(sources).toEqual([
        {
          srcset: expect.stringMatching(
            new RegExp(`^${raw}/docs/dark%20a\\.svg, /-/camo/[\\w-]+/${Buffer.from('https://example.org/b.png').toString('base64url')} 2x$`),
          ),
          media: '(prefers-color-scheme: dark)',
        },
      ])
      expect(
        $('.prose img')
          .toArray()
          .map((picture) => $(picture).attr()),
      ).toEqual([
        { loading: 'lazy', src: `${raw}/docs/light.svg`, alt: 'Logo', width: '40%', height: '90', align: 'right' },
        { loading: 'lazy', src: `${raw}/a.png`, alt: '', class: 'dark-only' },
        { loading: 'lazy', src: `${raw}/a.png`, alt: '', class: 'light-only' },
      ])
    }
  })

  it('lose their sources in mails, and keep their addresses in the API', async () => {
    const { body } = await t.api('post', '/markdown').send({ text: '<picture><source srcset="a.png 2x"><img src="b.png"></picture>' }).expect(201)
    expect(body.html).toBe('<p><picture><source srcset="a.png 2x"><img src="b.png" alt=""></picture></p>')
  })

  it('of wiki pages are files of the wiki, at the version of the page (WA-20, WB-131)', async () => {
    await t.api('post', `${project.path}/wikis`, who).send({ title: 'guides/start', content: '![a](a.svg) ![b](/b.png) [c](b.png)' }).expect(201)
    const wiki = aBareRepository(bareOf(t, project).directory.replace(/\.git$/, '.wiki.git'))
    const [head] = wiki.commits({ branch: 'main', files: { 'guides/a.svg': SVG, 'b.png': 'a picture' } })
    const at = `/${project.fullPath}/-/wikis`
    for (const version of [undefined, head]) {
      const query = version ? `?version_id=${version}` : ''
      const { $ } = await browser.open(`${at}/guides/start${query}`)
      const pictures = $('.prose img')
        .toArray()
        .map((picture) => $(picture).attr('src') ?? '')
      expect(pictures).toEqual([`${at}/raw/guides/a.svg${query}`, `${at}/raw/b.png${query}`])
      const [drawn, other] = await Promise.all(pictures.map((path) => fetch(t.url + path)))
      expect([drawn?.headers.get('content-type'), await drawn?.text()]).toEqual(['image/svg+xml', SVG])
      expect([drawn?.headers.get('content-security-policy'), await other?.text()]).toEqual([expect.stringContaining('sandbox'), 'a picture'])
    }
    const answer = await fetch(`${t.url}${at}/b.png`, { redirect: 'manual', headers: { accept: 'text/html' } })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${at}/raw/b.png`])
    for (const path of ['raw/none.png', 'raw/guides', 'raw/b.png?version_id=none']) expect((await fetch(`${t.url}${at}/${path}`)).status).toBe(404)
    const hidden = await aProject(t.ctx, { creator: who })
    expect((await fetch(`${t.url}/${hidden.fullPath}/-/wikis/raw/b.png`)).status).toBe(404)
  })
})

describe('formulas (MD-22)', () => {
  const TEXT = 'Say $a^2$, <b>and</b>:\n\n$$\nb < c\n$$\n'

  it('are MathML in files, wikis, issues and comments, and stay text in the API', async () => {
    const { at } = await withReadme(TEXT)
    await t.api('post', `${project.path}/wikis`, who).send({ title: 'math', content: TEXT }).expect(201)
    await t.api('post', `${project.path}/issues`, who).send({ title: 'math', description: TEXT }).expect(201)
    await t.api('post', `${project.path}/issues/1/notes`, who).send({ body: TEXT }).expect(201)
    const seen = await Promise.all(
      [at, `/${project.fullPath}/-/wikis/math`, `/${project.fullPath}/-/issues/1`].map(async (path) => {
        const { $ } = await browser.open(path)
        return $('.prose math annotation')
          .toArray()
          .map((source) => $(source).text())
      }),
    )
    expect(seen).toEqual([
      ['a^2', 'b < c'],
      ['a^2', 'b < c'],
      ['a^2', 'b < c', 'a^2', 'b < c'],
    ])
    const { body } = await t.api('post', '/markdown').send({ text: TEXT }).expect(201)
    expect(body.html).toBe('<p>Say $a^2$, <b>and</b>:</p>\n<p>$$\nb &lt; c\n$$</p>')
  })

  it('of a text have a bound together: what follows is its source', async () => {
    const { at } = await withReadme(`$${'a_b+'.repeat(1_000)}c$\n\n`.repeat(120))
    const { status, $ } = await browser.open(at)
    const [shown, sources] = [$('.prose math').length, $('.prose code.language-math').length]
    expect([status, shown > 0, sources > 0, shown + sources]).toEqual([200, true, true, 120])
  })
})

describe('diagrams (MD-23)', () => {
  const SOURCE = 'flowchart LR\n  A --> B["<b>x</b>"]\n'
  const TEXT = `\`\`\`mermaid\n${SOURCE}\`\`\`\n`

  it('in Markdown are pictures of a Kroki server that the settings name (MD-23)', async () => {
    const { at } = await withReadme(`${TEXT}\n\`\`\`dot\ndigraph {}\n\`\`\`\n\n\`\`\`js\nx\n\`\`\`\n\n\`\`\`mermaid\n${'x'.repeat(21_000)}\n\`\`\`\n`)
    await setSettings(t.ctx, { kroki_enabled: true, kroki_url: 'https://kroki.example.org/' })
    try {
      const { $, headers } = await browser.open(at)
      const [drawn, dot] = $('.prose img.diagram')
        .toArray()
        .map((picture) => $(picture).attr('src') ?? '')
      const code = /^https:\/\/kroki\.example\.org\/mermaid\/svg\/([\w-]+)$/.exec(drawn ?? '')?.[1] ?? ''
      expect(inflateSync(Buffer.from(code, 'base64url')).toString()).toBe(SOURCE)
      expect([dot?.startsWith('https://kroki.example.org/graphviz/svg/'), $('.prose img.diagram').length, $('.prose pre').length]).toEqual([
        true,
        2,
        2,
      ])
      expect(headers.get('content-security-policy')).toMatch(/img-src 'self' https:\/\/kroki\.example\.org;/)
    } finally {
      await setSettings(t.ctx, { kroki_enabled: false })
    }
  })

  it('are code for those without scripts, and only their pages and those with an editor allow frames', async () => {
    const { at, made } = await withReadme(TEXT)
    const { $, headers } = await browser.open(at)
    expect([$('.prose code.language-mermaid').text(), headers.get('content-security-policy')]).toEqual([
      SOURCE,
      expect.stringContaining("; frame-src 'self';"),
    ])
    for (const path of [at.replace('README.md', 'a'), `${at}?plain=1`, `/${made.fullPath}/-/commits/main`])
      expect((await browser.open(path)).headers.get('content-security-policy')).not.toContain('frame-src')
    expect((await browser.open(`/${made.fullPath}/-/issues/new`)).headers.get('content-security-policy')).toContain("frame-src 'self';")
  })
})

it('a file with three headings or more has a menu of them in its head (WB-500)', async () => {
  const { at, made } = await withReadme('# A $x$\n\n### B <b>c</b>\n\n<h2 align="center">D</h2>\n')
  for (const path of [at, `/${made.fullPath}`]) {
    const { $ } = await browser.open(path)
    const links = $('.head details.contents nav a')
      .toArray()
      .map((link) => [$(link).attr('href'), $(link).text(), $(link).attr('data-level')])
    expect(links).toEqual([
      ['#user-content-a-x', 'A x', '1'],
      ['#user-content-b-c', 'B c', '3'],
      ['#user-content-d', 'D', '2'],
    ])
    for (const [href] of links) expect($(`.prose [id="${href?.slice(1)}"]`).length).toBe(1)
  }
  const { at: short } = await withReadme('# A\n\n# B\n')
  expect((await browser.open(short)).$('details.contents').length).toBe(0)
})
