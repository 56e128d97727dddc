import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp({}, { upkeep: true })

describe('exploring', () => {
  it('finds projects by name, topic and language, in four orders, and shows nothing that is hidden (WB-236)', async () => {
    const owner = await aUser(t.ctx)
    const make = async (name: string, visibility: 'public' | 'private', files: Record<string, string>, topics: string[]) => {
      const project = await aProject(t.ctx, { creator: owner, name, visibility, files })
      await t.api('put', project.path, owner).send({ topics }).expect(200)
      await t.ctx.jobs.drain()
      return project
    }
    const ruby = await make('Alpha', 'public', { 'a.rb': 'puts 1\n'.repeat(200), 'b.c': 'int a;\n'.repeat(50) }, ['web <b>', 'tools'])
    await make('Beta', 'public', { 'a.py': 'print(1)\n' }, ['tools'])
    await make('Gamma', 'private', { 'a.rb': 'puts 1\n' }, ['tools'])
    const fan = await aUser(t.ctx)
    await t.api('post', `${ruby.path}/star`, fan).expect(201)
    const [visitor, member] = [new TestBrowser(t.url), new TestBrowser(t.url)]
    await member.signIn(owner)
    const names = async (query: string, browser = visitor) => {
      const { $ } = await browser.open(`/explore?${query}`)
      return $('.rows strong')
        .toArray()
        .map((each) => $(each).text())
    }
    expect(await names('language=ruby')).toEqual(['Alpha'])
    expect([await names('topic=tools&sort=name_asc'), await names('tag=web+%3Cb%3E'), await names('name=bet')]).toEqual([
      ['Alpha', 'Beta'],
      ['Alpha'],
      ['Beta'],
    ])
    expect([await names('sort=stars_desc'), await names('sort=created_desc'), await names('sort=nonsense')]).toEqual([
      ['Alpha', 'Beta'],
      ['Beta', 'Alpha'],
      ['Beta', 'Alpha'],
    ])
    expect(await names('language=ruby&sort=name_asc', member)).toEqual(['Alpha', 'Gamma'])
    expect((await visitor.open('/explore/projects/starred')).at).toBe('/explore?sort=stars_desc')
    const page = await visitor.open(`/${ruby.fullPath}`)
    const shares = page.$('ul.languages li')
    const widths = page
      .$('svg.languages rect')
      .toArray()
      .map((each) => Number(page.$(each).attr('width')))
    const api = (await t.api('get', `${ruby.path}/languages`, owner).expect(200)).body
    expect([shares.length, widths, page.$('main b').length]).toEqual([2, Object.values(api), 0])
    for (const href of [...page.$('a.badge').toArray(), ...page.$('ul.languages a').toArray()].map((each) => page.$(each).attr('href') ?? ''))
      expect([href, (await visitor.open(href)).$('.rows strong').first().text()]).toEqual([href, href.includes('tools') ? 'Beta' : 'Alpha'])
  })
})
