import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { commitIn } from '../../support/clients/git-client.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser, unique } from '../../support/factories.js'
import { mailbox } from '../../support/smtp/mailbox.js'
import { type KeyPair, sshClient } from '../../support/ssh/ssh.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SSH_PORT: '0', SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })
const client = sshClient(t)

let owner: TestUser
let developer: TestUser
let reporter: TestUser
let group: Awaited<ReturnType<typeof aGroup>>
let other: Awaited<ReturnType<typeof aGroup>>
let project: TestProject

beforeAll(async () => {
  owner = await aUser(t.ctx)
  developer = await aUser(t.ctx)
  reporter = await aUser(t.ctx)
  group = await aGroup(t.ctx, { creator: owner })
  other = await aGroup(t.ctx, { creator: owner, developer, reporter })
  const below = await aGroup(t.ctx, { creator: owner, parent_id: group.id })
  project = await aProject(t.ctx, { creator: owner, namespace_id: below.id, files: { 'a.txt': 'one' } })
})

const share = (group_access: number) => t.api('post', `${group.path}/share`, owner).send({ group_id: other.id, group_access }).expect(201)
const unshare = () => t.api('delete', `${group.path}/share/${other.id}`, owner).expect(204)

describe('members by a share of a group (WB-351)', () => {
  it('clone and push over SSH up to the level of the share, until it ends', async () => {
    const keyOf = (who: TestUser) => client.stored(who, client.newKey())
    const keys = { developer: await keyOf(developer), reporter: await keyOf(reporter) }
    const clone = async (key: KeyPair) => {
      const path = join(client.folder, `c${unique()}`)
      const { code, err } = await client.git(client.folder, key, 'clone', '-q', client.url(project.fullPath), path)
      return { code, err, path }
    }
    const push = async (key: KeyPair, path: string) => {
      await commitIn(path, `${unique()}.txt`)
      return client.git(path, key, 'push', '-q', 'origin', `HEAD:refs/heads/topic${unique()}`)
    }
    const hidden = expect.stringContaining('The project you were looking for could not be found.')
    expect(await clone(keys.developer)).toMatchObject({ code: 128, err: hidden })

    // a developer there is a reporter here
    await share(20)
    const work = await clone(keys.developer)
    expect(work).toMatchObject({ code: 0, err: '' })
    const refused = expect.stringContaining('You are not allowed to push code to this project.')
    expect(await push(keys.developer, work.path)).toMatchObject({ code: 128, err: refused })

    await unshare()
    await share(30)
    expect((await push(keys.developer, work.path)).code).toBe(0)
    // nor more than one is there
    const second = await clone(keys.reporter)
    expect(second.code).toBe(0)
    expect(await push(keys.reporter, second.path)).toMatchObject({ code: 128, err: refused })
    // protected as for all developers
    expect((await client.git(work.path, keys.developer, 'push', 'origin', 'HEAD:refs/heads/main')).err).toContain(
      'You are not allowed to push into this branch',
    )

    await unshare()
    for (const key of Object.values(keys)) {
      expect(await clone(key)).toMatchObject({ code: 128, err: hidden })
      expect(await push(key, work.path)).toMatchObject({ code: 128, err: hidden })
    }
  }, 60_000)

  it('get mail for what they take part in and watch, until it ends', async () => {
    const events = async (who: TestUser) =>
      (await box.to(who.email)).map((mail) => `${mail.header('x-roost-event')} ${mail.header('x-roost-reason')}`).sort()
    for (const who of [developer, reporter]) await box.to(who.email) // about their keys
    await share(30)
    await t.api('put', '/notification_settings', reporter).send({ level: 'watch' }).expect(200)
    const { body: issue } = await t
      .api('post', `${project.path}/issues`, owner)
      .send({ title: 'One', assignee_ids: [developer.id], description: `for @${other.fullPath}` })
      .expect(201)
    expect(await events(developer)).toEqual(['new_issue assigned'])
    expect(await events(reporter)).toEqual(['new_issue mentioned'])
    const note = (body: string) => t.api('post', `${project.path}/issues/${issue.iid}/notes`, owner).send({ body }).expect(201)
    await note('Two')
    expect(await events(developer)).toEqual(['new_note participating'])
    expect(await events(reporter)).toEqual(['new_note participating'])
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'Not theirs' }).expect(201)
    expect(await events(developer)).toEqual([])
    expect(await events(reporter)).toEqual(['new_issue watching'])

    await unshare()
    await note('Three')
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'Later' }).expect(201)
    for (const who of [developer, reporter]) expect(await events(who)).toEqual([])
  })
})
