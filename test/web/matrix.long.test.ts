// @module-tag long
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { readCatalog } from '../../src/db/snapshots.js'
import { forms, pages } from '../../src/web/index.js'
import { CALLERS, MATRIX, rowOf } from '../access/matrix.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { addressOf, asking, bare, type Place } from '../support/site-walk.js'

const t = testApp()
const VISIBILITIES = ['private', 'internal', 'public'] as const
type Visibility = (typeof VISIBILITIES)[number]
type Name = (typeof CALLERS)[number]

/** What texts are marked with: those of the project, of its code, and of what is confidential. */
const KINDS = ['text', 'code', 'secret'] as const
const markOf = (visibility: Visibility, kind: (typeof KINDS)[number]) => `zyq${visibility}${kind}`

const cast = {} as Record<Name, TestUser>
const browsers = {} as Record<Name, TestBrowser>
const places = {} as Record<Visibility, Place>
/** A project that was moved, and the path that it had. */
const moved = { former: '', project: '' }
const ask: ReturnType<typeof asking> = (...given) => asking(t.url)(...given)

async function fill(project: TestProject, visibility: Visibility): Promise<void> {
  const [text, code, secret] = KINDS.map((kind) => markOf(visibility, kind)) as [string, string, string]
  const say = async (path: string, body: object) => (await t.api('post', `${project.path}${path}`, cast.owner).send(body).expect(201)).body
  const actions = [{ action: 'update', file_path: 'a.txt', content: `one\n${code}\n` }]
  await say('/repository/commits', { branch: 'topic', start_branch: 'main', commit_message: code, actions })
  await say('/labels', { name: text, color: '#112233', description: text })
  await say('/milestones', { title: text, description: text })
  await say('/issues', { title: text, description: text, labels: text, milestone_id: undefined })
  await say('/issues', { title: secret, description: secret, confidential: true })
  await say('/issues/1/notes', { body: `${text} #2 !1` })
  await say('/issues/2/notes', { body: secret })
  await say('/merge_requests', { title: code, description: code, source_branch: 'topic', target_branch: 'main' })
  await say('/merge_requests/1/notes', { body: code })
  await say('/snippets', { title: text, file_name: 'one.txt', content: text, visibility: 'private' })
  await say('/wikis', { title: 'home', content: text })
  await say('/repository/tags', { tag_name: 'v1', ref: 'main', message: code })
  await say('/releases', { tag_name: 'v1', name: code, description: code })
  await say('/variables', { key: 'KEY', value: secret })
  await say('/hooks', { url: `https://example.com/${secret}` })
}

beforeAll(async () => {
  for (const name of CALLERS) cast[name] = name === 'admin' ? await anAdmin(t.ctx) : await aUser(t.ctx, { external: name === 'external' })
  const { owner, guest, reporter, developer, maintainer } = cast
  for (const visibility of VISIBILITIES) {
    const group = await aGroup(t.ctx, { creator: owner, visibility, path: `group-${visibility}` })
    for (const [user, access_level] of [
      [guest, 10],
      [reporter, 20],
      [developer, 30],
      [maintainer, 40],
    ] as const)
      await t.api('post', `${group.path}/members`, owner).send({ user_id: user.id, access_level }).expect(201)
    const files = { 'a.txt': `one\n${markOf(visibility, 'code')}\n`, 'README.md': markOf(visibility, 'code') }
    const project = await aProject(t.ctx, {
      creator: owner,
      namespace_id: group.id,
      visibility,
      path: 'marked',
      description: markOf(visibility, 'text'),
      files,
    })
    await fill(project, visibility)
    places[visibility] = { project: project.fullPath, group: `group-${visibility}`, user: owner.username }
  }
  const other = await aProject(t.ctx, { creator: owner, visibility: 'private', path: 'former-one' })
  moved.former = other.fullPath
  await t.api('put', other.path, owner).send({ path: 'later-one' }).expect(200)
  moved.project = `${owner.username}/later-one`
  await t.ctx.jobs.drain()
  for (const name of CALLERS) {
    browsers[name] = new TestBrowser(t.url)
    if (name === 'anonymous') await browsers[name].open('/users/sign_in')
    else await browsers[name].signIn(cast[name])
  }
})

const MEMBERS: readonly Name[] = ['guest', 'reporter', 'developer', 'maintainer', 'owner', 'admin']

/** Whether a caller may see what has this mark. */
function sees(name: Name, visibility: Visibility, kind: (typeof KINDS)[number]): boolean {
  if (kind === 'secret') return MEMBERS.includes(name) && name !== 'guest'
  if (MEMBERS.includes(name)) return kind === 'text' || visibility !== 'private' || name !== 'guest'
  return visibility === 'public' || (visibility === 'internal' && name === 'user')
}

/** The projects that a caller is shown: of the guests' some, and all that the other members see may be read by them. */
const visibilitiesFor = (name: Name): readonly Visibility[] =>
  name === 'guest' ? ['private', 'public'] : MEMBERS.includes(name) ? ['private'] : VISIBILITIES

const isLocal = (location: string) => location === '' || /^\/(?![/\\])/.test(location)
const isBelow = ({ at }: { at: string }) => /^[PG](\/|$)/.test(at)
const QUERIES = ['', '?search=zyq&state=all&scope=all', '?type=issues&term=zyq', '?scope=blobs&search=zyq']
const queriesOf = ({ input }: { input: { shape: object } }) =>
  QUERIES.filter((query) => query === '' || [...new URLSearchParams(query).keys()].some((key) => key in input.shape))

describe('every page, by every role', () => {
  it('shows no text that the role may not read, and leads only to this service (SEC-33, SEC-335)', async () => {
    const faults: string[] = []
    const shown = new Set<string>()
    let read = 0
    for (const name of CALLERS)
      for (const page of pages.filter(({ at }) => !/sign_out|confirmation|unlock|impersonation/.test(at)))
        for (const visibility of isBelow(page) ? visibilitiesFor(name) : (['public'] as const))
          for (const query of queriesOf(page)) {
            const path = addressOf(page.at, places[visibility]) + query
            const { status, location, text } = await ask(browsers[name], path)
            read++
            if (status >= 500 || !isLocal(location)) faults.push(`${name} ${path}: ${status} ${location}`)
            for (const other of VISIBILITIES)
              for (const kind of KINDS)
                if (text.includes(markOf(other, kind)))
                  if (sees(name, other, kind)) shown.add(`${name} ${other} ${kind}`)
                  else faults.push(`${name} ${path}: ${status} ${markOf(other, kind)}`)
          }
    expect(faults).toEqual([])
    expect(read).toBeGreaterThan(2_000)
    // who may read it finds it
    const missing = CALLERS.flatMap((name) =>
      visibilitiesFor(name).flatMap((visibility) =>
        KINDS.filter((kind) => sees(name, visibility, kind) && !shown.has(`${name} ${visibility} ${kind}`)).map(
          (kind) => `${name} ${visibility} ${kind}`,
        ),
      ),
    )
    expect(missing).toEqual([])
  })
})

/** A form as a page has printed it. */
interface Printed {
  action: string
  method: string
  fields: URLSearchParams
}

/** The forms of all pages of a place, as those see them who may do everything. */
async function printedIn(place: Place): Promise<Printed[]> {
  const found = new Map<string, Printed>()
  for (const name of ['owner', 'admin'] as const)
    for (const page of pages.filter(isBelow)) {
      const { status, html, $ } = await browsers[name].open(addressOf(page.at, place))
      if (status !== 200 || html === '') continue
      for (const element of $('form').toArray()) {
        const form = $(element)
        if ((form.attr('method') ?? 'get').toLowerCase() !== 'post') continue
        const fields = new URLSearchParams(form.serializeArray().map(({ name: field, value }): [string, string] => [field, value]))
        const button = form.find('button[name]').first()
        if (button.length > 0) fields.set(String(button.attr('name')), String(button.attr('value') ?? ''))
        fields.delete('form_key')
        const method = fields.get('_method')?.toUpperCase() || 'POST'
        const action = form.attr('action') ?? ''
        found.set(`${method} ${action} ${[...fields.keys()].join()}`, { action, method, fields })
      }
    }
  return [...found.values()]
}

/** The declared form that answers an address: of those that match, the one that names most of it. */
function declaredFor({ action, method }: Printed, place: Place) {
  const [path = ''] = action.split('?', 1)
  return forms
    .filter((each) => each.method === method)
    .filter(({ at }) => {
      const start = at.replace(/^P(?=\/|$)/, `/${place.project}`).replace(/^G(?=\/|$)/, `/groups/${place.group}`)
      const pattern = start.replace(/:[a-z_]+\([^)]*\)|:[a-z_]+/g, '[^/]+').replace('*', '.+')
      return new RegExp(`^${pattern}$`).test(decodeURI(path))
    })
    .sort((a, b) => a.at.replace(/[^:*]/g, '').length - b.at.replace(/[^:*]/g, '').length)[0]
}

/** All rows but those that any call may change. */
async function everything(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const { tables } = await readCatalog(t.ctx.db)
  for (const table of tables.keys()) {
    if (/^(jobs|sessions|sent_forms|audit_events|user_addresses|request_counts)$/.test(table)) continue
    const { rows } = await t.ctx.db.write.execute<{ rows: string }>(
      sql.raw(`select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as rows from public."${table}" t`),
    )
    found[table] = rows[0]?.rows ?? ''
  }
  return found
}

describe('every form as it is printed', () => {
  it('is refused for every role that may not do it, and then changes nothing (SEC-6)', async () => {
    const wrong: string[] = []
    let sent = 0
    for (const [turn, visibility] of VISIBILITIES.entries()) {
      const place = places[visibility]
      const all = await printedIn(place)
      expect(all.length).toBeGreaterThan(60)
      // those of the private project, and a half of each of the others'
      const printed = all.filter((_, i) => visibility === 'private' || i % 2 === turn % 2)
      await t.ctx.jobs.drain()
      const before = await everything()
      for (const [i, name] of CALLERS.entries()) {
        if (browsers[name].page?.status !== 200) await browsers[name].open(name === 'anonymous' ? '/users/sign_in' : '/dashboard')
        for (const form of printed) {
          const declared = declaredFor(form, place)
          if (!declared) {
            if (form.action.startsWith(`/${place.project}`) || form.action.startsWith(`/groups/${place.group}`)) wrong.push(`${form.action} is none`)
            continue
          }
          const expected = MATRIX[rowOf(declared.access.rule)]?.[visibility].trim().split(/\s+/)[i]
          if (!expected || expected === 'in') continue
          sent++
          const { status, location } = await ask(browsers[name], form.action, form.fields)
          if (String(status) !== expected || !isLocal(location))
            wrong.push(`${visibility} ${name} ${form.method} ${form.action} (${declared.access.rule}): ${status} ${location}, not ${expected}`)
        }
      }
      await t.ctx.jobs.drain()
      expect([visibility, await everything()]).toEqual([visibility, before])
    }
    expect(wrong).toEqual([])
    expect(sent).toBeGreaterThan(500)
  })
})

describe('another form of every address', () => {
  it('of what is hidden answers as that of what is missing (SEC-30, SEC-336)', async () => {
    const different: string[] = []
    let compared = 0
    const hidden = places.private
    const gone = { ...hidden, project: `${hidden.group}/missed`, group: 'group-missing' }
    const forms = {
      'another case': (place: Place) => ({ ...place, project: place.project.toUpperCase(), group: place.group.toUpperCase() }),
      'a former path': (place: Place) => ({ ...place, project: place === hidden ? moved.former : moved.former.replace('former-one', 'missed-one') }),
      'the same path': (place: Place) => place,
    }
    // both ask for a third of them, one for each of the others
    for (const [i, { at }] of [...pages.filter(isBelow), { at: 'P.git' }, { at: 'P.wiki.git' }, { at: 'G.git' }].entries())
      for (const name of (['anonymous', 'user'] as const).filter((_, n) => i % 3 === 2 || i % 3 === n))
        for (const [what, form] of Object.entries(forms))
          for (const dashed of at.includes('/-/') ? [true, false] : [true]) {
            const hear = async (given: Place) => {
              const place = form(given)
              const path = addressOf(at.replace(/^([PG])\./, '$1/.'), place).replace('/.', '.')
              const answer = await ask(browsers[name], dashed ? path : path.replace('/-/', '/'))
              if (!isLocal(answer.location)) different.push(`${name} ${path}: ${answer.location}`)
              return bare(answer, place)
            }
            const [there, missing] = [await hear(hidden), await hear(gone)]
            compared++
            if (there !== missing || there.startsWith('200'))
              different.push(`${name} ${at} (${what}, ${dashed}): ${there.slice(0, 80)}, missing ${missing.slice(0, 80)}`)
          }
    expect(different).toEqual([])
    expect(compared).toBeGreaterThan(700)
    // who may see it is led to its page
    for (const [path, to] of [
      [`/${hidden.project.toUpperCase()}/issues`, `/${hidden.project}/-/issues`],
      [`/${moved.former}/-/issues`, `/${moved.project}/-/issues`],
    ] as const)
      expect((await browsers.owner.open(path)).at).toBe(to)
  })
})
