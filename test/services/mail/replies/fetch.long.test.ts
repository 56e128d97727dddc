// @module-tag long
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { call, startService } from '../../../../bench/kill.mjs'
import { build } from '../../../../scripts/build.mjs'
import { readConfig } from '../../../../src/config.js'
import { takeMessages } from '../../../../src/lib/mail/imap.js'
import { runProgram, startScript } from '../../../support/command.js'
import { dovecot } from '../../../support/dovecot.js'
import { soon } from '../../../support/merge-requests.js'
import { mailbox } from '../../../support/smtp/mailbox.js'

const imap = await dovecot()
const box = await mailbox(async () => {})
const MAIL = { SMTP_URL: box.url, MAIL_FROM: 'roost@example.org', ROOST_REPLY_ADDRESS: 'reply+%{key}@example.org' }
const settingOf = (url: string) => readConfig({ ...MAIL, IMAP_URL: url }).replies?.mailbox ?? expect.fail('no mailbox')

describe('a mailbox (ML-628)', () => {
  const take = async (url: string, limit = 1_000_000) => {
    const taken: (string | null)[] = []
    const more = await takeMessages(
      settingOf(url),
      limit,
      async (source) => void taken.push(source && String(source).trim()),
      new AbortController().signal,
    )
    return { taken, more }
  }

  it('gives each unread message once, over TLS and STARTTLS, and without what is too large', { timeout: 60_000 }, async () => {
    await soon(async () => (await take(imap.url).catch(() => null)) !== null)
    imap.deliver('From: a@b.example\r\n\r\none')
    imap.deliver(`From: a@b.example\r\n\r\n${'two'.repeat(1_000)}`)
    const { taken, more } = await take(imap.url, 1_000)
    expect([taken.toSorted(), more]).toEqual([['From: a@b.example\r\n\r\none', null], false])
    expect(imap.flags()).toEqual(['S', 'S'])
    expect(await take(imap.url)).toEqual({ taken: [], more: false })
    imap.deliver('From: a@b.example\r\n\r\nthree')
    expect((await take(`${imap.plain}&moveTo=Taken`)).taken).toEqual(['From: a@b.example\r\n\r\nthree'])
    expect([imap.flags().length, imap.flags('.Taken').length]).toEqual([2, 1])
  })

  it('is not read with a wrong certificate or password, and a message that fails stays unread', { timeout: 60_000 }, async () => {
    await expect(take(imap.url.replace('=false', '=true'))).rejects.toThrow(/self-signed|certificate/i)
    await expect(take(imap.url.replace('a%2Fsecret', 'wrong'))).rejects.toThrow()
    expect((await take(`${imap.plain}&ignoreTLS=true`)).taken).toEqual([])
    imap.deliver('From: a@b.example\r\n\r\nfour')
    const fails = takeMessages(
      settingOf(imap.url),
      1_000,
      async () => {
        throw new Error('later')
      },
      new AbortController().signal,
    )
    await expect(fails).rejects.toThrow('later')
    expect((await take(imap.url)).taken).toEqual(['From: a@b.example\r\n\r\nfour'])
  })
})

it('the service takes answers from the mailbox and from a pipe, and makes comments of them (ML-620, ML-628)', { timeout: 240_000 }, async () => {
  await build()
  const folder = mkdtempSync(join(tmpdir(), 'replies-'))
  chmodSync(folder, 0o711)
  const data = join(folder, 'data')
  const service = await startService(data, { ...MAIL, IMAP_URL: imap.url, LOG_LEVEL: 'info' })
  try {
    const api = async (method: string, path: string, body?: object) => (await call(service.url, method, path, body))?.body
    const { id: user_id } = await api('POST', '/users', {
      email: 'reader@example.com',
      username: 'reader',
      name: 'Reader',
      password: 'a long password',
      skip_confirmation: true,
    })
    const { id } = await api('POST', '/projects', { name: 'mailed' })
    await api('POST', `/projects/${id}/members`, { user_id, access_level: 30 })
    await api('POST', `/projects/${id}/issues`, { title: 'One', assignee_ids: [user_id] })
    await soon(async () => box.got.some((mail) => mail.header('x-roost-event') === 'new_issue'))
    const [address] = box.got.find((mail) => mail.header('x-roost-event') === 'new_issue')?.replyTo ?? []
    const to = (address && 'address' in address && address.address) || ''
    const source = (text: string) =>
      `From: reader@example.com\r\nTo: ${to}\r\nMessage-ID: <${text}@client.example>\r\nSubject: Re: One\r\n\r\n${text}\r\n`
    imap.deliver(source('mailbox'))
    const bodies = async () => (await api('GET', `/projects/${id}/issues/1/notes?sort=asc`)).map(({ body }: { body: string }) => body)
    // the mailbox is looked at every minute
    for (let round = 0; round < 5 && !(await bodies()).includes('mailbox'); round++)
      await soon(async () => (await bodies()).includes('mailbox')).catch(() => undefined)
    const env = { DATA_DIR: data, ...MAIL }
    const pipe = (text: string) => runProgram(process.execPath, [startScript, 'mail'], { env, input: text })
    expect(await pipe(source('pipe'))).toEqual({ code: 0, stdout: expect.stringMatching(/^taken: \d+\n$/), stderr: '' })
    expect(await pipe(source('pipe'))).toEqual({ code: 0, stdout: 'ignored: it has been taken before\n', stderr: '' })
    expect(await bodies()).toEqual(['mailbox', 'pipe'])
    expect(imap.flags().every((flags) => flags.includes('S'))).toBe(true)
    const nowhere = { ...env, DATA_DIR: join(folder, 'nothing') }
    expect((await runProgram(process.execPath, [startScript, 'mail'], { env: nowhere, input: 'x' })).code).toBe(75)
  } finally {
    await service.end()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
})
