import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.js'
import { type Mailer, openMailer } from '../../src/lib/mailer.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const MAIL = { to: { name: 'A', address: 'a@example.com' }, subject: 's', text: 't', messageId: '<1@x>', headers: {} }
const never = () => new AbortController().signal

/** A server, a mailer of a URL with its port, and what the server was given. */
async function pair(options: SMTPServerOptions, url: (port: number) => string) {
  const seen = { logins: [] as string[], mails: 0 }
  const server = new SMTPServer({
    closeTimeout: 100,
    onAuth: ({ username, password }, _session, done) => {
      seen.logins.push(`${username} ${password}`)
      done(null, { user: username })
    },
    onData: (stream, _session, done) => {
      stream.resume().on('end', () => {
        seen.mails++
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const setting = readConfig({ SMTP_URL: url((server.server.address() as AddressInfo).port), MAIL_FROM: 'roost@example.org' }).mail
  const mailer = openMailer(setting as NonNullable<typeof setting>)
  closers.push(
    () => new Promise<void>((resolve) => server.close(resolve)),
    () => mailer.close(),
  )
  closers.reverse()
  return { mailer, seen }
}

const failure = (mailer: Mailer) =>
  mailer.send(MAIL, never()).then(
    () => null,
    (error: Error) => error,
  )

describe('openMailer', () => {
  it('never gives a password to a server without TLS, unless that was asked for', async () => {
    const options = { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }
    const careful = await pair(options, (port) => `smtp://me:secret@127.0.0.1:${port}`)
    expect(await failure(careful.mailer)).toBeInstanceOf(Error)
    expect(careful.seen).toEqual({ logins: [], mails: 0 })
    const open = await pair(options, (port) => `smtp://me:secret@127.0.0.1:${port}?ignoreTLS=true`)
    expect(await failure(open.mailer)).toBeNull()
    expect(open.seen).toEqual({ logins: ['me secret'], mails: 1 })
  })

  it.each(['smtp', 'smtps'])('checks the certificate of %s servers unless that is switched off', async (scheme) => {
    const secure = scheme === 'smtps'
    const strict = await pair({ secure }, (port) => `${scheme}://me:secret@127.0.0.1:${port}`)
    expect(await failure(strict.mailer)).toMatchObject({ message: expect.stringMatching(/certificate|self.signed/i) })
    expect(strict.seen).toEqual({ logins: [], mails: 0 })
    const lax = await pair({ secure }, (port) => `${scheme}://me:secret@127.0.0.1:${port}?tls.rejectUnauthorized=false`)
    expect(await failure(lax.mailer)).toBeNull()
    expect(lax.seen).toEqual({ logins: ['me secret'], mails: 1 })
  })

  it('takes what concerns the server as passing, and what concerns the mail as final', async () => {
    const answer = (responseCode: number) => Object.assign(new Error('no'), { responseCode })
    const plain = { authOptional: true, disabledCommands: ['STARTTLS'] }
    const url = (port: number) => `smtp://127.0.0.1:${port}`
    const nameOf = async (options: SMTPServerOptions) => (await failure((await pair({ ...plain, ...options }, url)).mailer))?.name
    expect(await nameOf({ onRcptTo: (_address, _session, done) => done(answer(550)) })).toBe('MailRefused')
    expect(await nameOf({ onRcptTo: (_address, _session, done) => done(answer(450)) })).toBe('Error')
    expect(await nameOf({ onData: (stream, _session, done) => void stream.resume().on('end', () => done(answer(554))) })).toBe('MailRefused')
    expect(await nameOf({ onData: (stream, _session, done) => void stream.resume().on('end', () => done(answer(451))) })).toBe('Error')
    expect(await nameOf({ onMailFrom: (_address, _session, done) => done(answer(550)) })).toBe('Error')
    expect(await nameOf({ onConnect: (_session, done) => done(answer(554)) })).toBe('Error')
  })

  it('gives up a silent server when it is aborted', async () => {
    const { mailer } = await pair({ authOptional: true, disabledCommands: ['STARTTLS'], onRcptTo: () => {} }, (port) => `smtp://127.0.0.1:${port}`)
    const stop = new AbortController()
    const sending = mailer.send(MAIL, stop.signal)
    stop.abort(new Error('enough'))
    await expect(sending).rejects.toThrow()
  })
})
