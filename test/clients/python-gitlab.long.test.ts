// @module-tag long
import type { Response } from 'supertest'
import { describe, expect, it } from 'vitest'
import { type Credentialed, unique } from '../support/factories.js'
import { startedRoost } from '../support/servers/started-roost.js'

const t = startedRoost()

/** As python-gitlab calls: the content type is there also where there is no body. */
const callsOf =
  (user: Credentialed) =>
  async (
    method: 'get' | 'post' | 'put' | 'delete' | 'head',
    path: string,
    status: number,
    body?: object,
  ): Promise<Pick<Response, 'body' | 'headers' | 'text'>> => {
    const call = t.api(method, path, user).set('Content-Type', 'application/json').set('Accept', '*/*')
    const answer = await (body ? call.send(JSON.stringify(body)) : call)
    expect([path, answer.status, answer.status === status ? '' : answer.text]).toEqual([path, status, ''])
    return answer
  }

describe('python-gitlab, call by call', () => {
  it('groups, projects, lists and their headers (CL-1)', async () => {
    const user = await t.user()
    const call = callsOf(user)
    expect((await call('get', '/user', 200)).body).toMatchObject({ id: user.id, username: user.username })
    const path = `group-${unique()}`
    const { body: group } = await call('post', '/groups', 201, { name: 'A group', path })
    const { body: project } = await call('post', '/projects', 201, { name: 'one', namespace_id: group.id })
    const { body: second } = await call('post', '/projects', 201, { name: 'two', namespace_id: group.id })
    expect(project.path_with_namespace).toBe(`${path}/one`)
    expect((await call('head', '/projects?membership=true', 200)).headers['x-total']).toBe('2')
    expect((await call('head', `/projects/${project.id}`, 200)).headers['content-type']).toBe('application/json')
    const list = '/projects?per_page=1&page=2&membership=true&order_by=id&sort=desc'
    const page = await call('get', list, 200)
    expect(page.body).toMatchObject([{ id: project.id }])
    const first = /<([^>]+)>; rel="prev"/.exec(page.headers['link'] ?? '')?.[1] as string
    const back = await fetch(first, { headers: { 'private-token': user.token } })
    expect(await back.json()).toMatchObject([{ id: second.id }])

    expect((await call('get', '/namespaces', 200)).body.map(({ path: each }: { path: string }) => each).sort()).toEqual([path, user.username].sort())
    expect((await call('get', `/namespaces/${path}`, 200)).body).toMatchObject({ id: group.id, kind: 'group' })
    expect((await call('get', `/namespaces/${path}/exists`, 200)).body).toMatchObject({ exists: true })
    const friend = await t.user()
    expect((await call('post', `/projects/${project.id}/members`, 201, { user_id: friend.id, access_level: 30 })).body.access_level).toBe(30)
    expect((await call('post', `/projects/${project.id}/star`, 201)).body.star_count).toBe(1)
    await call('post', `/projects/${project.id}/star`, 304)
    expect((await call('post', `/projects/${project.id}/unstar`, 201)).body.star_count).toBe(0)
    const fork = await callsOf(user)('post', `/projects/${project.id}/fork`, 201, {})
    expect(fork.body).toMatchObject({ forked_from_project: { id: project.id }, namespace: { path: user.username } })
  })

  it('boards and their lists (BO-1 to BO-6)', async () => {
    const user = await t.user()
    const call = callsOf(user)
    const { body: project } = await call('post', '/projects', 201, { name: 'with a board' })
    const at = `/projects/${project.id}`
    const label = async (name: string) => (await call('post', `${at}/labels`, 201, { name, color: '#112233' })).body.id
    const { body: board } = await call('post', `${at}/boards`, 201, { name: 'b' })
    const lists = `${at}/boards/${board.id}/lists`
    const { body: one } = await call('post', lists, 201, { label_id: await label('one') })
    const { body: two } = await call('post', lists, 201, { label_id: await label('two') })
    // an object is saved with all that has changed
    await call('put', `${lists}/${two.id}`, 200, { position: 0 })
    await call('put', `${at}/boards/${board.id}`, 200, { name: 'new' })
    expect((await call('get', `${at}/boards`, 200)).body).toMatchObject([{ name: 'new', lists: [{ id: two.id }, { id: one.id }] }])
    await call('delete', `${lists}/${one.id}`, 204)
    await call('delete', `${at}/boards/${board.id}`, 204)
  })

  it('files, trees, branches, tags and protection (CL-1)', async () => {
    const user = await t.user()
    const call = callsOf(user)
    const { body: project } = await call('post', '/projects', 201, { name: 'with files' })
    const at = `/projects/${project.id}`
    const file = `${at}/repository/files/${encodeURIComponent('docs/README.rst').replaceAll('.', '%2E')}`
    await call('post', file, 201, { branch: 'main', content: 'One\n', commit_message: 'First' })
    expect((await call('get', `${file}?ref=main`, 200)).body).toMatchObject({
      file_path: 'docs/README.rst',
      encoding: 'base64',
      content: Buffer.from('One\n').toString('base64'),
    })
    const bytes = Buffer.from([0, 1, 255]).toString('base64')
    await call('put', file, 200, { branch: 'main', content: bytes, commit_message: 'Bytes', encoding: 'base64' })
    expect((await call('head', `${file}?ref=main`, 200)).headers).toMatchObject({ 'x-gitlab-size': '3', 'x-gitlab-file-name': 'README.rst' })
    const raw = await fetch(`${t.url}/api/v4${file}/raw`, { headers: { 'private-token': user.token } })
    expect([...new Uint8Array(await raw.arrayBuffer())]).toEqual([0, 1, 255])
    const { body: tree } = await call('get', `${at}/repository/tree?path=docs`, 200)
    expect(tree).toMatchObject([{ name: 'README.rst', type: 'blob' }])
    const blob = await fetch(`${t.url}/api/v4${at}/repository/blobs/${tree[0].id}/raw`, { headers: { 'private-token': user.token } })
    expect((await blob.arrayBuffer()).byteLength).toBe(3)
    const archive = await fetch(`${t.url}/api/v4${at}/repository/archive?sha=main`, { headers: { 'private-token': user.token } })
    expect([archive.status, (await archive.arrayBuffer()).byteLength > 50]).toEqual([200, true])
    await call('delete', `${file}?branch=main&commit_message=Gone`, 204)
    await call('get', `${file}?ref=main`, 404)

    await call('post', `${at}/repository/branches`, 201, { branch: 'v1.x', ref: 'main' })
    expect((await call('get', `${at}/repository/branches/v1%2Ex`, 200)).body.name).toBe('v1.x')
    await call('delete', `${at}/repository/branches/v1%2Ex`, 204)
    expect((await call('post', `${at}/repository/tags`, 201, { tag_name: 'v1.0', ref: 'main' })).body.name).toBe('v1.0')
    expect((await call('post', `${at}/protected_branches`, 201, { name: '*-stable', merge_access_level: 30, push_access_level: 40 })).body.name).toBe(
      '*-stable',
    )
  })

  it('issues, notes, labels, milestones, threads, wikis, snippets and uploads (CL-1)', async () => {
    const user = await t.user()
    const call = callsOf(user)
    const { body: project } = await call('post', '/projects', 201, { name: 'planned' })
    const at = `/projects/${project.id}`
    const { body: one } = await call('post', `${at}/issues`, 201, { title: 'One', labels: 'bug' })
    const { body: two } = await call('post', `${at}/issues`, 201, { title: 'Two' })
    const titles = async (query: string) => (await call('get', `${at}/issues?${query}`, 200)).body.map(({ title }: { title: string }) => title)
    expect(await titles(`iids[]=${two.iid}`)).toEqual(['Two'])
    expect(await titles(`iids%5B%5D=${one.iid}&iids%5B%5D=${two.iid}&sort=asc`)).toEqual(['One', 'Two'])
    expect([await titles('labels=Any'), await titles('labels=None')]).toEqual([['One'], ['Two']])
    const { body: note } = await call('post', `${at}/issues/${one.iid}/notes`, 201, { body: 'A note' })
    const emoji = `${at}/issues/${one.iid}/notes/${note.id}/award_emoji`
    const { body: award } = await call('post', emoji, 201, { name: 'tractor' })
    await call('delete', `${emoji}/${award.id}`, 204)
    const { body: thread } = await call('post', `${at}/issues/${one.iid}/discussions`, 201, { body: 'A thread' })
    const { body: reply } = await call('post', `${at}/issues/${one.iid}/discussions/${thread.id}/notes`, 201, { body: 'A reply' })
    expect((await call('put', `${at}/issues/${one.iid}/discussions/${thread.id}/notes/${reply.id}`, 200, { body: 'Another' })).body.body).toBe(
      'Another',
    )

    await call('post', `${at}/labels`, 201, { name: 'wanted', color: '#112233' })
    expect((await call('put', `${at}/labels`, 200, { name: 'wanted', new_name: 'needed' })).body.name).toBe('needed')
    await call('delete', `${at}/labels/needed`, 204)
    const { body: milestone } = await call('post', `${at}/milestones`, 201, { title: 'v1', due_date: '2030-01-02T03:04:05.000000Z' })
    expect(milestone.due_date).toBe('2030-01-02')
    expect((await call('put', `${at}/milestones/${milestone.id}`, 200, { state_event: 'close' })).body.state).toBe('closed')

    const { body: page } = await call('post', `${at}/wikis`, 201, { title: 'title/subtitle', content: 'Text' })
    expect(page.slug).toBe('title/subtitle')
    expect((await call('put', `${at}/wikis/${encodeURIComponent(page.slug)}`, 200, { title: 'title/subtitle', content: 'More' })).body.content).toBe(
      'More',
    )
    const snippet = { title: 'A snippet', files: [{ file_path: 'a.py', content: 'import gitlab' }], visibility: 'private' }
    expect((await call('post', `${at}/snippets`, 201, snippet)).body.title).toBe('A snippet')
    expect((await call('post', '/snippets', 201, snippet)).body.title).toBe('A snippet')
    const { body: upload } = await t.api('post', `${at}/uploads`, user).attach('file', Buffer.from('x'), 'a.txt').expect(201)
    expect(upload).toMatchObject({ alt: 'a.txt', markdown: expect.stringContaining('a.txt') })
  })

  it('merge requests, users, custom attributes and calls with sudo (CL-1)', async () => {
    const [user, admin] = [await t.user(), t.roost]
    const [call, asAdmin] = [callsOf(user), callsOf(admin)]
    const { body: project } = await call('post', '/projects', 201, { name: 'merged', initialize_with_readme: true })
    const at = `/projects/${project.id}`
    const actions = [{ action: 'create', file_path: 'a.txt', content: 'a' }]
    await call('post', `${at}/repository/commits`, 201, { branch: 'topic', start_branch: 'main', commit_message: 'On', actions })
    const { body: request } = await call('post', `${at}/merge_requests`, 201, { source_branch: 'topic', target_branch: 'main', title: 'A change' })
    const merge = `${at}/merge_requests/${request.iid}/merge`
    expect((await call('put', merge, 200, {})).body.state).toBe('merged')
    await call('put', merge, 406, {})

    const name = `made${unique()}`
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
    const { body: made } = await t
      .api('post', '/users', admin)
      .field({ name, username: name, email: `${name}@example.com`, password: 'a long password', skip_confirmation: 'true' })
      .attach('avatar', png, 'avatar.png')
      .expect(201)
    const avatar = await fetch(made.avatar_url)
    expect([avatar.status, avatar.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect((await asAdmin('put', `${at}/custom_attributes/key`, 200, { value: 'v' })).body).toEqual({ key: 'key', value: 'v' })
    expect((await asAdmin('get', '/projects?custom_attributes[key]=v', 200)).body).toMatchObject([{ id: project.id }])
    const { body: theirs } = await asAdmin('post', `/projects?sudo=${user.username}`, 201, { name: 'as somebody' })
    expect(theirs.namespace.path).toBe(user.username)
  })
})
