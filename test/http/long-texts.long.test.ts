// @module-tag long
import { request } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import type { Endpoint } from '../../src/http/endpoint.js'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { anAdmin, aUser, type TestUser } from '../support/factories.js'
import { aFullProject, type FullProject } from '../support/full-project.js'
import { bareOf } from '../support/input-fields.js'
import { longText, Turns } from '../support/turns.js'

const t = testApp()
const turns = new Turns()
afterAll(() => turns.stop())

/** A turn of the event loop may take 50 ms (SEC-145); one that is quadratic takes most of a second for this text. */
const LIMIT_MS = 250
const TEXT = longText(25_000)
/** As many values as a body may have, and as many names. */
const LIST = Array.from({ length: 50_000 }, (_, i) => `${i},a`)
const MAP = Object.fromEntries(LIST.slice(0, 20_000).map((each) => [each, 'a']))

/** What turns the sender away, and what other tests send. */
const NOT_SENT = /^PUT \/(application\/settings|user\/password)|request_limits|sign_in_providers/
/** Parameters of lists, which are numbers and words. */
const SHORT = /^(page|per_page|sort|order_by|pagination|cursor|id_before|id_after)$|_(enabled|access_level|events|after|before)$/

let keeper: TestUser
let full: FullProject
let values: Record<string, unknown>

beforeAll(async () => {
  keeper = await anAdmin(t.ctx)
  const mate = await aUser(t.ctx)
  full = await aFullProject(t, keeper, mate)
  const { project, group, sha } = full
  const threads = async (at: string) => (await t.api('get', `${project.path}${at}/discussions`, keeper).expect(200)).body
  const [own] = (await threads('/issues/1')).slice(-1)
  await t.api('post', '/snippets', keeper).send({ title: 'a', file_name: 'a', content: 'a', visibility: 'public' }).expect(201)
  values = {
    ...{ issue_iid: 1, merge_request_iid: 1, milestone_id: 1, label_id: 'one', snippet_id: 1, draft_note_id: 1, tag_name: 'v1', slug: 'one' },
    ...{ branch: 'topic', sha, file_path: 'a.txt', format: 'zip', discussion_id: own.id, note_id: own.notes[0].id, key: 'KEY', name: 'main' },
    ...{ user_id: mate.id, group_id: group.id, project_id: project.id, username: mate.username },
    ...{ title: 'one', body: 'one', note: 'one', content: 'one', description: 'one', message: 'one', commit_message: 'one', text: 'one' },
    ...{
      ref: 'main',
      from: 'main',
      to: 'topic',
      source_branch: 'spare',
      target_branch: 'main',
      search: 'one',
      scope: 'issues',
      refs: ['main', 'topic'],
    },
    ...{
      color: '#112233',
      value: 'one',
      url: 'http://example.org/',
      state: 'success',
      duration: '1h',
      access_level: 30,
      path: 'one',
      file_name: 'a',
    },
    ...{
      visibility: 'public',
      email: 'one@example.org',
      password: 'long enough 1',
      ids: [1],
      actions: [{ action: 'create', file_path: 'b' }],
      requests: 9,
    },
    ...{ position: { position_type: 'text', base_sha: sha, start_sha: sha, head_sha: sha }, redirect_uri: 'https://example.org/', scopes: ['api'] },
  }
})

type Path = (string | number)[]

/** The places of a body that take a value: those of lists and records as well as these themselves. */
function placesOf(schema: z.ZodType, at: Path = []): Path[] {
  const bare = bareOf(schema)
  if (at.length > 4) return [at]
  if (bare instanceof z.ZodObject) return Object.entries(bare.shape).flatMap(([name, inner]) => placesOf(inner as z.ZodType, [...at, name]))
  if (bare instanceof z.ZodArray) return [at, ...placesOf(bare.element as z.ZodType, [...at, 0])]
  return [at]
}

/** A body with a value at a place. */
function withValue(body: Record<string, unknown>, at: Path, value: unknown): Record<string, unknown> {
  const copy = structuredClone(body)
  let inner: Record<string | number, unknown> = copy
  for (const [i, name] of at.slice(0, -1).entries()) {
    const next = inner[name]
    inner[name] = typeof next === 'object' && next !== null ? next : typeof at[i + 1] === 'number' ? [] : {}
    inner = inner[name] as Record<string | number, unknown>
  }
  inner[at.at(-1) as string] = value
  return copy
}

const idOf = (path: string): string | number =>
  path.startsWith('/projects')
    ? full.project.id
    : path.startsWith('/groups') || path.startsWith('/namespaces')
      ? full.group.id
      : path.startsWith('/users')
        ? keeper.id
        : 1

const urlOf = ({ path }: Endpoint): string =>
  `${t.url}/api/v4${path.replace(/:([a-z_]+)(?:\([^)]*\))?/g, (_, name: string) => encodeURIComponent(String(name === 'id' ? idOf(path) : (values[name] ?? 1))))}`

/** What an endpoint demands, with values that it takes. */
const demandedBy = ({ input, path }: Endpoint): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(input.shape).flatMap(([name, schema]) =>
      !path.includes(`:${name}`) && values[name] !== undefined && !(schema as z.ZodType).safeParse(undefined).success ? [[name, values[name]]] : [],
    ),
  )

/** Of parameters that stand in an address, which has at most some kilobytes. */
const SHORTER = longText(100)
const queryOf = ([name, ...within]: Path) =>
  `${name}${within.map((each) => (each === 0 ? '[]' : `[${each}]`)).join('')}=${encodeURIComponent(SHORTER)}`

const send = (method: string, url: string, body: string) =>
  new Promise<number>((resolve, reject) => {
    const headers = { 'private-token': keeper.token, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const call = request(url, { method, agent: false, headers }, (answer) => answer.resume().once('close', () => resolve(answer.statusCode ?? 0)))
    // a body that is refused is not read to its end
    call.once('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' || error.code === 'EPIPE' ? resolve(0) : reject(error)))
    call.setTimeout(20_000, () => call.destroy(new Error(`${method} ${url} has no answer`)))
    call.end(body)
  })

it('long texts, lists and maps in all parameters of all endpoints never hold the event loop (SEC-67, SEC-145)', async () => {
  const isLast = ({ method, path }: Endpoint) => method === 'DELETE' || /archive$|transfer|restore|block|activate|rotate|fork|share|reject/.test(path)
  const sent = families.flat().filter(({ method, path }) => method !== 'HEAD' && !NOT_SENT.test(`${method} ${path}`))
  const faults: string[] = []
  const answers: Record<number, number> = {}
  let count = 0
  for (const endpoint of [...sent.filter((each) => !isLast(each)), ...sent.filter(isLast)]) {
    const { method, path, input } = endpoint
    const [url, demanded] = [urlOf(endpoint), demandedBy(endpoint)]
    const names = Object.keys(input.shape).filter((name) => !path.includes(`:${name}`) && !SHORT.test(name))
    const places = placesOf(input).filter(([name]) => names.includes(String(name)))
    for (const at of places) {
      for (const value of method !== 'GET' && at.length === 1 && at[0] === names[0] ? [TEXT, LIST, MAP] : [TEXT]) {
        const body = withValue(demanded, at, value)
        const schema = input.shape[at[0] as string] as z.ZodType
        // what is no text is refused before anything is done with it
        if (value === TEXT && !schema.safeParse(body[at[0] as string]).success) continue
        let status = 0
        const held = await turns.longestOf(async () => {
          status = method === 'GET' ? await send(method, `${url}?${queryOf(at)}`, '') : await send(method, url, JSON.stringify(body))
        }, LIMIT_MS)
        count++
        answers[status] = (answers[status] ?? 0) + 1
        const what = `${method} ${path} ${at.join('.')} with ${value === TEXT ? 'a text' : 'many values'}`
        if (held > LIMIT_MS) faults.push(`${what}: ${Math.round(held)} ms, answered ${status}`)
        if (status >= 500 && status !== 503) faults.push(`${what}: ${status}`)
      }
    }
  }
  process.stdout.write(`${sent.length} endpoints, ${count} calls; answers ${JSON.stringify(answers)}\n`)
  expect(faults).toEqual([])
  expect(count).toBeGreaterThan(500)
})
