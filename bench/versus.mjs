import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import autocannon from 'autocannon'
import { Bench, cache, call, median, postgresOf, root, ticks, timed } from './harness.mjs'
import { seed } from './seed.mjs'

/**
 * Compares this build with another one, on the same data, in turns: `node bench/versus.mjs FOLDER [WORD] [--rates]`,
 * where FOLDER is a checkout that has been built, or `release` for the last release, and only calls with WORD in their
 * names are measured: the median time of a call, or with `--rates` the reads for 16 clients: calls a second, and the
 * processor time of a call.
 */
const given = process.argv.slice(2)
const rates = given.includes('--rates')
const [other, word = ''] = given.filter((argument) => argument !== '--rates')
const folder = other === 'release' ? lastRelease() : resolve(other)
const ROUNDS = 400
const BATCHES = 5
const CLIENTS = 16

const sides = [new Bench({ quick: true }), new Bench({ quick: true, program: join(folder, 'dist/main.js') })]

try {
  const calls = []
  for (const side of sides) {
    await side.start({ LOG_LEVEL: 'error' })
    calls.push(await callsOf(side))
  }
  for (const side of sides) await side.quiet()
  for (const name of Object.keys(calls[0]).filter((each) => each.includes(word)))
    if (!rates) await compare(name, calls)
    else if (calls[0][name].url) await compareRates(name, calls)
} finally {
  for (const side of sides) await side.close()
}

/** Builds the last release of the changelog beside the other data of the bench, once; returns its folder. */
function lastRelease() {
  const [, version, commit] = /^## (\d\S*) \(`(\w+)`\)$/m.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))
  const place = join(cache, `release-${version}`)
  const run = (cwd, program, ...args) => execFileSync(program, args, { cwd, stdio: 'inherit' })
  if (existsSync(join(place, 'dist/main.js'))) return place
  if (!existsSync(place)) run(root, 'git', 'clone', '--quiet', '--no-checkout', root, place)
  run(place, 'git', 'checkout', '--quiet', commit)
  run(place, 'npm', 'ci')
  run(place, 'npm', 'run', 'build')
  return place
}

/** Calls by name, each a function of the number of the round; those that only read have their `url` and `headers`. */
async function callsOf(bench) {
  const { project, user, file } = await seed(bench)
  const p = `${bench.api}/projects/${project.id}`
  const { token } = await call(`${bench.api}/users/${user.id}/impersonation_tokens`, { method: 'POST', body: { name: 'x', scopes: ['api'] } })
  const headers = { 'private-token': token }
  const get = (url) => Object.assign(() => call(url, { headers }), { url, headers })
  await call(`${p}/repository/branches`, { method: 'POST', body: { branch: 'picked', ref: 'main' } })
  const picked = await call(`${p}/repository/commits`, {
    method: 'POST',
    body: { branch: 'picked', commit_message: 'x', actions: [{ action: 'create', file_path: 'picked.txt', content: 'x' }] },
  })
  return {
    'a user': get(`${bench.api}/user`),
    'a project': get(p),
    'an issue': get(`${p}/issues/1`),
    'a merge request': get(`${p}/merge_requests/1`),
    'a raw file': get(`${p}/repository/files/${encodeURIComponent(file)}/raw?ref=main`),
    '20 projects': get(`${bench.api}/projects`),
    '20 users by a search': get(`${bench.api}/users?search=user1`),
    '20 labels': get(`${p}/labels`),
    '20 issues': get(`${p}/issues`),
    '100 issues': get(`${p}/issues?per_page=100`),
    '20 issues of all projects': get(`${bench.api}/issues?scope=all`),
    'issues by a search': get(`${p}/issues?search=issue+77`),
    'issues by a search, by update': get(`${p}/issues?search=description&order_by=updated_at&per_page=20&page=3`),
    '20 merge requests': get(`${p}/merge_requests`),
    '20 commits': get(`${p}/repository/commits`),
    '100 commits': get(`${p}/repository/commits?per_page=100`),
    'a cherry-pick that is tried': () =>
      call(`${p}/repository/commits/${picked.id}/cherry_pick`, { method: 'POST', body: { branch: 'main', dry_run: true } }),
    'a comment': (round) => call(`${p}/issues/1/notes`, { method: 'POST', body: { body: `comment ${round}` } }),
    'an issue is made': (round) => call(`${p}/issues`, { method: 'POST', body: { title: `new ${round}`, labels: 'label1' } }),
  }
}

function row(...cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
}

/** The lowest and the highest of ratios. */
function range(ratios) {
  return `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
}

/** Prints the median time of a call on both sides, and of the ratios of batches the lowest and the highest. */
async function compare(name, calls) {
  const all = calls.map(() => [])
  const ratios = []
  for (const side of calls) for (let i = 0; i < 50; i++) await side[name](-1 - i)
  for (let batch = 0; batch < BATCHES; batch++) {
    const times = calls.map(() => [])
    for (let i = 0; i < ROUNDS / BATCHES; i++)
      for (const [k, side] of calls.entries()) times[k].push(await timed(() => side[name](batch * ROUNDS + i)))
    ratios.push(median(times[0]) / median(times[1]))
    for (const [k, list] of times.entries()) all[k].push(...list)
  }
  const [here, there] = all.map(median)
  row(name, `${here.toFixed(2)} ms`, `${there.toFixed(2)} ms`, (here / there).toFixed(2), range(ratios))
}

/** Prints the calls a second on both sides, their ratio, and the milliseconds of processor time that a call costs. */
async function compareRates(name, calls) {
  const turns = []
  for (const side of calls) await load(side[name], 1)
  for (let batch = 0; batch < BATCHES; batch++) {
    const turn = []
    for (const [k, side] of calls.entries()) {
      const used = () => [ticks([sides[k].child.pid]), ticks(postgresOf(sides[k].dataDir))]
      const before = used()
      const { rate, count } = await load(side[name], 2)
      const [node, postgres] = used().map((after, at) => ((after - before[at]) * 10) / count)
      turn.push({ rate, node, postgres })
    }
    turns.push(turn)
  }
  const middle = (k, what) => median(turns.map((turn) => turn[k][what]))
  const cost = (k) => `${middle(k, 'node').toFixed(3)} + ${middle(k, 'postgres').toFixed(3)} ms`
  const ratios = turns.map(([here, there]) => here.rate / there.rate)
  row(name, `${Math.round(middle(0, 'rate'))} /s`, `${Math.round(middle(1, 'rate'))} /s`, median(ratios).toFixed(2), range(ratios), cost(0), cost(1))
}

/** Repeats a read with 16 clients for some seconds. */
async function load({ url, headers }, duration) {
  const { requests, non2xx } = await autocannon({ url, headers, connections: CLIENTS, duration })
  if (non2xx > 0) throw new Error(`${url}: ${non2xx} calls were refused`)
  return { rate: requests.average, count: requests.total }
}
