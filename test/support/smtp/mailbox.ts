import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { afterAll } from 'vitest'

/** A mail that the server has taken. */
export interface Received extends Omit<Email, 'sender'> {
  /** The recipient of the envelope. */
  recipient: string
  sender: string
  /** As it came. */
  raw: string
  header(name: string): string | undefined
}

/** What the server answers to a recipient: a code of SMTP, silence, or once what a function returns. */
type Answer = number | 'silence' | (() => Promise<number>)

export interface Mailbox {
  /** For SMTP_URL. */
  url: string
  got: Received[]
  /** Runs what is due, and gives the mails that have come to an address since it was last asked. */
  to(address: string): Promise<Received[]>
  /** What it answers to an address from now on; 250 takes mails again. */
  answer(address: string, answer: Answer): void
  /** Recipients that were named, also in vain. */
  asked: string[]
}

/** An SMTP server that keeps what it takes, for the tests of one file. `before` is awaited before mails are looked at. */
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
  // a service that is killed cuts its connections
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  box.url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`
  afterAll(() => new Promise<void>((resolve) => server.close(resolve)))
  return box
}
