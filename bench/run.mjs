import { cpus } from 'node:os'
import { Bench } from './harness.mjs'
import { administration } from './parts/administration.mjs'
import { archive } from './parts/archive.mjs'
import { backend } from './parts/backend.mjs'
import { cherryPick } from './parts/cherry-pick.mjs'
import { ci } from './parts/ci.mjs'
import { codePages } from './parts/code-pages.mjs'
import { commits } from './parts/commits.mjs'
import { costs } from './parts/costs.mjs'
import { everyCall } from './parts/every-call.mjs'
import { flood } from './parts/flood.mjs'
import { forks } from './parts/forks.mjs'
import { groups } from './parts/groups.mjs'
import { history } from './parts/history.mjs'
import { hooks } from './parts/hooks.mjs'
import { hooksAfterKill } from './parts/hooks-after-kill.mjs'
import { issues } from './parts/issues.mjs'
import { lfs } from './parts/lfs.mjs'
import { mergeRequests } from './parts/merge-requests.mjs'
import { mergeRequestsGit } from './parts/merge-requests-git.mjs'
import { packages } from './parts/packages.mjs'
import { people } from './parts/people.mjs'
import { projects } from './parts/projects.mjs'
import { reads } from './parts/reads.mjs'
import { refs } from './parts/refs.mjs'
import { rendering } from './parts/rendering.mjs'
import { reviews } from './parts/reviews.mjs'
import { search } from './parts/search.mjs'
import { signIn } from './parts/sign-in.mjs'
import { ssh } from './parts/ssh.mjs'
import { start } from './parts/start.mjs'
import { statuses } from './parts/statuses.mjs'
import { upkeep } from './parts/upkeep.mjs'
import { wire } from './parts/wire.mjs'
import { workers } from './parts/workers.mjs'
import { writeResults } from './results.mjs'

/** In the order of the table. */
const PARTS = {
  start,
  reads,
  commits,
  'cherry-pick': cherryPick,
  archive,
  statuses,
  ci,
  projects,
  forks,
  people,
  groups,
  issues,
  'merge-requests-git': mergeRequestsGit,
  'merge-requests': mergeRequests,
  upkeep,
  search,
  flood,
  'sign-in': signIn,
  reviews,
  'code-pages': codePages,
  rendering,
  wire,
  refs,
  backend,
  ssh,
  lfs,
  packages,
  hooks,
  'hooks-after-kill': hooksAfterKill,
  administration,
  workers,
}

/** Parts that print their own tables and run only if named. */
const TABLES = { 'every-call': everyCall, costs, history }
const all = { ...PARTS, ...TABLES }

// npm run bench -- [PART...] [--quick] [--only WORD]: `--only` is for every-call, and measures the calls with this word
const given = process.argv.slice(2)
const at = given.indexOf('--only')
const [, only = ''] = at < 0 ? [] : given.splice(at, 2)
const words = given.filter((word) => !word.startsWith('--'))
const unknown = words.filter((word) => !Object.hasOwn(all, word))
if (unknown.length > 0) throw new Error(`no part is called ${unknown.join(', ')}; there are ${Object.keys(all).join(', ')}`)
const chosen = words.length > 0 ? words : Object.keys(PARTS)

const bench = new Bench({ quick: given.includes('--quick'), only })
try {
  bench.figure('first start to ready', await bench.start(), 3_000, 'ms')
  for (const name of chosen) await all[name](bench)
} finally {
  await bench.close()
}
if (bench.rows.length > 1) report(bench.rows)

function report(rows) {
  const number = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1))
  const lines = rows.map(({ what, ours, theirs, ratio, bar, unit, atLeast, holds }) =>
    theirs === 1
      ? `| ${what} | ${number(ours)} ${unit} | | | at most ${bar} ${unit} | ${holds ? 'yes' : '**no**'} |`
      : `| ${what} | ${number(ours)} ${unit} | ${number(theirs)} ${unit} | ${ratio.toFixed(2)} | ${atLeast ? 'at least' : 'at most'} ${bar} | ${holds ? 'yes' : '**no**'} |`,
  )
  const text = `Medians of one run on ${cpus().length} cores (Node ${process.version}), both sides measured in turns in that run; read the ratios, not the figures.
"Theirs" is a native git spawned for the purpose, or a bare Fastify that sends the same list.

| what | Roost | theirs | ratio | bar | holds |
| --- | ---: | ---: | ---: | --- | --- |
${lines.join('\n')}
`
  // partial results are only printed
  if (chosen.length === Object.keys(PARTS).length) writeResults('Results of `npm run bench`', text)
  process.stdout.write(`\n${text}`)
  if (rows.some(({ holds }) => !holds)) process.exitCode = 1
}
