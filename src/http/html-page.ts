import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { escapeHtml } from '../lib/text/html.js'

const STYLE =
  'body{font-family:sans-serif;max-width:30rem;margin:4rem auto;padding:0 1rem}input,button{font:inherit;padding:.4rem;margin:.4rem 0;display:block}'
const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64')

/** Allows only the style above, and forms that are sent to this service. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_DIGEST}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** A form field; hidden if it has no label. */
export interface Field {
  name: string
  value?: string
  label?: string
  type?: 'email' | 'password'
}

export interface HtmlPage {
  title: string
  text: string
  /** Submitted by POST. */
  form?: { action: string; fields: Field[]; button: string }
}

/** Sends a small page without scripts (37.4). All texts are escaped. */
export function sendPage(reply: FastifyReply, status: number, { title, text, form }: HtmlPage): FastifyReply {
  return reply
    .code(status)
    .headers(HEADERS)
    .send(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>${STYLE}</style></head><body>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
${form ? formOf(form) : ''}
</body></html>
`)
}

const formOf = ({ action, fields, button }: NonNullable<HtmlPage['form']>) =>
  `<form method="post" action="${escapeHtml(action)}">${fields.map(inputOf).join('')}<button>${escapeHtml(button)}</button></form>`

function inputOf({ name, value = '', label, type = 'email' }: Field): string {
  const [of, content] = [escapeHtml(name), escapeHtml(value)]
  if (label === undefined) return `<input type="hidden" name="${of}" value="${content}">`
  return `<label>${escapeHtml(label)}<input type="${type}" name="${of}" value="${content}" required autocomplete="${type === 'email' ? 'email' : 'new-password'}"></label>`
}
