import { beforeAll, describe, expect, it } from 'vitest'
import { awardEmoji } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aUser, type TestUser } from '../../support/factories.js'
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

const give = (path: string, name: string, caller: TestUser | null = stranger) => t.api('post', `${path}/award_emoji`, caller).send({ name })

const KINDS = NOTED.flatMap((type) => [[type, false] as const, [type, true] as const])

describe.each(KINDS)('emoji on an item: %s, on a note: %s', (type, onNote) => {
  let path: string
  let id: number
  beforeAll(async () => {
    const thing = talk.things[type]
    const note = onNote ? (await t.api('post', `${thing.path}/notes`, owner).send({ body: 'x' }).expect(201)).body : null
    path = note ? `${thing.path}/notes/${note.id}` : thing.path
    id = note?.id ?? thing.id
  })

  it('an emoji, alone and in a list (AE-1, AE-2, AE-3)', async () => {
    const award = (await give(path, 'blush').expect(201)).body
    expect(award).toEqual({
      id: expect.any(Number),
      name: 'blush',
      user: expect.objectContaining({ id: stranger.id, username: stranger.username }),
      created_at: award.updated_at,
      updated_at: expect.any(String),
      awardable_id: id,
      awardable_type: onNote ? 'Note' : type,
      url: null,
    })
    expect((await t.api('get', `${path}/award_emoji/${award.id}`, owner).expect(200)).body).toEqual(award)
    const own = (await give(path, 'blush', owner).expect(201)).body
    const list = await t.api('get', `${path}/award_emoji?per_page=1&page=2`, owner).expect(200)
    expect(list.body).toEqual([own])
    expect(list.headers['x-total']).toBe('2')
  })

  it('an alias is stored under the main name, and a user awards it once (AE-3)', async () => {
    expect((await give(path, '+1').expect(201)).body.name).toBe('thumbsup')
    expect((await give(path, '-1').expect(201)).body.name).toBe('thumbsdown')
    for (const name of ['+1', 'thumbsup'])
      expect((await give(path, name).expect(404)).body).toEqual({ message: '404 Award Emoji {:name=>["has already been taken"]} Not Found' })
    await give(path, '100').expect(201)
  })

  it('an unknown emoji is 404, and one that was not awarded too (AE-3)', async () => {
    for (const name of ['nothing such', ':star:', 'Star', 'constructor', '⭐'])
      expect((await give(path, name).expect(404)).body).toEqual({ message: '404 Award Emoji {:name=>["is not included in the list"]} Not Found' })
    expect((await give(path, '').expect(404)).body.message).toMatch(/^404 Award Emoji .*can't be blank.* Not Found$/)
    expect((await t.api('post', `${path}/award_emoji`, stranger).send({}).expect(400)).body).toEqual({ error: 'name is missing' })
    await give(path, 'star', null).expect(401)
  })

  it('the giver and administrators take it back, others do not (AE-4)', async () => {
    const award = (await give(path, 'tada').expect(201)).body
    const at = `${path}/award_emoji/${award.id}`
    expect((await t.api('delete', at, owner).expect(401)).body).toEqual({ message: '401 Unauthorized' })
    await t.api('delete', at, stranger).set('If-Unmodified-Since', 'Wed, 01 Jan 2020 00:00:00 GMT').expect(412)
    await t.api('get', at, owner).expect(200)
    await t.api('delete', at, stranger).expect(204)
    for (const method of ['get', 'delete'] as const)
      expect((await t.api(method, at, stranger).expect(404)).body).toEqual({ message: '404 Award Emoji Not Found' })
    const other = (await give(path, 'tada').expect(201)).body
    await t.api('delete', `${path}/award_emoji/${other.id}`, await anAdmin(t.ctx)).expect(204)
  })

  it('that of another item is 404 (SEC-31)', async () => {
    const award = (await give(path, 'rocket').expect(201)).body
    const other = talk.things[NOTED.find((each) => each !== type) as (typeof NOTED)[number]].path
    for (const method of ['get', 'delete'] as const) await t.api(method, `${other}/award_emoji/${award.id}`, stranger).expect(404)
    await t.api('get', `${path}/award_emoji/${award.id}`, stranger).expect(200)
  })
})

describe('what emoji count for', () => {
  it.each(['Issue', 'MergeRequest'] as const)('thumbs of an item are its votes, those of its notes are not: %s (AE-5, MR-9)', async (type) => {
    const { things, project } = await aTalkingProject(t)
    const { path } = things[type]
    const votes = async () => {
      const { upvotes, downvotes } = (await t.api('get', path, stranger).expect(200)).body
      return [upvotes, downvotes]
    }
    await Promise.all([give(path, 'thumbsup', stranger), give(path, '+1', owner), give(path, '-1', project.creator), give(path, 'star', stranger)])
    expect(await votes()).toEqual([2, 1])
    const { id } = (await t.api('post', `${path}/notes`, owner).send({ body: 'x' }).expect(201)).body
    await give(`${path}/notes/${id}`, 'thumbsup').expect(201)
    await give(path, 'thumbsup').expect(404)
    expect(await votes()).toEqual([2, 1])
    const list = (await t.api('get', `${path}/award_emoji`, stranger).expect(200)).body
    for (const { id: award, user } of list) {
      const giver = [stranger, owner, project.creator].find((each) => each.id === user.id) as TestUser
      await t.api('delete', `${path}/award_emoji/${award}`, giver).expect(204)
    }
    expect(await votes()).toEqual([0, 0])
  })

  it('lists of issues are narrowed by what the caller gave to the issues themselves (AE-5)', async () => {
    const { project } = await aTalkingProject(t)
    const post = (title: string) => t.api('post', `${project.path}/issues`, project.creator).send({ title }).expect(201)
    for (const title of ['Two', 'Three']) await post(title)
    await give(`${project.path}/issues/1`, '+1').expect(201)
    await give(`${project.path}/issues/2`, 'star').expect(201)
    await give(`${project.path}/issues/3`, 'star', owner).expect(201)
    const { id } = (await t.api('post', `${project.path}/issues/3/notes`, owner).send({ body: 'x' }).expect(201)).body
    await give(`${project.path}/issues/3/notes/${id}`, 'thumbsup').expect(201)
    const list = async (query: string) => {
      const { body, headers } = await t.api('get', `${project.path}/issues?sort=asc&${query}`, stranger).expect(200)
      return [...body.map(({ iid }: { iid: number }) => iid), headers['x-total']]
    }
    expect(await list('my_reaction_emoji=thumbsup')).toEqual([1, '1'])
    expect(await list('my_reaction_emoji=%2B1')).toEqual([1, '1'])
    expect(await list('my_reaction_emoji=star')).toEqual([2, '1'])
    expect(await list('my_reaction_emoji=nothing')).toEqual(['0'])
    expect(await list('my_reaction_emoji=Any')).toEqual([1, 2, '2'])
    expect(await list('my_reaction_emoji=None')).toEqual([3, '1'])
    expect(await list('not[my_reaction_emoji]=star')).toEqual([1, 3, '2'])
    await give(`${project.path}/issues/3`, 'star').expect(201)
    expect(await list('my_reaction_emoji=star')).toEqual([2, 3, '2'])
  })

  it('asks the database as often for twenty emoji of twenty people as for one', async () => {
    const { project, things } = await aTalkingProject(t)
    const { path, id } = things.Issue
    await give(path, 'star', owner).expect(201)
    const ask = () => t.queriesOf(() => t.api('get', `${path}/award_emoji?per_page=100`, project.creator).expect(200))
    const few = await ask()
    const people = await Promise.all(Array.from({ length: 20 }, () => aUser(t.ctx)))
    const given = {
      project_id: project.id,
      awardable_type: 'Issue' as const,
      awardable_id: id,
      name: 'star',
      created_at: new Date(),
      updated_at: new Date(),
    }
    await t.ctx.db.write.insert(awardEmoji).values(people.map((user) => ({ ...given, user_id: user.id })))
    expect(await ask()).toEqual(few)
  })

  it('emoji are deleted with their project', async () => {
    const { project, things } = await aTalkingProject(t)
    await give(things.Issue.path, 'star').expect(201)
    await t.api('delete', `${project.path}?permanently_remove=true`, project.creator).expect(202)
    const left = await t.ctx.db.write.select().from(awardEmoji)
    expect(left.filter(({ project_id }) => project_id === project.id)).toEqual([])
  })
})
