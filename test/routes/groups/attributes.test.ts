import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser, setSettings, type TestUser, unique } from '../../support/factories.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'Roost <roost@example.org>' })

const DEFAULTS = {
  share_with_group_lock: false,
  request_access_enabled: false,
  project_creation_level: 'maintainer',
  subgroup_creation_level: 'owner',
  default_branch_protection: 2,
  default_branch: null,
  emails_disabled: false,
  emails_enabled: true,
  mentions_disabled: false,
  auto_devops_enabled: false,
  require_two_factor_authentication: false,
  two_factor_grace_period: 48,
}

describe('attributes of groups', () => {
  it('are shown in every answer, as created and as updated (GR-50 to GR-55)', async () => {
    const owner = await aUser(t.ctx)
    const path = `group${unique()}`
    const { body: made } = await t.api('post', '/groups', owner).send({ name: path, path }).expect(201)
    expect(made).toMatchObject({ ...DEFAULTS, created_at: expect.stringMatching(/^\d{4}-.*Z$/) })
    const changed = {
      share_with_group_lock: true,
      request_access_enabled: true,
      project_creation_level: 'noone',
      subgroup_creation_level: 'maintainer',
      default_branch_protection: 3,
      emails_disabled: true,
      mentions_disabled: true,
      auto_devops_enabled: true,
      two_factor_grace_period: 12,
    }
    expect((await t.api('put', `/groups/${made.id}`, owner).send(changed).expect(200)).body).toMatchObject(changed)
    expect((await t.api('put', `/groups/${made.id}`, owner).send({ description: 'x' }).expect(200)).body).toMatchObject(changed)
    expect((await t.api('get', `/groups/${made.id}`, owner).expect(200)).body).toMatchObject(changed)
    expect((await t.api('get', '/groups?owned=true', owner).expect(200)).body).toEqual([expect.objectContaining(changed)])
    const created = await t.api('post', '/groups', owner).send({ name: `${path}b`, path: `${path}b`, ...changed })
    expect(created.body).toMatchObject(changed)
  })

  it.each([
    ['noone', []],
    ['maintainer', ['maintainer', 'owner']],
    ['developer', ['developer', 'maintainer', 'owner']],
  ])('lets create projects from project_creation_level %s on: %j (GR-50)', async (project_creation_level, allowed) => {
    const [developer, maintainer, owner] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner, developer, maintainer })
    await t.api('put', group.path, owner).send({ project_creation_level }).expect(200)
    const created: string[] = []
    for (const [role, who] of Object.entries({ developer, maintainer, owner })) {
      const { status } = await t.api('post', '/projects', who).send({ name: `p${unique()}`, namespace_id: group.id })
      if (status === 201) created.push(role)
      else expect(status).toBe(400)
    }
    expect(created).toEqual(allowed)
  })

  it('lets maintainers create subgroups if subgroup_creation_level says so (GR-51)', async () => {
    const maintainer = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { maintainer })
    const subgroup = () => t.api('post', '/groups', maintainer).send({ name: 'Sub', path: 'sub', parent_id: group.id })
    await subgroup().expect(403)
    await t.api('put', group.path, group.creator).send({ subgroup_creation_level: 'maintainer' }).expect(200)
    await subgroup().expect(201)
  })

  it.each([
    [0, null],
    [1, [30, 40]],
    [2, [40, 40]],
    [3, [40, 30]],
  ])('protects the first branch as default_branch_protection %i of the group says (GR-52)', async (default_branch_protection, levels) => {
    await setSettings(t.ctx, { default_branch_protection: levels === null ? 2 : 0 })
    const group = await aGroup(t.ctx, { default_branch_protection })
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id, files: { 'readme.md': 'x' } })
    const { body } = await t.api('get', `${project.path}/protected_branches`, group.creator).expect(200)
    const level = (list: { access_level: number }[]) => list[0]?.access_level
    expect(body.map((one: never) => [level(one['push_access_levels']), level(one['merge_access_levels'])])).toEqual(levels === null ? [] : [levels])
    await setSettings(t.ctx, {})
  })

  it('refuses the first push of a developer where only maintainers may push (GR-52)', async () => {
    const developer = await aUser(t.ctx)
    const commit = async (default_branch_protection: number) => {
      const group = await aGroup(t.ctx, { developer, default_branch_protection })
      const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id })
      const actions = [{ action: 'create', file_path: 'a', content: 'a' }]
      return (await t.api('post', `${project.path}/repository/commits`, developer).send({ branch: 'main', commit_message: 'x', actions })).status
    }
    expect([await commit(1), await commit(2), await commit(3)]).toEqual([201, 400, 400])
  })
})

describe('default_branch (GR-83)', () => {
  it('is that of new projects in the group and below it, unless a nearer one has another', async () => {
    const owner = await aUser(t.ctx)
    const group = (
      await t
        .api('post', '/groups', owner)
        .send({ name: 'Top', path: `top${unique()}`, default_branch: 'trunk' })
        .expect(201)
    ).body
    expect(group.default_branch).toBe('trunk')
    const sub = await aGroup(t.ctx, { creator: owner, parent_id: group.id })
    const branchOf = async (namespace_id: number, more = {}) => {
      const given = { name: `p${unique()}`, namespace_id, initialize_with_readme: true, ...more }
      return (await t.api('post', '/projects', owner).send(given).expect(201)).body.default_branch
    }
    expect([await branchOf(group.id), await branchOf(sub.id), await branchOf(sub.id, { default_branch: 'own' })]).toEqual(['trunk', 'trunk', 'own'])
    await t.api('put', sub.path, owner).send({ default_branch: 'near' }).expect(200)
    expect(await branchOf(sub.id)).toBe('near')
    const { body } = await t.api('put', sub.path, owner).send({ default_branch: 'a..b' }).expect(400)
    expect(body).toEqual({ message: { default_branch: ['is invalid'] } })
    await t
      .api('post', '/groups', owner)
      .send({ name: 'Bad', path: `bad${unique()}`, default_branch: '-x' })
      .expect(400)
    expect((await t.api('put', sub.path, owner).send({ default_branch: '' }).expect(200)).body.default_branch).toBeNull()
    expect(await branchOf(sub.id)).toBe('trunk')
    const { body: own } = await t
      .api('post', '/projects', owner)
      .send({ name: `p${unique()}`, initialize_with_readme: true })
      .expect(201)
    expect(own.default_branch).toBe('main')
  })

  it('and emails_enabled are set as later versions call them', async () => {
    const group = await aGroup(t.ctx)
    const put = async (given: object) => (await t.api('put', group.path, group.creator).send(given).expect(200)).body
    expect(await put({ emails_enabled: false })).toMatchObject({ emails_disabled: true, emails_enabled: false })
    expect(await put({ emails_enabled: true, emails_disabled: true })).toMatchObject({ emails_disabled: true })
    await t.api('put', group.path, group.creator).send({ wiki_access_level: 'enabled' }).expect(400, { error: 'wiki_access_level is not supported' })
  })
})

describe('mails and mentions', () => {
  const issueFor = async (group: { id: number; creator: TestUser }, reader: TestUser, description: string) => {
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id, developer: [reader] })
    await t.api('post', `${project.path}/issues`, group.creator).send({ title: 'A title', description }).expect(201)
  }

  it('are not sent from a group with emails_disabled, nor from below it (GR-53)', async () => {
    const reader = await aUser(t.ctx)
    const group = await aGroup(t.ctx)
    const sub = await aGroup(t.ctx, { creator: group.creator, parent_id: group.id })
    await issueFor(sub, reader, `@${reader.username}`)
    expect(await box.to(reader.email)).toHaveLength(1)
    await t.api('put', group.path, group.creator).send({ emails_disabled: true }).expect(200)
    await issueFor(sub, reader, `@${reader.username}`)
    expect(await box.to(reader.email)).toEqual([])
  })

  it('a mention of a group with mentions_disabled reaches none of its members (GR-54)', async () => {
    const member = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { developer: member })
    const todos = async () => (await t.api('get', '/todos', member).expect(200)).body.length
    await issueFor(group, member, `@${group.fullPath}`)
    expect(await todos()).toBe(1)
    await t.api('put', group.path, group.creator).send({ mentions_disabled: true }).expect(200)
    await issueFor(group, member, `@${group.fullPath}`)
    expect(await todos()).toBe(1)
    await issueFor(group, member, `@${member.username}`)
    expect(await todos()).toBe(2)
  })
})
