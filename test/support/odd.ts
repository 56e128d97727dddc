import type { IncomingMessage } from 'node:http'
import { expect } from 'vitest'
import type { TestApp } from './app.js'
import type { TestProject } from './factories.js'

/** What to request from a repository. */
export interface Asked {
  /** Ref names, hashes, prefixes: anything that may identify a commit. */
  revisions?: string[]
  /** Revisions for which only endpoints of single commits are called. */
  commits?: string[]
  /** Paths to request at the first revision. */
  paths?: string[]
  blobs?: string[]
}

type Answered = { status: number; body: unknown }

/** Parses a JSON response; fails if it is not valid UTF-8. */
function strictly(response: IncomingMessage, done: (fault: Error | null, body?: unknown) => void) {
  const chunks: Buffer[] = []
  response.on('data', (chunk) => chunks.push(chunk))
  response.on('end', () => {
    const bytes = Buffer.concat(chunks)
    if (!response.headers['content-type']?.startsWith('application/json')) return done(null, bytes)
    try {
      done(null, JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
    } catch (fault) {
      done(fault as Error)
    }
  })
}

/** All strings within a response. */
function* textsOf(body: unknown): Generator<string> {
  if (typeof body === 'string') yield body
  else if (body && typeof body === 'object' && !Buffer.isBuffer(body))
    for (const [key, value] of Object.entries(body)) {
      yield key
      yield* textsOf(value)
    }
}

const DATES = /_(date|at)$/

function* datesOf(body: unknown): Generator<unknown> {
  if (!body || typeof body !== 'object' || Buffer.isBuffer(body)) return
  for (const [key, value] of Object.entries(body)) {
    if (DATES.test(key)) yield value
    yield* datesOf(value)
  }
}

/**
 * Calls all endpoints for commits, trees, files and refs, and checks that each response has one of the `allowed`
 * statuses and is well-formed JSON of the declared schema. Returns status and body of each call.
 */
export async function askEverything(t: TestApp, project: TestProject, asked: Asked, allowed = [200, 404]): Promise<Map<string, Answered>> {
  const { revisions = [], commits = [], paths = [], blobs = [] } = asked
  const e = encodeURIComponent
  const calls: string[] = [
    'branches',
    'tags',
    'tags?order_by=name&sort=asc',
    'tree',
    'tree?recursive=true',
    'commits',
    'commits?all=true&with_stats=true',
  ]
  for (const revision of revisions) {
    const r = e(revision)
    calls.push(`branches/${r}`, `tags/${r}`, `tree?ref=${r}`, `tree?ref=${r}&recursive=true&per_page=100`, `branches?search=${r}`, `tags?search=${r}`)
    calls.push(`commits?ref_name=${r}`, `commits?ref_name=${r}&with_stats=true&per_page=100`, `commits?ref_name=${r}&first_parent=true`)
    calls.push(`commits?ref_name=${r}&since=1990-01-01&until=2030-01-01`, `commits?ref_name=${r}&path=nowhere`)
    calls.push(`commits/${r}`, `commits/${r}?stats=false`, `commits/${r}/diff`, `commits/${r}/diff?per_page=1&page=2`, `commits/${r}/comments`)
    calls.push(`compare?from=${e(revisions[0] ?? '')}&to=${r}`, `compare?from=${r}&to=HEAD&straight=true`, `compare?from=none&to=${r}`)
    for (const path of revision === revisions[0] ? paths : []) {
      const p = e(path)
      calls.push(`tree?ref=${r}&path=${p}`, `commits?ref_name=${r}&path=${p}`, `files/${p}?ref=${r}`, `files/${p}/raw?ref=${r}`)
    }
  }
  for (const commit of commits) calls.push(`commits/${e(commit)}`, `commits/${e(commit)}/diff`, `branches/${e(commit)}`)
  for (const blob of blobs) calls.push(`blobs/${e(blob)}`, `blobs/${e(blob)}/raw`)

  const answers = new Map<string, Answered>()
  const keep = (call: string, { status, body }: Answered, statuses: number[]) => {
    if (!statuses.includes(status)) expect.fail(`${call} answers ${status}: ${JSON.stringify(body)?.slice(0, 300)}`)
    for (const text of textsOf(body)) if (!text.isWellFormed()) expect.fail(`${call} has a broken character`)
    for (const date of datesOf(body)) if (date !== null && !/^[+-]?\d{4,6}-\d\d-\d\dT/.test(String(date))) expect.fail(`${call} has a date ${date}`)
    answers.set(call, { status, body })
  }
  for (const call of calls) {
    const answer = await t
      .api('get', `${project.path}/repository/${call}`, project.creator)
      .buffer(true)
      .parse(strictly as never)
    // a search of more than 255 characters is refused (SEC-57)
    keep(call, answer, call.includes('?search=') ? [...allowed, 400] : allowed)
  }
  for (const revision of [...revisions, ...commits]) {
    const places = [
      {},
      ...(revision === revisions[0] ? paths.slice(0, 12) : []).flatMap((path) => [
        { path, line: 1, line_type: 'new' },
        { path, line: 1, line_type: 'old' },
      ]),
    ]
    for (const place of places) {
      const answer = await t
        .api('post', `${project.path}/repository/commits/${e(revision)}/comments`, project.creator)
        .send({ note: 'odd', ...place })
        .buffer(true)
        .parse(strictly as never)
      keep(`comment on ${revision} ${JSON.stringify(place)}`, answer, allowed.includes(200) ? [201, 404] : allowed)
    }
    const comments = await t.api('get', `${project.path}/repository/commits/${e(revision)}/comments?per_page=100`, project.creator)
    keep(`commits/${revision}/comments`, comments, allowed)
  }
  for (const call of ['events?per_page=100', 'releases', '']) {
    const answer = await t
      .api('get', `${project.path}${call && `/${call}`}`, project.creator)
      .buffer(true)
      .parse(strictly as never)
    keep(call || 'project', answer, [200])
  }
  return answers
}
