import type { Transporter } from 'nodemailer'

/** Settings for sending mail. */
export interface MailSetting {
  host: string
  port: number
  /** TLS from the first byte; otherwise STARTTLS is used where the server offers it. */
  secure: boolean
  /** Refuse to send without STARTTLS. */
  requireTls: boolean
  /** Never use STARTTLS. */
  ignoreTls: boolean
  /** Whether the server's certificate must be valid. */
  verify: boolean
  credentials: { user: string; password: string } | undefined
  from: { name: string; address: string }
}

/** A mail. Names and texts may contain anything: characters that could end a header are replaced. */
export interface Mail {
  to: { name: string; address: string }
  /** Display name of the sender, in place of the configured one. */
  fromName?: string | undefined
  subject: string
  text: string
  html?: string | undefined
  /** With angle brackets. */
  messageId: string
  /** The id of the first message of the thread, which may be this mail. */
  thread?: string | undefined
  /** Where answers go, in place of the sender. */
  replyTo?: string | undefined
  headers: Record<string, string>
  attachments?: { filename: string; content: Buffer; contentType: string }[] | undefined
}

export interface Mailer {
  from: MailSetting['from']
  /** Throws MailRefused if the server has refused this mail for good, and other errors if a retry may succeed. */
  send(mail: Mail, signal: AbortSignal): Promise<void>
  close(): void
}

/** The server refused the recipient or the message for good. */
export class MailRefused extends Error {
  override name = 'MailRefused'
}

/** Concurrent connections per process. */
export const MAIL_CONNECTIONS = 4
const CONNECT_TIMEOUT_MS = 10_000
const SOCKET_TIMEOUT_MS = 30_000

/** Replaces line breaks and other control characters by spaces. */
export const oneLine = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()

/** Sends mail through one server; connects for the first mail. */
export function openMailer({ host, port, secure, requireTls, ignoreTls, verify, credentials, from }: MailSetting): Mailer {
  let transport: Promise<Transporter> | undefined
  const open = async (): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      pool: true,
      maxConnections: MAIL_CONNECTIONS,
      host,
      port,
      secure,
      ignoreTLS: ignoreTls,
      requireTLS: requireTls,
      ...(credentials && { auth: { user: credentials.user, pass: credentials.password } }),
      tls: { rejectUnauthorized: verify },
      ...{
        connectionTimeout: CONNECT_TIMEOUT_MS,
        greetingTimeout: CONNECT_TIMEOUT_MS,
        dnsTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: SOCKET_TIMEOUT_MS,
      },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
  return {
    from,
    async send(mail, signal) {
      transport ??= open()
      await (await transport).sendMail({ ...messageOf(mail, from), signal }).catch(rethrow)
    },
    close: () => void transport?.then((opened) => opened.close()),
  }
}

const messageOf = ({ to, fromName, subject, text, html, messageId, thread, replyTo, headers, attachments }: Mail, from: MailSetting['from']) => ({
  from: { name: oneLine(fromName ?? from.name), address: from.address },
  to: { name: oneLine(to.name), address: to.address },
  envelope: { from: from.address, to: [to.address] },
  subject: oneLine(subject),
  text,
  ...(html !== undefined && { html }),
  ...(attachments && { attachments }),
  messageId,
  ...(replyTo !== undefined && { replyTo }),
  ...(thread !== undefined && thread !== messageId && { inReplyTo: thread, references: [thread] }),
  headers: Object.entries(headers).map(([key, value]) => ({ key, value: oneLine(value) })),
})

/**
 * SMTP commands whose refusal concerns the recipient or the message; other refusals concern the server or its settings.
 */
const MESSAGE_COMMANDS = /^(RCPT TO|DATA)/

function rethrow(error: unknown): never {
  const { responseCode, command, code } = error as { responseCode?: number; command?: string; code?: string }
  const final = responseCode !== undefined && responseCode >= 500
  if (final && (MESSAGE_COMMANDS.test(command ?? '') || code === 'EMESSAGE'))
    throw new MailRefused(`the server answered ${responseCode}`, { cause: error })
  throw error
}
