import type { FastifyRequest } from 'fastify'

/** Media types with their weight; the more specific one of two that match decides (RFC 9110, 12.5.1). */
function preference(accept: string, [type, subtype]: readonly [string, string]): { weight: number; specificity: number } {
  let found = { weight: 0, specificity: -1 }
  for (const part of accept.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const specificity = [`*/*`, `${type}/*`, `${type}/${subtype}`].indexOf(range)
    if (specificity <= found.specificity) continue
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
    found = { weight: Number.isNaN(weight) ? 0 : weight, specificity }
  }
  return found
}

/** Whether the client asks for HTML in so many words, as a browser does that opens a page or sends a form. */
export const namesHtml = ({ headers, method }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD' || method === 'POST') && (headers.accept ?? '').includes('text/html')

/** Whether the path is one of Git, a feed or an upload, whose clients take anything, also where there is none. */
const isOfPrograms = (url: string) =>
  /\.git(?:\/|$)|\.atom$|\/uploads\/[0-9a-f]{32}\//.test(
    url
      .split('?', 1)
      .join('')
      .replace(/\/-\/[\s\S]*$/, ''),
  )

/**
 * Whether a client that asks for the address of a page gets the page: all but those who prefer JSON to HTML, who take no
 * HTML, or who have a credential of the API (WB-1). `namesHtml` is enough in any case.
 */
export function wantsPage(request: FastifyRequest): boolean {
  const { headers, method, url } = request
  if (namesHtml(request)) return true
  if ((method !== 'GET' && method !== 'HEAD') || headers.authorization !== undefined || headers['private-token'] !== undefined || isOfPrograms(url))
    return false
  const accept = headers.accept?.trim() || '*/*'
  const [html, json] = [preference(accept, ['text', 'html']), preference(accept, ['application', 'json'])]
  return html.weight > 0 && (html.weight > json.weight || (html.weight === json.weight && html.specificity >= json.specificity))
}
