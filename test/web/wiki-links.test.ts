import { expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp()

const TEXT = `[[Getting started]], [[the guide|guides/First steps#part 2]], [[ /home | home ]], [[elsewhere|https://example.org/a]]
\`[[code]]\` [[_TOC_]] [[]] [[a|javascript:alert(1)]] [a](b) [[<b>|x"y]]`
const LINKS = (at: string) => [
  ['Getting started', `${at}/Getting-started`],
  ['the guide', `${at}/guides/First-steps#part%202`],
  ['/home', `${at}/home`],
  ['elsewhere', 'https://example.org/a'],
  ['a', `${at}/javascript%3Aalert(1)`],
]

it('links of wiki pages by name lead to pages, in wikis alone (MD-5)', async () => {
  const who = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
  for (const [title, content] of [
    ['home', TEXT],
    ['guides/First steps', TEXT],
    ['Getting started', 'Welcome'],
  ])
    await t.api('post', `${project.path}/wikis`, who).send({ title, content }).expect(201)
  const at = `/${project.fullPath}/-/wikis`
  const browser = new TestBrowser(t.url)
  for (const [page, folder] of [
    ['home', ''],
    ['guides/First-steps', '/guides'],
  ]) {
    const { $ } = await browser.open(`${at}/${page}`)
    const links = $('.prose')
      .first()
      .find('a')
      .toArray()
      .map((link) => [$(link).text(), $(link).attr('href')])
    expect(links).toEqual([...LINKS(at), ['a', `${at}${folder}/b`], ['<b>', `${at}/x%22y`]])
    expect($('.prose').first().text()).toContain('[[code]] [[TOC]] [[]]')
  }
  expect((await browser.open(`${at}/Getting-started`)).text).toContain('Welcome')
  expect((await browser.open(`${at}/guides/First-steps`)).status).toBe(200)
  const { body } = await t.api('post', '/markdown').send({ text: '[[home]]', gfm: true, project: project.fullPath }).expect(201)
  expect(body.html).toBe('<p>[[home]]</p>')
})

it('a page is previewed as it will be shown', async () => {
  const who = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  await browser.open(`/${project.fullPath}/-/wikis/new`)
  const { $ } = await browser.submit('Create page', { preview: 'wiki[content]', 'wiki[title]': 'a', 'wiki[content]': '[[A page]] [other](other)' })
  expect(
    $('.preview a')
      .toArray()
      .map((link) => $(link).attr('href')),
  ).toEqual([`/${project.fullPath}/-/wikis/A-page`, `/${project.fullPath}/-/wikis/other`])
})
