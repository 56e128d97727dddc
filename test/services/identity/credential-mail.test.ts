import { eq } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aUser, type TestUser } from '../../support/factories.js'
import sshKeys from '../../support/keys/ssh-keys.json' with { type: 'json' }
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })

const addKey = async (caller: TestUser, name: string, path = '/user/keys') => {
  const line = sshKeys.find((key) => key.name === name)?.line
  return (await t.api('post', path, caller).send({ title: 'My laptop', key: line }).expect(201)).body.id
}

it('a new SSH key is mailed to its user, also when it is removed at once (ML-32)', async () => {
  const who = await aUser(t.ctx)
  const id = await addKey(who, 'ssh-ed25519')
  await t.api('delete', `/user/keys/${id}`, who).expect(204)
  const [mail, ...more] = await box.to(who.email)
  expect([mail?.subject, more]).toEqual(['An SSH key was added to your account', []])
  expect(mail?.text).toContain(`An SSH key was added to the account ${who.username} at roost.test:`)
  expect(mail?.text).toMatch(/My laptop \(SHA256:[A-Za-z0-9+/]{43}\)/)
})

it('a new access token is mailed to its user, without its value, also when an administrator made it (ML-32)', async () => {
  const [who, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
  const made = { name: 'for CI', scopes: ['read_user', 'api'] }
  const { body } = await t.api('post', `/users/${who.id}/personal_access_tokens`, admin).send(made).expect(201)
  const [mail, ...more] = await box.to(who.email)
  expect([mail?.subject, more]).toEqual(['An access token was added to your account', []])
  expect(mail?.text).toContain('for CI (read_user, api)')
  expect(mail?.raw).not.toContain(body.token)
  await t
    .api('post', `/users/${who.id}/impersonation_tokens`, admin)
    .send({ name: 'x', scopes: ['api'] })
    .expect(201)
  expect(await box.to(who.email)).toEqual([])
})

it('a new key is not mailed to an address that is not confirmed, or to a blocked user (ML-32)', async () => {
  const admin = await anAdmin(t.ctx)
  for (const change of [{ confirmed_at: null }, { state: 'blocked' as const }]) {
    const who = await aUser(t.ctx)
    await t.ctx.db.write.update(users).set(change).where(eq(users.id, who.id))
    const id = await addKey(admin, 'sk-ssh-ed25519@openssh.com', `/users/${who.id}/keys`)
    await t.api('delete', `/users/${who.id}/keys/${id}`, admin).expect(204)
    expect(await box.to(who.email)).toEqual([])
  }
})
