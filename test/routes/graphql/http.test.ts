import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aToken, aUser, setSettings, type TestProject, type TestUser } from '../../support/factories.js'
import { askOf } from './ask.js'

const t = testApp()
const { send, ask, data, errors } = askOf(t)
const NAME = '{ currentUser { username } }'

let user: TestUser
let project: TestProject
beforeAll(async () => {
  user = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: user })
})

const get = (query: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${t.url}/api/graphql?${new URLSearchParams(query)}`, { headers })

describe('GraphQL over HTTP (GQL-2)', () => {
  it('takes a query by POST as JSON or a form, and by GET', async () => {
    const own = { data: { currentUser: { username: user.username } } }
    const form = new URLSearchParams({ query: NAME, private_token: user.token })
    for (const response of [
      await send({ query: NAME }, user),
      await fetch(`${t.url}/api/graphql`, { method: 'POST', body: form }),
      await get({ query: NAME }, { 'private-token': user.token }),
      await get({ query: NAME, access_token: user.token }),
      await fetch(`${t.url}/api/graphql/?${new URLSearchParams({ query: NAME })}`, { headers: { 'private-token': user.token } }),
    ]) {
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(await response.json()).toEqual(own)
    }
  })

  it('takes variables as an object or as text, and the name of an operation', async () => {
    const query = 'query A($text: String!) { echo(text: $text) } query B { echo(text: "b") }'
    const echo = (text: string) => ({ data: { echo: `"${user.username}" says: ${text}` } })
    expect(await (await send({ query, operationName: 'A', variables: { text: 'a' } }, user)).json()).toEqual(echo('a'))
    expect(await (await send({ query, operationName: 'B', variables: null }, user)).json()).toEqual(echo('b'))
    const asText = await get({ query, operationName: 'A', variables: '{"text":"c"}' }, { 'private-token': user.token })
    expect(await asText.json()).toEqual(echo('c'))
    expect(await (await send({ query }, user)).json()).toEqual({ errors: [{ message: expect.stringContaining('operation name') }] })
    for (const body of [{}, { query: 7 }, { query, variables: 'no' }, { query, variables: [1] }, { query, operationName: 7 }]) {
      const response = await send(body, user)
      expect([response.status, Object.keys((await response.json()) as object)]).toEqual([400, ['errors']])
    }
  })

  it('says by the status whether a query could be run to those who ask for it', async () => {
    const accept = { accept: 'application/graphql-response+json' }
    const bad = await send({ query: '{ nope }' }, user, accept)
    expect([bad.status, bad.headers.get('content-type')]).toEqual([400, 'application/graphql-response+json'])
    expect((await send({ query: NAME }, user, accept)).status).toBe(200)
    expect((await send({ query: '{ nope }' }, user)).status).toBe(200)
  })

  it('answers methods, lists and other types like the REST API, with errors', async () => {
    expect((await fetch(`${t.url}/api/graphql`, { method: 'PUT' })).status).toBe(405)
    const list = await fetch(`${t.url}/api/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `[{"query":"${NAME}"}]`,
    })
    expect(list.status).toBe(400)
    const type = await fetch(`${t.url}/api/graphql`, { method: 'POST', headers: { 'content-type': 'text/csv' }, body: NAME })
    expect([type.status, Object.keys((await type.json()) as object)]).toEqual([406, ['errors']])
    // a HEAD would have to run the query
    expect((await fetch(`${t.url}/api/graphql?query=${NAME}`, { method: 'HEAD' })).status).toBe(405)
  })
})

describe('who asks (GQL-10)', () => {
  it('is no user without a token, and refused with a bad one', async () => {
    expect(await data(`${NAME.slice(0, -1)} metadata { version } }`)).toEqual({ currentUser: null, metadata: null })
    for (const who of [{ token: 'bad' }, { token: await aToken(t.ctx, user, ['api'], '2001-01-01') }]) {
      const response = await send({ query: NAME }, who)
      expect([response.status, await response.json()]).toEqual([401, { errors: [{ message: 'Invalid token' }] }])
    }
    const job = await send({ query: NAME }, null, { 'job-token': 'something' })
    expect([job.status, await job.json()]).toEqual([401, { errors: [{ message: 'Invalid token' }] }])
  })

  it('needs a token that reads the whole API', async () => {
    for (const scope of ['api', 'read_api'] as const) {
      const token = await aToken(t.ctx, user, [scope])
      expect(await data(NAME, { token })).toEqual({ currentUser: { username: user.username } })
    }
    for (const scope of ['read_user', 'read_repository'] as const) {
      const response = await send({ query: NAME }, { token: await aToken(t.ctx, user, [scope]) })
      expect([response.status, await response.json()]).toEqual([403, { errors: [{ message: 'insufficient_scope' }] }])
    }
  })

  it('is refused while blocked, and may be another user for an administrator', async () => {
    const blocked = await aUser(t.ctx, { state: 'blocked' })
    expect((await send({ query: NAME }, blocked)).status).toBe(403)
    const admin = await anAdmin(t.ctx)
    const response = await send({ query: NAME }, admin, { sudo: user.username })
    expect(await response.json()).toEqual({ data: { currentUser: { username: user.username } } })
  })
})

describe('reading only (GQL-8)', () => {
  it('refuses mutations and subscriptions with a word', async () => {
    for (const query of ['mutation { createNote(input: {}) { errors } }', 'subscription { x }', 'mutation A { x } query B { echo(text: "") }'])
      expect(await errors(query, user)).toEqual([expect.stringContaining('read-only')])
    const both = await send({ query: 'mutation A { x } query B { currentUser { id } }', operationName: 'A' }, user)
    expect(((await both.json()) as { errors: unknown[] }).errors).toHaveLength(1)
  })

  it('goes on while the service is read-only', async () => {
    await setSettings(t.ctx, { maintenance_mode: true, maintenance_mode_message: 'Later' })
    expect(await data(NAME, user)).toEqual({ currentUser: { username: user.username } })
    await setSettings(t.ctx, { maintenance_mode: false })
  })
})

describe('faults of queries (GQL-9)', () => {
  it('are those of the language', async () => {
    expect(await errors('{ nope }', user)).toEqual(['Cannot query field "nope" on type "Query".'])
    expect(await errors('{', user)).toEqual([expect.stringContaining('Syntax Error')])
    expect(await errors('{ project { id } }', user)).toEqual([expect.stringContaining('fullPath')])
    expect(await errors('query($x: Int!) { currentUser { id } }', user)).toEqual([expect.stringContaining('never used')])
  })

  it('are said of arguments that cannot be honoured, with the path', async () => {
    const on = (field: string) => ask(`{ project(fullPath: "${project.fullPath}") { ${field} } }`, user)
    const refusals: [string, RegExp][] = [
      ['issues(first: -1) { count }', /first must not be negative/],
      ['issues(first: 1, last: 1) { count }', /either/],
      ['issues(after: "x") { count }', /Invalid cursor for after/],
      ['issues(createdAfter: "x") { count }', /createdAfter is not a valid time/],
      ['issues(milestoneTitle: ["a", "b"]) { count }', /milestoneTitle/],
      ['issues(iids: ["x"]) { count }', /not a valid global id/],
      ['pipeline { id }', /id, iid or sha/],
    ]
    for (const [field, text] of refusals) {
      const body = await on(field)
      expect(body.errors).toMatchObject([{ message: expect.stringMatching(text), path: ['project', field.split(/\W/, 1)[0]] }])
      expect(body.data.project).toEqual({ [field.split(/\W/, 1)[0] as string]: null })
    }
    expect(await errors('{ projects(sort: "odd") { count } }', user)).toEqual(['sort odd is not supported'])
    expect(await errors('{ mergeRequest(id: "gid://gitlab/Project/1") { id } }', user)).toEqual([expect.stringContaining('does not represent')])
    expect(await errors('{ user { id } }', user)).toEqual(['Provide either id or username'])
    expect(await errors('{ snippets { count } }', user)).toEqual([expect.stringContaining('ids are missing')])
    expect(await errors('{ project(fullPath: "a/b") { issues(sort: DUE_DATE_ASC) { count } } }', user)).toEqual([
      expect.stringContaining('DUE_DATE_ASC'),
    ])
  })
})

describe('pages of lists (GQL-6)', () => {
  it('are turned forwards and backwards, and have at most 100 elements', async () => {
    const own = await aProject(t.ctx, { creator: user })
    for (let i = 1; i <= 5; i++)
      await t
        .api('post', `${own.path}/issues`, user)
        .send({ title: `i${i}` })
        .expect(201)
    const page = async (args: string) => {
      const query = `{ project(fullPath: "${own.fullPath}") { issues(sort: created_asc, ${args}) { count edges { cursor node { title } }
        pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }`
      const { edges, pageInfo, count } = (await data(query, user)).project.issues
      return { titles: edges.map(({ node }: { node: { title: string } }) => node.title).join(' '), ...pageInfo, count }
    }
    const all = await page('first: 1000')
    expect(all).toMatchObject({ titles: 'i1 i2 i3 i4 i5', count: 5, hasNextPage: false, hasPreviousPage: false })
    const first = await page('first: 2, after: ""')
    expect(first).toMatchObject({ titles: 'i1 i2', hasNextPage: true, hasPreviousPage: false })
    expect(await page(`first: 2, after: "${first.endCursor}"`)).toMatchObject({ titles: 'i3 i4', hasNextPage: true, hasPreviousPage: true })
    // begins between two pages of this size
    const odd = await page(`first: 3, after: "${first.startCursor}"`)
    expect(odd).toMatchObject({ titles: 'i2 i3 i4', hasNextPage: true })
    expect(await page(`last: 2`)).toMatchObject({ titles: 'i4 i5', hasNextPage: false, hasPreviousPage: true })
    expect(await page(`last: 2, before: "${odd.endCursor}"`)).toMatchObject({ titles: 'i2 i3', hasNextPage: true })
    expect(await page(`first: 1, before: "${odd.endCursor}"`)).toMatchObject({ titles: 'i1' })
    expect(await page(`after: "${all.endCursor}"`)).toMatchObject({ titles: '', count: 5, hasNextPage: false, endCursor: null })
    expect(await page('first: 0')).toMatchObject({ titles: '', count: 5 })
  })
})

describe('request limits (GQL-10, SEC-148)', () => {
  const limited = testApp({ ROOST_REQUESTS_PER_USER: '2', ROOST_REQUESTS_PER_ADDRESS: '2' })

  it('count a query as one call, and refuse what is too much with errors', async () => {
    const caller = await aUser(limited.ctx)
    const call = () => askOf(limited).send({ query: NAME }, caller)
    const left = []
    for (let i = 0; i < 2; i++) left.push((await call()).headers.get('ratelimit-remaining'))
    expect(left).toEqual(['1', '0'])
    const over = await call()
    expect([over.status, await over.json()]).toEqual([429, { errors: [{ message: 'Retry later' }] }])
    // a bad credential counts against the address
    const bad = () => askOf(limited).send({ query: NAME }, { token: 'bad' })
    expect([(await bad()).status, (await bad()).status, (await bad()).status]).toEqual([401, 401, 429])
  })
})
