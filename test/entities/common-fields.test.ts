import { describe, expect, it } from 'vitest'
import { gitDate } from '../../src/entities/repository/commit.js'
import { titleOf } from '../../src/rules/commit-title.js'
import { testApp } from '../support/app.js'
import { aCommit, aGroup, aProject, aUser } from '../support/factories.js'

const t = testApp()

describe('common fields', () => {
  it('prints addresses and names from the configured URL and the full path (G-82, G-84, G-85)', async () => {
    const owner = await aUser(t.ctx, { username: 'Ada.L' })
    const group = await aGroup(t.ctx, { creator: owner, name: 'Outer One', path: 'outer' })
    const inner = await aGroup(t.ctx, { creator: owner, name: 'Inner', path: 'inner', parent_id: group.id })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: inner.id, name: 'The Project', path: 'prj' })
    const { body } = await t.api('get', project.path, owner).expect(200)
    expect(body).toMatchObject({
      name_with_namespace: 'Outer One / Inner / The Project',
      path_with_namespace: 'outer/inner/prj',
      web_url: 'http://roost.test/outer/inner/prj',
      http_url_to_repo: 'http://roost.test/outer/inner/prj.git',
      ssh_url_to_repo: 'git@roost.test:outer/inner/prj.git',
      namespace: { id: inner.id, kind: 'group', full_path: 'outer/inner', parent_id: group.id, web_url: 'http://roost.test/groups/outer/inner' },
    })
    const shown = await t.api('get', inner.path, owner).expect(200)
    expect(shown.body).toMatchObject({ full_name: 'Outer One / Inner', full_path: 'outer/inner', web_url: 'http://roost.test/groups/outer/inner' })
    const personal = await aProject(t.ctx, { creator: owner, name: 'mine' })
    const { body: own } = await t.api('get', personal.path, owner).expect(200)
    expect(own).toMatchObject({ namespace: { kind: 'user', path: 'Ada.L', full_path: 'Ada.L' }, owner: { web_url: 'http://roost.test/Ada.L' } })
  })

  it('has no default branch while the repository is empty, sorted tags, and a moving last_activity_at (G-86)', async () => {
    const project = await aProject(t.ctx, { tag_list: ['b', 'a', 'b'] })
    const before = (await t.api('get', project.path, project.creator).expect(200)).body
    expect(before).toMatchObject({ default_branch: null, empty_repo: true, tag_list: ['a', 'b'], topics: ['a', 'b'] })
    await aCommit(t.ctx, project, { f: 'x' })
    const after = (await t.api('get', project.path, project.creator).expect(200)).body
    expect(after).toMatchObject({ default_branch: 'main', empty_repo: false })
    expect(Date.parse(after.last_activity_at)).toBeGreaterThanOrEqual(Date.parse(before.last_activity_at))
    expect(after.created_at).toBe(before.created_at)
  })

  it('shows what is unset as the contract types it (G-87, G-88, G-90)', async () => {
    const user = await aUser(t.ctx)
    const { body } = await t.api('get', '/user', user).expect(200)
    expect(body).toMatchObject({ messenger: '', jobsnet: '', microblog: '', website_url: '', organization: '', bio: null, location: null })
    expect(body).not.toHaveProperty('is_admin')
    const group = await aGroup(t.ctx, { creator: user })
    expect((await t.api('get', group.path, user).expect(200)).body).toMatchObject({ description: '', parent_id: null, avatar_url: null })
  })

  it('shows all projects of a group at once (G-61)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    for (let i = 0; i < 23; i++) await aProject(t.ctx, { creator: owner, namespace_id: group.id })
    const { body } = await t.api('get', `${group.path}?per_page=5`, owner).expect(200)
    const ids = (body.projects as { id: number }[]).map(({ id }) => id)
    expect(ids).toHaveLength(23)
    expect(ids).toEqual([...ids].sort((a, b) => b - a))
  })

  it('shows moments in UTC with milliseconds (G-81, W-16)', async () => {
    const project = await aProject(t.ctx)
    const { body } = await t.api('get', project.path, project.creator).expect(200)
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(gitDate(1_517_920_991)).toBe('2018-02-06T12:43:11.000Z')
  })
})

describe('titleOf', () => {
  it.each([
    ['First line\n\nbody', 'First line'],
    ['', '--no commit message'],
    ['  \n\n', '--no commit message'],
    [`${'x'.repeat(99)}\n`, 'x'.repeat(99)],
    ['x'.repeat(100), `${'x'.repeat(80)}…`],
    [`${'word '.repeat(30)}`.trim(), `${'word '.repeat(16).trim()}…`],
  ])('makes a title of %j (C-2)', (message, title) => expect(titleOf(message)).toBe(title))
})
