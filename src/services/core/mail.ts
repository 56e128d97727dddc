import type { Context } from '../../context.js'
import type { JobOptions } from '../../jobs/enqueue.js'
import { MAIL_CONNECTIONS, type Mail, MailRefused } from '../../lib/mailer.js'
import { escapeHtml } from '../../lib/text/html.js'
import type { MarkdownThread } from '../../lib/text/markdown-thread.js'
import { readSettings } from './settings.js'

/** A part of a mail: a paragraph, a user's Markdown, or a link. */
export type MailPart = string | { markdown: string; base: string } | { link: string; text: string }

export interface MailMessage extends Omit<Mail, 'text' | 'html' | 'headers'> {
  /** The label of the mail in metrics and logs. */
  kind: string
  parts: MailPart[]
  /** Shown in small print below a horizontal line. */
  footer: MailPart[]
  headers?: Record<string, string>
}

const MINUTE_MS = 60_000
const MAX_RETRY_DELAY_MS = 240 * MINUTE_MS
/** Enough retries for about a day. */
const MAX_ATTEMPTS = 14

/** Options shared by all jobs that send mail: a slow mail server must not hold up other jobs (ML-13). */
export const MAIL_JOB = {
  slots: 'network' as const,
  perLane: MAIL_CONNECTIONS,
  deadline: MINUTE_MS,
  retries: (attempts: number) => (attempts < MAX_ATTEMPTS ? Math.min(MINUTE_MS * 2 ** (attempts - 1), MAX_RETRY_DELAY_MS) : null),
}
export const MAIL_LANE: JobOptions = { lane: 'mail' }

/** A `Message-ID` of this service. */
export const messageId = ({ links }: Context, name: string) => `<${name}@${mailHost(links.base)}>`

/** The host of the base URL, with characters that identifiers do not allow replaced. */
export const mailHost = (base: string) => new URL(base).hostname.replace(/[^A-Za-z0-9.-]+/g, '-').replace(/^-|-$/g, '')

/**
 * Sends a mail and counts it. A mail that the server refuses permanently is logged and dropped; other failures throw,
 * so that the job retries (ML-13).
 */
export async function sendMessage(ctx: Context, { kind, parts, footer, headers, ...mail }: MailMessage, signal: AbortSignal): Promise<void> {
  if (!ctx.mail) return
  const { html_emails_enabled } = await readSettings(ctx)
  const sent: Mail = {
    ...mail,
    text: `${parts.map(asText).join('\n\n')}\n\n-- \n${footer.map(asText).join('\n')}\n`,
    html: html_emails_enabled ? await pageOf(ctx.cpu.markdown, ctx.links.base, { parts, footer }) : undefined,
    headers: { 'Auto-Submitted': 'auto-generated', ...headers },
  }
  try {
    await ctx.mail.send(sent, signal)
    ctx.monitoring.metrics.mail(kind, 'sent')
  } catch (error) {
    const refused = error instanceof MailRefused
    ctx.monitoring.metrics.mail(kind, refused ? 'refused' : 'failed')
    if (!refused) throw error
    ctx.log.warn({ err: error.cause, mail: kind }, 'a mail was refused')
  }
}

const asText = (part: MailPart): string => (typeof part === 'string' ? part : 'link' in part ? `${part.text}: ${part.link}` : part.markdown)

const asHtml = async (renderer: MarkdownThread, site: string, part: MailPart): Promise<string> => {
  if (typeof part === 'string') return `<p>${escapeHtml(part)}</p>`
  if ('link' in part) return `<p><a href="${escapeHtml(part.link)}">${escapeHtml(part.text)}</a></p>`
  const absolute = (path: string) => `${/^\/(?!uploads\/)/.test(path) ? site : `${part.base}/`}${path.replace(/^\/(?=uploads\/)/, '')}`
  return `<div>${forMail(await renderer.html(part.markdown), absolute)}</div>`
}

/** Mails load no remote content: images become links, and links become absolute (ML-14). */
const forMail = (html: string, absolute: (path: string) => string) =>
  html
    .replace(/<img src="([^"<]*)" alt="([^"<]*)"[^<>]*>/g, (_, src: string, alt: string) => `<a href="${src}">${alt || src}</a>`)
    .replace(/(<a href=")(?![a-z][a-z0-9+.-]*:|\/\/|#)([^"]*)/gi, (_, before: string, path: string) => before + absolute(path))

const partsAsHtml = async (renderer: MarkdownThread, site: string, parts: MailPart[]) =>
  (await Promise.all(parts.map((part) => asHtml(renderer, site, part)))).join('\n')

const pageOf = async (renderer: MarkdownThread, site: string, { parts, footer }: Pick<MailMessage, 'parts' | 'footer'>) => `<!DOCTYPE html>
<html><head><meta charset="utf-8"></head><body style="font-family: sans-serif">
${await partsAsHtml(renderer, site, parts)}
<hr><div style="font-size: small; color: #666">
${await partsAsHtml(renderer, site, footer)}
</div></body></html>
`
