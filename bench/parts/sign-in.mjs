import http from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { brotliCompressSync } from 'node:zlib'
import { call } from '../harness.mjs'

const USERS = 10_000
const SESSIONS = 100_000
const PASSWORD = 'long enough 0815'
const SECONDS = 8
/** Clients that guess passwords, all from another address. */
const GUESSERS = 24
const LOOK_UPS = 5_000
/** After this time idle connections have reported what they did. */
const STATISTICS_MS = 12_000

const at = (times, part) => [...times].sort((a, b) => a - b)[Math.floor((times.length - 1) * part)]

/** The page of the sign-in, what Postgres does for a session, and a sign-in beside guessed passwords. */
export async function signIn(bench) {
  await size(bench)
  const { id } = await call(`${bench.api}/users`, {
    method: 'POST',
    body: { username: 'signer', name: 'Signer', email: 'signer@example.com', password: PASSWORD, skip_confirmation: true },
  })
  const idle = await signIns(bench)
  const guessing = guesses(bench)
  const flooded = await signIns(bench)
  const refused = await guessing.end()
  if (refused === 0) throw new Error('no password was guessed')
  bench.row(`a sign-in while ${GUESSERS} clients guess passwords, median`, at(flooded, 0.5), at(idle, 0.5), 3)
  bench.row('the same, 99 of 100', at(flooded, 0.99), at(idle, 0.99), 5)
  await lookUp(bench, id)
}

/** The requests of the page, and its bytes as a browser gets them; its picture in the tab is not waited for. */
async function size(bench) {
  const page = await (await fetch(`${bench.url}/users/sign_in`, { headers: { accept: 'text/html' } })).text()
  const parts = [...page.matchAll(/<(?:link rel="stylesheet" href|script[^>]* src|img[^>]* src)="([^"]+)"/g)].map(([, path]) => path)
  const bodies = [page, ...(await Promise.all(parts.map(async (path) => (await fetch(bench.url + path)).text())))]
  bench.figure('requests of the sign-in page', bodies.length, 2, 'requests')
  bench.figure('bytes of the sign-in page, compressed', bodies.reduce((sum, body) => sum + brotliCompressSync(body).length, 0) / 1024, 15, 'KiB')
}

/** Sends a request; resolves with its status, headers and text. */
function send(url, { method = 'GET', headers = {}, body, localAddress, agent }) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, localAddress, agent }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode, headers: response.headers, text })
    })
    request.on('error', reject)
    request.end(body)
  })
}

const cookiesOf = ({ headers }) => (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0]).join('; ')
const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Signs in by the form, as a browser does; resolves with the milliseconds of the answer and the cookies. */
async function signsIn(bench) {
  const url = `${bench.url}/users/sign_in`
  const page = await send(url, { headers: { accept: 'text/html' } })
  const token = /name="authenticity_token" value="([^"]+)"/.exec(page.text)[1]
  const body = new URLSearchParams({ authenticity_token: token, 'user[login]': 'signer', 'user[password]': PASSWORD }).toString()
  const start = performance.now()
  const answer = await send(url, { method: 'POST', headers: { ...form, cookie: cookiesOf(page) }, body })
  const took = performance.now() - start
  if (answer.status !== 303 && answer.status !== 302) throw new Error(`sign-in: ${answer.status}`)
  return { took, cookies: cookiesOf(answer) }
}

async function signIns(bench) {
  const times = []
  await signsIn(bench)
  for (const end = Date.now() + SECONDS * 1000; Date.now() < end; ) times.push((await signsIn(bench)).took)
  return times
}

/** Clients that guess passwords until `end` is called, which resolves with the number of refusals. */
function guesses(bench) {
  let going = true
  let refused = 0
  const agent = new http.Agent({ keepAlive: true })
  const clients = Array.from({ length: GUESSERS }, async (_, client) => {
    for (let i = 0; going; i++) {
      const body = new URLSearchParams({ grant_type: 'password', username: `guessed${client}.${i}`, password: `guess ${i}` }).toString()
      const { status } = await send(`${bench.url}/oauth/token`, { method: 'POST', headers: form, body, localAddress: '127.0.0.2', agent })
      if (status >= 400) refused++
    }
  })
  return {
    async end() {
      going = false
      await Promise.all(clients)
      agent.destroy()
      return refused
    },
  }
}

/** How long Postgres is busy with the look-up of a session, among many. */
async function lookUp(bench, userId) {
  await bench.sql(
    `insert into users (username, name, email, projects_limit, confirmed_at)
      select 'session' || i, 'Session', 'session' || i || '@example.com', 0, now() from generate_series(1, ${USERS}) i`,
  )
  await bench.sql(
    `insert into sessions (user_id, digest, address, user_agent, created_at, last_used_at)
      select u.id, sha256(convert_to(i::text, 'utf8')), '', '', now(), now()
      from generate_series(1, ${SESSIONS}) i join (select id, row_number() over (order by id) as n from users where id > $1) u on u.n = 1 + i % ${USERS}`,
    [userId],
  )
  await bench.sql('vacuum analyze')
  const { cookies } = await signsIn(bench)
  const activeMs = async () => {
    await setTimeout(STATISTICS_MS)
    return (await bench.sql('select active_time from pg_stat_database where datname = current_database()'))[0].active_time
  }
  const before = await activeMs()
  for (let i = 0; i < LOOK_UPS; i++) {
    // for somebody who is signed in this page leads on: it reads nothing but the session
    const { status } = await send(`${bench.url}/users/sign_in`, { headers: { cookie: cookies, accept: 'text/html' } })
    if (status !== 303 && status !== 302) throw new Error(`the page for somebody who is signed in: ${status}`)
  }
  bench.figure('Postgres, for the session of a page, of 100,000 sessions', ((await activeMs()) - before) / LOOK_UPS, 0.3, 'ms')
}
