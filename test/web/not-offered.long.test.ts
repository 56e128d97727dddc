// @module-tag long
import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { emails, issues, namespaces, projects, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser, unique } from '../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
let browser: TestBrowser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  owner = await aUser(t.ctx)
  browser = new TestBrowser(t.url)
  await browser.signIn(admin)
})

/** A thing in one of its states: the start of the addresses of its forms, and the pages that offer them to a browser. */
interface Place {
  state: string
  base: string
  pages: string[]
  browser?: TestBrowser
}

interface Offer {
  method: string
  /** The action after the start that the thing has. */
  rest: string
  fields: URLSearchParams
}

const keyOf = ({ method, rest }: Offer) => `${method} ${rest.split('?')[0]}`

/** The forms of a thing that its pages offer. */
async function offersOf({ base, pages, browser: who = browser }: Place): Promise<Offer[]> {
  const offers: Offer[] = []
  for (const path of pages) {
    const { $, status } = await who.open(path)
    if (status !== 200) continue
    for (const element of $('form[method=post]').toArray()) {
      const action = String($(element).attr('action'))
      if (action !== base && !action.startsWith(`${base}/`) && !action.startsWith(`${base}?`)) continue
      const fields = new URLSearchParams()
      for (const { name, value } of $(element).serializeArray()) fields.append(name, value)
      for (const field of $(element).find('[required]').toArray())
        if (!$(field).val())
          fields.set(
            String($(field).attr('name')),
            $(field)
              .closest('.field')
              .text()
              .match(/Type (\S+)/)?.[1] ?? 'word',
          )
      const button = $(element).find('button[name]').first()
      if (button.length > 0) fields.append(String(button.attr('name')), String(button.attr('value') ?? ''))
      // things within this one have their states
      const rest = action.slice(base.length)
      if (!/\/\d+|\/[0-9a-f]{40}/.test(rest)) offers.push({ method: String(fields.get('_method') ?? 'POST').toUpperCase(), rest, fields })
    }
  }
  return offers
}

/** What may change without any form: visits, and what counts and records refusals. */
const RESTLESS = new Set(['audit_events', 'counters', 'list_versions', 'sessions', 'processes', 'sent_forms', 'job_schedules', 'user_agent_details'])

/** A digest of each table. */
async function contents(): Promise<Record<string, string>> {
  const { rows } = await t.ctx.db.write.execute<{ name: string }>(
    sql`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const found: Record<string, string> = {}
  for (const { name } of rows.filter((row) => !RESTLESS.has(row.name))) {
    const digests = await t.ctx.db.write.execute<{ digest: string }>(
      sql.raw(`select md5(coalesce(string_agg(row, ',' order by row), '')) as digest from (select t::text as row from "${name}" t) rows`),
    )
    found[name] = digests.rows[0]?.digest ?? ''
  }
  return found
}

const changed = (before: Record<string, string>, after: Record<string, string>) => Object.keys(before).filter((name) => before[name] !== after[name])

async function token(who: TestBrowser, pages: string[]): Promise<string> {
  for (const path of [...pages, '/dashboard']) {
    const value = (await who.open(path)).$('[name=authenticity_token]').first().val()
    if (value) return String(value)
  }
  return expect.fail('no page has a form')
}

/**
 * Sends each form that one of the places offers to all others that do not: each must refuse it with 4xx, and nothing may
 * change. `same`: forms that may be sent in any state, because they say what is to be, and it is so already.
 */
async function sendUnoffered(places: Place[], same: Record<string, string> = {}): Promise<number> {
  const offered = new Map<Place, Offer[]>()
  for (const place of places) offered.set(place, await offersOf(place))
  const all = new Map<string, Offer>()
  for (const offers of offered.values()) for (const offer of offers) if (!all.has(keyOf(offer))) all.set(keyOf(offer), offer)
  const wrong: string[] = []
  const unused = new Set(Object.keys(same))
  let sent = 0
  for (const place of places) {
    const own = new Set(offered.get(place)?.map(keyOf))
    const { state, base, pages, browser: who = browser } = place
    for (const [key, offer] of all) {
      if (own.has(key)) continue
      if (same[key] !== undefined) {
        unused.delete(key)
        continue
      }
      await t.ctx.jobs.drain()
      const fields = new URLSearchParams(offer.fields)
      fields.set('authenticity_token', await token(who, pages))
      if (fields.has('confirm')) fields.set('confirm', base.split('/').at(-1) as string)
      const before = await contents()
      sent++
      const cookie = [...who.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
      const answer = await fetch(t.url + base + offer.rest, {
        method: 'POST',
        redirect: 'manual',
        headers: { accept: 'text/html', cookie },
        body: fields,
      })
      await answer.body?.cancel()
      const tables = changed(before, await contents())
      if (answer.status < 400 || answer.status >= 500 || tables.length > 0)
        wrong.push(`${state}: ${key}: ${answer.status}${tables.length > 0 ? `, changes ${tables.join(', ')}` : ''}`)
    }
  }
  expect(wrong).toEqual([])
  expect([...unused]).toEqual([])
  expect(all.size).toBeGreaterThan(0)
  process.stdout.write(`${sent} of ${[...all.keys()].join(', ')}\n`)
  return sent
}

describe('a form that a page does not offer is refused, and nothing changes (WB-414)', () => {
  it('of an account, in each of its states', async () => {
    const accounts = {
      active: await aUser(t.ctx),
      unconfirmed: await aUser(t.ctx, { skip_confirmation: false }),
      blocked: await aUser(t.ctx, { state: 'blocked' }),
      'blocked by a directory': await aUser(t.ctx, { state: 'ldap_blocked' }),
      deactivated: await aUser(t.ctx, { state: 'deactivated' }),
      banned: await aUser(t.ctx, { state: 'banned' }),
      waiting: await aUser(t.ctx, { state: 'blocked_pending_approval' }),
      dormant: await aUser(t.ctx),
      'with a second factor': await aUser(t.ctx),
      administrator: await anAdmin(t.ctx),
      'administrator with a second factor': await anAdmin(t.ctx),
    }
    for (const who of [accounts['with a second factor'], accounts['administrator with a second factor']])
      await t.ctx.db.write.update(users).set({ two_factor_enabled: true }).where(eq(users.id, who.id))
    const long = new Date(Date.now() - 200 * 86_400_000)
    await t.ctx.db.write.update(users).set({ created_at: long }).where(eq(users.id, accounts.dormant.id))
    const places = Object.entries(accounts).map(([state, { username }]) => ({
      state,
      base: `/admin/users/${username}`,
      pages: [`/admin/users/${username}`],
    }))
    expect(await sendUnoffered(places)).toBeGreaterThan(40)
  })

  it('of an address', async () => {
    const who = new TestBrowser(t.url)
    await who.signIn(owner)
    const add = async (confirmed_at: Date | null) => {
      const { body } = await t
        .api('post', '/user/emails', owner)
        .send({ email: `of${unique()}@example.org` })
        .expect(201)
      await t.ctx.db.write.update(emails).set({ confirmed_at }).where(eq(emails.id, body.id))
      return body.id as number
    }
    const at = '/-/profile/emails'
    const places = [
      { state: 'unconfirmed', base: `${at}/${await add(null)}`, pages: [at], browser: who },
      { state: 'confirmed', base: `${at}/${await add(new Date())}`, pages: [at], browser: who },
    ]
    expect(await sendUnoffered(places)).toBe(1)
  })

  it('of one’s own account', async () => {
    const places: Place[] = []
    for (const [state, change] of Object.entries({ plain: { name: 'Plain' }, 'with a second factor': { two_factor_enabled: true } })) {
      const user = await aUser(t.ctx)
      const own = new TestBrowser(t.url)
      await own.signIn(user)
      await t.ctx.db.write.update(users).set(change).where(eq(users.id, user.id))
      const pages = ['/-/profile', '/-/profile/two_factor_auth', '/-/profile/account', '/-/profile/password/edit']
      places.push({ state, base: '/-/profile', pages, browser: own })
    }
    expect(await sendUnoffered(places)).toBeGreaterThan(2)
  })

  it('of a merge request', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one\n', 'b.txt': 'b\n' }, developer: owner })
    const at = `/${project.fullPath}/-/merge_requests`
    const say = (path: string, body: object = {}, status = 201) => t.api('post', `${project.path}${path}`, admin).send(body).expect(status)
    const commit = (branch: string, path: string, content: string, more: object = { start_branch: 'main' }) =>
      say('/repository/commits', { branch, ...more, commit_message: 'Work', actions: [{ action: 'update', file_path: path, content }] })
    const states = [
      'mergeable',
      'draft',
      'closed',
      'merged',
      'merged without its branch',
      'approved',
      'conflicts',
      'waits for its pipeline',
      'locked',
    ]
    const places: Place[] = []
    for (const [i, state] of states.entries()) {
      await aCommit(t.ctx, project, { [`file${i}.txt`]: 'x' }, { branch: `topic${i}`, start_branch: 'main' })
      const title = state === 'draft' ? 'Draft: one' : state
      await say('/merge_requests', { source_branch: `topic${i}`, target_branch: 'main', title })
      places.push({ state, base: `${at}/${i + 1}`, pages: [`${at}/${i + 1}`, `${at}/${i + 1}/conflicts`, `${at}/${i + 1}/diffs`] })
    }
    const number = (state: string) => states.indexOf(state) + 1
    await commit(`topic${states.indexOf('conflicts')}`, 'a.txt', 'two\n', {})
    await t.ctx.jobs.drain()
    const put = (iid: number, path: string, body: object = {}) => t.api('put', `${project.path}/merge_requests/${iid}${path}`, admin).send(body)
    await put(number('closed'), '', { state_event: 'close' }).expect(200)
    await put(number('merged'), '/merge').expect(200)
    await put(number('merged without its branch'), '/merge', { should_remove_source_branch: true }).expect(200)
    await say(`/merge_requests/${number('approved')}/approve`)
    await commit('main', 'a.txt', 'three\n', {})
    await t.ctx.jobs.drain()
    const { sha } = (await t.api('get', `${project.path}/merge_requests/${number('waits for its pipeline')}`, admin).expect(200)).body
    await say(`/statuses/${sha}`, { state: 'running', name: 'test', ref: `topic${states.indexOf('waits for its pipeline')}` })
    await put(number('waits for its pipeline'), '/merge', { merge_when_pipeline_succeeds: true }).expect(200)
    await put(number('locked'), '', { discussion_locked: true }).expect(200)
    await t.ctx.jobs.drain()
    expect(await sendUnoffered(places)).toBeGreaterThan(30)
  })

  it('of an issue', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one\n' } })
    const at = `/${project.fullPath}/-/issues`
    const states = ['opened', 'closed', 'with time', 'locked', 'confidential', 'with tasks']
    for (const title of states)
      await t.api('post', `${project.path}/issues`, admin).send({ title, description: title === 'with tasks' ? '- [ ] a' : '' })
    await t.api('put', `${project.path}/issues/2`, admin).send({ state_event: 'close' }).expect(200)
    for (const what of ['time_estimate', 'add_spent_time']) await t.api('post', `${project.path}/issues/3/${what}`, admin).send({ duration: '1h' })
    await t.api('put', `${project.path}/issues/4`, admin).send({ discussion_locked: true, confidential: false }).expect(200)
    await t.api('put', `${project.path}/issues/5`, admin).send({ confidential: true }).expect(200)
    expect(await t.ctx.db.write.$count(issues)).toBeGreaterThan(5)
    const places = states.map((state, i) => ({ state, base: `${at}/${i + 1}`, pages: [`${at}/${i + 1}`, `${at}/${i + 1}/edit`] }))
    expect(await sendUnoffered(places)).toBeGreaterThan(5)
  })

  it('of a project and a group', async () => {
    const pagesOf = (home: string) =>
      [
        '',
        '/edit',
        '/-/edit',
        '/-/settings/features',
        '/-/settings/merge_requests',
        '/-/settings/advanced',
        '/-/project_members',
        '/-/group_members',
        '/-/settings/permissions',
      ].map((path) => home + path)
    const make = (given: object = {}) => aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one\n' }, ...given })
    const made: Record<string, TestProject> = {
      plain: await make(),
      archived: await make(),
      deleted: await make(),
      empty: await make({ files: undefined }),
    }
    await t.api('post', `/projects/${made['archived']?.id}/archive`, admin).expect(201)
    await t.api('delete', `/projects/${made['deleted']?.id}`, admin).expect(202)
    const { body } = await t
      .api('post', `/projects/${made['plain']?.id}/fork`, admin)
      .send({ path: `fork${unique()}`, name: `fork${unique()}` })
      .expect(201)
    await t.ctx.db.write
      .update(projects)
      .set({ avatar: 'me.png' })
      .where(eq(projects.id, made['pictured']?.id as number))
    await t.ctx.jobs.drain()
    const places: Place[] = []
    for (const [state, { id }] of Object.entries({ ...made, fork: body as { id: number } })) {
      const { rows } = await t.ctx.db.write.execute<{ path: string }>(
        sql`select n.full_path || '/' || p.path as path from ${projects} p join ${namespaces} n on n.id = p.namespace_id where p.id = ${id}`,
      )
      const home = `/${rows[0]?.path}`
      places.push({ state: `${state} project`, base: home, pages: pagesOf(home) })
    }
    expect(await sendUnoffered(places)).toBeGreaterThan(20)
    const groups: Place[] = []
    for (const state of ['plain', 'deleted']) {
      const { id, path } = await aGroup(t.ctx, { creator: admin })
      if (state === 'deleted') await t.api('delete', path, admin).expect(204)
      await t.ctx.jobs.drain()
      const [row] = await t.ctx.db.write.select().from(namespaces).where(eq(namespaces.id, id))
      const home = `/groups/${row?.full_path}`
      groups.push({ state: `${state} group`, base: home, pages: pagesOf(home) })
    }
    expect(await sendUnoffered(groups)).toBeGreaterThan(4)
  })

  it('of branches, tags and to-dos', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one\n' }, developer: owner })
    const own = new TestBrowser(t.url)
    await own.signIn(owner)
    for (const name of ['plain', 'kept']) {
      await t.api('post', `${project.path}/repository/branches`, admin).send({ branch: name, ref: 'main' }).expect(201)
      await t.api('post', `${project.path}/repository/tags`, admin).send({ tag_name: name, ref: 'main' }).expect(201)
    }
    await t.api('post', `${project.path}/protected_branches`, admin).send({ name: 'kept' }).expect(201)
    await t.api('post', `${project.path}/protected_tags`, admin).send({ name: 'kept' }).expect(201)
    const at = `/${project.fullPath}/-`
    for (const kind of ['branches', 'tags']) {
      const names = kind === 'branches' ? ['plain', 'kept', 'main'] : ['plain', 'kept']
      const places = names.map((name) => ({
        state: `${kind} ${name}`,
        base: `${at}/${kind}/${name}`,
        pages: [`${at}/${kind}`, `${at}/${kind}/${name}`],
      }))
      await sendUnoffered(places.map((place) => ({ ...place, browser: kind === 'tags' ? browser : own })))
    }
    const titles = ['pending', 'done']
    for (const title of titles) await t.api('post', `${project.path}/issues`, owner).send({ title }).expect(201)
    const todos: Place[] = []
    for (const [i, state] of titles.entries()) {
      const { body } = await t.api('post', `${project.path}/issues/${i + 1}/todo`, owner).expect(201)
      if (state === 'done') await t.api('post', `/todos/${body.id}/mark_as_done`, owner).expect(201)
      todos.push({ state, base: `/dashboard/todos/${body.id}`, pages: ['/dashboard/todos', '/dashboard/todos?state=done'], browser: own })
    }
    const same = { 'DELETE ': 'it is done already', 'PATCH /restore': 'it is in the list already' }
    expect(await sendUnoffered(todos, same)).toBe(0)
  })
})
