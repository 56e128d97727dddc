import type { Email } from 'postal-mime'

/** The first value of a header, in lower case; empty without one. */
const headerOf = (mail: Email, name: string) =>
  mail.headers
    .find(({ key }) => key === name)
    ?.value.trim()
    .toLowerCase() ?? ''

/** Headers that only programs write. */
const OF_PROGRAMS = ['x-autoreply', 'x-autorespond', 'x-auto-reply-from', 'x-roost-event', 'x-loop', 'x-failed-recipients', 'feedback-id']
const BULK = ['bulk', 'junk', 'list', 'auto_reply']
/** Senders of bounces. */
const DAEMONS = ['mailer-daemon', 'postmaster', 'no-reply', 'noreply']

/**
 * Whether no person has written a mail: an automatic answer, a bounce, a mailing list, or a mail of this service
 * (ML-625). Such a mail is neither taken nor answered.
 */
export function isAutomatic(mail: Email, own: string): boolean {
  const submitted = headerOf(mail, 'auto-submitted')
  if (submitted !== '' && submitted !== 'no') return true
  if (BULK.includes(headerOf(mail, 'precedence'))) return true
  if (OF_PROGRAMS.some((name) => mail.headers.some(({ key }) => key === name))) return true
  if (headerOf(mail, 'return-path') === '<>') return true
  if (/^multipart\/report\b/.test(headerOf(mail, 'content-type'))) return true
  const from = senderOf(mail)
  return from === '' || from === own.toLowerCase() || DAEMONS.includes(from.slice(0, from.indexOf('@')))
}

/** The address in `From`, in lower case; empty if there is none. */
export const senderOf = ({ from }: Email): string => (from?.address ?? from?.group?.[0]?.address ?? '').trim().toLowerCase()

/** Headers with the addresses that a mail has come to. */
const RECIPIENTS = ['to', 'cc', 'delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'x-forwarded-to']
/** The most addresses that are looked at. */
const MAX_RECIPIENTS = 200

/** The addresses that a mail has come to, the envelope's first if it is known. */
export function recipientsOf(mail: Email, envelope: readonly string[]): string[] {
  const headers = mail.headers.filter(({ key }) => RECIPIENTS.includes(key))
  const written = headers.flatMap(({ value }) =>
    value
      .slice(0, 20_000)
      .split(/[,;<>\s"]/)
      .filter((part) => part.includes('@')),
  )
  return [...envelope, ...written].slice(0, MAX_RECIPIENTS)
}
