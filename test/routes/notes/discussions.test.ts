import { createHash } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { mergeRequests, mergeRequestVersions, notes } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aCommit, aProject, aUser, type TestUser } from '../../support/factories.js'
import { aTalkingProject, NOTED } from '../../support/talk.js'

const t = testApp()
let talk: Awaited<ReturnType<typeof aTalkingProject>>
let owner: TestUser
let stranger: TestUser
let paths: Record<(typeof NOTED)[number] | 'Commit', string>

beforeAll(async () => {
  talk = await aTalkingProject(t)
  owner = talk.project.creator
  stranger = await aUser(t.ctx)
  const { Issue, MergeRequest, Snippet } = talk.things
  paths = {
    Issue: Issue.path,
    MergeRequest: MergeRequest.path,
    Snippet: Snippet.path,
    Commit: `${talk.project.path}/repository/commits/${talk.sha}`,
  }
})

const begin = async (path: string, sent: object, caller = owner) =>
  (
    await t
      .api('post', `${path}/discussions`, caller)
      .send({ body: 'Thread', ...sent })
      .expect(201)
  ).body
const get = async (path: string) => (await t.api('get', path, owner).expect(200)).body

describe.each([...NOTED, 'Commit'] as const)('threads on an item: %s', (type) => {
  it('a thread, and an answer in it (DI-2, DI-3, DI-5)', async () => {
    const path = paths[type]
    const thread = await begin(path, { created_at: '2001-01-01' })
    const [first] = thread.notes
    expect(thread).toEqual({ id: expect.stringMatching(/^[0-9a-f]{40}$/), individual_note: false, notes: [first] })
    expect(first).toMatchObject({
      type: 'DiscussionNote',
      body: 'Thread',
      created_at: '2001-01-01T00:00:00.000Z',
      noteable_type: type,
      noteable_id: type === 'Commit' ? null : expect.any(Number),
      noteable_iid: type === 'Issue' || type === 'MergeRequest' ? 1 : null,
      resolvable: type === 'MergeRequest',
    })
    const at = `${path}/discussions/${thread.id}`
    const reply = (await t.api('post', `${at}/notes`, stranger).send({ body: 'Answer' }).expect(201)).body
    expect(reply).toMatchObject({ type: 'DiscussionNote', body: 'Answer', author: { id: stranger.id } })
    expect(await get(at)).toEqual({ ...thread, notes: [first, reply] })
    await t.api('post', `${at}/notes`, owner).send({ body: ' ' }).expect(400)
    await t.api('post', `${path}/discussions`, owner).send({}).expect(400)
    await t.api('post', `${path}/discussions`, owner).send({ body: '' }).expect(400)
    for (const id of ['0'.repeat(40), '1', 'x'])
      expect((await t.api('get', `${path}/discussions/${id}`, owner).expect(404)).body).toEqual({ message: '404 Discussion Not Found' })
    await t
      .api('post', `${path}/discussions/${'0'.repeat(40)}/notes`, owner)
      .send({ body: 'x' })
      .expect(404)
    const other = paths[type === 'Issue' ? 'Snippet' : 'Issue']
    await t.api('get', `${other}/discussions/${thread.id}`, owner).expect(404)
  })

  it('the notes of a thread, page by page, and one of them (DI-4)', async () => {
    const path = paths[type]
    const {
      id,
      notes: [first],
    } = await begin(path, {})
    const at = `${path}/discussions/${id}/notes`
    const reply = (await t.api('post', at, owner).send({ body: 'Answer' }).expect(201)).body
    expect(await get(at)).toEqual([first, reply])
    const page = await t.api('get', `${at}?per_page=1&page=2`, owner).expect(200)
    expect(page.body).toEqual([reply])
    expect(page.headers).toMatchObject({ 'x-total': '2', 'x-prev-page': '1' })
    expect(await get(`${at}/${reply.id}`)).toEqual(reply)
    const {
      notes: [elsewhere],
    } = await begin(path, {})
    await t.api('get', `${at}/${elsewhere.id}`, owner).expect(404)
  })

  it('a note of a thread is changed and deleted by the users of NT-4 and NT-5; a thread without notes is deleted (DI-6, DI-7)', async () => {
    const path = paths[type]
    const thread = await begin(path, {}, stranger)
    const at = `${path}/discussions/${thread.id}`
    const note = `${at}/notes/${thread.notes[0].id}`
    const other = await aUser(t.ctx)
    await t.api('put', note, other).send({ body: 'x' }).expect(403)
    await t.api('delete', note, other).expect(403)
    expect((await t.api('put', note, stranger).send({ body: 'Changed' }).expect(200)).body).toMatchObject({ body: 'Changed', type: 'DiscussionNote' })
    expect((await t.api('put', note, stranger).send({}).expect(400)).body).toEqual({
      error: 'body, resolved are missing, at least one parameter must be provided',
    })
    expect((await t.api('put', note, owner).send({ body: 'x', resolved: true }).expect(400)).body).toEqual({
      error: 'body, resolved are mutually exclusive',
    })
    await t.api('put', note, owner).send({ body: ' ' }).expect(400)
    await t.api('delete', `${path}/discussions/${'0'.repeat(40)}/notes/${thread.notes[0].id}`, owner).expect(404)
    await t.api('delete', note, stranger).expect(204)
    await t.api('get', at, owner).expect(404)
  })

  it('threads and notes that stand alone, oldest first (DI-1)', async () => {
    const project = await aTalkingProject(t)
    const path = type === 'Commit' ? `${project.project.path}/repository/commits/${project.sha}` : project.things[type].path
    const { creator } = project.project
    const one = await begin(path, { body: 'one', created_at: '2001-01-02' }, creator)
    const alone =
      type === 'Commit'
        ? (await t.api('post', `${path}/comments`, creator).send({ note: 'alone' }).expect(201)).body
        : (await t.api('post', `${path}/notes`, creator).send({ body: 'alone' }).expect(201)).body
    await t.api('post', `${path}/discussions/${one.id}/notes`, creator).send({ body: 'two' }).expect(201)
    const list = await t.api('get', `${path}/discussions`, creator).expect(200)
    expect(
      list.body.map((d: { individual_note: boolean; notes: { body: string }[] }) => [d.individual_note, d.notes.map(({ body }) => body)]),
    ).toEqual([
      [false, ['one', 'two']],
      [true, ['alone']],
    ])
    expect(list.headers['x-total']).toBe('2')
    const last = await t.api('get', `${path}/discussions?per_page=1&page=2`, creator).expect(200)
    expect(last.body).toEqual([list.body[1]])
    expect((await t.api('get', `${path}/discussions?page=9`, creator).expect(200)).headers['x-total']).toBe('2')
    const single = `${path}/discussions/${last.body[0].id}`
    expect((await t.api('get', single, creator).expect(200)).body.notes[0].created_at).toBe(alone.created_at)
    // DI-5: it has no replies
    await t.api('post', `${single}/notes`, creator).send({ body: 'x' }).expect(400)
    expect((await t.api('get', single, creator).expect(200)).body.notes).toHaveLength(1)
  })

  it('only on merge requests is there something to resolve (DI-9)', async () => {
    const path = paths[type]
    const {
      id,
      notes: [note],
    } = await begin(path, {})
    const asked = await t.api('put', `${path}/discussions/${id}/notes/${note.id}`, owner).send({ resolved: true })
    expect(asked.status).toBe(type === 'MergeRequest' ? 200 : 400)
    if (type !== 'MergeRequest') await t.api('put', `${path}/discussions/${id}`, owner).send({ resolved: true }).expect(405)
  })
})

describe('threads on merge requests', () => {
  const open = async (id: number) =>
    (await t.ctx.db.write.select({ open: mergeRequests.unresolved_discussions_count }).from(mergeRequests).where(eq(mergeRequests.id, id)))[0]?.open

  it('are resolved and opened again, whole or note by note; what waits is counted (DI-6, DI-8, DI-9, NT-6)', async () => {
    const { project, things } = await aTalkingProject(t)
    const { path, id } = things.MergeRequest
    const { creator } = project
    const [one, two] = [await begin(path, {}, creator), await begin(path, {}, creator)]
    await t.api('post', `${path}/notes`, creator).send({ body: 'Not to be resolved' }).expect(201)
    expect(await open(id)).toBe(2)
    const at = `${path}/discussions/${one.id}`
    const reply = (await t.api('post', `${at}/notes`, creator).send({ body: 'Answer' }).expect(201)).body
    expect(await open(id)).toBe(2)

    const note = (await t.api('put', `${at}/notes/${reply.id}`, creator).send({ resolved: true }).expect(200)).body
    expect(note).toMatchObject({ resolvable: true, resolved: true, resolved_by: { id: creator.id }, resolved_at: expect.any(String) })
    expect(await open(id)).toBe(2)
    const whole = (await t.api('put', at, creator).send({ resolved: true }).expect(200)).body
    expect(whole.notes.map((n: { resolved: boolean }) => n.resolved)).toEqual([true, true])
    expect(await open(id)).toBe(1)
    await t.api('put', at, creator).send({ resolved: true }).expect(200)
    const systemNotes = async () =>
      (await t.api('get', `${path}/notes?activity_filter=only_activity`, creator).expect(200)).body.map((n: { body: string }) => n.body)
    expect(await systemNotes()).toEqual([])
    await t.api('put', `${path}/discussions/${two.id}`, creator).send({ resolved: true }).expect(200)
    expect(await open(id)).toBe(0)
    expect(await systemNotes()).toEqual(['resolved all threads'])

    const again = (await t.api('put', at, creator).send({ resolved: false }).expect(200)).body
    expect(again.notes[0]).toMatchObject({ resolved: false, resolved_by: null, resolved_at: null })
    expect(await open(id)).toBe(1)
    // an answer waits to be resolved like every note
    await t.api('post', `${path}/discussions/${two.id}/notes`, creator).send({ body: 'But' }).expect(201)
    expect(await open(id)).toBe(2)
    for (const { id: gone } of again.notes) await t.api('delete', `${at}/notes/${gone}`, creator).expect(204)
    expect(await open(id)).toBe(1)
    await t.api('put', `${path}/discussions/${two.id}`, creator).send({}).expect(400)
    await t
      .api('put', `${path}/discussions/${'0'.repeat(40)}`, creator)
      .send({ resolved: true })
      .expect(404)
    const [alone] = (await t.api('get', `${path}/discussions`, creator).expect(200)).body.filter(
      (d: { individual_note: boolean }) => d.individual_note,
    )
    await t.api('put', `${path}/discussions/${alone.id}`, creator).send({ resolved: true }).expect(400)
  })

  it('5.1 row 30: developers, and the authors of the request and of the note, resolve it', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    await aCommit(t.ctx, project, { b: 'b' }, { branch: 'side', start_branch: 'main' })
    const sent = { title: 'One', source_branch: 'side', target_branch: 'main' }
    const { iid } = (await t.api('post', `${project.path}/merge_requests`, as.developer).send(sent).expect(201)).body
    const path = `${project.path}/merge_requests/${iid}`
    const thread = await begin(path, {}, as.reporter)
    const own = await begin(path, {}, as.guest)
    const refused = { anonymous: 401, stranger: 403, guest: 403 }
    for (const [role, status] of statuses(200, refused)) {
      const asked = [
        await t.api('put', `${path}/discussions/${thread.id}`, as[role]).send({ resolved: true }),
        await t.api('put', `${path}/discussions/${thread.id}/notes/${thread.notes[0].id}`, as[role]).send({ resolved: false }),
      ]
      expect([role, ...asked.map((answer) => answer.status)]).toEqual([role, status, status])
    }
    await t.api('put', `${path}/discussions/${own.id}`, as.guest).send({ resolved: true }).expect(200)
    await t.api('put', `${path}/discussions/${own.id}`, as.reporter).send({ resolved: false }).expect(403)
  })

  it('a new issue takes over the threads that wait, or one of them, and they are resolved (IS-5)', async () => {
    const { things, project } = await aTalkingProject(t)
    const { path, id } = things.MergeRequest
    const { creator } = project
    const [one, two, done] = [await begin(path, {}, creator), await begin(path, {}, creator), await begin(path, {}, creator)]
    await t.api('put', `${path}/discussions/${done.id}`, creator).send({ resolved: true }).expect(200)
    const post = async (sent: object, caller = creator) =>
      (
        await t
          .api('post', `${project.path}/issues`, caller)
          .send({ title: 'Follow-up', ...sent })
          .expect(201)
      ).body
    const request = { merge_request_to_resolve_discussions_of: 1 }
    // a caller who may not resolve them opens an issue and nothing more
    expect((await post(request, stranger)).description).toBe('')
    expect((await post({ merge_request_to_resolve_discussions_of: 99 })).description).toBe('')
    expect(await open(id)).toBe(2)
    const first = await post({ ...request, discussion_to_resolve: two.id })
    const page = `http://roost.test/${project.fullPath}/merge_requests/1`
    expect(first.description).toBe(`Threads of !1 that were not resolved:\n\n- [ ] ${page}#note_${two.notes[0].id}`)
    expect(first.task_completion_status).toEqual({ count: 1, completed_count: 0 })
    expect(await open(id)).toBe(1)
    expect((await post({ ...request, description: 'My own words' })).description).toBe('My own words')
    expect(await open(id)).toBe(0)
    const resolved = (await t.api('get', `${path}/discussions/${one.id}`, creator).expect(200)).body
    expect(resolved.notes[0]).toMatchObject({ resolved: true, resolved_by: { id: creator.id } })
  })

  it('threads begun, answered and resolved at once are counted rightly (DI-9)', async () => {
    const { things, project } = await aTalkingProject(t)
    const { path, id } = things.MergeRequest
    const threads = await Promise.all(Array.from({ length: 8 }, () => begin(path, {}, project.creator)))
    await Promise.all(
      threads.flatMap(({ id: thread }, i) => [
        t.api('put', `${path}/discussions/${thread}`, project.creator).send({ resolved: i % 2 === 0 }),
        t.api('post', `${path}/notes`, project.creator).send({ body: 'x' }),
      ]),
    )
    expect(await open(id)).toBe(4)
  })
})

describe('places in a difference', () => {
  const TEN = Array.from({ length: 10 }, (_, n) => `line ${n + 1}`)
  const changed = [...TEN.slice(0, 4), 'added', ...TEN.slice(5)]

  /** A merge request with a version, and the commit it brings: `f` has a line changed, `was` is renamed to `is`. */
  async function aDifference() {
    const project = await aProject(t.ctx, { visibility: 'public', files: { f: `${TEN.join('\n')}\n`, was: `${TEN.join('\n')}\n` } })
    const send = { branch: 'side', start_branch: 'main', commit_message: 'Change' }
    const actions = [
      { action: 'update', file_path: 'f', content: `${changed.join('\n')}\n` },
      { action: 'move', previous_path: 'was', file_path: 'is', content: `${changed.join('\n')}\n` },
    ]
    const commit = (
      await t
        .api('post', `${project.path}/repository/commits`, project.creator)
        .send({ ...send, actions })
        .expect(201)
    ).body
    const [base_sha, head_sha] = [commit.parent_ids[0] as string, commit.id as string]
    const sent = { title: 'One', source_branch: 'side', target_branch: 'main' }
    const request = (await t.api('post', `${project.path}/merge_requests`, project.creator).send(sent).expect(201)).body
    const known = { project_id: project.id, merge_request_id: request.id, state: 'collected' as const, real_size: '2', commits_count: 1 }
    await t.ctx.db.write
      .insert(mergeRequestVersions)
      .values({ ...known, base_commit_sha: base_sha, start_commit_sha: base_sha, head_commit_sha: head_sha, created_at: new Date() })
    const refs = { base_sha, start_sha: base_sha, head_sha }
    return { project, refs, request: `${project.path}/merge_requests/${request.iid}`, commit: `${project.path}/repository/commits/${head_sha}` }
  }
  let at: Awaited<ReturnType<typeof aDifference>>
  beforeAll(async () => {
    at = await aDifference()
  })

  describe.each(['request', 'commit'] as const)('of a %s', (kind) => {
    const post = (position: object) => t.api('post', `${at[kind]}/discussions`, at.project.creator).send({ body: 'Here', position })

    it.each<[string, object]>([
      ['an added line', { old_path: 'f', new_path: 'f', new_line: 5 }],
      ['a removed line', { old_path: 'f', new_path: 'f', old_line: 5 }],
      ['an unchanged line beside them', { old_path: 'f', new_path: 'f', old_line: 4, new_line: 4 }],
      ['a line of a renamed file', { old_path: 'was', new_path: 'is', new_line: 5 }],
    ])('%s takes a thread, whose answers stand there too (DI-3, DI-10)', async (_, place) => {
      const thread = (await post({ ...at.refs, position_type: 'text', ...place }).expect(201)).body
      const position = { ...at.refs, position_type: 'text', old_line: null, new_line: null, ...place }
      expect(thread).toMatchObject({ individual_note: false, notes: [{ type: 'DiffNote', position, resolvable: kind === 'request' }] })
      const reply = (await t.api('post', `${at[kind]}/discussions/${thread.id}/notes`, at.project.creator).send({ body: 'So' }).expect(201)).body
      expect(reply).toMatchObject({ type: 'DiffNote', position })
    })

    it.each<[string, object, object, string[]]>([
      ['by numbers', { new_line: 5 }, { start: { old_line: 4, new_line: 4 } }, ['_4_4', '_6_5']],
      [
        'by codes, with its end',
        { new_line: 5 },
        { start: { line_code: 'CODE_5_5', type: 'old' }, end: { line_code: 'CODE_6_5', type: 'new' } },
        ['_5_5', '_6_5'],
      ],
      ['of one line', { new_line: 5 }, { start: { new_line: 5 } }, ['_6_5', '_6_5']],
    ])('a range %s is kept with both ends (DI-11)', async (_, place, range, codes) => {
      const digest = createHash('sha1').update('f').digest('hex')
      const line_range = JSON.parse(JSON.stringify(range).replaceAll('CODE', digest))
      const thread = (await post({ ...at.refs, position_type: 'text', new_path: 'f', ...place, line_range }).expect(201)).body
      const { start, end } = thread.notes[0].position.line_range
      expect([start.line_code, end.line_code]).toEqual(codes.map((code) => digest + code))
      expect(end).toEqual({ line_code: `${digest}_6_5`, type: 'new', old_line: null, new_line: 5 })
    })

    it.each<[string, object]>([
      ['that begins after its end', { line_range: { start: { old_line: 6, new_line: 6 } } }],
      ['whose end is another line', { line_range: { start: { new_line: 4 }, end: { new_line: 6 } } }],
      ['with a line that is not there', { line_range: { start: { new_line: 99 } } }],
      ['with a code of another file', { line_range: { start: { line_code: `${'0'.repeat(40)}_5_5` } } }],
    ])('a range %s is refused (DI-11)', async (_, more) => {
      await post({ ...at.refs, position_type: 'text', new_path: 'f', new_line: 5, ...more }).expect(400)
    })

    it('one path is enough where both are one (DI-10)', async () => {
      const thread = (await post({ ...at.refs, position_type: 'text', new_path: 'f', new_line: '5' }).expect(201)).body
      expect(thread.notes[0].position).toMatchObject({ old_path: 'f', new_path: 'f', new_line: 5 })
    })

    it.each<[string, object]>([
      ['no ids', { new_path: 'f', new_line: 5, base_sha: undefined, start_sha: undefined, head_sha: undefined }],
      ['no start', { new_path: 'f', new_line: 5, start_sha: undefined }],
      ['no path', { new_line: 5 }],
      ['no line', { new_path: 'f' }],
      ['an unknown commit', { new_path: 'f', new_line: 5, head_sha: '0'.repeat(40) }],
      ['commits of no one difference', { new_path: 'f', new_line: 5, swap: true }],
      ['an unchanged line as an added one', { new_path: 'f', new_line: 4 }],
      ['an unchanged line with a wrong number', { new_path: 'f', old_line: 4, new_line: 3 }],
      ['a line far from every change', { new_path: 'f', old_line: 10, new_line: 10 }],
      ['a line beyond the end', { new_path: 'f', new_line: 99 }],
      ['a file that did not change', { new_path: 'none', new_line: 1 }],
      ['a renamed file under its new path alone, as if it had been there', { old_path: 'is', new_path: 'is', new_line: 5 }],
      ['a line 0', { new_path: 'f', new_line: 0 }],
      ['a line that is none', { new_path: 'f', new_line: 'x' }],
      ['an image without a point', { new_path: 'f', new_line: 5, position_type: 'image' }],
      ['a point of what is no picture (DI-12)', { new_path: 'f', position_type: 'image', x: 1, y: 1, width: 2, height: 2 }],
    ])('refused with 400, and nothing is said: %s (DI-3, DI-10)', async (_, { swap, ...place }: { swap?: boolean }) => {
      const count = async () => (await t.ctx.db.write.select().from(notes).where(eq(notes.project_id, at.project.id))).length
      const before = await count()
      const refs = swap ? { ...at.refs, base_sha: at.refs.head_sha, head_sha: at.refs.base_sha } : at.refs
      await post({ position_type: 'text', ...refs, ...place }).expect(400)
      expect(await count()).toBe(before)
    })

    it('a position that is none is refused, an absent one is a thread without a place', async () => {
      for (const position of ['x', 5, ['a']])
        await t.api('post', `${at[kind]}/discussions`, at.project.creator).send({ body: 'x', position }).expect(400)
      const thread = (await t.api('post', `${at[kind]}/discussions`, at.project.creator).send({ body: 'x', position: null }).expect(201)).body
      expect(thread.notes[0].type).toBe('DiscussionNote')
    })
  })

  it('comments on a commit are threads at their line, and threads are comments (C-58, C-60, DI-1)', async () => {
    const { project, commit, refs } = await aDifference()
    const { creator } = project
    const comment = (await t.api('post', `${commit}/comments`, creator).send({ note: 'Hm', path: 'is', line: 5, line_type: 'new' }).expect(201)).body
    expect(comment).toMatchObject({ path: 'is', line: 5, line_type: 'new' })
    await t.api('post', `${commit}/comments`, creator).send({ note: 'Alone', path: 'is', line: 9, line_type: 'new' }).expect(201)
    const [placed, alone] = (await t.api('get', `${commit}/discussions`, creator).expect(200)).body
    expect(placed).toMatchObject({
      individual_note: false,
      notes: [
        {
          type: 'DiffNote',
          body: 'Hm',
          position: { ...refs, old_path: 'was', new_path: 'is', old_line: null, new_line: 5 },
          noteable_type: 'Commit',
        },
      ],
    })
    expect(alone).toMatchObject({ individual_note: true, notes: [{ type: null, body: 'Alone' }] })
    const place = { ...refs, position_type: 'text', new_path: 'f' }
    await t
      .api('post', `${commit}/discussions`, creator)
      .send({ body: 'Old', position: { ...place, old_line: 5 } })
      .expect(201)
    await t
      .api('post', `${commit}/discussions`, creator)
      .send({ body: 'Same', position: { ...place, old_line: 6, new_line: 6 } })
      .expect(201)
    await t.api('post', `${commit}/discussions`, creator).send({ body: 'Nowhere' }).expect(201)
    const comments = (await t.api('get', `${commit}/comments`, creator).expect(200)).body
    expect(comments.map((c: Record<string, unknown>) => [c['note'], c['path'], c['line'], c['line_type']])).toEqual([
      ['Hm', 'is', 5, 'new'],
      ['Alone', null, null, null],
      ['Old', 'f', 5, 'old'],
      ['Same', 'f', 6, null],
      ['Nowhere', null, null, null],
    ])
  })

  it('of a commit without a parent: all is added to nothing', async () => {
    const project = await aProject(t.ctx)
    const sha = await aCommit(t.ctx, project, { a: 'a\n' })
    const none = '0'.repeat(40)
    const position = { base_sha: none, start_sha: none, head_sha: sha, position_type: 'text', new_path: 'a', new_line: 1 }
    const path = `${project.path}/repository/commits/${sha}/discussions`
    const thread = (await t.api('post', path, project.creator).send({ body: 'x', position }).expect(201)).body
    expect(thread.notes[0].position).toMatchObject({ base_sha: none, new_line: 1 })
    expect((await t.api('get', `${project.path}/repository/commits/${none}/discussions`, project.creator).expect(404)).body).toEqual({
      message: '404 Commit Not Found',
    })
  })

  it('callers who may not read the code see none of it (SEC-34)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a\n' } })
    const path = `${project.path}/repository/commits/main/discussions`
    for (const [role, status] of statuses(200, { anonymous: 401, stranger: 404, guest: 403 }))
      expect([role, (await t.api('get', path, as[role])).status]).toEqual([role, status])
  })
})
