import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { emails } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aUser, unique } from '../../support/factories.js'

const t = testApp()

describe('the public address and the profile', () => {
  it('an address of the user is shown to everyone until it is removed (US-60)', async () => {
    const [admin, user, other] = [await anAdmin(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const put = (sent: object) => t.api('put', `/users/${user.id}`, admin).send(sent)
    const shown = async () => (await t.api('get', `/users/${user.id}`, other).expect(200)).body.public_email
    expect(await shown()).toBeNull()
    await put({ public_email: other.email }).expect(404, { message: { public_email: ['is not an email address of the user'] } })
    expect((await put({ public_email: user.email }).expect(200)).body).toMatchObject({ public_email: user.email })
    expect(await shown()).toBe(user.email)
    expect((await t.api('get', '/user', user).expect(200)).body).toMatchObject({ public_email: user.email, private_profile: false })

    const second = `second${unique()}@example.org`
    const { body } = await t.api('post', `/users/${user.id}/emails`, admin).send({ email: second }).expect(201)
    await put({ public_email: second }).expect(404)
    await t.ctx.db.write.update(emails).set({ confirmed_at: t.ctx.now() }).where(eq(emails.id, body.id))
    await put({ public_email: second.toUpperCase() }).expect(200)
    expect(await shown()).toBe(second)
    await t.api('delete', `/users/${user.id}/emails/${body.id}`, admin).expect(204)
    expect(await shown()).toBeNull()
    await put({ public_email: user.email }).expect(200)
    await put({ public_email: '' }).expect(200)
    expect(await shown()).toBeNull()
  })

  it('both are set on creation (US-60, US-61)', async () => {
    const admin = await anAdmin(t.ctx)
    const n = unique()
    const sent = { email: `new${n}@example.org`, username: `new${n}`, name: 'New', password: 'long enough 1' }
    const refusal = await t
      .api('post', '/users', admin)
      .send({ ...sent, public_email: admin.email })
      .expect(400)
    expect(Object.keys(refusal.body.message)).toEqual(['public_email'])
    const chosen = { public_email: sent.email, private_profile: true }
    expect(
      (
        await t
          .api('post', '/users', admin)
          .send({ ...sent, ...chosen })
          .expect(201)
      ).body,
    ).toMatchObject(chosen)
  })

  it('a private profile is for the user and administrators (US-61)', async () => {
    const [admin, user, other] = [await anAdmin(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    await t.api('put', `/users/${user.id}`, admin).send({ private_profile: true }).expect(200)
    const { body } = await t.api('get', `/users/${user.id}`, other).expect(200)
    expect(Object.keys(body).sort()).toEqual(['avatar_url', 'id', 'name', 'state', 'username', 'web_url'])
    await t.api('get', `/users/${user.id}/events`, other).expect(404, { message: '404 User Not Found' })
    await t.api('get', `/users/${user.username}/events`, null).expect(404)
    for (const who of [user, admin]) {
      expect((await t.api('get', `/users/${user.id}`, who).expect(200)).body).toHaveProperty('created_at')
      await t.api('get', `/users/${user.id}/events`, who).expect(200)
    }
  })
})
