// @module-tag long
import { readFileSync } from 'node:fs'
import { load } from 'cheerio'
import { beforeAll, describe, expect, it } from 'vitest'
import { pages } from '../../src/web/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, type TestUser } from '../support/factories.js'
import { addressOf, type Place } from '../support/site-walk.js'

const t = testApp()
const catalogue = JSON.parse(readFileSync('src/web/language/de.json', 'utf8')) as Record<string, unknown>
/** English sentences and names that are others in German; single words may be data. */
const english = new Set(Object.entries(catalogue).flatMap(([key, value]) => (key.includes(' ') && key !== value && !key.includes('{') ? [key] : [])))
let admin: TestUser
let place: Place

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  const group = await aGroup(t.ctx, { creator: admin, path: 'spoken' })
  const project = await aProject(t.ctx, { creator: admin, namespace_id: group.id, path: 'marked', files: { 'a.txt': 'one\n', 'README.md': 'two' } })
  const say = (path: string, body: object) => t.api('post', `${project.path}${path}`, admin).send(body).expect(201)
  await say('/repository/commits', {
    branch: 'topic',
    start_branch: 'main',
    commit_message: 'c',
    actions: [{ action: 'update', file_path: 'a.txt', content: 'x' }],
  })
  await say('/labels', { name: 'label', color: '#112233' })
  await say('/milestones', { title: 'm1' })
  await say('/issues', { title: 'i1', labels: 'label' })
  await say('/merge_requests', { title: 'r1', source_branch: 'topic', target_branch: 'main' })
  await say('/snippets', { title: 's1', file_name: 'one.txt', content: 'x', visibility: 'private' })
  await say('/wikis', { title: 'home', content: 'w' })
  await say('/repository/tags', { tag_name: 'v1', ref: 'main' })
  await say('/releases', { tag_name: 'v1', name: 'v1' })
  await say('/variables', { key: 'KEY', value: 'v' })
  await say('/hooks', { url: 'https://example.com/h' })
  await t.ctx.jobs.drain()
  place = { project: project.fullPath, group: 'spoken', user: admin.username }
})

/** The English texts of a page that have a German translation. */
function leftIn(html: string): string[] {
  const $ = load(html)
  $('script, style, code, pre, kbd, textarea, .setting .hint, option').remove()
  const texts = $('*')
    .contents()
    .toArray()
    .flatMap((node) => (node.type === 'text' ? [node.data] : []))
  const attributes = $('[title], [aria-label], [placeholder]')
    .toArray()
    .flatMap((each) => ['title', 'aria-label', 'placeholder'].map((name) => $(each).attr(name) ?? ''))
  return [...new Set([...texts, ...attributes].map((text) => text.replace(/\s+/g, ' ').trim()))].filter((text) => english.has(text))
}

describe('every page, in German', () => {
  it('shows no English text that has a translation (WB-805)', async () => {
    // what the walk finds in English, so that it can fail
    const walked = async (language: string) => {
      const browser = new TestBrowser(t.url, { 'accept-language': language })
      await browser.signIn(admin)
      const left: string[] = []
      let read = 0
      for (const page of pages.filter(({ at }) => !/sign_out|confirmation|unlock|impersonation/.test(at))) {
        const opened = await browser.open(addressOf(page.at, place)).catch(() => null)
        if (!opened?.html.includes('<html lang')) continue
        read++
        if (language === 'de') expect(opened.$('html').attr('lang')).toBe('de')
        left.push(...leftIn(opened.html).map((text) => `${page.at}: ${text}`))
      }
      return { left, read }
    }
    const german = await walked('de')
    expect(german.left).toEqual([])
    expect(german.read).toBeGreaterThan(200)
    expect((await walked('en')).left.length).toBeGreaterThan(500)
  })
})
