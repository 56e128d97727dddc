import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser } from '../../support/factories.js'
import { receiver } from '../../support/servers/receiver.js'

const t = testApp()
const r = receiver()

describe('where hooks may send (HK-13, SEC-138)', () => {
  it('a hook of a project is refused the local network, in any spelling', async () => {
    const creator = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator })
    const hosts = [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '10.1.2.3',
      '192.168.0.1',
      '169.254.169.254',
      '2130706433',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
    ]
    for (const host of hosts)
      expect(
        (
          await t
            .api('post', `${project.path}/hooks`, creator)
            .send({ url: `http://${host}/` })
            .expect(422)
        ).body,
        host,
      ).toEqual({
        error: 'Invalid url given',
      })
  })

  it('is checked again for each delivery, and shows no address', async () => {
    const creator = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator, files: { 'a.txt': 'a\n' } })
    const { body: hook } = await t.api('post', `${project.path}/hooks`, creator).send({ url: 'http://203.0.114.1/' }).expect(201)
    // as if its name meant something else by now
    await t.ctx.db.write.execute(sql`update web_hooks set url = ${r.url.replace('127.0.0.1', 'localhost')} where id = ${hook.id}`)
    const { body } = await t.api('post', `${project.path}/hooks/${hook.id}/test/push_events`, creator).expect(422)
    expect(body.message).toBe('The address is blocked: requests to the local network are not allowed')
    expect(r.got).toEqual([])
  })

  it('hooks of the system may reach it', async () => {
    const admin = await anAdmin(t.ctx)
    const { body: hook } = await t
      .api('post', '/hooks', admin)
      .send({ url: `${r.url}/system` })
      .expect(201)
    await t.api('post', `/hooks/${hook.id}`, admin).expect(201)
    expect(r.at('/system')).toHaveLength(1)
    await t.api('delete', `/hooks/${hook.id}`, admin).expect(204)
  })
})
