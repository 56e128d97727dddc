import type { FastifyRequest } from 'fastify'
import { encodePath, urlOfRouter } from '../lib/text/byte-path.js'
import type { Keyset, PageAnswer } from './endpoint.js'
import { isBag, type ParameterBag, repeatedValuesOf } from './form.js'

const CREDENTIALS = new Set(['private_token', 'access_token'])

/** The pagination headers of a list (G-57 to G-59). `origin` is scheme, host and port as the client used them. */
export function pageHeaders(
  { total, page, perPage, keyset }: PageAnswer,
  origin: string,
  request: FastifyRequest,
  parameters: ParameterBag,
): Record<string, string> {
  if (keyset) return keysetHeaders(keyset, `${origin}${pathOf(request)}`, parameters, perPage)
  const pages = Math.max(1, Math.ceil(total / perPage))
  const pastEnd = page > pages
  const prev = !pastEnd && page > 1 ? page - 1 : undefined
  const next = page < pages ? page + 1 : undefined
  const urlOf = pageUrls(`${origin}${pathOf(request)}`, parameters, perPage)
  const links = [
    prev && `<${urlOf(prev)}>; rel="prev"`,
    next && `<${urlOf(next)}>; rel="next"`,
    `<${urlOf(1)}>; rel="first"`,
    `<${urlOf(pages)}>; rel="last"`,
  ]
  return {
    'x-total': String(total),
    'x-total-pages': String(pages),
    'x-per-page': String(perPage),
    'x-page': Number.isSafeInteger(page) ? String(page) : BigInt(page).toString(),
    'x-next-page': next ? String(next) : '',
    'x-prev-page': prev ? String(prev) : '',
    link: links.filter(Boolean).join(', '),
  }
}

function keysetHeaders({ sort, last }: Keyset, base: string, parameters: ParameterBag, perPage: number): Record<string, string> {
  if (last === null) return { 'x-per-page': String(perPage) }
  const next = { ...parameters, [sort === 'asc' ? 'id_after' : 'id_before']: String(last) }
  return { 'x-per-page': String(perPage), link: `<${pageUrls(base, next, perPage)()}>; rel="next"` }
}

/**
 * The requested path without surplus slashes (G-1). The host of an absolute request target is removed, and characters
 * that would end the link early are escaped (SEC-70).
 */
const pathOf = ({ raw }: FastifyRequest) =>
  urlOfRouter(raw.url?.split('?', 1)[0] ?? '')
    .replace(/^https?:\/\/[^/]*/i, '')
    .replace(/\/{2,}/g, '/')
    .replace(/\/$/, '')
    .replace(/[<>"]/g, encodeURIComponent)

/**
 * The URLs of pages: all parameters of the request except credentials, sorted by name, with `page` and `per_page` side
 * by side (G-58).
 */
function pageUrls(base: string, parameters: ParameterBag, perPage: number) {
  const before: string[] = []
  const after: string[] = []
  for (const name of Object.keys(parameters).sort()) {
    if (name === 'page' || name === 'per_page' || CREDENTIALS.has(name)) continue
    const repeated = repeatedValuesOf(parameters, name) ?? [parameters[name]]
    for (const value of repeated) append(name < 'page' ? before : after, name, value)
  }
  return (page?: number) => `${base}?${[...before, ...(page === undefined ? [] : [`page=${page}`]), `per_page=${perPage}`, ...after].join('&')}`
}

function append(pairs: string[], name: string, value: unknown): void {
  if (Array.isArray(value)) for (const item of value) append(pairs, `${name}[]`, item)
  else if (isBag(value)) for (const key of Object.keys(value)) append(pairs, `${name}[${key}]`, value[key])
  else pairs.push(value === null ? encode(name) : `${encode(name)}=${encode(String(value))}`)
}

const encode = (text: string) => encodePath(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
