import type { Context } from '../../context.js'
import type { JobOptions } from '../../jobs/enqueue.js'
import { fenceFor } from '../../lib/fence.js'
import { MAIL_CONNECTIONS, type Mail, MailRefused } from '../../lib/mailer.js'
import { escapeHtml, unescapeHtml } from '../../lib/text/html.js'
import type { MarkdownThread } from '../../lib/text/markdown-thread.js'
import { proxyPath } from './external-pictures.js'
import { diffHtml, linkHtml, type MailHeading, mailPage } from './mail-page.js'
import { readSettings, type Settings } from './settings.js'

/** A part of a mail: a paragraph, a user's Markdown, lines of a diff, or a link, which may be the button of the mail. */
export type MailPart = string | { markdown: string; base: string } | { diff: string } | { link: string; text: string; button?: boolean }

export interface MailMessage extends Omit<Mail, 'text' | 'html' | 'headers'> {
  /** The label of the mail in metrics and logs. */
  kind: string
  heading?: MailHeading
  parts: MailPart[]
  /** Shown in small print at the end. */
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
export async function sendMessage(ctx: Context, { kind, heading, parts, footer, headers, ...mail }: MailMessage, signal: AbortSignal): Promise<void> {
  if (!ctx.mail) return
  const settings = await readSettings(ctx)
  const sent: Mail = {
    ...mail,
    text: `${[...textHeading(settings, heading), ...parts].map(asText).join('\n\n')}\n\n-- \n${footer.map(asText).join('\n')}\n`,
    html: settings.html_emails_enabled ? await pageOf(rendererOf(ctx, settings), { subject: mail.subject, heading, parts, footer }) : undefined,
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

/** What a text begins with: where it stands and its title are in the subject. */
const textHeading = ({ email_author_in_body }: Settings, heading: MailHeading | undefined): string[] =>
  email_author_in_body && heading?.lead ? [heading.lead] : []

function asText(part: MailPart): string {
  if (typeof part === 'string') return part
  if ('link' in part) return `${part.text}: ${part.link}`
  return 'diff' in part ? `${fenceFor(part.diff)}diff\n${part.diff}\n${fenceFor(part.diff)}` : part.markdown
}

/** What makes HTML of the parts of a mail. */
interface MailRenderer {
  markdown: MarkdownThread
  site: string
  /** Where the proxy has a picture; null: it is a link. */
  picture(address: string): string | null
}

const rendererOf = (ctx: Context, { external_images }: Settings): MailRenderer => ({
  markdown: ctx.cpu.markdown,
  site: ctx.links.base,
  picture(address) {
    const path = external_images === 'proxy' ? proxyPath(ctx, address) : null
    return path && ctx.links.base + path
  },
})

const asHtml = async (renderer: MailRenderer, part: MailPart): Promise<string> => {
  if (typeof part === 'string') return `<p>${escapeHtml(part)}</p>`
  if ('link' in part) return `<p>${linkHtml(part, part.button ? 'button' : '')}</p>`
  if ('diff' in part) return diffHtml(part.diff)
  const absolute = (path: string) => `${/^\/(?!uploads\/)/.test(path) ? renderer.site : `${part.base}/`}${path.replace(/^\/(?=uploads\/)/, '')}`
  return `<div>${forMail(await renderer.markdown.html(part.markdown), absolute, renderer.picture)}</div>`
}

/** Mails load nothing of other sites: pictures come from the proxy or become links, and links become absolute (ML-14). */
const forMail = (html: string, absolute: (path: string) => string, picture: MailRenderer['picture']) =>
  html
    .replace(/<source [^<>]*>|<\/?picture>/g, '')
    .replace(/<img src="([^"<]*)" alt="([^"<]*)"([^<>]*)>/g, (_, src: string, alt: string, attributes: string) => {
      const address = picture(unescapeHtml(src))
      return address === null ? `<a href="${src}">${alt || src}</a>` : `<img src="${address}" alt="${alt}"${attributes}>`
    })
    .replace(/(<a href=")(?![a-z][a-z0-9+.-]*:|\/\/|#)([^"]*)/gi, (_, before: string, path: string) => before + absolute(path))

const partsAsHtml = async (renderer: MailRenderer, parts: MailPart[]) => (await Promise.all(parts.map((part) => asHtml(renderer, part)))).join('\n')

const pageOf = async (renderer: MailRenderer, { subject, heading, parts, footer }: Pick<MailMessage, 'subject' | 'heading' | 'parts' | 'footer'>) =>
  mailPage({ subject, heading, body: await partsAsHtml(renderer, parts), footer: await partsAsHtml(renderer, footer) })
