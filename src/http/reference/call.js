import { codeBlock, h, pretty } from './elements.js'

const QUOTE = (text) => `'${String(text).replaceAll("'", "'\\''")}'`

/** The URL of a call: path values are escaped, lists and maps become repeated names. */
function urlOf(base, path, fields) {
  const url = path.replace(/\{([a-z_]+)\}/g, (place, name) => {
    const value = fields.find((field) => field.name === name && field.in === 'path')?.value
    // users may type a path in its encoded form, as the descriptions show it
    return value ? encodeURIComponent(value.replace(/%2F/gi, '/')) : place
  })
  const pairs = fields.filter((field) => field.in === 'query' && field.value !== '').flatMap(pairsOf)
  const query = pairs.map(([name, value]) => `${encodeURIComponent(name).replaceAll('%5B', '[').replaceAll('%5D', ']')}=${encodeURIComponent(value)}`)
  return `${base}${url}${query.length > 0 ? `?${query.join('&')}` : ''}`
}

/** The values of a list are typed with commas, and those of a map as `key=value` with commas. */
function pairsOf({ name, value, schema }) {
  const parts = () => value.split(',').map((part) => part.trim())
  if (schema?.type === 'array') return parts().map((part) => [name, part])
  if (schema?.type !== 'object') return [[name, value]]
  return parts().map((part) => [`${name}[${part.split('=', 1)[0]}]`, part.slice(part.indexOf('=') + 1)])
}

/** The request to send: method, URL, headers and body. */
export function requestOf({ method, base, path, fields, body, token, auth }) {
  const headers = {}
  if (auth && token) headers['PRIVATE-TOKEN'] = token
  const files = fields.filter((field) => field.in === 'form')
  const request = { method: method.toUpperCase(), url: urlOf(base, path, fields), headers }
  if (files.some(({ file }) => file)) {
    request.form = files.filter(({ value, file }) => file || (value ?? '') !== '')
  } else if (body?.trim()) {
    headers['Content-Type'] = 'application/json'
    request.body = body
  }
  return request
}

/** The request as a curl command; the token is a variable. */
export function curlOf({ method, url, headers, body, form }) {
  const lines = [`curl ${method === 'GET' ? '' : method === 'HEAD' ? '--head ' : `--request ${method} `}${QUOTE(url)}`]
  for (const [name, value] of Object.entries(headers))
    lines.push(name === 'PRIVATE-TOKEN' ? '--header "PRIVATE-TOKEN: $TOKEN"' : `--header ${QUOTE(`${name}: ${value}`)}`)
  if (body) lines.push(`--data ${QUOTE(compact(body))}`)
  for (const { name, value, file } of form ?? []) lines.push(`--form ${QUOTE(file ? `${name}=@${file.name}` : `${name}=${value}`)}`)
  return lines.join(' \\\n  ')
}

function compact(body) {
  try {
    return JSON.stringify(JSON.parse(body))
  } catch {
    return body
  }
}

/** Sends a request and shows the response in an element. */
export async function send({ method, url, headers, body, form }, shown) {
  shown.replaceChildren(h('p', { role: 'status' }, 'Waiting …'))
  try {
    const response = await fetch(url, { method, headers, body: form ? formData(form) : body, credentials: 'omit' })
    shown.replaceChildren(...(await answerOf(response)))
  } catch (error) {
    shown.replaceChildren(h('p', { role: 'status', class: 'bad' }, `No answer: ${error.message}`))
  }
}

function formData(fields) {
  const data = new FormData()
  for (const { name, value, file } of fields) data.append(name, file ?? value)
  return data
}

const SHOWN_HEADERS = ['content-type', 'x-total', 'x-page', 'x-next-page', 'x-total-pages', 'link', 'retry-after', 'x-request-id']
const MAX_SHOWN_CHARACTERS = 200_000

async function answerOf(response) {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  const body = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : isJson ? pretty(JSON.parse(text)) : text
  const headers = SHOWN_HEADERS.filter((name) => response.headers.get(name)).map((name) => `${name}: ${response.headers.get(name)}`)
  return [
    h('p', { role: 'status', class: response.ok ? 'good' : 'bad' }, `${response.status} ${response.statusText}`),
    headers.length > 0 && codeBlock(headers.join('\n'), 'Headers of the answer'),
    body && codeBlock(body, 'Body of the answer'),
  ].filter(Boolean)
}
