import { resolve } from 'node:path'
import { Bench, call, timed } from './harness.mjs'
import { seed } from './seed.mjs'

/**
 * Compares this build with another one, on the same data, in turns: `node bench/versus.mjs FOLDER [WORD]`, where FOLDER
 * is a checkout that has been built, and only calls with WORD in their names are measured.
 */
const [folder, word = ''] = process.argv.slice(2)
const ROUNDS = 400
const BATCHES = 5

const sides = [new Bench({ quick: true }), new Bench({ quick: true, program: resolve(folder, 'dist/main.js') })]
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]

try {
  const calls = []
  for (const side of sides) {
    await side.start({ LOG_LEVEL: 'error' })
    calls.push(await callsOf(side))
  }
  for (const side of sides) await side.quiet()
  for (const name of Object.keys(calls[0]).filter((each) => each.includes(word))) await compare(name, calls)
} finally {
  for (const side of sides) await side.close()
}

/** Calls by name, each a function of the number of the round. */
async function callsOf(bench) {
  const { project, user } = await seed(bench)
  const p = `${bench.api}/projects/${project.id}`
  const { token } = await call(`${bench.api}/users/${user.id}/impersonation_tokens`, { method: 'POST', body: { name: 'x', scopes: ['api'] } })
  const get = (path) => () => call(path, { headers: { 'private-token': token } })
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
    '20 projects': get(`${bench.api}/projects`),
    '100 issues': get(`${p}/issues?per_page=100`),
    '20 issues of all projects': get(`${bench.api}/issues?scope=all`),
    'issues by a search': get(`${p}/issues?search=issue+77`),
    'issues by a search, by update': get(`${p}/issues?search=description&order_by=updated_at&per_page=20&page=3`),
    '20 merge requests': get(`${p}/merge_requests`),
    '100 commits': get(`${p}/repository/commits?per_page=100`),
    'a cherry-pick that is tried': () =>
      call(`${p}/repository/commits/${picked.id}/cherry_pick`, { method: 'POST', body: { branch: 'main', dry_run: true } }),
    'a comment': (round) => call(`${p}/issues/1/notes`, { method: 'POST', body: { body: `comment ${round}` } }),
    'an issue is made': (round) => call(`${p}/issues`, { method: 'POST', body: { title: `new ${round}`, labels: 'label1' } }),
  }
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
  ratios.sort((a, b) => a - b)
  const range = `${ratios[0].toFixed(2)} to ${ratios.at(-1).toFixed(2)}`
  process.stdout.write(`| ${name} | ${here.toFixed(2)} ms | ${there.toFixed(2)} ms | ${(here / there).toFixed(2)} | ${range} |\n`)
}
