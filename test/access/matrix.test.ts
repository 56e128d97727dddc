import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { users } from '../../src/db/schema/index.js'
import type { Endpoint } from '../../src/http/endpoint.js'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aToken, aUser, type TestUser } from '../support/factories.js'
import { oneIn, rounds } from '../support/rounds.js'
import { BODIES, CALLERS, CLOSER, MATRIX, rowOf } from './matrix.js'

const t = testApp()
const VISIBILITIES = ['private', 'internal', 'public'] as const
type Visibility = (typeof VISIBILITIES)[number]
type Name = (typeof CALLERS)[number]

/** Those who have a role in their own project and group: in somebody else's they are users like any other. */
const STRANGERS: readonly Name[] = ['guest', 'reporter', 'developer', 'maintainer', 'owner']

const cast = {} as Record<Exclude<Name, 'anonymous'>, TestUser>
/** One that the cast has roles on, and one of somebody else. */
const places = {} as Record<Visibility, Record<'own' | 'foreign', { project: number; group: number }>>
/** The snippet of each project. */
const snippets = new Map<number, number>()
const bad: Record<string, string> = {}

const roles = () => ({ guest: cast.guest, reporter: cast.reporter, developer: cast.developer, maintainer: cast.maintainer })
const aPlace = async (visibility: Visibility, creator: TestUser, given: object) => {
  const made = { creator, visibility, request_access_enabled: true, ...given }
  const project = await aProject(t.ctx, made)
  await t.api('post', `${project.path}/issues`, creator).send({ title: 'One' }).expect(201)
  await t.api('post', `${project.path}/merge_requests`, creator).send({ title: 'One', source_branch: 'a', target_branch: 'b' }).expect(201)
  const { body: snippet } = await t
    .api('post', `${project.path}/snippets`, creator)
    .send({ title: 'One', file_name: 'a', content: 'a', visibility: 'public' })
    .expect(201)
  snippets.set(project.id, snippet.id)
  return { project: project.id, group: (await aGroup(t.ctx, made)).id }
}

beforeAll(async () => {
  for (const name of CALLERS) if (name !== 'anonymous' && name !== 'admin') cast[name] = await aUser(t.ctx, { external: name === 'external' })
  cast.admin = await anAdmin(t.ctx)
  const other = await aUser(t.ctx)
  for (const visibility of VISIBILITIES)
    places[visibility] = { own: await aPlace(visibility, cast.owner, roles()), foreign: await aPlace(visibility, other, {}) }
  const blocked = await anAdmin(t.ctx)
  await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, blocked.id))
  Object.assign(bad, {
    blocked: blocked.token,
    reader: await aToken(t.ctx, cast.admin, ['read_user']),
    expired: await aToken(t.ctx, cast.admin, ['api'], '2001-01-01'),
  })
})

const endpoints = families.flat()
const bare = ({ path }: Endpoint) => path.replace(/\([^)]*\)/g, '')
const keyOf = (endpoint: Endpoint) => `${endpoint.method} ${bare(endpoint)}`
const kindOf = ({ access }: Endpoint) =>
  /(^|, )(project|issue|merge request|snippet): |any project/.test(access.rule)
    ? 'project'
    : /(^|, )group: |any group/.test(access.rule)
      ? 'group'
      : null

/** These change or delete the thing, so each caller who is let in gets a separate one. */
const CHANGING = new Set([
  'DELETE /projects/:id',
  'DELETE /groups/:id',
  'POST /projects/:id/archive',
  'DELETE /projects/:id/issues/:issue_iid',
  'DELETE /projects/:id/snippets/:snippet_id',
  'DELETE /projects/:id/merge_requests/:merge_request_iid',
])

function urlOf(endpoint: Endpoint, id: number): string {
  const kind = kindOf(endpoint)
  const fill: Record<string, string> = {
    ':id': String(kind ? id : 999_999),
    ':file_path': 'a.txt',
    ':format': 'tar.gz',
    ':issue_iid': '1',
    ':merge_request_iid': '1',
    ':trigger': 'push_events',
    ':snippet_id': String(snippets.get(id) ?? 999_999),
  }
  const query = endpoint.method === 'GET' ? BODIES[keyOf(endpoint)] : undefined
  return `/api/v4${bare(endpoint).replace(/:[a-z_]+/g, (name) => fill[name] ?? '999999')}${query ? `?${new URLSearchParams({ ...query })}` : ''}`
}

/** `in`, or the status of who was turned away at the door: what a call finds missing behind it is no refusal. */
async function knock(endpoint: Endpoint, id: number, token: string | undefined): Promise<string> {
  const { method } = endpoint
  const answer = await t.app.inject({
    method: method as 'GET',
    url: urlOf(endpoint, id),
    headers: { ...(token && { 'private-token': token }), ...(method !== 'GET' && method !== 'HEAD' && { 'content-type': 'application/json' }) },
    ...(method !== 'GET' && method !== 'HEAD' && { payload: JSON.stringify(BODIES[keyOf(endpoint)] ?? {}) }),
  })
  const { statusCode: status } = answer
  if (status >= 500) return `${status} ${answer.body}`
  if (status === 401 || status === 403) return String(status)
  if (status !== 404) return 'in'
  const kind = kindOf(endpoint)
  const door = kind === 'project' ? '404 Project Not Found' : kind === 'group' ? '404 Group Not Found' : null
  // the answer to HEAD has no body to check, so GET is called, too
  if (method === 'HEAD') return 'head'
  return door !== null && answer.json().message === door ? '404' : 'in'
}

/** Runs many calls, a few at once. */
async function all(work: (() => Promise<string | null>)[]): Promise<string[]> {
  const found: string[] = []
  const next = work.values()
  const run = async () => {
    for (const one of next) {
      const fault = await one()
      if (fault !== null) found.push(fault)
    }
  }
  await Promise.all(Array.from({ length: 12 }, run))
  return found.sort()
}

describe('permissions of all routes (SEC-6, SEC-30, SEC-37, SEC-173, G-10, G-64 to G-67, AC-4, AC-6, AC-7)', () => {
  it('every rule that a route declares has a row, and every row a column for everybody', () => {
    expect(endpoints.map(({ access }) => access.rule).filter((rule) => !(rowOf(rule) in MATRIX))).toEqual([])
    const rows = Object.values({ ...MATRIX, ...CLOSER }).flatMap((row) => Object.values(row) as string[])
    expect(rows.filter((row) => row.split(/\s+/).length !== CALLERS.length)).toEqual([])
    expect(Object.keys(CLOSER).filter((key) => !endpoints.some((endpoint) => keyOf(endpoint) === key))).toEqual([])
  })

  // each endpoint at one visibility, one place for each caller; in the long run at two, all places
  const turns = rounds(1, 2)
  const someOf = (turn: number) => endpoints.filter((_, i) => (i + VISIBILITIES.length - turn) % VISIBILITIES.length < turns)
  it.each(VISIBILITIES.map((visibility, turn) => ({ visibility, some: someOf(turn) })))(
    'on what is $visibility, one’s own and somebody else’s',
    { tags: ['long'] },
    async ({ visibility, some }) => {
      const work: (() => Promise<string | null>)[] = []
      let asked = 0
      for (const endpoint of some) {
        const row = (CLOSER[keyOf(endpoint)] ?? MATRIX[rowOf(endpoint.access.rule)])?.[visibility].split(/\s+/) ?? []
        const kind = kindOf(endpoint)
        const strangers = oneIn(STRANGERS.length, STRANGERS, endpoint.path.length % STRANGERS.length)
        for (const [i, name] of CALLERS.entries()) {
          const token = name === 'anonymous' ? undefined : cast[name].token
          // without a project or group it has no owner
          for (const place of kind === null ? (['own'] as const) : oneIn(2, ['own', 'foreign'] as const, (endpoint.path.length + i) % 2)) {
            const isStranger = place === 'foreign' && STRANGERS.includes(name)
            if (isStranger && !strangers.includes(name)) continue
            const role = isStranger ? 2 : i
            const expected = row[role] as string
            asked++
            work.push(async () => {
              const fresh = CHANGING.has(keyOf(endpoint)) && expected === 'in' && kind !== null
              const id = fresh ? (await aPlace(visibility, cast.owner, roles()))[kind] : places[visibility][place][kind ?? 'project']
              const got = await knock(endpoint, id, token)
              const same = got === expected || (got === 'head' && (expected === '404' || expected === 'in'))
              return same ? null : `${keyOf(endpoint)} (${endpoint.access.rule}) as ${name} on ${place}: ${got}, not ${expected}`
            })
          }
        }
      }
      expect(asked).toBeGreaterThan(rounds(300, 1_000))
      expect(await all(work)).toEqual([])
    },
  )

  it('with credentials that are good for less or for nothing: blocked, expired, for people only', { tags: ['long'] }, async () => {
    const work = endpoints.flatMap((endpoint, turn) =>
      oneIn(3, Object.entries({ blocked: '403', expired: '401', reader: '403' }), turn % 3).map(([name, refused]) => async () => {
        const opens = name === 'reader' && endpoint.method === 'GET' && /^\/users?(\/|$)/.test(endpoint.path)
        const expected = opens ? 'in' : refused
        const got = await knock(endpoint, places.public.own[kindOf(endpoint) ?? 'project'], bad[name])
        return got === expected ? null : `${keyOf(endpoint)} as ${name}: ${got}, not ${expected}`
      }),
    )
    expect(await all(work)).toEqual([])
  })
})
