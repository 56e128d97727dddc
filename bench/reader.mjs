import http from 'node:http'
import { call } from './harness.mjs'

const PASSWORD = 'long enough 0815'
const agent = new http.Agent({ keepAlive: true })

/** Resolves with the body of an answer. */
export function get(url, headers) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { headers, agent }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        // a commit without a signature has none
        if (response.statusCode === 200 || url.endsWith('/signature')) resolve(Buffer.concat(chunks))
        else reject(new Error(`${url}: ${response.statusCode}`))
      })
    })
    request.on('error', reject)
    request.end()
  })
}

let readers = 0

/** A developer of the project, or anybody, with a browser's session and a token. */
export async function aReader(bench, project) {
  const username = `reader${++readers}`
  const body = { username, name: 'Reader', email: `${username}@example.com`, password: PASSWORD, skip_confirmation: true }
  const { id } = await call(`${bench.api}/users`, { method: 'POST', body })
  if (project) await call(`${bench.api}/projects/${project.id}/members`, { method: 'POST', body: { user_id: id, access_level: 30 } })
  const { token } = await call(`${bench.api}/users/${id}/impersonation_tokens`, { method: 'POST', body: { name: 'x', scopes: ['api'] } })
  const url = `${bench.url}/users/sign_in`
  const cookiesOf = ({ headers }) =>
    headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ')
  const first = await fetch(url, { headers: { accept: 'text/html' } })
  const authenticity_token = /name="authenticity_token" value="([^"]+)"/.exec(await first.text())[1]
  const fields = new URLSearchParams({ authenticity_token, 'user[login]': username, 'user[password]': PASSWORD })
  const cookie = cookiesOf(await fetch(url, { method: 'POST', redirect: 'manual', headers: { cookie: cookiesOf(first) }, body: fields }))
  return {
    cookie,
    page: (path) => get(bench.url + path, { cookie, accept: 'text/html', 'accept-encoding': 'br' }),
    api: (path) => get(bench.api + path, { 'private-token': token }),
  }
}
