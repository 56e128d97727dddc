import { eq } from 'drizzle-orm'
import { Secret, TOTP } from 'otpauth'
import { beforeEach, expect, it } from 'vitest'
import { Counters } from '../../src/access/counters.js'
import { Throttle } from '../../src/access/throttle.js'
import type { Context } from '../../src/context.js'
import { counters, otpSecrets, sessions } from '../../src/db/schema/index.js'
import { Failure } from '../../src/failures.js'
import { KeyedMutex } from '../../src/lib/async/keyed-mutex.js'
import { giveSecondFactor } from '../../src/services/identity/sign-in/second-factor.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aUser, type TestUser } from '../support/factories.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ ROOST_TRUSTED_PROXIES: '127.0.0.1', SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })
const AT = '/-/profile/two_factor_auth'
const STEP = '/users/sign_in/second_factor'

let visitors = 0
/** A browser whose address changes with each call. */
function aBrowser(): TestBrowser {
  const headers = {
    get 'x-forwarded-for'() {
      visitors++
      return `10.${visitors >> 16}.${(visitors >> 8) & 255}.${visitors & 255}`
    },
  }
  return new TestBrowser(t.url, headers)
}
const waiting = async (who: TestUser) => {
  const browser = aBrowser()
  expect((await browser.signIn(who)).at).toBe(`${STEP}?return_to=%2F`)
  return browser
}
const give = (browser: TestBrowser, code: string) => browser.submit(STEP, { 'user[otp_attempt]': code })
const codeOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate()

/** A user with a second factor, and its secret. */
async function enabled() {
  const who = await aUser(t.ctx)
  const browser = aBrowser()
  await browser.signIn(who)
  const { $ } = await browser.open(AT)
  const secret = String($('#otp_key').val()).replaceAll(' ', '')
  const page = await browser.submit(AT, { pin_code: codeOf(secret), current_password: who.password })
  await t.ctx.db.write.update(otpSecrets).set({ last_period: 0 }).where(eq(otpSecrets.user_id, who.id))
  return { who, secret, codes: page.$('#codes').text().trim().split('\n') }
}
const refusals = async (who: TestUser) =>
  Number(
    (
      await t.ctx.db.write.execute<{ n: string }>(
        `select count(*) as n from audit_events where target_id = ${who.id} and action = 'sign_in_refused' and changes::text like '%second factor%'`,
      )
    ).rows[0]?.n,
  )

beforeEach(() => t.ctx.db.write.delete(counters))

it.each([
  ['of the application', '000000'],
  ['of recovery', 'aaaa-bbbb-cccc-dddd'],
])('ten wrong codes %s, each from another address, end the session that waits (WB-415)', async (_, wrong) => {
  const { who, secret } = await enabled()
  const browser = await waiting(who)
  for (let i = 0; i < 9; i++) expect((await give(browser, wrong)).status).toBe(422)
  const ended = await give(browser, wrong)
  expect([ended.at, ended.text]).toEqual(['/users/sign_in?return_to=%2F', expect.stringContaining('Too many wrong codes. Sign in again.')])
  expect(await t.ctx.db.write.$count(sessions, eq(sessions.awaits_second_factor, true))).toBe(0)
  // the password begins anew, and nine more are not ten
  expect((await give(await waiting(who), codeOf(secret))).at).toBe('/dashboard')
})

it('thirty wrong codes for an account in an hour, from anywhere, are the last ones checked, and its owner gets one mail (WB-415, ML-54)', async () => {
  const { who, secret, codes } = await enabled()
  const other = await enabled()
  for (let i = 0; i < 30; i++) {
    const browser = await waiting(who)
    expect((await give(browser, i % 2 ? '000000' : 'aaaa-bbbb-cccc-dddd')).status).toBe(422)
  }
  const browser = await waiting(who)
  for (const code of [codeOf(secret), codes[0] as string]) {
    const refused = await give(browser, code)
    expect([refused.status, refused.text]).toEqual([429, expect.stringMatching(/Too many attempts\. Try again in \d{4} seconds\./)])
  }
  expect(await refusals(who)).toBe(30)
  const [mail, ...more] = await box.to(who.email)
  expect([mail?.subject, more]).toEqual(['Many wrong codes for your account', []])
  expect(mail?.text).toContain(`30 wrong codes were given for the account ${who.username} at roost.test`)
  expect(mail?.text).toContain('change it')
  // another account is not affected, and this one only until the hour is over
  expect((await give(await waiting(other.who), codeOf(other.secret))).at).toBe('/dashboard')
  await t.ctx.db.write.update(counters).set({ until: new Date(0) })
  expect((await give(browser, codeOf(secret))).at).toBe('/dashboard')
})

it('right codes do not count, and do not begin the count of an account anew (WB-415)', async () => {
  const { who, secret } = await enabled()
  for (let i = 0; i < 29; i++) expect((await give(await waiting(who), '000000')).status).toBe(422)
  for (let i = 0; i < 2; i++) {
    await t.ctx.db.write.update(otpSecrets).set({ last_period: 0 }).where(eq(otpSecrets.user_id, who.id))
    expect((await give(await waiting(who), codeOf(secret))).at).toBe('/dashboard')
  }
  expect((await give(await waiting(who), '000000')).status).toBe(422)
  expect((await give(await waiting(who), codeOf(secret))).status).toBe(429)
})

it('several processes count together, also guesses at the same time (WB-415)', async () => {
  const { who } = await enabled()
  /** As each process has one. */
  const aProcess = (): Context => {
    const own = new Counters(t.ctx.db, () => new Date())
    const throttle = new Throttle({ attempts: 0, window: 60 }, own, () => new Date())
    return { ...t.ctx, access: { ...t.ctx.access, counters: own, throttle }, process: { ...t.ctx.process, mutex: new KeyedMutex() } }
  }
  const processes = [aProcess(), aProcess(), aProcess()]
  const guess = async (i: number, id: number) => {
    try {
      return await giveSecondFactor(processes[i % 3] as Context, { id, caller: who.caller }, '000000')
    } catch (error) {
      if (error instanceof Failure) return error.kind
      throw error
    }
  }
  const started = async () => {
    await waiting(who)
    const rows = await t.ctx.db.write.select().from(sessions).where(eq(sessions.user_id, who.id))
    return Math.max(...rows.map(({ id }) => id))
  }
  const first = await started()
  const ten = await Promise.all(Array.from({ length: 24 }, (_, i) => guess(i, first)))
  expect([await refusals(who), ten.filter((each) => each === 'wrong').length]).toEqual([10, 9])
  const ids: number[] = []
  for (let i = 0; i < 10; i++) ids.push(await started())
  await Promise.all(Array.from({ length: 60 }, (_, i) => guess(i, ids[i % 10] as number)))
  expect(await refusals(who)).toBe(30)
  expect(await box.to(who.email)).toHaveLength(1)
})
