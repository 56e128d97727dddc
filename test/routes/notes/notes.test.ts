import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { awardEmoji, events, mentions, mergeRequests, notes, todos } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aTalkingProject, NOTED } from '../../support/talk.js'

const t = testApp()
let talk: Awaited<ReturnType<typeof aTalkingProject>>
let owner: TestUser
let stranger: TestUser

beforeAll(async () => {
  talk = await aTalkingProject(t)
  owner = talk.project.creator
  stranger = await aUser(t.ctx)
})

const say = async (path: string, body: string, caller: TestUser, more: object = {}) =>
  (
    await t
      .api('post', `${path}/notes`, caller)
      .send({ body, ...more })
      .expect(201)
  ).body
const listed = async (path: string, query = '') => (await t.api('get', `${path}/notes${query}`, owner).expect(200)).body
const bodies = async (path: string, query = '') => (await listed(path, query)).map(({ body }: { body: string }) => body)
const anIssue = async (project: TestProject, sent: object = {}, caller = project.creator) =>
  (
    await t
      .api('post', `${project.path}/issues`, caller)
      .send({ title: 'An issue', ...sent })
      .expect(201)
  ).body
const rowsOf = (id: number) => t.ctx.db.write.select().from(notes).where(eq(notes.id, id))

describe.each(NOTED)('notes on an item: %s', (type) => {
  it('a note, alone and in a list (NT-1, NT-2, NT-3)', async () => {
    const thing = talk.things[type]
    const note = await say(thing.path, 'Well said\n', stranger)
    expect(note).toEqual({
      id: expect.any(Number),
      type: null,
      body: 'Well said\n',
      attachment: null,
      author: expect.objectContaining({ id: stranger.id, username: stranger.username }),
      created_at: note.updated_at,
      updated_at: expect.any(String),
      system: false,
      noteable_id: thing.id,
      noteable_type: type,
      noteable_iid: thing.iid,
      project_id: talk.project.id,
      resolvable: false,
      confidential: false,
      internal: false,
      commands_changes: {},
    })
    expect((await t.api('get', `${thing.path}/notes/${note.id}`, owner).expect(200)).body).toEqual(note)
    expect(await listed(thing.path)).toContainEqual(note)
  })

  it('a text that is blank, missing or too long is refused, and nothing is said (NT-3, SEC-63)', async () => {
    const { path } = talk.things[type]
    const before = await listed(path)
    const send = (sent: object) => t.api('post', `${path}/notes`, owner).send(sent)
    expect((await send({}).expect(400)).body).toEqual({ error: 'body is missing' })
    for (const body of ['', ' \n'])
      expect((await send({ body }).expect(400)).body).toEqual({ message: 'Failed to save note {:note=>["can\'t be blank"]}' })
    expect((await send({ body: 'x'.repeat(1_000_001) }).expect(400)).body.message).toContain('is too long (maximum is 1000000 characters)')
    expect(await listed(path)).toEqual(before)
    await say(path, 'x'.repeat(1_000_000), owner)
  })

  it('the author and maintainers change and delete a note, others do not (NT-4, NT-5)', async () => {
    const { project, things } = talk
    const { path } = things[type]
    const [maintainer, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    for (const [user, access_level] of [
      [maintainer, 40],
      [developer, 30],
    ] as const)
      await t.api('post', `${project.path}/members`, owner).send({ user_id: user.id, access_level }).expect(201)
    const note = await say(path, 'First', stranger)
    const at = `${path}/notes/${note.id}`
    await t.api('put', at, developer).send({ body: 'No' }).expect(403)
    await t.api('delete', at, developer).expect(403)
    expect((await t.api('put', at, stranger).send({ body: 'Second' }).expect(200)).body).toMatchObject({
      id: note.id,
      body: 'Second',
      created_at: note.created_at,
    })
    expect((await t.api('put', at, maintainer).send({ body: 'Third' }).expect(200)).body).toMatchObject({
      body: 'Third',
      author: { id: stranger.id },
    })
    await t.api('put', at, stranger).send({ body: ' ' }).expect(400)
    await t.api('put', at, stranger).send({}).expect(400)
    await t.api('delete', at, maintainer).set('If-Unmodified-Since', 'Wed, 01 Jan 2020 00:00:00 GMT').expect(412)
    await t.api('delete', at, maintainer).expect(204)
    for (const method of ['get', 'delete'] as const)
      expect((await t.api(method, at, stranger).expect(404)).body).toEqual({ message: '404 Not found' })
    await t.api('put', at, stranger).send({ body: 'x' }).expect(404)
    expect(await rowsOf(note.id)).toEqual([])
  })

  it('its last change is that of the talk, and notes of people are counted (NT-7, MR-55)', async () => {
    const { path } = talk.things[type]
    const thing = async () => (await t.api('get', path, owner).expect(200)).body
    const before = await thing()
    const counted = type === 'Snippet' ? undefined : before.user_notes_count
    const note = await say(path, 'One more', stranger)
    const after = await thing()
    expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(before.updated_at))
    expect(after.user_notes_count).toBe(counted === undefined ? undefined : counted + 1)
    await t.api('put', `${path}/notes/${note.id}`, stranger).send({ body: 'Other' }).expect(200)
    const changed = await thing()
    expect(Date.parse(changed.updated_at)).toBeGreaterThan(Date.parse(after.updated_at))
    await t.api('delete', `${path}/notes/${note.id}`, stranger).expect(204)
    const gone = await thing()
    expect(Date.parse(gone.updated_at)).toBeGreaterThan(Date.parse(changed.updated_at))
    expect(gone.user_notes_count).toBe(counted)
  })

  it('5.1 row 11: owners say when something was said, for others it is now', async () => {
    const { path } = talk.things[type]
    const at = '2001-02-03T04:05:06.789Z'
    expect(await say(path, 'Long ago', owner, { created_at: at })).toMatchObject({ created_at: at, updated_at: at })
    expect((await say(path, 'Now', stranger, { created_at: at })).created_at).not.toBe(at)
    await t.api('post', `${path}/notes`, owner).send({ body: 'x', created_at: 'now' }).expect(400)
  })

  it('a note of another item is 404, though both are readable (SEC-31)', async () => {
    const other = NOTED.find((each) => each !== type) as (typeof NOTED)[number]
    const note = await say(talk.things[other].path, 'Elsewhere', owner)
    const at = `${talk.things[type].path}/notes/${note.id}`
    for (const method of ['get', 'delete'] as const) await t.api(method, at, owner).expect(404)
    await t.api('put', at, owner).send({ body: 'x' }).expect(404)
    expect((await rowsOf(note.id))[0]?.note).toBe('Elsewhere')
  })
})

describe('lists of notes', () => {
  it('have moments of any year as they were given (G-50)', async () => {
    const project = await aProject(t.ctx, { creator: owner })
    const issue = await anIssue(project)
    const path = `${project.path}/issues/${issue.iid}`
    const moments = [
      '0001-01-01T00:00:00.000Z',
      '0009-05-05T00:00:00.100Z',
      '0015-12-14T15:00:40.400Z',
      '0050-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.999Z',
    ]
    for (const created_at of moments) await say(path, 'long ago', owner, { created_at })
    expect((await listed(path, '?sort=asc')).map(({ created_at }: { created_at: string }) => created_at)).toEqual(moments)
  })

  it('in the order and of the kind asked for (NT-1)', async () => {
    const project = await aProject(t.ctx)
    const { path } = { path: `${project.path}/issues/${(await anIssue(project)).iid}` }
    const { creator } = project
    for (const [i, body] of ['a', 'b', 'c'].entries()) await say(path, body, creator, { created_at: `2001-01-0${i + 1}` })
    await t.api('put', path, creator).send({ title: 'Renamed' }).expect(200)
    const first = (await t.api('get', `${path}/notes?sort=asc`, creator).expect(200)).body[0]
    await t.api('put', `${path}/notes/${first.id}`, creator).send({ body: 'a again' }).expect(200)
    const get = async (query: string) => (await t.api('get', `${path}/notes?${query}`, creator).expect(200)).body.map((n: { body: string }) => n.body)
    const title = 'changed the title'
    expect(await get('')).toEqual([title, 'c', 'b', 'a again'])
    expect(await get('sort=asc')).toEqual(['a again', 'b', 'c', title])
    expect(await get('order_by=updated_at')).toEqual(['a again', title, 'c', 'b'])
    expect(await get('order_by=updated_at&sort=asc')).toEqual(['b', 'c', title, 'a again'])
    expect(await get('activity_filter=only_comments')).toEqual(['c', 'b', 'a again'])
    expect(await get('activity_filter=only_activity')).toEqual([title])
    const page = await t.api('get', `${path}/notes?per_page=2&page=2`, creator).expect(200)
    expect(page.body.map(({ body }: { body: string }) => body)).toEqual(['b', 'a again'])
    expect(page.headers).toMatchObject({ 'x-total': '4', 'x-total-pages': '2', 'x-page': '2', 'x-next-page': '' })
    for (const wrong of ['order_by=id', 'sort=up', 'activity_filter=none']) await t.api('get', `${path}/notes?${wrong}`, creator).expect(400)
  })

  it('asks the database as often for a hundred notes of twenty people as for one', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const { iid, id } = await anIssue(project)
    const path = `${project.path}/issues/${iid}`
    await say(path, 'first', project.creator)
    const ask = (what: string) => t.queriesOf(() => t.api('get', `${path}/${what}?per_page=100`, project.creator).expect(200))
    const few = [await ask('notes'), await ask('discussions')]
    const people = await Promise.all(Array.from({ length: 20 }, () => aUser(t.ctx)))
    const now = new Date()
    await t.ctx.db.write.insert(notes).values(
      Array.from({ length: 99 }, (_, i) => ({
        project_id: project.id,
        noteable_type: 'Issue' as const,
        noteable_id: id,
        author_id: people[i % 20]?.id as number,
        note: `${i}`,
        created_at: now,
        updated_at: now,
      })),
    )
    const many = [await ask('notes'), await ask('discussions')]
    expect(many).toEqual(few)
    expect((await t.api('get', `${path}/notes?per_page=100`, project.creator).expect(200)).body).toHaveLength(100)
  })
})

describe('who talks', () => {
  it('where the talk is locked only members say, change or delete anything (IS-20, SEC-121)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    const { iid } = await anIssue(project)
    const path = `${project.path}/issues/${iid}`
    const early = await say(path, 'Before', as.stranger)
    await t.api('put', path, as.owner).send({ discussion_locked: true }).expect(200)
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 403 }))
      expect([role, (await t.api('post', `${path}/notes`, as[role]).send({ body: 'x' })).status]).toEqual([role, status])
    await t.api('post', `${path}/discussions`, as.stranger).send({ body: 'x' }).expect(403)
    await t.api('put', `${path}/notes/${early.id}`, as.stranger).send({ body: 'x' }).expect(403)
    await t.api('delete', `${path}/notes/${early.id}`, as.stranger).expect(403)
    await t.api('get', `${path}/notes`, as.stranger).expect(200)
    expect((await rowsOf(early.id))[0]?.note).toBe('Before')
    await t.api('put', path, as.owner).send({ discussion_locked: false }).expect(200)
    await say(path, 'After', as.stranger)
  })

  it('the same on a merge request (SEC-121)', async () => {
    const { path, id } = talk.things.MergeRequest
    const lock = (discussion_locked: boolean) => t.ctx.db.write.update(mergeRequests).set({ discussion_locked }).where(eq(mergeRequests.id, id))
    await lock(true)
    await t.api('post', `${path}/notes`, stranger).send({ body: 'x' }).expect(403)
    await say(path, 'Still', owner)
    await lock(false)
    await say(path, 'Again', stranger)
  })

  it('notes on a confidential issue are hidden from those who do not see it (SEC-35, AC-14)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    const { iid } = await anIssue(project, { confidential: true })
    const path = `${project.path}/issues/${iid}`
    const note = await say(path, `Psst @${as.guest.username} @${as.reporter.username}`, as.owner)
    const award = (await t.api('post', `${path}/award_emoji`, as.owner).send({ name: 'eyes' }).expect(201)).body
    for (const role of ['stranger', 'guest'] as const) {
      for (const at of ['notes', `notes/${note.id}`, 'discussions', 'award_emoji', `award_emoji/${award.id}`, `notes/${note.id}/award_emoji`])
        expect([at, (await t.api('get', `${path}/${at}`, as[role])).status]).toEqual([at, 404])
      for (const at of ['notes', 'discussions']) await t.api('post', `${path}/${at}`, as[role]).send({ body: 'x' }).expect(404)
      await t.api('post', `${path}/award_emoji`, as[role]).send({ name: 'eyes' }).expect(404)
    }
    await t.api('get', `${path}/notes`, as.reporter).expect(200)
    // those who do not see it do not see its event
    expect((await t.api('get', '/todos', as.guest).expect(200)).body).toEqual([])
    expect((await t.api('get', '/todos', as.reporter).expect(200)).body).toHaveLength(1)
    const countEvents = async (caller: TestUser) => (await t.api('get', `${project.path}/events?action=commented`, caller).expect(200)).body.length
    expect([await countEvents(as.stranger), await countEvents(as.guest), await countEvents(as.reporter)]).toEqual([0, 0, 1])
  })

  it('an archived project takes no notes, threads or emoji, and shows those it has (AC-11)', async () => {
    const { project, things } = await aTalkingProject(t)
    const { creator } = project
    const note = await say(things.Issue.path, 'Before', creator)
    await t.api('post', `${project.path}/archive`, creator).expect(201)
    for (const { path } of Object.values(things)) {
      await t.api('post', `${path}/notes`, creator).send({ body: 'x' }).expect(403)
      await t.api('post', `${path}/discussions`, creator).send({ body: 'x' }).expect(403)
      await t.api('post', `${path}/award_emoji`, creator).send({ name: 'star' }).expect(403)
      await t.api('get', `${path}/notes`, creator).expect(200)
    }
    const at = `${things.Issue.path}/notes/${note.id}`
    await t.api('put', at, creator).send({ body: 'x' }).expect(403)
    await t.api('delete', at, creator).expect(403)
    expect((await rowsOf(note.id))[0]?.note).toBe('Before')
  })

  it('system notes cannot be changed or deleted (NT-6)', async () => {
    const project = await aProject(t.ctx)
    const { iid } = await anIssue(project)
    const path = `${project.path}/issues/${iid}`
    await t.api('put', path, project.creator).send({ state_event: 'close' }).expect(200)
    const [note] = (await t.api('get', `${path}/notes`, project.creator).expect(200)).body
    expect(note).toMatchObject({ system: true, body: 'closed' })
    for (const caller of [project.creator, await anAdmin(t.ctx)]) {
      await t.api('put', `${path}/notes/${note.id}`, caller).send({ body: 'x' }).expect(403)
      await t.api('delete', `${path}/notes/${note.id}`, caller).expect(403)
    }
    expect((await rowsOf(note.id))[0]?.note).toBe('closed')
  })

  it('only members comment on a private snippet, and see the events (SN-12, SEC-36)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    const sent = { title: 'x', file_name: 'x', content: 'x', visibility: 'private' }
    const { id } = (await t.api('post', `${project.path}/snippets`, as.owner).send(sent).expect(201)).body
    const path = `${project.path}/snippets/${id}`
    await say(path, 'Between us', as.guest)
    expect((await t.api('post', `${path}/notes`, as.stranger).send({ body: 'x' }).expect(404)).body).toEqual({ message: '404 Snippet Not Found' })
    await t.api('get', `${path}/notes`, as.stranger).expect(404)
    const countEvents = async (caller: TestUser | null) =>
      (await t.api('get', `${project.path}/events?action=commented`, caller).expect(200)).body.length
    expect([await countEvents(null), await countEvents(as.stranger), await countEvents(as.guest)]).toEqual([0, 0, 1])
  })
})

describe('what follows from a note', () => {
  it('makes one todo for a mentioned user, with the note, and another kind for one who is addressed (TO-5, IS-23)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const { iid, id } = await anIssue(project)
    const path = `${project.path}/issues/${iid}`
    const [ann, bob] = [await aUser(t.ctx), await aUser(t.ctx)]
    const note = await say(path, `@${ann.username} ask @${bob.username}`, project.creator)
    const own = async (user: TestUser) => (await t.api('get', '/todos', user).expect(200)).body
    const [todo] = await own(ann)
    expect(todo).toMatchObject({ action_name: 'directly_addressed', body: note.body, target: { id }, author: { id: project.creator.id } })
    expect(todo.target_url).toBe(`http://roost.test/${project.fullPath}/issues/${iid}#note_${note.id}`)
    expect(await own(bob)).toMatchObject([{ action_name: 'mentioned' }])
    const cay = await aUser(t.ctx)
    await t
      .api('put', `${path}/notes/${note.id}`, project.creator)
      .send({ body: `@${ann.username} @${cay.username}` })
      .expect(200)
    expect([(await own(ann)).length, (await own(bob)).length, (await own(cay)).length]).toEqual([1, 1, 1])
    const named = await t.ctx.db.write.select({ user: mentions.user_id }).from(mentions).where(eq(mentions.note_id, note.id))
    expect(named.map(({ user }) => user).sort()).toEqual([ann.id, cay.id].sort())
    await t.api('delete', `${path}/notes/${note.id}`, project.creator).expect(204)
    expect([await own(ann), await own(cay)]).toEqual([[], []])
  })

  it('a note or an emoji ends the todos of its author for the item (TO-6)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const deals = {
      notes: { body: 'Done' },
      discussions: { body: 'Done' },
      award_emoji: { name: 'tada' },
    }
    for (const [how, sent] of Object.entries(deals)) {
      const { iid } = await anIssue(project, { description: `@${stranger.username}` })
      const path = `${project.path}/issues/${iid}`
      const pending = async () => (await t.api('get', `/todos?project_id=${project.id}`, stranger).expect(200)).body.length
      expect([how, await pending()]).toEqual([how, 1])
      await t.api('post', `${path}/${how}`, stranger).send(sent).expect(201)
      expect([how, await pending()]).toEqual([how, 0])
    }
  })

  it('who talks takes part and is subscribed (IS-24, IS-16)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const { iid } = await anIssue(project)
    const path = `${project.path}/issues/${iid}`
    const subscribed = async () => (await t.api('get', path, stranger).expect(200)).body.subscribed
    expect(await subscribed()).toBe(false)
    await say(path, 'Hello', stranger)
    expect(await subscribed()).toBe(true)
    const people = (await t.api('get', `${path}/participants`, stranger).expect(200)).body
    expect(people.map((p: { id: number }) => p.id).sort()).toEqual([project.creator.id, stranger.id].sort())
    await t.api('post', `${path}/unsubscribe`, stranger).expect(201)
    await say(path, 'Once more', stranger)
    expect(await subscribed()).toBe(false)
  })

  it.each(NOTED)('it is an event of the project: %s (EV-5, EV-7, G-86)', async (type) => {
    const { project, things } = talk
    const thing = things[type]
    const note = await say(thing.path, 'Heard', stranger)
    const [event] = (await t.api('get', `${project.path}/events?action=commented`, owner).expect(200)).body
    const title = { Issue: 'An issue', MergeRequest: 'A request', Snippet: 'A snippet' }[type]
    expect(event).toMatchObject({
      action_name: 'commented on',
      target_type: 'Note',
      target_id: note.id,
      target_title: title,
      author: { id: stranger.id },
    })
    expect(event.note).toEqual(note)
    expect((await t.api('get', project.path, owner).expect(200)).body.last_activity_at).toBe(event.created_at)
    const thread = (await t.api('post', `${thing.path}/discussions`, stranger).send({ body: 'Thread' }).expect(201)).body
    const [next] = (await t.api('get', `${project.path}/events?target_type=note`, owner).expect(200)).body
    expect(next).toMatchObject({ target_type: 'DiscussionNote', note: thread.notes[0] })
    await t.api('delete', `${thing.path}/notes/${note.id}`, stranger).expect(204)
    expect(await t.ctx.db.write.select().from(events).where(eq(events.target_id, note.id))).toEqual([])
  })

  it('many people talking at once lose nothing', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const { iid } = await anIssue(project)
    const path = `${project.path}/issues/${iid}`
    await Promise.all(Array.from({ length: 30 }, (_, i) => say(path, `${i}`, i % 2 ? stranger : project.creator)))
    expect((await t.api('get', path, stranger).expect(200)).body.user_notes_count).toBe(30)
  })
})

describe('deletion with items and users', () => {
  it('notes and emoji are deleted with their item (IS-7, SN-10)', async () => {
    const { project, things } = await aTalkingProject(t)
    const { creator } = project
    for (const type of ['Issue', 'Snippet'] as const) {
      const { path } = things[type]
      const note = await say(path, `@${stranger.username}`, creator)
      await t.api('post', `${path}/award_emoji`, creator).send({ name: 'star' }).expect(201)
      await t.api('post', `${path}/notes/${note.id}/award_emoji`, creator).send({ name: 'star' }).expect(201)
      await t.api('delete', path, creator).expect(204)
      expect(await rowsOf(note.id)).toEqual([])
    }
    const left = (table: typeof awardEmoji | typeof mentions | typeof todos) =>
      t.ctx.db.write.select().from(table).where(eq(table.project_id, project.id))
    expect([await left(awardEmoji), await left(mentions), await left(todos)]).toEqual([[], [], []])
    const said = (await t.api('get', `${project.path}/events?action=commented`, creator).expect(200)).body
    expect(said).toEqual([])
  })

  it('a moved issue keeps its notes, threads, emoji and mentions (IS-8)', async () => {
    const creator = await aUser(t.ctx)
    const [from, to] = [await aProject(t.ctx, { creator }), await aProject(t.ctx, { creator })]
    const { iid } = await anIssue(from)
    const path = `${from.path}/issues/${iid}`
    await say(path, 'Alone', creator, { created_at: '2001-01-01' })
    const thread = (
      await t
        .api('post', `${path}/discussions`, creator)
        .send({ body: `Thread @${creator.username}` })
        .expect(201)
    ).body
    const reply = (await t.api('post', `${path}/discussions/${thread.id}/notes`, creator).send({ body: 'Reply' }).expect(201)).body
    await t.api('post', `${path}/notes/${reply.id}/award_emoji`, creator).send({ name: 'star' }).expect(201)
    await t.api('post', `${path}/award_emoji`, creator).send({ name: 'thumbsup' }).expect(201)
    const moved = (await t.api('post', `${path}/move`, creator).send({ to_project_id: to.id }).expect(201)).body
    expect(moved).toMatchObject({ project_id: to.id, user_notes_count: 3, upvotes: 1 })
    const at = `${to.path}/issues/${moved.iid}`
    const [alone, copied, note] = (await t.api('get', `${at}/discussions`, creator).expect(200)).body
    expect(alone).toMatchObject({ individual_note: true, notes: [{ body: 'Alone', created_at: '2001-01-01T00:00:00.000Z', noteable_id: moved.id }] })
    expect(copied.notes.map((n: { type: string; body: string }) => [n.type, n.body])).toEqual([
      ['DiscussionNote', `Thread @${creator.username}`],
      ['DiscussionNote', 'Reply'],
    ])
    expect(note.notes).toMatchObject([{ system: true, body: 'moved from another project' }])
    expect((await t.api('get', `${at}/notes/${copied.notes[1].id}/award_emoji`, creator).expect(200)).body).toMatchObject([{ name: 'star' }])
    expect((await t.api('get', `${at}/award_emoji`, creator).expect(200)).body).toMatchObject([{ name: 'thumbsup', awardable_id: moved.id }])
    expect(await t.ctx.db.write.select().from(mentions).where(eq(mentions.note_id, copied.notes[0].id))).toHaveLength(1)
    // what was said before the move stays where it was, too
    expect((await t.api('get', `${path}/discussions/${thread.id}`, creator).expect(200)).body.notes).toHaveLength(2)
  })

  it('what a deleted person said and gave is the ghost’s (U-34, SEC-127)', async () => {
    const { things } = talk
    const gone = await aUser(t.ctx)
    const note = await say(things.Issue.path, 'Mine', gone)
    const award = (await t.api('post', `${things.Issue.path}/award_emoji`, gone).send({ name: 'thumbsup' }).expect(201)).body
    const issue = async () => (await t.api('get', things.Issue.path, owner).expect(200)).body
    const before = await issue()
    await t.api('delete', `/users/${gone.id}`, await anAdmin(t.ctx)).expect(204)
    expect(await issue()).toMatchObject({ user_notes_count: before.user_notes_count, upvotes: before.upvotes })
    expect((await t.api('get', `${things.Issue.path}/notes/${note.id}`, owner).expect(200)).body).toMatchObject({
      body: 'Mine',
      author: { name: 'Ghost User' },
    })
    expect((await t.api('get', `${things.Issue.path}/award_emoji/${award.id}`, owner).expect(200)).body.user.name).toBe('Ghost User')
    // the ghost gives the same emoji once
    const next = await aUser(t.ctx)
    await t.api('post', `${things.Issue.path}/award_emoji`, next).send({ name: 'thumbsup' }).expect(201)
    await t.api('delete', `/users/${next.id}`, await anAdmin(t.ctx)).expect(204)
    expect((await issue()).upvotes).toBe(before.upvotes)
  })

  it('with hard_delete it is deleted, and counted no more (U-36)', async () => {
    const { things, sha, project } = talk
    const gone = await aUser(t.ctx)
    const counted = ['Issue', 'MergeRequest'] as const
    const show = async (type: (typeof counted)[number]) => {
      const { user_notes_count, upvotes, downvotes } = (await t.api('get', things[type].path, owner).expect(200)).body
      return { user_notes_count, upvotes, downvotes }
    }
    const before = [await show('Issue'), await show('MergeRequest')]
    const said: number[] = []
    for (const { path } of Object.values(things)) {
      said.push((await say(path, 'Mine', gone)).id)
      said.push((await t.api('post', `${path}/discussions`, gone).send({ body: 'Mine too' }).expect(201)).body.notes[0].id)
      for (const name of ['thumbsup', 'thumbsdown']) await t.api('post', `${path}/award_emoji`, gone).send({ name }).expect(201)
    }
    await t.api('post', `${project.path}/repository/commits/${sha}/comments`, gone).send({ note: 'x' }).expect(201)
    await t.api('post', `${things.Issue.path}/notes/${said[0]}/award_emoji`, owner).send({ name: 'star' }).expect(201)
    await t.api('delete', `/users/${gone.id}?hard_delete=true`, await anAdmin(t.ctx)).expect(204)
    expect([await show('Issue'), await show('MergeRequest')]).toEqual(before)
    for (const id of said) expect(await rowsOf(id)).toEqual([])
    expect(
      await t.ctx.db.write
        .select()
        .from(awardEmoji)
        .where(eq(awardEmoji.awardable_id, said[0] as number)),
    ).toEqual([])
    expect(await bodies(things.Snippet.path)).not.toContain('Mine')
  })
})
