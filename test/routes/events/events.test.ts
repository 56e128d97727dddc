import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { events, members, projects, refIntents, users } from '../../../src/db/schema/index.js'
import { dropOldEvents } from '../../../src/services/activity/events.js'
import { endExpiredMemberships } from '../../../src/services/groups/members.js'
import { resolveAbandonedIntents, resolveIntent } from '../../../src/services/repository/push/recovery.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { commitIn, gitClient, gitOut, gitRun } from '../../support/clients/git-client.js'
import { aCommit, aProject, aToken, aUser, drawnOf, setSettings, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
const client = gitClient(t)

interface Event {
  id: number
  action_name: string
  target_type: string | null
  created_at: string
  project_id: number
  push_data?: Record<string, unknown>
}

const eventsOf = async (project: TestProject, query = '', caller: TestUser | null = project.creator): Promise<Event[]> =>
  (await t.api('get', `${project.path}/events${query}`, caller).expect(200)).body

const names = (list: Event[]) => list.map(({ action_name }) => action_name)
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

const actingUser = ({ id, name, username }: TestUser) => ({
  id,
  name,
  username,
  state: 'active',
  avatar_url: drawnOf({ id }),
  web_url: `http://roost.test/${username}`,
})

/** A clone of the project as its creator, and a push from it. */
async function workOf(project: TestProject) {
  const work = await client.cloned(client.url(project.fullPath, project.creator))
  const push = async (...refspecs: string[]) => expect(await gitRun(work, 'push', '-q', 'origin', ...refspecs)).toMatchObject({ code: 0 })
  return { work, push }
}

describe('recorded events (EV-5)', () => {
  it('a created project, with every field (EV-3)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const { name } = (await t.api('get', project.path, creator).expect(200)).body
    expect(await eventsOf(project)).toEqual([
      {
        id: expect.any(Number),
        project_id: project.id,
        action_name: 'created',
        target_id: project.id,
        target_iid: null,
        target_type: 'Project',
        author_id: creator.id,
        author: actingUser(creator),
        author_username: creator.username,
        target_title: name,
        created_at: moment,
      },
    ])
  })

  it('pushes over Git, newest first: a new branch, more commits, a tag, deletions (PU-7)', async () => {
    const project = await aProject(t.ctx)
    const { work, push } = await workOf(project)
    const first = await commitIn(work, 'one')
    const second = await commitIn(work, 'two')
    await push('HEAD:refs/heads/main')
    for (const name of ['three', 'four']) await commitIn(work, name)
    const fifth = await commitIn(work, 'five')
    await push('HEAD:refs/heads/main')
    await gitOut(work, 'tag', '-a', '-m', 'the tag', 'v1')
    const tag = await gitOut(work, 'rev-parse', 'refs/tags/v1')
    await push('refs/tags/v1')
    await push('HEAD~1:refs/heads/feature/x')
    await push(':refs/heads/feature/x', ':refs/tags/v1')
    const fourth = await gitOut(work, 'rev-parse', 'HEAD~1')
    const list = await eventsOf(project, '?action=pushed&sort=asc')
    expect(first).not.toBe(second)
    const branch = { ref_type: 'branch', ref: 'main' }
    const side = { ref_type: 'branch', ref: 'feature/x' }
    expect(list.map(({ action_name, push_data }) => ({ action_name, ...push_data }))).toEqual([
      { action_name: 'pushed new', action: 'created', ...branch, commit_count: 2, commit_from: null, commit_to: second, commit_title: 'two' },
      { action_name: 'pushed to', action: 'pushed', ...branch, commit_count: 3, commit_from: second, commit_to: fifth, commit_title: 'five' },
      {
        action_name: 'pushed new',
        action: 'created',
        ref_type: 'tag',
        ref: 'v1',
        commit_count: 1,
        commit_from: null,
        commit_to: tag,
        commit_title: 'five',
      },
      { action_name: 'pushed new', action: 'created', ...side, commit_count: 0, commit_from: null, commit_to: fourth, commit_title: 'four' },
      { action_name: 'deleted', action: 'removed', ...side, commit_count: 0, commit_from: fourth, commit_to: null, commit_title: null },
      {
        action_name: 'deleted',
        action: 'removed',
        ref_type: 'tag',
        ref: 'v1',
        commit_count: 0,
        commit_from: tag,
        commit_to: null,
        commit_title: null,
      },
    ])
    expect(list.every((event) => event.target_type === null)).toBe(true)
  })

  it('forced pushes and merges count new commits (PU-7)', async () => {
    const project = await aProject(t.ctx)
    const { work, push } = await workOf(project)
    for (const name of ['a', 'b', 'c']) await commitIn(work, name)
    await push('HEAD:refs/heads/main', 'HEAD:refs/heads/work')
    await gitOut(work, 'reset', '-q', '--hard', 'HEAD~2')
    await commitIn(work, 'd')
    await push('+HEAD:refs/heads/work')
    await gitOut(work, 'merge', '-q', '--no-ff', '-m', 'merge', 'origin/main')
    await push('HEAD:refs/heads/work')
    const pushed = (await eventsOf(project, '?action=pushed&sort=asc')).map(({ push_data }) => [push_data?.['ref'], push_data?.['commit_count']])
    expect(pushed).toEqual([
      ['main', 3],
      ['work', 0],
      ['work', 1],
      ['work', 3],
    ])
  })

  it('commits, branches and tags by the API (PU-7)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const commit = (branch: string, message: string, more = {}) =>
      t
        .api('post', `${project.path}/repository/commits`, creator)
        .send({ branch, commit_message: message, actions: [{ action: 'create', file_path: `${message.length}${branch}`, content: 'x' }], ...more })
        .expect(201)
    const long = `${'a long title '.repeat(10)}\n\nand more`
    const one = (await commit('main', 'first')).body.id
    const two = (await commit('main', long)).body.id
    const three = (await commit('side', 'of a side', { start_branch: 'main' })).body.id
    await t.api('post', `${project.path}/repository/branches`, creator).send({ branch: 'same', ref: 'main' }).expect(201)
    await t.api('post', `${project.path}/repository/tags`, creator).send({ tag_name: 'v1', ref: 'main' }).expect(201)
    await t.api('delete', `${project.path}/repository/branches/same`, creator).expect(204)
    const list = (await eventsOf(project, '?action=pushed&sort=asc')).map(({ push_data: p }) => [
      p?.['action'],
      p?.['ref'],
      p?.['commit_count'],
      p?.['commit_from'],
      p?.['commit_to'],
      p?.['commit_title'],
    ])
    const title = long.slice(0, 70)
    expect(list).toEqual([
      ['created', 'main', 1, null, one, 'first'],
      ['pushed', 'main', 1, one, two, title],
      ['created', 'side', 1, null, three, 'of a side'],
      ['created', 'same', 0, null, two, title],
      ['created', 'v1', 1, null, two, title],
      ['removed', 'same', 0, two, null, null],
    ])
  })

  it('a comment on a commit, with its note', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const { creator } = project
    await t.api('post', `${project.path}/repository/commits/main/comments`, creator).send({ note: 'Well done' }).expect(201)
    const [event] = await eventsOf(project, '?action=commented')
    expect(event).toMatchObject({
      action_name: 'commented on',
      target_type: 'Note',
      target_iid: null,
      target_title: 'Add files',
      note: {
        body: 'Well done',
        author: actingUser(creator),
        noteable_type: 'Commit',
        noteable_id: null,
        noteable_iid: null,
        system: false,
        attachment: null,
        project_id: project.id,
        type: null,
        created_at: moment,
        updated_at: moment,
      },
    })
    expect((event as unknown as { note: { id: number }; target_id: number }).note.id).toBe((event as unknown as { target_id: number }).target_id)
  })

  it('who joins and leaves, and whose membership ends', async () => {
    const project = await aProject(t.ctx)
    const [one, two] = [await aUser(t.ctx), await aUser(t.ctx)]
    for (const { id } of [one, two])
      await t.api('post', `${project.path}/members`, project.creator).send({ user_id: id, access_level: 30 }).expect(201)
    await t.api('delete', `${project.path}/members/${one.id}`, one).expect(204)
    await t.ctx.db.write.update(members).set({ expires_at: '2030-01-02' }).where(eq(members.user_id, two.id))
    await endExpiredMemberships(t.ctx)
    expect((await eventsOf(project, '?target_type=user')).length).toBe(3)
    await t.ctx.db.write.update(members).set({ expires_at: '2020-01-02' }).where(eq(members.user_id, two.id))
    await endExpiredMemberships(t.ctx)
    await endExpiredMemberships(t.ctx)
    const list = (await eventsOf(project, '?target_type=user&sort=asc')) as (Event & { author_username: string; target_id: number })[]
    expect(list.map((event) => [event.action_name, event.author_username, event.target_id, event.target_type])).toEqual([
      ['removed due to membership expiration from', two.username, two.id, 'User'],
      ['joined', one.username, one.id, 'User'],
      ['joined', two.username, two.id, 'User'],
      ['left', one.username, one.id, 'User'],
    ])
    expect(list[0]?.created_at).toBe('2020-01-02T00:00:00.000Z')
    // ME-10: and the way back is open
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: two.id, access_level: 20 }).expect(201)
  })

  it('a push that a killed process left half done, once, however often it is finished (SEC-158)', async () => {
    const project = await aProject(t.ctx)
    const [head] = bareOf(t, project).commits({ files: { a: 'a' } }) as [string]
    const updates = [{ ref: 'refs/heads/main', old: '0'.repeat(40), new: head }]
    const values = { project_id: project.id, actor_id: project.creator.id, origin: 'git' as const, updates }
    const [intent] = await t.ctx.db.write.insert(refIntents).values(values).returning()
    await resolveAbandonedIntents(t.ctx, { start: true })
    await resolveIntent(t.ctx, intent as typeof refIntents.$inferSelect)
    const pushed = await eventsOf(project, '?action=pushed')
    expect(pushed.map(({ push_data }) => push_data?.['commit_to'])).toEqual([head])
  })

  it('nothing for refused calls (SEC-2)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const before = await eventsOf(project)
    const { work } = await workOf(project)
    await commitIn(work, 'x')
    expect((await gitRun(work, 'push', '-q', 'origin', 'HEAD:refs/x/y')).code).toBe(1)
    await t.api('post', `${project.path}/repository/tags`, project.creator).send({ tag_name: 'bad..name', ref: 'main' }).expect(400)
    await t.api('post', `${project.path}/repository/commits/main/comments`, project.creator).send({ note: ' ' }).expect(400)
    expect(await eventsOf(project)).toEqual(before)
  })

  it('deletes events older than two years', async () => {
    const project = await aProject(t.ctx)
    const year = 365 * 86_400_000
    const values = { project_id: project.id, author_id: project.creator.id, action: 'left' as const }
    const old = new Date(Date.now() - 2 * year - 3 * 86_400_000)
    await t.ctx.db.write.insert(events).values([
      { ...values, created_at: old },
      { ...values, created_at: new Date(Date.now() - 1.9 * year) },
    ])
    await dropOldEvents(t.ctx, project.id)
    expect(names(await eventsOf(project))).toEqual(['created', 'left'])
  })
})

describe('the last activity of a project (EV-7, G-86)', () => {
  it('is the time of its newest event', async () => {
    const project = await aProject(t.ctx)
    const check = async () => {
      const [newest] = await eventsOf(project)
      expect((await t.api('get', project.path, project.creator).expect(200)).body.last_activity_at).toBe(newest?.created_at)
    }
    await check()
    await aCommit(t.ctx, project, { a: 'a' })
    await check()
    const other = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: other.id, access_level: 30 }).expect(201)
    await check()
  })
})

describe('lists of events', () => {
  let author: TestUser
  let project: TestProject
  const DAYS = ['2020-01-01T10:00:00Z', '2020-01-02T00:00:00Z', '2020-01-02T23:59:59.999Z', '2020-01-03T12:00:00Z']
  const ACTIONS = ['joined', 'left', 'created', 'commented'] as const

  beforeAll(async () => {
    author = await aUser(t.ctx)
    project = await aProject(t.ctx, { creator: author })
    const row = { project_id: project.id, author_id: author.id }
    await t.ctx.db.write.delete(events).where(eq(events.project_id, project.id))
    await t.ctx.db.write.insert(events).values(
      DAYS.map((day, n) => ({
        ...row,
        action: ACTIONS[n] as (typeof ACTIONS)[number],
        target_type: n < 2 ? ('User' as const) : n === 2 ? ('Project' as const) : ('Note' as const),
        created_at: new Date(day),
      })),
    )
  })

  it.each(['/events', 'users', 'projects'])('to EV-3: %s takes every input (EV-1)', async (kind) => {
    const path = kind === '/events' ? kind : kind === 'users' ? `/users/${author.username}/events` : `${project.path}/events`
    const list = async (query: string) => names((await t.api('get', `${path}?${query}`, author).expect(200)).body)
    expect(await list('')).toEqual(['commented on', 'created', 'left', 'joined'])
    expect(await list('sort=asc')).toEqual(['joined', 'left', 'created', 'commented on'])
    expect(await list('action=left')).toEqual(['left'])
    expect(await list('action=merged')).toEqual([])
    expect(await list('target_type=user')).toEqual(['left', 'joined'])
    expect(await list('target_type=project')).toEqual(['created'])
    expect(await list('target_type=note')).toEqual(['commented on'])
    expect(await list('target_type=issue')).toEqual([])
    expect(await list('before=2020-01-02')).toEqual(['joined'])
    expect(await list('after=2020-01-02')).toEqual(['commented on'])
    expect(await list('after=2020-1-1&before=2020-01-03T15:00:00Z')).toEqual(['created', 'left'])
    expect(await list('before=&after=&action=joined&target_type=user')).toEqual(['joined'])
  })

  it('to G-59: is paginated (G-55)', async () => {
    const { body, headers } = await t.api('get', `${project.path}/events?per_page=3&page=2`, author).expect(200)
    expect([names(body), headers['x-total'], headers['x-total-pages'], headers['x-prev-page']]).toEqual([['joined'], '4', '2', '1'])
    const past = await t.api('get', `${project.path}/events?per_page=3&page=9`, author).expect(200, [])
    expect(past.headers['x-total']).toBe('4')
  })

  it.each([
    ['action=pushed+to', 'action does not have a valid value'],
    ['target_type=Issue', 'target_type does not have a valid value'],
    ['before=2020-02-30', 'before is invalid'],
    ['after=yesterday', 'after is invalid'],
    ['sort=up', 'sort does not have a valid value'],
  ])('refuses %s', async (query, error) => {
    for (const path of ['/events', `/users/${author.id}/events`, `${project.path}/events`])
      await t.api('get', `${path}?${query}`, author).expect(400, { error })
    await t.api('get', '/events?scope=mine', author).expect(400, { error: 'scope does not have a valid value' })
  })

  it('needs a caller (EV-1), takes an id or a name, and answers 404 for an unknown user (EV-2)', async () => {
    await t.api('get', '/events', null).expect(401)
    for (const named of [author.id, author.username, author.username.toUpperCase()])
      expect((await t.api('get', `/users/${named}/events`, author).expect(200)).body.length).toBe(4)
    for (const named of ['unknown', '0', '999999999999', '-1', '1e3', '__proto__'])
      await t.api('get', `/users/${named}/events`, author).expect(404, { message: '404 User Not Found' })
  })

  it('read_user opens the events of a user, and no others (G-21)', async () => {
    const token = { token: await aToken(t.ctx, author, ['read_user']) }
    await t.api('get', `/users/${author.id}/events`, token).expect(200)
    await t.api('get', '/events', token).expect(403)
    await t.api('get', `${project.path}/events`, token).expect(403)
  })

  it('scope=all has the events of all projects the caller is a member of, by whomever (EV-1)', async () => {
    const me = await aUser(t.ctx)
    const mine = await aProject(t.ctx, { developer: me })
    await aProject(t.ctx, { visibility: 'public' })
    const own = await aProject(t.ctx, { creator: me })
    const ids = async (path: string) => (await t.api('get', path, me).expect(200)).body.map((event: Event) => event.project_id)
    expect(await ids('/events')).toEqual([own.id])
    expect(await ids('/events?scope=all')).toEqual([own.id, mine.id])
  })

  it.each([
    ['public', statuses(200)],
    ['internal', statuses(200, { anonymous: 404 })],
    ['private', statuses(200, { anonymous: 404, stranger: 404 })],
  ] as const)('who reads the events of a %s project (EV-3)', async (visibility, expected) => {
    const { project, as } = await aCast(t.ctx, { visibility })
    for (const [role, status] of expected) {
      const { status: got, body } = await t.api('get', `${project.path}/events`, as[role])
      expect([role, got]).toEqual([role, status])
      if (status === 404) expect(body).toEqual({ message: '404 Project Not Found' })
    }
  })

  it('what a caller cannot see is left out, and not counted (EV-4)', async () => {
    const { project: secret, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const { owner } = as
    await t.api('post', `${secret.path}/repository/commits/main/comments`, owner).send({ note: 'x' }).expect(201)
    const open = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    const inside = await aProject(t.ctx, { creator: owner, visibility: 'internal' })
    const ofOwner = async (caller: TestUser | null) => {
      const { body, headers } = await t.api('get', `/users/${owner.id}/events`, caller).expect(200)
      expect(headers['x-total']).toBe(String(body.length))
      return body.map((event: Event) => [event.project_id, event.action_name])
    }
    const ofOpen = [
      [open.id, 'pushed new'],
      [open.id, 'created'],
    ]
    const all = [[inside.id, 'created'], ...ofOpen, [secret.id, 'commented on'], [secret.id, 'pushed new'], [secret.id, 'created']]
    expect(await ofOwner(null)).toEqual(ofOpen)
    expect(await ofOwner(as.stranger)).toEqual([[inside.id, 'created'], ...ofOpen])
    expect(await ofOwner(await aUser(t.ctx, { external: true }))).toEqual(ofOpen)
    expect(await ofOwner(as.reporter)).toEqual(all)
    expect(await ofOwner(as.admin)).toEqual(all)
    // a guest of a private project may not download its code
    expect(await ofOwner(as.guest)).toEqual(all.filter(([id, name]) => id !== secret.id || name === 'created'))
    expect(names(await eventsOf(secret, '', as.guest))).toEqual(['created'])
    // SEC-41: from the next call on
    await t.ctx.db.write.update(projects).set({ repository_access_level: 0 }).where(eq(projects.id, open.id))
    expect(await ofOwner(null)).toEqual([[open.id, 'created']])
    expect((await ofOwner(owner)).filter(([id]: [number]) => id === open.id)).toEqual([[open.id, 'created']])
    await t.ctx.db.write.update(projects).set({ visibility: 0 }).where(eq(projects.id, open.id))
    expect(await ofOwner(null)).toEqual([])
    // and one's own, when one can see the project no more
    await t.api('post', `${secret.path}/repository/commits/main/comments`, as.developer).send({ note: 'y' }).expect(201)
    await t.api('delete', `${secret.path}/members/${as.developer.id}`, owner).expect(204)
    await t.api('get', '/events', as.developer).expect(200, [])
  })

  it('the events of a project are those of its people there, for every role (EV-4, SEC-33, SEC-35)', async () => {
    for (const visibility of ['public', 'private'] as const) {
      const { project: place, as } = await aCast(t.ctx, { visibility, files: { a: 'a' } })
      const { owner } = as
      const post = async (path: string, sent: object) => (await t.api('post', `${place.path}${path}`, owner).send(sent).expect(201)).body
      const about = [
        `/issues/${(await post('/issues', { title: 'open' })).iid}`,
        `/issues/${(await post('/issues', { title: 'hidden', confidential: true })).iid}`,
        `/issues/${(await post('/issues', { title: 'hidden but for one', confidential: true, assignee_ids: [as.guest.id] })).iid}`,
        `/snippets/${(await post('/snippets', { title: 's', file_name: 'a', content: 'a', visibility: 'private' })).id}`,
        ...(
          await Promise.all([aMergeRequest(t, { project: place }), aMergeRequest(t, { project: place, sent: { assignee_ids: [as.guest.id] } })])
        ).map(({ iid }) => `/merge_requests/${iid}`),
      ]
      for (const path of about) await post(`${path}/notes`, { body: 'A note' })
      await post('/repository/commits/main/comments', { note: 'A comment' })
      await t.api('delete', `${place.path}${(await aMergeRequest(t, { project: place })).path.slice(place.path.length)}`, owner).expect(204)
      const shown = async (path: string, caller: TestUser | null) => {
        const { status, body, headers } = await t.api('get', `${path}/events?per_page=100`, caller)
        if (status === 404) return []
        const there = body.filter((event: Event) => event.project_id === place.id)
        if (path === place.path) expect(headers['x-total']).toBe(String(there.length))
        return there.map(({ id, action_name, target_type }: Event) => [id, action_name, target_type])
      }
      const seen = new Map<string, number>()
      for (const [role, caller] of Object.entries(as)) {
        const there = await shown(place.path, caller)
        expect([role, there]).toEqual([role, await shown(`/users/${owner.id}`, caller)])
        seen.set(role, there.length)
      }
      expect(seen.get('guest')).toBeLessThan(seen.get('reporter') as number)
      expect(seen.get('reporter')).toBe(seen.get('admin'))
      expect(seen.get('anonymous')).toBeLessThan(seen.get('guest') as number)
    }
  })

  it('callers without a token see no users where the public level is restricted (EV-2, U-17)', async () => {
    await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
    try {
      await t.api('get', `/users/${author.id}/events`, null).expect(404, { message: '404 User Not Found' })
      await t.api('get', `/users/${author.id}/events`, await aUser(t.ctx)).expect(200)
    } finally {
      await setSettings(t.ctx, {})
    }
  })

  it('asks the database as often for many events as for one', async () => {
    const mine = await aProject(t.ctx)
    const list = () => t.api('get', `${mine.path}/events?per_page=100`, mine.creator).expect(200)
    await list()
    await t.ctx.jobs.drain()
    const one = await t.queriesOf(list)
    for (let n = 0; n < 12; n++)
      await t
        .api('post', `${mine.path}/members`, mine.creator)
        .send({ user_id: (await aUser(t.ctx)).id, access_level: 30 })
        .expect(201)
    await t.ctx.jobs.drain()
    let length = 0
    const many = await t.queriesOf(async () => {
      length = (await list()).body.length
    })
    expect([length, many.length]).toEqual([13, one.length])
  })
})

describe('the last activity of a user (EV-6)', () => {
  const rowOf = async ({ id }: TestUser) => {
    await t.ctx.jobs.drain()
    return (await t.ctx.db.write.select().from(users).where(eq(users.id, id)))[0]
  }
  const today = () => new Date().toISOString().slice(0, 10)
  const forget = (user: TestUser) => t.ctx.db.write.update(users).set({ last_activity_on: '2020-01-01' }).where(eq(users.id, user.id))

  it('is today after a fetch and after a push', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const { creator } = project
    await forget(creator)
    const work = await client.cloned(client.url(project.fullPath, creator))
    expect((await rowOf(creator))?.last_activity_on).toBe(today())
    await forget(creator)
    await commitIn(work, 'b')
    await gitOut(work, 'push', '-q', 'origin', 'HEAD:refs/heads/b')
    expect((await rowOf(creator))?.last_activity_on).toBe(today())
  })

  it('is written at most once a day', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await client.cloned(client.url(project.fullPath, project.creator))
    await t.ctx.jobs.drain()
    const version = async () => t.ctx.db.write.execute<{ xmin: string }>(`select xmin::text from users where id = ${project.creator.id}`)
    const before = (await version()).rows
    await client.cloned(client.url(project.fullPath, project.creator))
    await t.ctx.jobs.drain()
    expect((await version()).rows).toEqual(before)
  })

  it('stays as it is after calls of the API, commits too, and after a refused fetch (U-40)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const { creator } = project
    const stranger = await aUser(t.ctx)
    await Promise.all([forget(creator), forget(stranger)])
    const actions = [{ action: 'create', file_path: 'b', content: 'b' }]
    await t.api('post', `${project.path}/repository/commits`, creator).send({ branch: 'main', commit_message: 'b', actions }).expect(201)
    await t.api('post', `${project.path}/repository/commits/main/comments`, creator).send({ note: 'x' }).expect(201)
    expect((await client.clone(client.url(project.fullPath, stranger))).code).not.toBe(0)
    expect((await rowOf(creator))?.last_activity_on).toBe('2020-01-01')
    expect((await rowOf(stranger))?.last_activity_on).toBe('2020-01-01')
  })

  it('is today after a password grant, which also moves the times of signing in', async () => {
    const user = await aUser(t.ctx)
    const grant = () =>
      fetch(`${t.url}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'password', username: user.username, password: user.password }),
      })
    const shown = async () => (await t.api('get', '/user', user).expect(200)).body
    expect(await shown()).toMatchObject({ last_activity_on: null, current_sign_in_at: null, last_sign_in_at: null })
    expect((await grant()).status).toBe(200)
    const first = await shown()
    expect(first).toMatchObject({ last_activity_on: today(), current_sign_in_at: moment, last_sign_in_at: first.current_sign_in_at })
    expect((await grant()).status).toBe(200)
    const second = await shown()
    expect(second.last_sign_in_at).toBe(first.current_sign_in_at)
    expect(second.current_sign_in_at >= first.current_sign_in_at).toBe(true)
  })
})
