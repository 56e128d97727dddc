import http from 'node:http'
import { addressOf, BELOW_BAR, CALLS } from '../calls.mjs'
import { visitor } from '../forms.mjs'
import { call, postgresOf, TOKEN, ticks } from '../harness.mjs'
import { writeResults } from '../results.mjs'
import { atOnce, seed } from '../seed.mjs'

const CLIENTS = 16
const SLOWEST = 30
/** The required rate of a read relative to a constant response of its size; no read may be below the minimum. */
const BARS = { thing: 0.3, list: 0.2, least: 0.05 }

const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS })

/** Makes a call: status, size of the response, and whether it is a list. */
function send({ method, url, headers, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, agent, headers }, (response) => {
      let bytes = 0
      let text = ''
      let list = false
      response.on('data', (chunk) => {
        if (bytes === 0) list = chunk[0] === 0x5b
        bytes += chunk.length
        if (response.statusCode >= 300 && text.length < 200) text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode, bytes, list, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** The number of statements that Postgres has run. */
const queriesOf = async (database) => (await database.query('select coalesce(sum(calls), 0)::int as queries from pg_stat_statements')).rows[0].queries

/** Counts WAL syncs by polling the flush position, as Postgres' own counters lag by up to ten seconds. */
const COUNT_SYNCS = `create or replace function count_syncs() returns integer language plpgsql as $$
  declare
    seen pg_lsn := pg_current_wal_flush_lsn();
    synced integer := 0;
  begin
    loop
      if pg_current_wal_flush_lsn() <> seen then
        synced := synced + 1;
        seen := pg_current_wal_flush_lsn();
      end if;
      perform pg_sleep(0.0003);
    end loop;
  exception when query_canceled then
    return synced;
  end $$`

/** Starts counting; the returned function stops and returns the number of syncs. */
async function countSyncs({ database, counting }) {
  const counted = counting.query('select count_syncs() as synced')
  return async () => {
    await database.query('select pg_cancel_backend($1)', [counting.processID])
    return (await counted).rows[0].synced
  }
}

/** Resolves when the background work of earlier calls is done, or after three seconds. */
async function settled({ database }) {
  for (let waited = 0; waited < 20; waited++) {
    const before = await queriesOf(database)
    await new Promise((resolve) => setTimeout(resolve, 150))
    if ((await queriesOf(database)) - before <= 2) return
  }
}

/** Runs the work and returns its cost: times, and CPU microseconds and statements per call. */
async function measured({ database, pids }, work) {
  const now = async () => ({ queries: await queriesOf(database), node: ticks(pids.node()), postgres: ticks(pids.postgres()) })
  const before = await now()
  const began = performance.now()
  const times = await work()
  const seconds = (performance.now() - began) / 1_000
  const after = await now()
  times.sort((a, b) => a - b)
  const each = (name, factor = 1) => ((after[name] - before[name]) * factor) / times.length
  return {
    rate: times.length / seconds,
    p50: times[times.length >> 1],
    p99: times[Math.floor(times.length * 0.99)],
    node: each('node', 10_000),
    postgres: each('postgres', 10_000),
    queries: each('queries'),
  }
}

/** Repeats a request with 16 clients for a number of milliseconds; returns the response times. */
async function load(request, milliseconds) {
  const times = []
  const end = performance.now() + milliseconds
  const client = async () => {
    while (performance.now() < end) {
      const at = performance.now()
      await send(request)
      times.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return times
}

/**
 * The rates of responses of a given size from a bare Fastify: a constant one, and one with two row lookups. Measured
 * right before the read that they are compared with, because the speed of a machine varies.
 */
async function constants(plain, bytes, time) {
  await call(`${plain}/list`, { method: 'POST', body: ['x'.repeat(Math.max(0, bytes - 4))] })
  const rates = []
  for (const path of ['/list', '/looked-up']) {
    const request = { method: 'GET', url: plain + path, headers: {} }
    await load(request, time / 4)
    const began = performance.now()
    const times = await load(request, time)
    rates.push(times.length / ((performance.now() - began) / 1_000))
  }
  return rates
}

/** A multipart body with one file, and fields before it. */
function multipart(content, fields = {}) {
  const edge = 'edge-of-the-bench'
  const texts = Object.entries(fields).map(([name, text]) => `--${edge}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`)
  const body = `${texts.join('')}--${edge}\r\ncontent-disposition: form-data; name="file"; filename="notes.txt"\r\n\r\n${content}\r\n--${edge}--\r\n`
  return { body, type: `multipart/form-data; boundary=${edge}` }
}

/** Converts a row of the table to a request; `helpers` prepare its data, unmeasured. */
async function requestOf(bench, seeded, operation, n) {
  const [method, path] = operation.split(' ')
  const at = (path, fill) => `${bench.api}${addressOf(path, seeded, fill)}`
  const made = (method) => (path, body, fill, token) => call(at(path, fill), { method, body, ...(token && { headers: { 'private-token': token } }) })
  const remove = (path, fill) => call(at(path, fill), { method: 'DELETE' })
  const { origin } = new URL(bench.api)
  const helpers = {
    s: seeded,
    origin,
    n,
    post: made('POST'),
    put: made('PUT'),
    remove,
    get: (path, fill) => call(at(path, fill)),
    visitor: () => visitor(origin),
  }
  const row = CALLS[operation]
  const { fill, query, body, file, fields, token = TOKEN, ...flags } = typeof row === 'string' ? { query: row } : await row(helpers)
  const form = file === undefined ? null : multipart(file, fields)
  const type = form ? form.type : body ? 'application/json' : null
  return {
    request: {
      method,
      url: `${bench.api}${addressOf(path, seeded, fill, query)}`,
      headers: { 'private-token': token, ...(type && { 'content-type': type }) },
      body: form ? form.body : body && JSON.stringify(body),
    },
    ...flags,
  }
}

const skipped = (operation, why) => process.stdout.write(`${operation}: not measured, ${why}\n`)

async function reads(bench, setting) {
  const time = bench.quick ? 300 : 1_000
  const plain = await bench.plain()
  await call(`${plain}/database`, { method: 'POST', body: { url: bench.databaseUrl } })
  const rows = []
  for (const operation of Object.keys(CALLS).filter((name) => /^(GET|HEAD) /.test(name) && name.includes(bench.only))) {
    const { request } = await requestOf(bench, setting.seeded, operation, 0)
    const first = await send(request)
    if (first.status >= 300) {
      skipped(operation, `${request.url} answers ${first.status} ${first.text}`)
      continue
    }
    const { bytes, list } = first
    const [constant, lookedUp] = await constants(plain, bytes, time / 2)
    await load(request, 200)
    const cost = await measured(setting, () => load(request, time))
    rows.push({ operation, bytes, list, ...cost, constant: cost.rate / constant, ratio: cost.rate / lookedUp })
  }
  return rows.sort((a, b) => a.ratio - b.ratio)
}

/** Prepares a number of requests, then sends them, `parallel` at a time. */
async function writeCalls(bench, setting, operation, numbers, parallel) {
  const made = []
  await atOnce(numbers.length, async (i) => made.push(await requestOf(bench, setting.seeded, operation, numbers[i])), 4)
  const times = []
  const faults = []
  await settled(setting)
  const end = await countSyncs(setting)
  const cost = await measured(setting, async () => {
    await atOnce(
      made.length,
      async (i) => {
        const at = performance.now()
        const { status, text } = await send(made[i].request)
        times.push(performance.now() - at)
        if (status >= 300 && status !== 304 && !made[i].refused) faults.push(`${status} ${text}`)
      },
      parallel,
    )
    return times
  })
  return { ...cost, syncs: (await end()) / times.length, faults }
}

async function writes(bench, setting) {
  const [alone, together] = bench.quick ? [4, 16] : [10, 64]
  const rows = []
  let n = 1_000
  const some = (count) => Array.from({ length: count }, () => ++n)
  const operations = Object.keys(CALLS).filter((name) => !/^(GET|HEAD) /.test(name) && name.includes(bench.only))
  // deletions first, as creations fill up limited resources
  for (const operation of operations.sort((a, b) => Number(b.startsWith('DELETE')) - Number(a.startsWith('DELETE')))) {
    try {
      const trial = await requestOf(bench, setting.seeded, operation, ++n)
      if (trial.skipped) {
        skipped(operation, trial.skipped)
        continue
      }
      const one = await writeCalls(bench, setting, operation, some(alone), 1)
      if (one.faults.length > 0) {
        skipped(operation, one.faults[0])
        continue
      }
      const many = trial.alone || trial.few ? null : await writeCalls(bench, setting, operation, some(together), CLIENTS)
      rows.push({ operation, ...one, rate: many?.rate ?? null, refusals: many?.faults.length ?? 0 })
    } catch (fault) {
      skipped(operation, fault.message)
    }
  }
  return rows.sort((a, b) => b.p50 - a.p50)
}

/** Statements are counted by an extension that Postgres loads when it starts. */
async function countStatements(bench) {
  await bench.sql("alter system set shared_preload_libraries = 'pg_stat_statements'")
  await bench.stop()
  await bench.start()
  await bench.sql('create extension if not exists pg_stat_statements')
}

function table(heads, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(heads), line(heads.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

const READ_HEADS = ['read', 'bytes', '/s', 'p50 ms', 'p99 ms', 'queries', 'Node µs', 'Postgres µs', 'of constant', 'of two rows']
const readRow = (r) => [
  r.operation,
  r.bytes,
  r.rate.toFixed(0),
  r.p50.toFixed(1),
  r.p99.toFixed(1),
  r.queries.toFixed(1),
  r.node.toFixed(0),
  r.postgres.toFixed(0),
  r.constant.toFixed(2),
  r.ratio.toFixed(2),
]
const BELOW_HEADS = ['read', 'of constant', 'of two rows', 'bar', 'why']
/**
 * Reports the reads below their limit: their number, the rate with two row lookups relative to a constant response, and
 * a table of those below the latter as well, each with its reason. A missing reason fails the bench.
 */
function belowBar(rows) {
  const below = rows.map((row) => ({ ...row, bar: row.list ? BARS.list : BARS.thing })).filter(({ constant, bar }) => constant < bar)
  const named = below.filter(({ constant, ratio, bar }) => ratio < bar || constant < BARS.least)
  const lines = named.map(({ operation, constant, ratio, bar }) => {
    const known = constant >= BARS.least && BELOW_BAR.find(({ reads }) => reads.test(operation))
    if (!known) process.exitCode = 1
    return [operation, constant.toFixed(2), ratio.toFixed(2), bar, known ? known.why : '**none**']
  })
  const left = rows.map(({ constant, ratio }) => constant / ratio).sort((a, b) => a - b)
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => left[Math.floor(left.length * part)].toFixed(2))
  return `${below.length} of ${rows.length} reads are below ${BARS.thing} of the constant answer for one thing, or ${BARS.list} for a list; none may be below ${BARS.least}. A bare Fastify that looks up two rows reaches ${middle} of its constant answer (half of the times ${low} to ${high}), and ${below.length - named.length} of these reads reach ${BARS.thing} and ${BARS.list} of that: what keeps them below the bars is the database, which they must ask. The others:

${table(BELOW_HEADS, lines)}`
}
const WRITE_HEADS = ['write', 'ms alone', 'queries', 'syncs', '/s with 16', 'refused']
const writeRow = (r) => [
  r.operation,
  r.p50.toFixed(1),
  r.queries.toFixed(1),
  r.syncs.toFixed(1),
  r.rate === null ? '' : r.rate.toFixed(0),
  r.refusals || '',
]

/**
 * Every API operation, or those matching `--only WORD`, on a seeded instance; prints all, then a table of the slowest
 * reads.
 */
export async function everyCall(bench) {
  await countStatements(bench)
  const seeded = await seed(bench)
  await bench.quiet()
  const pids = { node: () => [bench.child.pid], postgres: () => postgresOf(bench.dataDir) }
  const setting = { seeded, pids, database: await bench.connection(), counting: await bench.connection() }
  await setting.database.query(COUNT_SYNCS)
  try {
    const read = await reads(bench, setting)
    const written = await writes(bench, setting)
    process.stdout.write(`\n${table(READ_HEADS, read.map(readRow))}\n\n${table(WRITE_HEADS, written.map(writeRow))}\n`)
    const slowest = `The slowest ${SLOWEST} reads of ${read.length}, by their rate against answers of their size from a bare Fastify in the same run: a constant one, and one for which it first looks up two rows by their keys, as every call must for the caller and the thing (\`npm run bench -- every-call\` prints them all):

${table(READ_HEADS, read.slice(0, SLOWEST).map(readRow))}

${belowBar(read)}

The slowest writes of ${written.length}:

${table(WRITE_HEADS, written.slice(0, SLOWEST).map(writeRow))}
`
    process.stdout.write(`\n${slowest}`)
    if (!bench.quick && bench.only === '') writeResults('Every call', slowest)
  } finally {
    await Promise.all([setting.database.end(), setting.counting.end()])
  }
}
