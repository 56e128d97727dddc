import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let who: TestUser
let project: TestProject
let browser: TestBrowser
/** Addresses that are no pages, all of a private project or of the user alone. */
let addresses: string[]

const heard = async (path: string) => {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  const answer = await fetch(t.url + path, { redirect: 'manual', headers: { accept: '*/*', cookie } })
  return { status: answer.status, text: await answer.text() }
}
const statuses = async () => Promise.all(addresses.map(async (path) => [path, (await heard(path)).status]))
const grant = (username: string, password: string) =>
  t.app.inject({ method: 'POST', url: '/oauth/token', payload: { grant_type: 'password', username, password } })

beforeAll(async () => {
  who = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: who, files: { 'a.txt': 'secret\n' } })
  await t.api('post', `${project.path}/repository/commits`, who).send({
    branch: 'topic',
    start_branch: 'main',
    commit_message: 'Work',
    actions: [{ action: 'update', file_path: 'a.txt', content: 'more\n' }],
  })
  await t.api('post', `${project.path}/merge_requests`, who).send({ title: 'one', source_branch: 'topic', target_branch: 'main' }).expect(201)
  await t.api('post', `${project.path}/issues`, who).send({ title: 'one' }).expect(201)
  await t.ctx.jobs.drain()
  const upload = await t.api('post', `${project.path}/uploads`, who).attach('file', Buffer.from('secret'), 'a.txt').expect(201)
  const snippet = await t.api('post', '/snippets', who).send({ title: 's', file_name: 's.txt', content: 'secret', visibility: 'private' }).expect(201)
  const sha = (await t.api('get', `${project.path}/repository/commits/topic`, who).expect(200)).body.id
  const at = `/${project.fullPath}`
  addresses = [
    `${at}/-/raw/main/a.txt`,
    `${at}/-/archive/main/one.tar.gz`,
    `${at}/-/commit/${sha}.diff`,
    `${at}/-/commit/${sha}.patch`,
    `${at}/-/merge_requests/1.diff`,
    `${at}/-/issues.atom`,
    `${at}.atom`,
    '/dashboard/issues.atom',
    `/-/snippets/${snippet.body.id}/raw`,
    upload.body.full_path ?? `${at}${upload.body.url}`,
  ]
  browser = new TestBrowser(t.url)
  await browser.signIn(who)
  expect(await statuses()).toEqual(addresses.map((path) => [path, 200]))
})

const closed = async () => (await statuses()).filter(([, status]) => status !== 403)

describe('a session that opens only one page', () => {
  it('with a temporary password, opens no file, archive, diff or feed (WB-13)', async () => {
    await t.ctx.db.write.update(users).set({ password_expired: true }).where(eq(users.id, who.id))
    try {
      expect(await closed()).toEqual([])
      expect((await browser.open(addresses[0] as string)).text).toContain('Change your password first: http://roost.test/-/profile/password/new')
    } finally {
      await t.ctx.db.write.update(users).set({ password_expired: false }).where(eq(users.id, who.id))
    }
  })

  it.each(['the settings', 'a group'])(
    'while %s demands a second factor, opens none either, until it is skipped or set up (WB-24)',
    async (whose) => {
      const group = await aGroup(t.ctx, { creator: who })
      const demand = (hours: number) =>
        whose === 'a group'
          ? t.api('put', group.path, who).send({ require_two_factor_authentication: hours >= 0, two_factor_grace_period: Math.max(hours, 0) })
          : setSettings(t.ctx, hours < 0 ? {} : { require_two_factor_authentication: true, two_factor_grace_period: hours })
      try {
        await demand(0)
        expect(await closed()).toEqual([])
        await demand(2)
        expect(await closed()).toEqual([])
        expect((await browser.open('/explore')).at).toBe('/-/profile/two_factor_auth')
        await browser.submit('/-/profile/two_factor_auth/skip')
        expect(await statuses()).toEqual(addresses.map((path) => [path, 200]))
        await t.ctx.db.write
          .update(users)
          .set({ second_factor_asked_at: new Date(0) })
          .where(eq(users.id, who.id))
        expect(await closed()).toEqual([])
      } finally {
        await demand(-1)
        await t.ctx.db.write.update(users).set({ second_factor_asked_at: null }).where(eq(users.id, who.id))
        browser = new TestBrowser(t.url)
        await browser.signIn(who)
      }
    },
  )
})

describe('the password grant', () => {
  it('is refused once the second factor that is demanded cannot be skipped any longer (WB-24)', async () => {
    const one = await aUser(t.ctx)
    try {
      await setSettings(t.ctx, { require_two_factor_authentication: true, two_factor_grace_period: 0 })
      const refused = await grant(one.username, one.password)
      expect([refused.statusCode, refused.json()]).toEqual([
        401,
        { error: 'invalid_grant', error_description: expect.stringMatching(/^A second factor is demanded.*\/-\/profile\/two_factor_auth/) },
      ])
      expect((await grant(one.username, 'wrong')).json().error_description).not.toContain('second factor')
      await setSettings(t.ctx, { require_two_factor_authentication: true, two_factor_grace_period: 2 })
      // the period begins with the first use
      expect((await grant(one.username, one.password)).statusCode).toBe(200)
      const [row] = await t.ctx.db.write.select().from(users).where(eq(users.id, one.id))
      expect(row?.second_factor_asked_at).not.toBeNull()
      await t.ctx.db.write
        .update(users)
        .set({ second_factor_asked_at: new Date(Date.now() - 3 * 3_600_000) })
        .where(eq(users.id, one.id))
      expect((await grant(one.username, one.password)).statusCode).toBe(401)
      await t.api('get', '/user', one).expect(200)
    } finally {
      await setSettings(t.ctx, {})
    }
    expect((await grant(one.username, one.password)).statusCode).toBe(200)
  })

  it('is refused by a demand of a group of the user', async () => {
    const [owner, member] = [await anAdmin(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner })
    await t.api('post', `${group.path}/members`, owner).send({ user_id: member.id, access_level: 30 }).expect(201)
    await t.api('put', group.path, owner).send({ require_two_factor_authentication: true, two_factor_grace_period: 0 }).expect(200)
    expect((await grant(member.username, member.password)).statusCode).toBe(401)
  })
})
