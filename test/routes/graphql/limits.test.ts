import fc from 'fast-check'
import { getIntrospectionQuery } from 'graphql'
import { beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../../src/routes/graphql/engine.js'
import { inSnakeCase } from '../../../src/routes/graphql/object-type.js'
import { TYPES } from '../../../src/routes/graphql/types/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { askOf, type Found } from './ask.js'
import { gitlens } from './recorded.js'

const t = testApp()
const { ask, data, errors, send } = askOf(t)

let user: TestUser
let project: TestProject
beforeAll(async () => {
  user = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: user, files: { 'readme.md': 'one\n' } })
})

const inProject = (fields: string) => `{ project(fullPath: "${project.fullPath}") { ${fields} } }`
const times = (n: number, part: (i: number) => string) => Array.from({ length: n }, (_, i) => part(i)).join(' ')

describe('the schema (GQL-3)', () => {
  it('has a value for each of its fields: code for it, or a field of the entity', () => {
    const missing = Object.values(schema().getTypeMap()).flatMap((type) => {
      const { fields = {}, entity = [] } = TYPES[type.name] ?? {}
      if (!TYPES[type.name] || !('getFields' in type)) return []
      return Object.keys(type.getFields())
        .filter((name) => !fields[name] && !entity.includes(inSnakeCase(name)))
        .map((name) => `${type.name}.${name}`)
    })
    expect(missing).toEqual([])
  })

  it('shows what it is to those who ask', async () => {
    const { __schema } = await data(getIntrospectionQuery(), user)
    expect(__schema.mutationType).toBeNull()
    const names = __schema.types.map(({ name }: Found) => name)
    expect(names).toEqual(expect.arrayContaining(['Project', 'MergeRequest', 'Issue', 'UserCore', 'Time']))
  })
})

describe('bounds (GQL-22, GQL-23)', () => {
  it('end queries that are too long, too deep or too wide before they are run', async () => {
    const refused: [string, RegExp][] = [
      [`{ echo(text: "${'a'.repeat(10_000)}") }`, /more than 10000 characters/],
      [`{ ${times(900, (i) => `a${i}: echo(text: "")`)} }`.slice(0, 9_999), /tokens|Syntax/],
      [`{ ${times(620, () => 'a { b }')} }`, /Syntax|tokens|fields|side by side/],
      [inProject(times(302, (i) => `a${i}: issuesEnabled b${i}: name`)), /600/],
      [inProject(`${'group { parent { '.repeat(10)}id${' } }'.repeat(10)}`), /depth/],
      [inProject(times(11, () => 'id')), /side by side/],
      [`{ ...a } ${times(21, (i) => `fragment f${i} on Query { echo(text: "") }`)}`, /fragments/],
      [inProject(times(61, () => '...f')).concat(' fragment f on Project { id }'), /spreads/],
      ['{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }', /within itself/],
      [
        `{ ...f0 } ${times(19, (i) => `fragment f${i} on Query { a: project(fullPath: "a") { id } b: project(fullPath: "b") { id } ${i < 18 ? `...f${i + 1} ...f${i + 1}` : ''} }`)}`,
        /fields/,
      ],
      [
        '{ __schema { types { fields { type { fields { type { fields { name type { name } args { name } } } } } } } } }',
        /description|introspection/i,
      ],
      [times(11, (i) => `query q${i} { echo(text: "") }`), /operations/],
    ]
    for (const [query, text] of refused) expect(await errors(query, user), query.slice(0, 80)).toEqual([expect.stringMatching(text)])
  })

  it('end queries that ask for too many values or lists', async () => {
    const own = await aProject(t.ctx, { creator: user })
    for (let i = 0; i < 25; i++)
      await t
        .api('post', `${own.path}/labels`, user)
        .send({ name: `l${i}`, color: '#112233' })
        .expect(201)
    const wide = times(5, (i) => `a${i}: labels { nodes { ${times(100, (j) => `b${j}:id`)} } }`)
    const fits = await ask(`{ project(fullPath: "${own.fullPath}") { ${wide} } }`, user)
    expect(fits.errors).toBeUndefined()
    const lists = await ask(inProject(times(21, (i) => `a${i}: issues { count }`)), user)
    expect(lists.errors).toEqual([expect.objectContaining({ message: expect.stringContaining('more than 20 lists'), path: ['project', 'a20'] })])
    expect(lists.data.project.a0).toEqual({ count: 0 })
  })

  it('are those of answers: more than 40000 values end the query', async () => {
    const own = await aProject(t.ctx, { creator: user })
    for (let i = 0; i < 100; i++)
      await t
        .api('post', `${own.path}/labels`, user)
        .send({ name: `l${i}`, color: '#112233' })
        .expect(201)
    const query = `{ project(fullPath: "${own.fullPath}") { ${times(5, (i) => `a${i}: labels { nodes { ${times(100, (j) => `b${j}:id`)} } }`)} } }`
    expect(await ask(query, user)).toEqual({ data: null, errors: [{ message: expect.stringContaining('40000 values') }] })
  })

  it('refuse filters with more than a few values', async () => {
    const on = (field: string) => errors(inProject(field), user)
    const many = (n: number) => JSON.stringify(Array.from({ length: n }, (_, i) => `l${i}`))
    expect(await on(`issues(labelName: ${many(101)}) { count }`)).toEqual([expect.stringContaining('labelName')])
    expect(await on(`mergeRequests(sourceBranches: ${many(101)}) { count }`)).toEqual([expect.stringContaining('sourceBranches')])
    expect(await on(`repository { blobs(paths: ${many(21)}) { nodes { path } } }`)).toEqual([expect.stringContaining('paths are too many')])
    expect(await errors(`{ users(usernames: ${many(101)}) { count } }`, user)).toEqual([expect.stringContaining('usernames are too many')])
    const large = await send({ query: '{ echo(text: "") }', variables: { x: 'a'.repeat(70_000) } }, user)
    expect([large.status, Object.keys((await large.json()) as object)]).toEqual([413, ['errors']])
  })

  it('refuse texts of more than 16 MiB together', async () => {
    const own = await aProject(t.ctx, { creator: user })
    await t
      .api('post', `${own.path}/issues`, user)
      .send({ title: 'long', description: 'a'.repeat(900_000) })
      .expect(201)
    const one = `issue(iid: "1") { description }`
    const fits = await data(`{ project(fullPath: "${own.fullPath}") { ${times(5, (i) => `a${i}: ${one}`)} } }`, user)
    expect(fits.project.a4.description).toHaveLength(900_000)
    const found = await ask(`{ project(fullPath: "${own.fullPath}") { ${times(19, (i) => `a${i}: ${one}`)} } }`, user)
    expect(found).toEqual({ data: null, errors: [{ message: expect.stringContaining('bytes') }] })
  })
})

describe('whatever is sent (SEC-1)', () => {
  const words = ['{', '}', '(', ')', ':', '$x', '"', '"""', '...', '@skip', '[', ']', '!', 'query', 'fragment f on Project', 'on', 'project', 'id']
  const more = ['fullPath', 'nodes', 'issues', 'first', '-1', '1e9', 'null', 'true', '\u0000', '\ud800', '#', '\n', 'gid://gitlab/Issue/1']
  const text = fc.array(fc.constantFrom(...words, ...more), { maxLength: 60 }).map((parts) => parts.join(' '))
  const bodies = fc.record({ query: fc.oneof(text, fc.jsonValue()), variables: fc.jsonValue(), operationName: fc.jsonValue() }, { requiredKeys: [] })

  it('is answered, and no fault of the service', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const response = await send(body, user)
        expect(response.status).toBeLessThan(500)
        const answer = (await response.json()) as object
        expect('errors' in answer || 'data' in answer).toBe(true)
      }),
      { numRuns: 150 },
    )
  })

  it('is a text that no place has', async () => {
    for (const text of ['\\u0000', '\\ud800']) {
      expect(await errors(`{ project(fullPath: "a/${text}") { id } }`, user)).toEqual([expect.stringMatching(/a parameter|Unicode/)])
      expect(await errors(inProject(`issues(labelName: ["a", "${text}"]) { count }`), user)).toEqual([expect.stringMatching(/a parameter|Unicode/)])
    }
  })

  it('is a value of any kind for a variable', async () => {
    const query = `query($path: ID!, $first: Int, $after: String, $labels: [String!], $iids: [String!], $time: Time, $state: IssuableState) {
      project(fullPath: $path) { issues(first: $first, after: $after, labelName: $labels, iids: $iids, createdAfter: $time, state: $state) { count } } }`
    const odd = [
      'MQ==',
      '9'.repeat(30),
      'gid://gitlab/Issue/99999999999999999999',
      '+275760-09-13T00:00:00Z',
      '-271821-04-20',
      '2026-02-31',
      'a\u0000b',
    ]
    const any = fc.oneof(fc.jsonValue(), fc.constantFrom(...odd), fc.array(fc.constantFrom(...odd), { maxLength: 3 }))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('first', 'after', 'labels', 'iids', 'time', 'state'), any, async (name, value) => {
        const response = await send({ query, variables: { path: project.fullPath, [name]: value } }, user)
        expect(response.status).toBeLessThan(500)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a list (GQL-7)', () => {
  it('costs the same number of statements, however many elements it has', async () => {
    const own = await aProject(t.ctx, { creator: user, files: { 'readme.md': 'one\n' } })
    const people: TestUser[] = []
    const add = async () => {
      const other = await aUser(t.ctx)
      people.push(other)
      const request = await aMergeRequest(t, { project: own, caller: user, sent: { labels: 'one,two', reviewer_ids: [other.id] } })
      const { sha } = (await t.api('get', request.path, user).expect(200)).body
      await t.api('post', `${own.path}/statuses/${sha}`, user).send({ state: 'success', name: 'test', ref: request.source }).expect(201)
      await t
        .api('post', `${own.path}/issues`, user)
        .send({ title: 'one', labels: 'one', assignee_ids: [other.id] })
        .expect(201)
      await t.ctx.jobs.drain()
    }
    await add()
    const asked = [
      () => data(gitlens.requestsOfRepository, user, { fullPath: own.fullPath }),
      () => data(gitlens.issues, user, { fullPath: own.fullPath }),
      () => data(gitlens.requestsOfUser, user, { username: user.username }),
    ]
    const counted = async () => {
      // the first call prepares statements and parses the query
      for (const each of asked) await each()
      const counts: number[] = []
      for (const each of asked) counts.push((await t.queriesOf(each)).length)
      return counts
    }
    const one = await counted()
    for (let i = 0; i < 4; i++) await add()
    expect(await counted()).toEqual(one)
    expect(Math.max(...one)).toBeLessThan(30)
  })

  it('of groups, projects and members does, too', async () => {
    const top = await aGroup(t.ctx, { creator: user })
    const { full_path } = (await t.api('get', top.path, user).expect(200)).body
    const add = async () => {
      const below = await aGroup(t.ctx, { creator: user, parent_id: top.id, developer: await aUser(t.ctx) })
      await aProject(t.ctx, { creator: user, namespace_id: below.id })
    }
    const query = `{ group(fullPath: "${full_path}") { descendantGroups { nodes { name parent { name } userPermissions { createProjects } } }
      groupMembers(relations: [DIRECT, DESCENDANTS]) { nodes { user { username publicEmail } group { name } } }
      projects(includeSubgroups: true) { nodes { name group { name } repository { rootRef } userPermissions { pushCode } } } } }`
    const count = async () => {
      await data(query, user)
      return (await t.queriesOf(() => data(query, user))).length
    }
    await add()
    const one = await count()
    for (let i = 0; i < 3; i++) await add()
    expect(await count()).toBe(one)
  })
})
