import { and, eq } from 'drizzle-orm'
import { beforeEach, describe, it } from 'vitest'
import { members, tokens, users } from '../../src/db/schema/index.js'
import { digestOf } from '../../src/lib/crypto/secret.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let user: TestUser
let project: TestProject
const get = (token: string, path = project.path) => t.api('get', path).set('PRIVATE-TOKEN', token)

beforeEach(async () => {
  user = await aUser(t.ctx)
  project = await aProject(t.ctx, { reporter: user })
  await get(user.token).expect(200)
})

describe('a caller whose token was verified before (SEC-12)', () => {
  it('a token that was revoked or has expired is refused', async () => {
    const change = (values: Partial<typeof tokens.$inferInsert>) =>
      t.ctx.db.write
        .update(tokens)
        .set(values)
        .where(eq(tokens.digest, digestOf(user.token)))
    await change({ revoked: true })
    await get(user.token).expect(401)
    await change({ revoked: false, expires_at: '2001-01-01' })
    await get(user.token).expect(401)
    await change({ expires_at: null, scopes: ['read_user'] })
    await get(user.token).expect(403)
    await change({ scopes: ['api'] })
    await get(user.token).expect(200)
  })

  it('a user who was blocked is refused', async () => {
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, user.id))
    await get(user.token).expect(403)
  })

  it('a member who was removed sees nothing', async () => {
    await t.ctx.db.write.delete(members).where(and(eq(members.user_id, user.id), eq(members.project_id, project.id)))
    await get(user.token).expect(404)
  })

  it('a former administrator sees no private project, and a new one does', async () => {
    const stranger = await aUser(t.ctx)
    await get(stranger.token).expect(404)
    const promote = (admin: boolean) => t.ctx.db.write.update(users).set({ admin }).where(eq(users.id, stranger.id))
    await promote(true)
    await get(stranger.token).expect(200)
    await promote(false)
    await get(stranger.token).expect(404)
  })

  it('sudo acts as the other user, before and after calls without it', async () => {
    const admin = await anAdmin(t.ctx)
    const stranger = await aUser(t.ctx)
    await get(admin.token).expect(200)
    await get(admin.token).set('sudo', stranger.username).expect(404)
    await get(admin.token, `${project.path}?sudo=${user.id}`).expect(200)
    await get(admin.token).expect(200)
  })

  it('the parameters of a call are refused before its subject, where the family says so (G-10)', async () => {
    const admin = await anAdmin(t.ctx)
    const post = (id: number, body: object) => t.api('post', `/users/${id}/emails`).set('PRIVATE-TOKEN', admin.token).send(body)
    await post(user.id, { email: 'second@example.com' }).expect(201)
    await post(99_999_999, {}).expect(400)
    await post(99_999_999, { email: 'third@example.com' }).expect(404)
  })
})
