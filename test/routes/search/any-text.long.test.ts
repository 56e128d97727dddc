// @module-tag long
import { readdirSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { issues, mergeRequests, milestones, notes, snippets } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import type { TestRepository } from '../../support/git.js'
import { random } from '../../support/reader.js'
import { bareOf, stateOf } from '../../support/repositories.js'
import { runSync } from '../../support/run-sync.js'

const t = testApp()
const { below, chance } = random(20)
const pick = <T>(list: readonly T[]) => list[below(list.length)] as T

/** What texts are made of: words, what regular expressions and patterns use, quotes, other alphabets, options. */
const PIECES = [
  ...['foo', 'Foobar', 'BAR', 'ba', 'x', 'Ärger', 'ÜBER', 'Привет', 'שלום', 'مرحبا', '日本語', '👩‍👩‍👧', '🦉', 'e\u0301', '\u202eevil', '\u200b'],
  ...['.', '.*', '[a-z]', '(', ')', '^', '$', '\\', '\\d+', '|', '{2}', '+', '?', '%', '_', '%%', "'", "''", '"', '"foo bar"', '`', ';', '--', '/*'],
  ...[
    '-e',
    '--output=x',
    '--open-files-in-pager=x',
    '-O',
    '--',
    '-h',
    ':(top)',
    ':!x',
    '*',
    '$1',
    '$(x)',
    '#',
    '!',
    '#1',
    '!2',
    '#3',
    '0',
    '7',
    '<b>',
    '&',
  ],
]
const SEPARATORS = [' ', ' ', '  ', '', '\t']
const aText = (most: number) => Array.from({ length: 1 + below(most) }, () => pick(PIECES) + pick(SEPARATORS)).join('')
const turned = (text: string) => (chance(0.5) ? text.toUpperCase() : text.toLowerCase())

interface Row {
  id: number
  iid?: number
  project: number
  fields: (string | null)[]
}
const rows: Record<'projects' | 'issues' | 'merge_requests' | 'milestones' | 'snippet_titles' | 'snippet_blobs' | 'notes', Row[]> = {
  projects: [],
  issues: [],
  merge_requests: [],
  milestones: [],
  snippet_titles: [],
  snippet_blobs: [],
  notes: [],
}
/** Oldest first. */
const messages: { oid: string; message: string }[] = []
const files: Record<'blobs' | 'wiki_blobs', Map<string, string>> = { blobs: new Map(), wiki_blobs: new Map() }

let keeper: TestUser
let group: { id: number; path: string }
let inGroup: TestProject
let alone: TestProject
let bare: TestRepository

beforeAll(async () => {
  keeper = await aUser(t.ctx)
  group = await aGroup(t.ctx, { creator: keeper })
  inGroup = await aProject(t.ctx, {
    creator: keeper,
    namespace_id: group.id,
    files: { 'first.txt': 'first\n' },
    name: 'Foobar',
    description: aText(4),
  })
  alone = await aProject(t.ctx, { creator: keeper, description: aText(4), name: 'über bar' })
  for (const project of [inGroup, alone]) {
    const { body } = await t.api('get', project.path, keeper).expect(200)
    rows.projects.push({ id: project.id, project: project.id, fields: [body.path, body.name, body.description] })
  }
  const { write } = t.ctx.db
  const moment = (i: number) => new Date(1_600_000_000_000 + i * 1_000)
  for (let i = 0; i < 24; i++) {
    const project = i % 3 === 0 ? alone : inGroup
    const common = { project_id: project.id, author_id: keeper.id, created_at: moment(i), updated_at: moment(i) }
    const [title, description] = [aText(3), aText(8)]
    const iid = i + 1
    const keep = (kind: keyof typeof rows, id: number | undefined, fields: (string | null)[]) =>
      rows[kind].push({ id: id as number, project: project.id, fields, ...(kind !== 'notes' && { iid }) })
    const [issue] = await write
      .insert(issues)
      .values({ ...common, iid, title, description })
      .returning()
    keep('issues', issue?.id, [title, description])
    const branches = { source_branch: `b${i}`, target_branch: 'main' }
    const of = { source_project_id: project.id, original_source_project_id: project.id }
    const [request] = await write
      .insert(mergeRequests)
      .values({ ...common, ...branches, ...of, iid, title: description, description: title })
      .returning()
    keep('merge_requests', request?.id, [title, description])
    const { author_id: _, ...owned } = common
    const [milestone] = await write
      .insert(milestones)
      .values({ ...owned, iid, title: `${title} ${i}`, description })
      .returning()
    keep('milestones', milestone?.id, [`${title} ${i}`, description])
    const [snippet] = await write
      .insert(snippets)
      .values({ ...common, project_id: i % 2 ? project.id : null, title, file_name: `${i}.txt`, content: description, visibility: 0 })
      .returning()
    keep('snippet_titles', snippet?.id, [title, `${i}.txt`])
    keep('snippet_blobs', snippet?.id, [description])
    const [note] = await write
      .insert(notes)
      .values({ ...common, noteable_type: 'Issue', noteable_id: issue?.id as number, note: description })
      .returning()
    keep('notes', note?.id, [description])
  }
  bare = bareOf(t, inGroup)
  const log = bare.git('log', '--reverse', '--format=%H').trim().split('\n')
  messages.push({ oid: log[0] as string, message: 'Add files' })
  files.blobs.set('first.txt', 'first\n')
  for (let i = 0; i < 12; i++) {
    const path = pick([`d${i % 3}/f${i}.txt`, `foo/${i}`, `-e${i}`, `日本語/${i}.md`])
    files.blobs.set(path, `${Array.from({ length: 1 + below(25) }, () => aText(3).replaceAll('\r', '')).join('\n')}\n`)
    const message = `${aText(3)}\n\n${aText(5)}\n${aText(2)}\n`
    const [oid] = bare.commits({ files: { [path]: files.blobs.get(path) as string }, message, date: 1_900_000_000 + i * 60 })
    messages.push({ oid: oid as string, message })
  }
  for (let i = 0; i < 4; i++) {
    const content = `${Array.from({ length: 12 }, () => aText(3)).join('\n')}\n`
    await t
      .api('post', `${inGroup.path}/wikis`, keeper)
      .send({ title: `page ${i}`, content })
      .expect(201)
    files.wiki_blobs.set(`page-${i}.md`, content)
  }
})

/** G-76 to G-80 over plain texts. `letters`: single letters are looked for, too. */
function matches(text: string, fields: (string | null)[], letters: boolean): boolean {
  const folded = text.split(/\s+/).filter(Boolean).join(' ')
  if (folded === '') return true
  const words: string[] = []
  let plain = folded
  for (;;) {
    const from = plain.indexOf('"')
    const to = from < 0 ? -1 : plain.indexOf('"', from + 1)
    if (to < 0) break
    words.push(plain.slice(from + 1, to).trim())
    plain = `${plain.slice(0, from)} ${plain.slice(to + 1)}`
  }
  words.push(...plain.split(' '))
  const wanted = words.filter((word) => word !== '').map((word) => word.toLowerCase())
  const isWhole = wanted.length === 0 || (!letters && wanted.every((word) => Array.from(word).length === 1))
  return fields.some((field) => {
    if (field === null) return false
    const value = field.toLowerCase()
    return isWhole ? value === folded.toLowerCase() : wanted.every((word) => value.includes(word))
  })
}

/** Ids in the order of the scope: what was made last first, but for notes. */
function expectedIds(scope: keyof typeof rows, text: string, within: (row: Row) => boolean, inProject = false): number[] {
  const number = (scope === 'issues' ? /#(\d+)\s*$/ : scope === 'merge_requests' ? /[#!](\d+)\s*$/ : /(?!)/).exec(text)?.[1]
  const found = rows[scope].filter(
    (row) => within(row) && (number === undefined ? matches(text, row.fields, inProject || scope === 'projects') : row.iid === Number(number)),
  )
  return (scope === 'notes' ? found : found.reverse()).map(({ id }) => id)
}

/** `path:line` of the lines native git finds, whatever the case of letters of any alphabet. */
const grepped = new Map<string, Set<string>>()
function nativeGrep(directory: string, text: string): Set<string> {
  if (text.includes('\n')) return new Set()
  const key = `${directory} ${text}`
  const hits = grepped.get(key) ?? askGit(directory, text)
  grepped.set(key, hits)
  return hits
}

function askGit(directory: string, text: string): Set<string> {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', GIT_DIR: directory, GIT_CONFIG_NOSYSTEM: '1', HOME: '/nonexistent' }
  try {
    const args = ['-c', 'core.quotePath=false', 'grep', '-z', '-F', '-i', '-n', '-I', '-e', text, 'main', '--']
    const out = runSync('git', args, { cwd: directory, env }).toString()
    return new Set(
      out
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\0').slice(0, 2).join(':').slice('main:'.length)),
    )
  } catch {
    return new Set()
  }
}

/** `path:first line:text` of the chunks around the hits and, in code, of files that are named or below what is named. */
function expectedBlobs(scope: 'blobs' | 'wiki_blobs', directory: string, text: string): string[] {
  if (text.trim() === '') return []
  const hits = nativeGrep(directory, text)
  const found: string[] = []
  const named = text.replace(/^\/+/, '')
  for (const path of [...files[scope].keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
    const lines = (files[scope].get(path) as string).split('\n').slice(0, -1)
    const isHit = lines.some((_, i) => hits.has(`${path}:${i + 1}`))
    if (!isHit && scope === 'blobs' && (path === named || path.startsWith(`${named}/`)))
      found.push(
        `${path}:1:${Buffer.from(files[scope].get(path) as string)
          .subarray(0, 1_024)
          .toString()
          .replace(/\ufffd$/, '')}`,
      )
    const shown = lines.map((_, i) => lines.some((__, j) => Math.abs(i - j) <= 2 && hits.has(`${path}:${j + 1}`)))
    for (let i = 0; i < lines.length; i++) {
      if (!shown[i] || shown[i - 1]) continue
      let end = i
      while (shown[end]) end++
      found.push(`${path}:${i + 1}:${lines.slice(i, end).join('\n').trimEnd()}`)
    }
  }
  return found
}

function expectedCommits(text: string): string[] {
  if (text.trim() === '') return []
  const found = messages.filter(({ message }) => message.toLowerCase().includes(text.toLowerCase())).map(({ oid }) => oid)
  return found.reverse()
}

async function answer(path: string, scope: string, text: string) {
  const url = `/api/v4${path}?scope=${scope}&per_page=100&search=${encodeURIComponent(text)}`
  const { statusCode, body, headers } = await t.app.inject({ method: 'GET', url, headers: { 'private-token': keeper.token } })
  return { status: statusCode, total: headers['x-total'], found: statusCode === 200 ? JSON.parse(body) : body }
}

const SCOPES = {
  everywhere: ['projects', 'issues', 'merge_requests', 'milestones', 'snippet_titles', 'snippet_blobs'],
  group: ['projects', 'issues', 'merge_requests', 'milestones'],
  project: ['issues', 'merge_requests', 'milestones', 'notes', 'wiki_blobs', 'commits', 'blobs'],
} as const

/** What a text finds everywhere against what it should; the differences. */
async function differences(text: string): Promise<unknown[]> {
  const wrong: unknown[] = []
  const check = async (path: string, scope: string, expected: unknown[], shown: (element: Record<string, unknown>) => unknown) => {
    const { status, total, found } = await answer(path, scope, text)
    const got = status === 200 ? found.map(shown) : found
    if (status !== 200 || JSON.stringify(got) !== JSON.stringify(expected) || total !== String(expected.length))
      wrong.push([path, scope, text, status, got, expected])
  }
  const byId = ({ id }: Record<string, unknown>) => id
  for (const scope of SCOPES.everywhere)
    await check(
      '/search',
      scope,
      expectedIds(scope, text, () => true),
      byId,
    )
  const within = ({ project }: Row) => project === inGroup.id
  for (const scope of SCOPES.group) await check(`${group.path}/search`, scope, expectedIds(scope, text, within), byId)
  const path = `${inGroup.path}/search`
  for (const scope of ['issues', 'merge_requests', 'milestones', 'notes'] as const)
    await check(path, scope, expectedIds(scope, text, within, true), byId)
  await check(path, 'commits', expectedCommits(text), byId)
  const chunk = ({ filename, startline, data }: Record<string, unknown>) => `${filename}:${startline}:${data}`
  await check(path, 'blobs', expectedBlobs('blobs', bare.directory, text), chunk)
  await check(path, 'wiki_blobs', expectedBlobs('wiki_blobs', bare.directory.replace(/\.git$/, '.wiki.git'), text), chunk)
  return wrong
}

/** Every row of every table, but for what a call itself leaves behind, when a token was used, and for the signs of life of processes. */
async function everything(): Promise<unknown[]> {
  const { rows: tables } = await t.ctx.db.write.execute<{ name: string }>(
    sql`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  )
  const digests: unknown[] = [await stateOf(t, inGroup), readdirSync(t.dataDir, { recursive: true }).sort(), readdirSync('.').sort()]
  for (const { name } of tables.filter(({ name }) => !['tokens', 'users', 'processes'].includes(name))) {
    const all = await t.ctx.db.write.execute(
      sql`select md5(coalesce(string_agg(x::text, ',' order by x::text), '')) as digest from ${sql.identifier(name)} x`,
    )
    digests.push([name, all.rows])
  }
  return digests
}

describe('any text in any scope', () => {
  it('finds what a plain scan of the same rows and files finds, and changes nothing (S-8 to S-16, S-22, S-24, G-76 to G-80, SEC-49, SEC-56, SEC-57, SEC-79)', {
    timeout: 240_000,
  }, async () => {
    const texts = PIECES.filter((piece) => piece.trim() !== '')
    const known = Object.values(rows).flatMap((list) => list.flatMap(({ fields }) => fields.filter((field) => field !== null)))
    known.push(...messages.map(({ message }) => message), ...files.blobs.values())
    while (texts.length < 140) {
      const [row, from] = [Array.from(pick(known)), below(20)]
      const part = row.slice(from, from + 1 + below(12)).join('')
      texts.push(chance(0.4) ? aText(3) : turned(chance(0.3) ? `"${part}"` : part))
    }
    const before = await everything()
    const wrong: unknown[] = []
    const next = texts.values()
    const run = async () => {
      for (const text of next) wrong.push(...(await differences(text)))
    }
    await Promise.all([run(), run(), run(), run()])
    expect(wrong.slice(0, 5)).toEqual([])
    expect(await everything()).toEqual(before)
    // nor did nothing ever find anything
    const some = texts.length / 8
    for (const scope of ['blobs', 'wiki_blobs'] as const)
      expect(
        texts.filter((text) => expectedBlobs(scope, bare.directory.replace(/\.git$/, scope === 'blobs' ? '.git' : '.wiki.git'), text).length > 0)
          .length,
      ).toBeGreaterThan(some)
    for (const scope of SCOPES.everywhere) expect(texts.filter((text) => expectedIds(scope, text, () => true).length > 0).length).toBeGreaterThan(5)
    expect(texts.filter((text) => expectedCommits(text).length > 0).length).toBeGreaterThan(some)
  })

  it('refuses invalid and too long texts in every scope (SEC-49, SEC-50, SEC-54, SEC-57)', async () => {
    for (const [place, path] of [
      ['everywhere', '/search'],
      ['group', `${group.path}/-/search`],
      ['project', `${inGroup.path}/-/search`],
    ] as const)
      for (const scope of SCOPES[place]) {
        const ask = async (search: string) => {
          const url = `/api/v4${path}?scope=${scope}&search${search}`
          return (await t.app.inject({ method: 'GET', url, headers: { 'private-token': keeper.token } })).statusCode
        }
        for (const search of ['=a%00b', '=%00', '=%ff', '=%ed%a0%80', `=${'x'.repeat(256)}`, '[a]=x'])
          expect([scope, search, await ask(search)]).toEqual([scope, search, 400])
        expect(await ask(`=${'x'.repeat(1_000_000)}`)).toBe(414)
        expect(await ask(`=${'x'.repeat(255)}`)).toBe(200)
      }
  })
})
