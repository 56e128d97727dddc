import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseForm } from '../../src/http/form.js'
import { list, oneOf, opt, parseInput, str } from '../../src/http/params.js'
import { testApp } from '../support/app.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let user: TestUser
let project: TestProject

beforeAll(async () => {
  user = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: user })
  for (const title of ['one', 'two', 'three']) await t.api('post', `${project.path}/issues`, user).send({ title, labels: title }).expect(201)
})

const numbers = async (query: string) => {
  const { body } = await t.api('get', `${project.path}/issues?sort=asc&${query}`, user).expect(200)
  return (body as { iid: number }[]).map(({ iid }) => iid)
}

describe('a plain name that is repeated (W-3, G-52)', () => {
  it.each([
    ['iids=1&iids=3', [1, 3]],
    ['iids[]=1&iids[]=3', [1, 3]],
    ['iids[]=1&iids=3', [1, 3]],
    ['iids=1&iids[]=3', [1, 3]],
    ['iids=1&iids=2&iids=3', [1, 2, 3]],
    ['iids=2', [2]],
    ['not[iids]=1&not[iids]=3', [2]],
    ['labels=one&labels=two', []],
    ['labels=two', [2]],
  ])('is a list in a query: %s', async (query, expected) => {
    expect(await numbers(query)).toEqual(expected)
  })

  it('is a list in an urlencoded body', async () => {
    const send = (body: string) =>
      t.api('post', '/user/personal_access_tokens', user).set('content-type', 'application/x-www-form-urlencoded').send(body)
    const { body } = await send('name=both&scopes=read_user&scopes=read_api&expires_at=2099-01-02').expect(201)
    expect((body as { scopes: string[] }).scopes.sort()).toEqual(['read_api', 'read_user'])
    // a wrong value is not hidden by the last one
    await send('name=wrong&scopes=nonsense&scopes=read_api&expires_at=2099-01-02').expect(400)
  })

  it('counts with its last value where one is expected', async () => {
    expect(await numbers('state=closed&state=opened')).toEqual([1, 2, 3])
  })

  it('is in the links to other pages (G-58)', async () => {
    const { headers } = await t.api('get', `${project.path}/issues?per_page=1&iids=1&iids=3`, user).expect(200)
    expect([headers['x-total'], headers['link']]).toEqual(['2', expect.stringContaining('/issues?iids=1&iids=3&page=2&per_page=1')])
  })

  it('in a body replaces the same name in the query (G-4)', async () => {
    const { body } = await t
      .api('post', '/user/personal_access_tokens?scopes=api&scopes=sudo', user)
      .set('content-type', 'application/x-www-form-urlencoded')
      .send('name=body&scopes=read_user&expires_at=2099-01-02')
      .expect(201)
    expect((body as { scopes: string[] }).scopes).toEqual(['read_user'])
  })

  it('counts against the bounds of the list', () => {
    const schema = z.object({ words: opt(list(str(), 3)), word: opt(oneOf(['a', 'b'])) })
    expect(parseInput(schema, parseForm('words=a&words=b&word=x&word=b'))).toEqual({ words: ['a', 'b'], word: 'b' })
    expect(() => parseInput(schema, parseForm('words=a&words=b&words=c&words=d'))).toThrow('words is invalid')
  })
})
