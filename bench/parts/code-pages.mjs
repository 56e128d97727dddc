import { fork, spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { availableParallelism, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cache, call } from '../harness.mjs'
import { LOOP } from '../loop.mjs'
import { aReader, get } from '../reader.mjs'
import { generated, git } from '../repository.mjs'

/** Files and commits that are opened once each, and a change that is larger than what a page shows. */
const COLD = 30
const MANY_FILES = 1_500
const READERS = 8
const SECONDS = 6

const at = (times, part) => [...times].sort((a, b) => a - b)[Math.floor((times.length - 1) * part)]

/** Writes how long the loop was held while the thread ran, when it gets SIGUSR2, and begins anew. */
const MONITOR = `${LOOP}
process.on('SIGUSR2', () => {
  writeFileSync(process.env.LOOP_FILE, longest.toFixed(1))
  longest = 0
})`

/** Pages of code, against the calls of the API that give the same data, one after the other, by the same person. */
export async function codePages(bench) {
  const loop = join(bench.scratch, 'loop')
  await bench.stop()
  const options = `--import data:text/javascript;base64,${Buffer.from(MONITOR).toString('base64')}`
  await bench.start({ NODE_OPTIONS: options, LOOP_FILE: loop })
  const { project, head, cold, largest } = await seeded(bench)
  const reader = await aReader(bench, project)
  await bench.quiet()
  const p = `/projects/${project.id}`
  const file = 'sources/file0.ts'
  const ofFile = (path) => `${p}/repository/files/${encodeURIComponent(path)}`
  const list = 'per_page=40'
  const pages = [
    [
      'a project',
      '',
      [
        `${p}/repository/tree?per_page=100`,
        `${ofFile('README.md')}/raw?ref=main`,
        `${p}/repository/commits?per_page=1`,
        `${p}/pipelines?sha=${head}`,
        `${p}/languages`,
        `${p}/releases?per_page=1`,
      ],
    ],
    ['a folder', '/-/tree/main/src/m1', [`${p}/repository/tree?path=src/m1&per_page=100`, `${p}/repository/commits?per_page=1&path=src/m1`]],
    ['a file', `/-/blob/main/${file}`, [`${ofFile(file)}?ref=main`, `${p}/repository/commits?per_page=1&path=${file}`]],
    ['a blame', `/-/blame/main/${file}`, [`${ofFile(file)}?ref=main`, `${ofFile(file)}/blame?ref=main`]],
    ['commits', '/-/commits/main', [`${p}/repository/commits?${list}`, `${p}/pipelines?${list}`]],
    [
      'a commit',
      `/-/commit/${head}`,
      ['', '/diff', '/discussions', '/statuses', '/signature'].map((part) => `${p}/repository/commits/${head}${part}`),
    ],
    ['a comparison', '/-/compare/branch18...main', [`${p}/repository/compare?from=branch18&to=main`]],
    ['branches', '/-/branches', [`${p}/repository/branches?per_page=30&sort=updated_desc`]],
    ['tags', '/-/tags', [`${p}/repository/tags?per_page=30`]],
    ['pipelines', '/-/pipelines', [`${p}/pipelines?per_page=30`]],
    ['a search', '/-/search?search=value7&scope=blobs', [`${p}/search?scope=blobs&search=value7`]],
  ]
  const open = (path) => reader.page(`/${project.path_with_namespace}${path}`)
  const ask = async (paths) => {
    for (const path of [p, ...paths]) await reader.api(path)
  }
  const [rounds, only] = [4 * bench.rounds, (what) => what.includes(bench.only)]
  for (const [what, path, calls] of pages.filter(([what]) => only(what))) {
    for (let i = 0; i < 10; i++) await open(path)
    bench.row(
      `page of ${what}, against its API calls`,
      ...(await bench.interleaved(
        () => open(path),
        () => ask(calls),
        rounds,
      )),
      2,
    )
  }
  // each round opens something new
  const coldPages = [
    [
      'a file',
      (i) => `/-/blob/main/${cold.files[i]}`,
      (i) => [`${ofFile(cold.files[i])}?ref=main`, `${p}/repository/commits?per_page=1&path=${cold.files[i]}`],
    ],
    [
      'a commit',
      (i) => `/-/commit/${cold.commits[i]}`,
      (i) => ['', '/diff', '/discussions', '/statuses', '/signature'].map((part) => `${p}/repository/commits/${cold.commits[i]}${part}`),
    ],
  ]
  for (const [what, path, calls] of coldPages.filter(([what]) => only(what))) {
    const counts = [0, COLD]
    const next = (side) => counts[side]++
    const ours = () => open(path(next(0)))
    const theirs = () => ask(calls(next(1)))
    bench.row(`page of ${what} opened for the first time, against its API calls`, ...(await bench.interleaved(ours, theirs, COLD - 1)), 4)
  }
  if (only('readers')) await besideReaders(bench, { reader, p, page: `/${project.path_with_namespace}/-/commit/${largest}`, loop })
}

/** How long another caller waits for a project while many read the largest page of changes. */
async function besideReaders(bench, { reader, p, page, loop }) {
  const other = await aReader(bench)
  const measure = async () => {
    const times = []
    for (const end = Date.now() + SECONDS * 1_000; Date.now() < end; ) {
      const start = performance.now()
      await other.api(p)
      times.push(performance.now() - start)
      await setTimeout(2)
    }
    return times
  }
  await measure()
  const quiet = await measure()
  // in a process of low priority on the last core, so that the cost of reading is not measured
  const readers = fork(fileURLToPath(import.meta.url), [JSON.stringify({ url: bench.url, page, cookie: reader.cookie })])
  setPriority(readers.pid, 19)
  spawnSync('taskset', ['-a', '-p', '-c', String(availableParallelism() - 1), String(readers.pid)])
  await setTimeout(2_000)
  const held = []
  await heldOf(bench, loop)
  const beside = await measure()
  held.push(await heldOf(bench, loop))
  if (!readers.kill('SIGKILL')) throw new Error('the readers have ended before the measurement')
  bench.row(`GET /projects/:id beside ${READERS} readers of the largest page of changes, against a quiet one`, at(beside, 0.5), at(quiet, 0.5), 2)
  bench.figure('event loop, meanwhile', Math.max(...held), 50, 'ms')
}

async function heldOf(bench, file) {
  rmSync(file, { force: true })
  process.kill(bench.child.pid, 'SIGUSR2')
  for (;;) {
    await setTimeout(20)
    try {
      const text = readFileSync(file, 'utf8')
      if (text !== '') return Number(text)
    } catch {}
  }
}

/** 6,000 commits with sources, branches, tags, statuses and a release; the last ones change much. */
async function seeded(bench) {
  const project = await bench.project('code', { visibility: 'public' })
  const folder = join(bench.scratch, 'code')
  git(bench.scratch, ['clone', '-q', '--bare', generated(cache, { commits: 6_000, files: 500 }), folder])
  const source = (i, changed) =>
    Array.from(
      { length: 60 },
      (_, n) => `export const value${n} = work(${i}, '${changed && n % 6 === 3 ? 'other' : 'same'}${n}') // line ${n}\n`,
    ).join('')
  let mark = 0
  const commit = (files, branch = 'main') => {
    const from = mark === 0 ? 'refs/heads/main^0' : `:${mark}`
    const entries = files.map(([path, text]) => `M 100644 inline ${path}\ndata ${text.length}\n${text}\n`)
    return `commit refs/heads/${branch}\nmark :${++mark}\ncommitter Ada <ada@example.com> ${1_700_000_000 + mark} +0000\ndata 6\nChange\nfrom ${from}\n${entries.join('')}`
  }
  const all = (changed) => Array.from({ length: MANY_FILES }, (_, i) => [`many/m${i % 30}/file${i}.ts`, source(i, changed)])
  const sources = Array.from({ length: 2 * COLD }, (_, i) => [`sources/file${i}.ts`, source(i, false)])
  const parts = [
    commit([['README.md', `# Code\n\n${'What it does, with `code`. '.repeat(40)}\n`], ...sources, ...all(false)]),
    commit(all(true)),
    ...Array.from({ length: 2 * COLD + 1 }, (_, i) =>
      commit([0, 1, 2, 3, 4].map((n) => [`sources/file${(i + 12 * n) % (2 * COLD)}.ts`, source(1_000 * (i + 1) + n, true)])),
    ),
  ]
  git(folder, ['fast-import', '--quiet'], parts.join(''))
  const heads = git(folder, ['rev-list', '--max-count=300', 'main']).toString().trim().split('\n')
  git(folder, ['update-ref', '--stdin'], heads.map((sha, i) => `create refs/${i % 3 === 0 ? 'heads/branch' : 'tags/v'}${i} ${sha}\n`).join(''))
  git(folder, ['push', '-q', bench.remote(project.path_with_namespace), 'refs/heads/main'])
  git(folder, ['push', '-q', bench.remote(project.path_with_namespace), 'refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*'])
  const post = (path, body) => call(`${bench.api}/projects/${project.id}${path}`, { method: 'POST', body })
  for (let i = 0; i < 60; i++) await post(`/statuses/${heads[i % 40]}`, { state: 'success', ref: 'main', name: `test ${i}` })
  await post('/releases', { tag_name: 'v1', name: 'One', description: 'First.' })
  const commits = heads.slice(0, 2 * COLD + 1)
  return { project, head: commits[0], cold: { files: sources.map(([path]) => path), commits: commits.slice(1) }, largest: heads[2 * COLD + 1] }
}

async function readPages({ url, page, cookie }) {
  const run = async () => {
    for (;;) await get(url + page, { cookie, accept: 'text/html', 'accept-encoding': 'br' })
  }
  await Promise.all(Array.from({ length: READERS }, run))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await readPages(JSON.parse(process.argv[2]))
