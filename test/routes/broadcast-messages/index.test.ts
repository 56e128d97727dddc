import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let root: TestUser

beforeAll(async () => {
  root = await anAdmin(t.ctx)
})

describe('/broadcast_messages', () => {
  it('are read by anybody, and written by administrators alone (WB-181)', async () => {
    const user = await aUser(t.ctx)
    const given = {
      message: 'Update tonight',
      starts_at: '2026-11-25T20:00:00Z',
      ends_at: '2100-01-01T00:00:00Z',
      color: '#0b6a6a',
      dismissable: true,
    }
    await t.api('post', '/broadcast_messages').send(given).expect(401)
    await t.api('post', '/broadcast_messages', user).send(given).expect(403)
    const { body: made } = await t.api('post', '/broadcast_messages', root).send(given).expect(201)
    const shown = {
      ...given,
      id: made.id,
      starts_at: '2026-11-25T20:00:00.000Z',
      ends_at: '2100-01-01T00:00:00.000Z',
      font: null,
      active: t.ctx.now() >= new Date(given.starts_at),
      target_path: null,
      broadcast_type: 'banner',
    }
    expect(made).toEqual(shown)
    const at = `/broadcast_messages/${made.id}`
    expect((await t.api('get', at).expect(200)).body).toEqual(shown)
    expect((await t.api('get', '/broadcast_messages').expect(200)).body).toEqual([shown])
    await t.api('put', at, user).send({ message: 'x' }).expect(403)
    await t.api('delete', at, user).expect(403)
    const { body: changed } = await t.api('put', at, root).send({ message: 'Update now', broadcast_type: 'notification' }).expect(200)
    expect(changed).toEqual({ ...shown, message: 'Update now', broadcast_type: 'notification' })
    expect((await t.api('delete', at, root).expect(200)).body).toEqual(changed)
    for (const method of ['get', 'put', 'delete'] as const) await t.api(method, at, root).send({ message: 'x' }).expect(404)
  })

  it('last an hour by default, and are refused with faults', async () => {
    const { body } = await t.api('post', '/broadcast_messages', root).send({ message: 'Now' }).expect(201)
    expect([body.active, Date.parse(body.ends_at) - Date.parse(body.starts_at)]).toEqual([true, 3_600_000])
    const faults: [object, object][] = [
      [{ message: 'a'.repeat(2_001) }, { message: ['is too long (maximum is 2000 characters)'] }],
      [{ message: 'x', starts_at: '2030-01-02', ends_at: '2030-01-01' }, { ends_at: ['must be after the start'] }],
      [{ message: 'x', color: 'red;}' }, { color: ['must be a valid color code'] }],
    ]
    for (const [given, message] of faults)
      expect((await t.api('post', '/broadcast_messages', root).send(given).expect(400)).body).toEqual({ message })
    expect((await t.api('post', '/broadcast_messages', root).send({}).expect(400)).body).toEqual({ error: 'message is missing' })
    await t.api('put', `/broadcast_messages/${body.id}`, root).send({ nonsense: 1 }).expect(400)
    await t.api('delete', `/broadcast_messages/${body.id}`, root).expect(200)
  })
})
