import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aUser, setSettings } from '../support/factories.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })

const linkIn = (text: string | undefined) => /https?:\/\/\S+(\/users\/password\/edit\?\S+)/.exec(text ?? '')?.[1] ?? expect.fail(`no link in ${text}`)

describe('an administrator with mail', () => {
  it('makes users who set their password by a link, one by one and from a file (WB-172, WB-185)', async () => {
    const admin = new TestBrowser(t.url)
    await admin.signIn(await anAdmin(t.ctx))
    await admin.open('/admin/users/new')
    const made = await admin.submit('Create user', { 'user[username]': 'grace', 'user[name]': 'Grace', 'user[email]': 'grace@example.org' })
    expect(made.text).toContain('gets a mail with a link')
    await admin.open('/admin/users/import')
    const done = await admin.submit('Create users', { text: 'username;email\nada;ada@example.org\n' })
    expect([done.text.includes('1 of 1 are created.'), done.$('tbody code').length]).toEqual([true, 0])
    for (const name of ['grace', 'ada']) {
      const [mail, ...others] = await box.to(`${name}@example.org`)
      expect([mail?.subject, others.length]).toEqual(['Your new account', 0])
      const theirs = new TestBrowser(t.url)
      await theirs.open(linkIn(mail?.text))
      await theirs.submit('Set the password', { password: 'a good password' })
      expect((await theirs.signIn({ username: name, password: 'a good password' })).at).toBe('/dashboard')
    }
    await admin.open('/admin/users/grace')
    expect((await admin.submit('Mail a link to set a password')).text).toContain('is on its way')
    expect((await box.to('grace@example.org')).map(({ subject }) => subject)).toContain('Set a new password')
  })

  it('gets a mail about each abuse report (WB-184)', async () => {
    await setSettings(t.ctx, { admin_notification_email: 'admins@example.org' })
    const [who, bad] = [await aUser(t.ctx), await aUser(t.ctx)]
    const theirs = new TestBrowser(t.url)
    await theirs.signIn(who)
    await theirs.open(`/abuse_reports/new?user_id=${bad.id}`)
    await theirs.submit('Send report', { message: 'Sends <b>spam</b>' })
    const [mail, ...others] = await box.to('admins@example.org')
    expect([mail?.subject, others.length]).toEqual([`Abuse report about ${bad.username}`, 0])
    expect(mail?.text).toContain('Sends <b>spam</b>')
    expect(mail?.html).not.toContain('<b>spam')
    expect(mail?.text).toContain('/admin/abuse_reports')
  })
})
