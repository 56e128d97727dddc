import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Regenerates the examples of the reference from responses recorded by tests: `node scripts/examples.mjs` runs the tests
 * of the routes; with a folder of recorded responses it only selects from them.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const TARGET = join(root, 'src/http/reference/examples.json')
/** Maximum length of an example; of several responses, the one with the most values within it is chosen. */
const LENGTH = 3_000
const LONG_TEXT = 400

const given = process.argv[2]
const folder = given ?? mkdtempSync(join(tmpdir(), 'roost-answers-'))
if (!given)
  for (const path of ['test/routes', 'test/http/openapi'])
    spawnSync('npx', ['vitest', 'run', path, '--maxWorkers=1'], { cwd: root, stdio: 'inherit', env: { ...process.env, ROOST_TEST_ANSWERS: folder } })
const answers = readdirSync(folder).flatMap((name) =>
  readFileSync(join(folder, name), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line)),
)
if (!given) rmSync(folder, { recursive: true })

/** Shortens lists to one element. */
function shorten(value) {
  if (Array.isArray(value)) return value.slice(0, 1).map(shorten)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shorten(inner)]))
}

/** The number of non-empty values. */
function filled(value) {
  if (Array.isArray(value)) return value.reduce((sum, each) => sum + filled(each), 1)
  if (typeof value === 'object' && value !== null) return Object.values(value).reduce((sum, each) => sum + filled(each), 0)
  return value === null || value === '' || value === false ? 0 : 1
}

/** Whether a text is deliberately unusual, as in some tests. */
const ODD = /[^\x20-\x7e]|<script|\\u00|[;'&|]{2}|%00/
const isOdd = (text) => ODD.test(text) || /"[^"]{401,}"/.test(text)

const better = (one, other) => one.score - other.score || other.text.length - one.text.length || (one.text < other.text ? 1 : -1)
const best = new Map()
for (const { operation, status, url, sent, body, entity } of answers) {
  if (status < 200 || status > 299) continue
  const isRequest = typeof sent === 'object' && sent !== null && !Array.isArray(sent)
  const { pathname, search } = new URL(url)
  const example = {
    url: pathname + search,
    ...(isRequest && { request: sent }),
    ...(body !== undefined && body !== null && { response: shorten(body) }),
  }
  const text = JSON.stringify(example)
  if (text.length > LENGTH * 2) continue
  const score = filled(example.response) + 2 * filled(example.request) - (isOdd(text) ? 1_000 : 0) - (text.length > LENGTH ? 500 : 0)
  const candidate = { score, text, entity }
  const known = best.get(operation)
  if (!known || better(candidate, known) > 0) best.set(operation, candidate)
}

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 5, 9)

/** Replaces each distinct match by a value made from its index. */
function replaceEach(text, pattern, make, order = (found) => found) {
  const distinct = order([...new Set(text.match(pattern) ?? [])])
  return text.replace(pattern, (match) => make(distinct.indexOf(match), match))
}

const hex = (kind, i, length) => createHash('sha512').update(`${kind} ${i}`).digest('hex').slice(0, length)

/** Makes examples stable: replaces times, hashes, ports, names and tokens by values made from their order. */
function settle(text) {
  let settled = text
    .replace(/https?:\/\/(127\.0\.0\.1|localhost):\d+/g, 'https://roost.example.com')
    .replaceAll('http://roost.test', 'https://roost.example.com')
    .replaceAll('roost.test', 'roost.example.com')
  settled = settled.replace(/("(?:token|access_token|refresh_token|password|current_password)":")[^"]{12,}"/g, '$1example-0123456789abcdef"')
  const originals = [...new Set(settled.match(/\b[0-9a-f]{40}\b/g) ?? [])]
  for (const [i, oid] of originals.entries()) {
    const made = hex('commit', i, 40)
    settled = settled.replaceAll(oid, made).replaceAll(`"${oid.slice(0, 8)}"`, `"${made.slice(0, 8)}"`)
  }
  for (const length of [32, 64]) settled = replaceEach(settled, new RegExp(`\\b[0-9a-f]{${length}}\\b`, 'g'), (i) => hex('other', i, length))
  const times = (found) => found.sort()
  settled = replaceEach(settled, /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (i) => new Date(START + i * 60_000).toISOString(), times)
  settled = replaceEach(settled, /(?<=")20[23]\d-\d\d-\d\d(?=")/g, (i) => new Date(START + i * DAY).toISOString().slice(0, 10), times)
  for (const kind of ['user', 'project', 'group']) {
    const numbers = []
    settled = settled.replace(new RegExp(`\\b(${kind} ?)(\\d+)\\b`, 'gi'), (_, name, number) => {
      if (!numbers.includes(number)) numbers.push(number)
      return `${name}${numbers.indexOf(number) + 1}`
    })
  }
  return settled
}

/** Truncates long texts. */
const cut = (_, value) => (typeof value === 'string' && value.length > LONG_TEXT ? `${value.slice(0, LONG_TEXT)}...` : value)

const byName = ([one], [other]) => (one < other ? -1 : 1)
const entities = {}
/** Keeps the response as the example of its entity if it has the most values, and not as one of the operation's own. */
function example({ text, entity }) {
  const { response, ...call } = JSON.parse(settle(text))
  const one = entity?.list ? response?.[0] : response
  if (!entity || !one) return { ...call, response }
  if (filled(one) > filled(entities[entity.name] ?? null)) entities[entity.name] = one
  return call
}
const operations = Object.fromEntries([...best].sort(byName).map(([operation, chosen]) => [operation, example(chosen)]))
writeFileSync(TARGET, `${JSON.stringify({ operations, entities: Object.fromEntries(Object.entries(entities).sort(byName)) }, cut, 2)}\n`)
process.stdout.write(`${Object.keys(operations).length} operations, ${Object.keys(entities).length} entities\n`)
