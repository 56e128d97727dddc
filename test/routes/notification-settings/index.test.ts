import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser } from '../../support/factories.js'

const t = testApp()

const EVENTS = {
  new_note: false,
  new_issue: false,
  reopen_issue: false,
  close_issue: false,
  reassign_issue: false,
  new_merge_request: false,
  reopen_merge_request: false,
  close_merge_request: false,
  reassign_merge_request: false,
  change_reviewer_merge_request: false,
  merge_merge_request: false,
  failed_pipeline: true,
  success_pipeline: false,
  new_release: false,
}

describe('notification settings (OT-9, ML-2)', () => {
  it('for everything begin as participating with the primary address', async () => {
    const who = await aUser(t.ctx)
    await t.api('get', '/notification_settings', who).expect(200, { level: 'participating', notification_email: who.email })
    for (const level of ['disabled', 'watch', 'mention', 'participating'])
      await t.api('put', '/notification_settings', who).send({ level }).expect(200, { level, notification_email: who.email })
    await t.api('put', '/notification_settings', who).send({ notification_email: who.email.toUpperCase() }).expect(200)
    await t.api('get', '/notification_settings', null).expect(401)
  })

  it('for everything leave the decision to nothing', async () => {
    const who = await aUser(t.ctx)
    for (const level of ['global', 'Watch', 'x'])
      await t.api('put', '/notification_settings', who).send({ level }).expect(400, { error: 'level does not have a valid value' })
  })

  it('of projects and groups begin as global, each for itself and for each user', async () => {
    const [who, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { visibility: 'public' })
    const group = await aGroup(t.ctx, { visibility: 'public' })
    for (const of of [project.path, group.path]) {
      await t.api('get', `${of}/notification_settings`, who).expect(200, { level: 'global' })
      await t.api('put', `${of}/notification_settings`, who).send({ level: 'mention' }).expect(200, { level: 'mention' })
      await t.api('get', `${of}/notification_settings`, who).expect(200, { level: 'mention' })
      await t.api('get', `${of}/notification_settings`, other).expect(200, { level: 'global' })
    }
    await t.api('put', `${group.path}/notification_settings`, who).send({ level: 'watch' }).expect(200)
    await t.api('get', `${project.path}/notification_settings`, who).expect(200, { level: 'mention' })
    await t.api('get', '/notification_settings', who).expect(200, { level: 'participating', notification_email: who.email })
  })

  it('show events while the level is custom, and keep them while it is not', async () => {
    const who = await aUser(t.ctx)
    const { path } = await aProject(t.ctx, { visibility: 'public' })
    const put = (body: object) => t.api('put', `${path}/notification_settings`, who).send(body)
    await put({ level: 'custom' }).expect(200, { level: 'custom', events: EVENTS })
    await put({ new_note: true, failed_pipeline: false, new_release: 'true' }).expect(200, {
      level: 'custom',
      events: { ...EVENTS, new_note: true, failed_pipeline: false, new_release: true },
    })
    await put({ level: 'watch', new_issue: true }).expect(200, { level: 'watch' })
    await put({ level: 'custom', new_note: false }).expect(200, {
      level: 'custom',
      events: { ...EVENTS, new_issue: true, failed_pipeline: false, new_release: true },
    })
    await put({ new_note: 'perhaps' }).expect(400, { error: 'new_note is invalid' })
  })

  it('are shown with the permissions of a project, in lists too', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, developer: who })
    await t.api('post', `${group.path}/members`, owner).send({ user_id: who.id, access_level: 20 }).expect(201)
    const shown = async () => {
      const { body } = await t.api('get', project.path, who).expect(200)
      const list = (await t.api('get', '/projects?membership=true', who).expect(200)).body
      expect(list.find(({ id }: { id: number }) => id === project.id).permissions).toEqual(body.permissions)
      return body.permissions
    }
    const levels = (project_level: number, group_level: number) => ({
      project_access: { access_level: 30, notification_level: project_level },
      group_access: { access_level: 20, notification_level: group_level },
    })
    expect(await shown()).toEqual(levels(3, 3))
    await t.api('put', `${project.path}/notification_settings`, who).send({ level: 'watch' }).expect(200)
    expect(await shown()).toEqual(levels(2, 3))
    await t.api('put', `${group.path}/notification_settings`, who).send({ level: 'disabled' }).expect(200)
    expect(await shown()).toEqual(levels(2, 0))
  })

  it('are not sent about hidden projects', async () => {
    const who = await aUser(t.ctx)
    const [project, group] = [await aProject(t.ctx), await aGroup(t.ctx, { visibility: 'private' })]
    for (const [of, name] of [
      [project.path, 'Project'],
      [group.path, 'Group'],
    ])
      for (const method of ['get', 'put'] as const)
        await t.api(method, `${of}/notification_settings`, who).expect(404, { message: `404 ${name} Not Found` })
  })

  it('changed by many calls at once are one setting', async () => {
    const who = await aUser(t.ctx)
    const { path } = await aProject(t.ctx, { visibility: 'public' })
    const answers = await Promise.all(
      ['watch', 'mention', 'disabled', 'watch'].map((level) => t.api('put', `${path}/notification_settings`, who).send({ level })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})

describe('without mail (ML-1)', () => {
  it('nothing is written down to be sent, and no page asks for mail', async () => {
    const [who, assignee] = [await aUser(t.ctx), await aUser(t.ctx, { skip_confirmation: false })]
    const project = await aProject(t.ctx, { creator: who, developer: assignee })
    await t
      .api('post', `${project.path}/issues`, who)
      .send({ title: 'x', assignee_ids: [assignee.id] })
      .expect(201)
    await t.api('post', '/user/emails', who).send({ email: 'more@example.net' }).expect(201)
    const { rows } = await t.ctx.db.write.execute(`select (select count(*)::int from hook_changes) as changes,
      (select count(*)::int from jobs where kind like 'mail:%') as jobs`)
    expect(rows).toEqual([{ changes: 0, jobs: 0 }])
    for (const path of ['/users/password/new', '/users/confirmation/new'])
      for (const method of ['GET', 'POST']) expect((await fetch(t.url + path, { method, headers: { accept: 'application/json' } })).status).toBe(404)
    const body = new URLSearchParams({ grant_type: 'password', username: assignee.username, password: assignee.password })
    expect((await fetch(`${t.url}/oauth/token`, { method: 'POST', body })).status).toBe(200)
  })
})
