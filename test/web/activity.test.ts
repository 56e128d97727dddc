import { describe, expect, it } from 'vitest'
import { graphOf } from '../../src/web/pages/code/activity.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}

describe('activity', () => {
  it('of a project, a user and all that is mine shows what the reader may see, with links that lead there (WB-69)', async () => {
    const owner = await aUser(t.ctx, { name: '<b>Ann' })
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    const hidden = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { a: 'a' } })
    for (const one of [project, hidden])
      await t
        .api('post', `${one.path}/issues`, owner)
        .send({ title: `Issue of ${one.id} <b>` })
        .expect(201)
    await t.api('post', `${project.path}/issues/1/notes`, owner).send({ body: 'x' }).expect(201)
    const [visitor, member] = [new TestBrowser(t.url), await signedIn(owner)]
    for (const [browser, path, sees] of [
      [visitor, `/${project.fullPath}/activity`, false],
      [visitor, `/${owner.username}?tab=activity`, false],
      [member, `/${owner.username}?tab=activity`, true],
      [member, '/dashboard/activity', true],
    ] as const) {
      const page = await browser.open(path)
      expect([page.status, page.text.includes(`Issue of ${project.id} <b>`), page.text.includes(`Issue of ${hidden.id}`)]).toEqual([200, true, sees])
      expect(page.$('main b').length).toBe(0)
      // those of the page of one project need no look-up, so they have no path
      for (const href of new Set(
        page
          .$('.rows a')
          .toArray()
          .map((a) => page.$(a).attr('href') as string),
      ))
        expect((await member.open(href)).status).toBe(200)
    }
  })
})

describe('the history of a project', () => {
  it('has a chart of its authors, and a graph whose lines lead from commit to parent (WB-69)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    const browser = new TestBrowser(t.url)
    const chart = await browser.open(`/${project.fullPath}/-/graphs/main`)
    expect([chart.$('.chart tbody tr').length, chart.$('.chart .count').text()]).toEqual([1, '1'])
    const graph = await browser.open(`/${project.fullPath}/-/network/main`)
    expect([graph.$('.graph circle').length, graph.$('.graph li').length]).toEqual([1, 1])
    const rows = graphOf([
      { oid: 'm', parents: ['a', 'b', 'c'] },
      { oid: 'c', parents: ['a'] },
      { oid: 'b', parents: ['a'] },
      { oid: 'a', parents: [] },
      { oid: 'z', parents: [] },
    ])
    expect(rows.map(({ column }) => column)).toEqual([0, 2, 1, 0, 0])
    expect(rows[0]?.lines).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
    ])
    expect(rows[1]?.lines).toEqual([
      [0, 0],
      [1, 1],
      [2, 0],
    ])
    expect(rows[3]?.lines).toEqual([])
  })
})

describe('pipelines and badges', () => {
  it('are filtered by state, kind and branch; a badge shows the newest, or nothing to who may not read it (WB-69)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    const badge = async (path: string, headers = {}) => {
      const answer = await fetch(`${t.url}/${project.fullPath}/${path}`, { headers })
      return [answer.status, answer.headers.get('content-type'), /aria-label="([^"]*)"/.exec(await answer.text())?.[1]]
    }
    expect(await badge('badges/main/pipeline.svg')).toEqual([200, 'image/svg+xml', 'pipeline: unknown'])
    const [{ id: sha }] = (await t.api('get', `${project.path}/repository/commits`, owner).expect(200)).body
    await t.api('post', `${project.path}/statuses/${sha}`, owner).send({ state: 'success', ref: 'main', coverage: 81.5 }).expect(201)
    expect(await badge('badges/main/pipeline.svg')).toEqual([200, 'image/svg+xml', 'pipeline: passed'])
    expect(await badge('-/badges/main/coverage.svg')).toEqual([200, 'image/svg+xml', 'coverage: 81.50%'])
    await t.api('put', project.path, owner).send({ public_builds: false }).expect(200)
    expect((await badge('badges/main/pipeline.svg'))[2]).toBe('pipeline: unknown')
    await t.api('put', project.path, owner).send({ visibility: 'private' }).expect(200)
    expect((await badge('badges/main/pipeline.svg'))[0]).toBe(404)
    const browser = await signedIn(owner)
    const rows = async (query: string) => (await browser.open(`/${project.fullPath}/-/pipelines${query}`)).$('.rows > li').length
    expect([await rows(''), await rows('?scope=finished'), await rows('?scope=running'), await rows('?scope=branches&ref=other')]).toEqual([
      1, 1, 0, 0,
    ])
  })
})
