import { eq, sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { draftNotes, notes } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aProject, aUser } from '../../support/factories.js'
import { aMergeRequest, showRequest } from '../../support/merge-requests.js'

const t = testApp()

/** A merge request by a developer, which changes the second line of a file. */
async function aReview() {
  const [owner, author, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator: owner, developer: author, visibility: 'private', files: { 'a.txt': 'one\ntwo\n' } })
  const actions = [{ action: 'update', file_path: 'a.txt', content: 'one\nTWO\n' }]
  await t
    .api('post', `${project.path}/repository/commits`, owner)
    .send({ branch: 'topic', start_branch: 'main', commit_message: 'Work', actions })
    .expect(201)
  await t.ctx.jobs.drain()
  const request = await aMergeRequest(t, { project, caller: author, source: 'topic', files: null })
  await t.ctx.jobs.drain()
  const { diff_refs } = await showRequest(t, request)
  const position = { ...diff_refs, position_type: 'text', new_path: 'a.txt', new_line: 2 }
  return { owner, author, stranger, project, request, position, at: `${request.path}/draft_notes` }
}

describe('draft notes', () => {
  it('are seen by their author alone, changed, deleted and published one by one or together (DI-13, DI-14, DI-15)', async () => {
    const { owner, author, stranger, request, position, at } = await aReview()
    const { body: thread } = await t.api('post', `${request.path}/discussions`, author).send({ body: 'A thread' }).expect(201)
    const { body: first } = await t.api('post', at, owner).send({ note: 'On a line', position }).expect(201)
    expect(first).toMatchObject({
      author_id: owner.id,
      note: 'On a line',
      resolve_discussion: false,
      discussion_id: null,
      line_code: null,
      commit_id: null,
    })
    expect(first.position).toMatchObject({ new_line: 2, old_line: null })
    const answer = { note: 'An answer', in_reply_to_discussion_id: thread.id, resolve_discussion: true }
    const { body: second } = await t.api('post', at, owner).send(answer).expect(201)
    expect(second).toMatchObject({ discussion_id: thread.id, resolve_discussion: true })
    const { body: third } = await t.api('post', at, owner).send({ note: 'Away with it' }).expect(201)
    await t.api('post', at, owner).send({ note: ' ' }).expect(400)
    await t
      .api('post', at, owner)
      .send({ note: 'x', position: { ...position, new_line: 9 } })
      .expect(400)
    expect((await t.api('get', at, owner).expect(200)).body.map(({ id }: { id: number }) => id)).toEqual([first.id, second.id, third.id])
    expect((await t.api('get', at, author).expect(200)).body).toEqual([])
    for (const [method, path] of [
      ['get', ''],
      ['put', ''],
      ['delete', ''],
      ['put', '/publish'],
    ] as const)
      await t.api(method, `${at}/${first.id}${path}`, author).send({ note: 'mine' }).expect(404)
    await t.api('get', at, stranger).expect(404)
    await t.api('post', at, stranger).send({ note: 'x' }).expect(404)
    await t.api('get', at).expect(401)
    await t.api('delete', `${at}/${third.id}`, owner).expect(204)
    expect((await t.api('put', `${at}/${first.id}`, owner).send({ note: 'Changed' }).expect(200)).body.note).toBe('Changed')
    expect((await t.api('get', `${at}/${first.id}`, owner).expect(200)).body.note).toBe('Changed')
    await t.api('put', `${at}/${first.id}/publish`, owner).expect(204)
    await t.api('put', `${at}/${first.id}/publish`, owner).expect(404)
    await t.api('post', `${at}/bulk_publish`, owner).expect(204)
    await t.api('post', `${at}/bulk_publish`, owner).expect(204)
    const discussions = (await t.api('get', `${request.path}/discussions`, author).expect(200)).body
    expect(
      discussions.map((each: { notes: { body: string; resolved: boolean }[] }) => each.notes.map(({ body, resolved }) => [body, resolved])).slice(-2),
    ).toEqual([
      [
        ['A thread', true],
        ['An answer', true],
      ],
      [['Changed', false]],
    ])
  })

  it('are sent once, even if the service ended between a note and the end of its draft, or two requests send them (WB-264)', async () => {
    const { owner, request, at } = await aReview()
    for (const note of ['a', 'b', 'c']) await t.api('post', at, owner).send({ note }).expect(201)
    const bodies = async () =>
      (await t.ctx.db.write.select({ note: notes.note }).from(notes).where(sql`${notes.noteable_id} = ${request.id} and not ${notes.system}`)).map(
        ({ note }) => note,
      )
    await Promise.all([1, 2, 3].map(() => t.api('post', `${at}/bulk_publish`, owner).expect(204)))
    expect((await bodies()).toSorted()).toEqual(['a', 'b', 'c'])
    // what makes a draft a note and forgets it cannot be stopped in between: if one fails, so does the other
    const { body: kept } = await t.api('post', at, owner).send({ note: 'd' }).expect(201)
    await t.ctx.db.write.execute(sql`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
    await t.ctx.db.write.execute(sql`create trigger refuse before delete on ${draftNotes} for each row execute function refuse()`)
    await t.api('put', `${at}/${kept.id}/publish`, owner).expect(500)
    expect((await bodies()).length).toBe(3)
    await t.ctx.db.write.execute(sql`drop trigger refuse on ${draftNotes}`)
    await t.ctx.db.write.execute(sql`drop function refuse`)
    await t.api('put', `${at}/${kept.id}/publish`, owner).expect(204)
    expect((await bodies()).length).toBe(4)
    expect(await t.ctx.db.write.$count(draftNotes, eq(draftNotes.author_id, owner.id))).toBe(0)
  })
})

describe('suggestions', () => {
  it('are applied one by one or together by those who may push (DI-16)', async () => {
    const { owner, author, stranger, project, request, position } = await aReview()
    const guest = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, owner).send({ user_id: guest.id, access_level: 20 }).expect(201)
    const suggest = async (text: string) => {
      await t
        .api('post', `${request.path}/discussions`, owner)
        .send({ body: `\`\`\`suggestion:-1+0\n${text}\n\`\`\``, position })
        .expect(201)
      const { rows } = await t.ctx.db.write.execute<{ id: string }>(sql`select max(id) as id from suggestions`)
      return Number(rows[0]?.id)
    }
    const id = await suggest('1\n2')
    await t.api('put', `/suggestions/${id}/apply`).expect(401)
    expect((await t.api('put', `/suggestions/${id}/apply`, stranger).expect(404)).body.message).toContain('Suggestion')
    await t.api('put', `/suggestions/${id}/apply`, guest).expect(403)
    await t.api('put', `/suggestions/999999/apply`, author).expect(404)
    const { body } = await t.api('put', `/suggestions/${id}/apply`, author).send({ commit_message: 'As suggested' }).expect(200)
    expect(body).toEqual({
      id,
      from_line: 1,
      to_line: 2,
      appliable: false,
      applied: true,
      from_content: 'one\nTWO\n',
      to_content: '1\n2\n',
    })
    expect((await t.api('get', `${project.path}/repository/files/a.txt/raw?ref=topic`, author).expect(200)).text).toBe('1\n2\n')
    await t.api('put', `/suggestions/${id}/apply`, author).expect(400)
    // of an earlier version, whose lines have changed
    const late = await suggest('I\nII')
    await t
      .api('put', '/suggestions/batch_apply', author)
      .send({ ids: [late] })
      .expect(409)
    await t
      .api('put', '/suggestions/batch_apply', stranger)
      .send({ ids: [late] })
      .expect(404)
    await t.api('put', '/suggestions/batch_apply', author).send({ ids: [] }).expect(404)
  })
})
