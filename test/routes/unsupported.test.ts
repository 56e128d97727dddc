import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/http/endpoint.js'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'

const t = testApp()

const callOf = ({ method, path }: Endpoint) => `${method} ${path}`
const endpoints = new Map(families.flat().map((each) => [callOf(each), each]))
const declared = (call: string) => {
  const { input, access } = endpoints.get(call) as Endpoint
  return [...Object.keys(input.shape), ...Object.keys(access.path.shape)]
}

const spec = readFileSync('docs/spec/narrowing.md', 'utf8')
const [, table = '', ignoredTable = ''] = spec.split(/^## .*$/m)
const codes = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string)
const cellsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => /^\| .*`/.test(line))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')))

/** One parameter of one call. */
interface Row {
  call: string
  name: string
  here: string
  accepted: string[]
}
const rows: Row[] = cellsOf(table).flatMap(([name, , here = '', accepted, calls]) =>
  codes(calls).map((call) => ({ call, name: codes(name)[0] as string, here, accepted: codes(accepted) })),
)
const ignored = new Set(cellsOf(ignoredTable).flatMap(([, names]) => codes(names)))
const refused = rows.filter(({ here }) => here === 'refused')

describe('the table of parameters that narrow or withhold (NP-1)', () => {
  it('has calls that are served, each parameter of a call once, done or refused', () => {
    expect(rows.filter(({ call }) => !endpoints.has(call))).toEqual([])
    expect([...new Set(rows.map(({ here }) => here))].sort()).toEqual(['done', 'refused'])
    const keys = rows.map(({ call, name }) => `${call} ${name}`)
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
    expect(refused.length).toBeGreaterThan(50)
  })

  it('has what the calls declare: done is a parameter of the call, refused is one that it refuses', () => {
    expect(rows.filter(({ call, name, here }) => here === 'done' && !declared(call).includes(name))).toEqual([])
    const refusals = [...endpoints].flatMap(([call, { refuses = {} }]) =>
      Object.entries(refuses).map(([name, accepted]) => ({ call, name, here: 'refused', accepted: [...accepted] })),
    )
    const sorted = (list: Row[]) => [...list].sort((a, b) => (`${a.call} ${a.name}` < `${b.call} ${b.name}` ? -1 : 1))
    expect(sorted(refused)).toEqual(sorted(refusals))
    expect(refused.filter(({ call, name }) => declared(call).includes(name))).toEqual([])
  })

  it('is complete: every documented parameter of a call is declared, refused, or ignored for a reason', () => {
    const lines = readFileSync('docs/spec/parameters.txt', 'utf8').trim().split('\n')
    const documented = lines.flatMap((line) => {
      const [call = '', names = ''] = line.split(': ')
      return names.split(' ').map((name) => ({ call, name }))
    })
    expect(documented.length).toBeGreaterThan(800)
    const known = new Set(rows.map(({ call, name }) => `${call} ${name}`))
    const missing = documented.filter(
      ({ call, name }) => !endpoints.has(call) || !(declared(call).includes(name) || known.has(`${call} ${name}`) || ignored.has(name)),
    )
    expect(missing).toEqual([])
    const used = new Set(documented.map(({ name }) => name))
    expect([...ignored].filter((name) => !used.has(name))).toEqual([])
  })
})

describe('refused parameters', () => {
  let admin: TestUser
  let project: TestProject
  let group: { id: number }
  let ids: Record<string, string | number>

  beforeAll(async () => {
    admin = await anAdmin(t.ctx)
    project = await aProject(t.ctx, { creator: admin, files: { a: 'x' } })
    group = await aGroup(t.ctx, { creator: admin })
    const say = async (path: string, body: object) => (await t.api('post', path, admin).send(body).expect(201)).body
    const member = await aUser(t.ctx)
    for (const path of [project.path, `/groups/${group.id}`]) {
      await say(`${path}/members`, { user_id: member.id, access_level: 20 })
      await say(`${path}/variables`, { key: 'A', value: 'x' })
    }
    await say(`${project.path}/issues`, { title: 'x' })
    await aMergeRequest(t, { project })
    const snippet = await say(`${project.path}/snippets`, { title: 's', file_name: 'a', content: 'x', visibility: 'private' })
    const note = await say(`${project.path}/issues/1/notes`, { body: 'x' })
    await say(`${project.path}/protected_branches`, { name: 'release' })
    ids = {
      issue_iid: 1,
      merge_request_iid: 1,
      snippet_id: snippet.id,
      note_id: note.id,
      key: 'A',
      name: 'release',
      user_id: member.id,
      slug: 'slack',
    }
  })

  const pathOf = (call: string) =>
    (call.split(' ')[1] as string)
      .replace(/^(\/projects|\/groups)\/:id/, (_, of: string) => `${of}/${of === '/groups' ? group.id : project.id}`)
      .replace(/:(\w+)/g, (_, name: string) => String(ids[name]))
  const methodOf = (call: string) => call.split(' ')[0]?.toLowerCase() as 'get'
  const send = (call: string, name: string, value: string) => {
    const nested = /^(\w+)\[(\w+)\]$/.exec(name)
    const request = t.api(methodOf(call), pathOf(call), admin)
    const bag = nested ? { [nested[1] as string]: { [nested[2] as string]: value } } : { [name]: value }
    return call.startsWith('GET') ? request.query(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`) : request.send(bag)
  }

  it.each(refused.map(({ call, name }) => [call, name]))('%s refuses %s (NP-1)', async (call, name) => {
    const before = await t.queriesOf(async () => {
      const { body } = await send(call, name, 'x').expect(400)
      expect(body).toEqual({ error: `${name} is not supported` })
    })
    expect(before.filter((text) => /^\s*(insert|update|delete)/i.test(text))).toEqual([])
  })

  const harmless = refused
    .filter(({ call }) => call.startsWith('GET'))
    .flatMap(({ call, name, accepted }) => ['', ...accepted].map((value) => [call, name, value]))
  it.each(harmless)('%s takes %s=%s (NP-3)', async (call, name, value) => {
    await send(call as string, name as string, value as string).expect(call?.includes('compare') ? 400 : 200)
  })

  it('of calls that write are taken with what happens anyway, in all notations (NP-3)', async () => {
    const put = (path: string, body: object) => t.api('put', path, admin).send(body)
    await put(project.path, {
      description: 'x',
      approvals_before_merge: 0,
      merge_trains_enabled: false,
      external_authorization_classification_label: null,
    }).expect(200)
    await put(project.path, { description: 'x', merge_trains_enabled: 'yes', approvals_before_merge: 1 }).expect(400, {
      error: 'approvals_before_merge is not supported, merge_trains_enabled is not supported',
    })
    await t
      .api('post', `${project.path}/protected_branches`, admin)
      .send({ name: 'x', allowed_to_push: [], code_owner_approval_required: 'f' })
      .expect(201)
    await t
      .api('post', `${project.path}/protected_branches`, admin)
      .send({ name: 'y', allowed_to_push: [{ user_id: 1 }] })
      .expect(400)
    await t.api('delete', `${project.path}/members/${ids['user_id']}`, admin).send({ skip_subresources: 1, unassign_issuables: 0 }).expect(204)
  })
})
