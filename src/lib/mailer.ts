import type { Transporter } from 'nodemailer'

/** How mail is sent. */
export interface MailSetting {
  host: string
  port: number
  /** TLS from the first byte; otherwise STARTTLS is used where the server offers it. */
  secure: boolean
  /** Nothing is sent without STARTTLS. */
  requireTls: boolean
  /** STARTTLS is never used. */
  ignoreTls: boolean
  /** Whether the server's certificate must be valid. */
  verify: boolean
  credentials: { user: string; password: string } | undefined
  from: { name: string; address: string }
}

/** A mail as it is sent. Names and texts may hold anything: what could end a header is replaced. */
export interface Mail {
  to: { name: string; address: string }
  /** Beside the configured address, in place of its name. */
  fromName?: string | undefined
  subject: string
  text: string
  html?: string | undefined
  /** With angle brackets. */
  messageId: string
  /** The message that begins the thread; the mail itself may be it. */
  thread?: string | undefined
  headers: Record<string, string>
}

export interface Mailer {
  from: MailSetting['from']
  /** Throws MailRefused when the server will never take this mail, anything else when it may later. */
  send(mail: Mail, signal: AbortSignal): Promise<void>
  close(): void
}

/** The server has refused the recipient or the message for good. */
export class MailRefused extends Error {
  override name = 'MailRefused'
}

/** Connections of a process at a time. */
export const MAIL_CONNECTIONS = 4
const TIMEOUT = 10_000
const SILENCE = 30_000

/** Line breaks and other control characters as spaces. */
export const oneLine = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()

/** Sends mail through one server; connects when the first one is sent. */
export function openMailer({ host, port, secure, requireTls, ignoreTls, verify, credentials, from }: MailSetting): Mailer {
  let transport: Promise<Transporter> | undefined
  const open = async (): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      ...{ pool: true, maxConnections: MAIL_CONNECTIONS, host, port, secure, ignoreTLS: ignoreTls, requireTLS: requireTls },
      ...(credentials && { auth: { user: credentials.user, pass: credentials.password } }),
      tls: { rejectUnauthorized: verify },
      ...{ connectionTimeout: TIMEOUT, greetingTimeout: TIMEOUT, dnsTimeout: TIMEOUT, socketTimeout: SILENCE },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
  return {
    from,
    async send(mail, signal) {
      transport ??= open()
      await (await transport).sendMail({ ...messageOf(mail, from), signal }).catch(judge)
    },
    close: () => void transport?.then((opened) => opened.close()),
  }
}

const messageOf = ({ to, fromName, subject, text, html, messageId, thread, headers }: Mail, from: MailSetting['from']) => ({
  from: { name: oneLine(fromName ?? from.name), address: from.address },
  to: { name: oneLine(to.name), address: to.address },
  envelope: { from: from.address, to: [to.address] },
  subject: oneLine(subject),
  text,
  ...(html !== undefined && { html }),
  messageId,
  ...(thread !== undefined && thread !== messageId && { inReplyTo: thread, references: [thread] }),
  headers: Object.entries(headers).map(([key, value]) => ({ key, value: oneLine(value) })),
})

/** Steps of SMTP whose refusal concerns this recipient or this message; others concern the server or its settings. */
const OF_THE_MAIL = /^(RCPT TO|DATA)/

function judge(error: unknown): never {
  const { responseCode, command, code } = error as { responseCode?: number; command?: string; code?: string }
  const final = responseCode !== undefined && responseCode >= 500
  if (final && (OF_THE_MAIL.test(command ?? '') || code === 'EMESSAGE'))
    throw new MailRefused(`the server answered ${responseCode}`, { cause: error })
  throw error
}
