// @module-tag long
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aCommit, aProject, aUser } from '../support/factories.js'

const t = testApp()

describe('Danger, call by call', () => {
  it('reads the merge request and all that it changes, and says what it thinks (CL-6, X-9, DI-10)', async () => {
    const bot = await aUser(t.ctx, { name: 'Danger Bot' })
    const project = await aProject(t.ctx, { developer: bot, files: { 'a.txt': 'one\ntwo\n', 'dangerfile.js': 'warn("x")\n' } })
    const sha = await aCommit(t.ctx, project, { 'b.txt': 'three\n' }, { branch: 'topic', start_branch: 'main', message: 'Add b' })
    const at = `/projects/${encodeURIComponent(project.fullPath)}`
    const sent = { source_branch: 'topic', target_branch: 'main', title: 'A change', description: 'Why' }
    const { body: made } = await t.api('post', `${at}/merge_requests`, project.creator).send(sent).expect(201)
    const one = `${at}/merge_requests/${made.iid}`

    expect((await t.api('get', '/user', bot).expect(200)).body).toMatchObject({ id: bot.id, username: bot.username })
    const { body: approvals } = await t.api('get', `${one}/approvals`, bot).expect(200)
    expect(approvals).toMatchObject({ iid: made.iid, title: 'A change', state: 'opened', approvals_required: 0, approved_by: [] })
    const { body: request } = await t.api('get', one, bot).expect(200)
    expect(request).toMatchObject({
      iid: made.iid,
      title: 'A change',
      description: 'Why',
      author: { username: project.creator.username },
      diff_refs: { base_sha: expect.any(String), start_sha: expect.any(String), head_sha: sha },
      source_project_id: project.id,
      web_url: expect.stringContaining(`/merge_requests/${made.iid}`),
    })
    const { base_sha, start_sha, head_sha } = request.diff_refs
    const { body: changed } = await t.api('get', `${one}/changes`, bot).expect(200)
    expect(changed.changes).toMatchObject([
      { old_path: 'b.txt', new_path: 'b.txt', new_file: true, renamed_file: false, deleted_file: false, diff: expect.stringContaining('+three') },
    ])
    expect((await t.api('get', `${one}/commits?per_page=100`, bot).expect(200)).body).toMatchObject([
      { id: sha, title: 'Add b', message: 'Add b', parent_ids: [base_sha], author_name: expect.any(String), committed_date: expect.any(String) },
    ])
    const { body: compared } = await t.api('get', `${at}/repository/compare?from=${base_sha}&to=${head_sha}`, bot).expect(200)
    expect(compared).toMatchObject({ commits: [{ id: sha }], diffs: [{ new_path: 'b.txt' }] })
    const { body: file } = await t.api('get', `${at}/repository/files/${encodeURIComponent('b.txt')}?ref=${head_sha}`, bot).expect(200)
    expect(Buffer.from(file.content, 'base64').toString()).toBe('three\n')
    await t.api('get', `${at}/repository/files/${encodeURIComponent('b.txt')}?ref=${base_sha}`, bot).expect(404)

    // the comment of the last run is found among the notes by its author and its beginning
    expect((await t.api('get', `${one}/notes?per_page=100`, bot).expect(200)).body).toEqual([])
    const { body: note } = await t.api('post', `${one}/notes`, bot).send({ body: '<!-- danger-id-default; -->First' }).expect(201)
    const { body: notes } = await t.api('get', `${one}/notes?per_page=100`, bot).expect(200)
    expect(notes).toMatchObject([{ id: note.id, type: null, system: false, author: { id: bot.id }, body: note.body }])
    const again = { body: '<!-- danger-id-default; -->Second' }
    expect((await t.api('put', `${one}/notes/${note.id}`, bot).send(again).expect(200)).body).toMatchObject({ id: note.id, ...again })

    const position = { position_type: 'text', base_sha, start_sha, head_sha, new_path: 'b.txt', new_line: 1, old_path: 'b.txt', old_line: null }
    const { body: thread } = await t.api('post', `${one}/discussions`, bot).send({ body: 'A line', position }).expect(201)
    expect(thread).toMatchObject({
      individual_note: false,
      notes: [{ type: 'DiffNote', body: 'A line', position: { new_path: 'b.txt', new_line: 1, head_sha } }],
    })
    await t
      .api('post', `${one}/discussions`, bot)
      .send({ body: 'No line', position: { ...position, new_line: 9 } })
      .expect(400)
    const { body: threads } = await t.api('get', `${one}/discussions?per_page=100`, bot).expect(200)
    expect(threads.map(({ notes: [first] }: { notes: { type: string | null }[] }) => first?.type)).toEqual([null, 'DiffNote'])
    await t.api('delete', `${one}/discussions/${thread.id}/notes/${thread.notes[0].id}`, bot).expect(204)
    await t.api('delete', `${one}/notes/${note.id}`, bot).expect(204)
    expect((await t.api('get', `${one}/notes`, bot).expect(200)).body).toEqual([])
  })
})
