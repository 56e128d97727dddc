import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { afterAll } from 'vitest'

/** A mail that the server has accepted. */
export interface Received extends Omit<Email, 'sender'> {
  /** The envelope recipient. */
  recipient: string
  sender: string
  /** The source of the mail. */
  raw: string
  header(name: string): string | undefined
}

/** The response to RCPT TO: an SMTP code, no response, or for the next mail only the result of a function. */
type Answer = number | 'silence' | (() => Promise<number>)

export interface Mailbox {
  /** The value for SMTP_URL. */
  url: string
  got: Received[]
  /** Awaits `before`, and returns the mails to an address since the previous call. */
  to(address: string): Promise<Received[]>
  /** Sets the response to a recipient from now on; 250 accepts mails again. */
  answer(address: string, answer: Answer): void
  /** All recipients of RCPT TO, including refused ones. */
  asked: string[]
}

/** An SMTP server that stores accepted mails, for the tests of a file. `to` awaits `before` first. */
export async function mailbox(before: () => Promise<unknown>): Promise<Mailbox> {
  const answers = new Map<string, Answer>()
  const seen = new Set<Received>()
  const box: Mailbox = {
    url: '',
    got: [],
    asked: [],
    answer: (address, answer) => void answers.set(address, answer),
    async to(address) {
      await before()
      const fresh = box.got.filter((mail) => mail.recipient === address && !seen.has(mail))
      for (const mail of fresh) seen.add(mail)
      return fresh
    },
  }
  const server = new SMTPServer({
    authOptional: true,
    closeTimeout: 100,
    disabledCommands: ['STARTTLS'],
    async onRcptTo({ address }, _session, done) {
      box.asked.push(address)
      const given = answers.get(address) ?? 250
      if (typeof given === 'function') answers.delete(address)
      const answer = typeof given === 'function' ? await given() : given
      if (answer === 250) done()
      else if (answer !== 'silence') done(Object.assign(new Error('no'), { responseCode: answer }))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks)
        const mail = await PostalMime.parse(raw)
        const { mailFrom, rcptTo } = session.envelope
        box.got.push({
          ...mail,
          raw: raw.toString('utf8'),
          recipient: rcptTo[0]?.address ?? '',
          sender: mailFrom ? mailFrom.address : '',
          header: (name) => mail.headers.find(({ key }) => key === name.toLowerCase())?.value,
        })
        done()
      })
    },
  })
  // the connections of a killed service are reset
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  box.url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`
  afterAll(() => new Promise<void>((resolve) => server.close(resolve)))
  return box
}
