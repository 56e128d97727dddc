// Reads real repositories as a visitor: `node bench/crawl.mjs [--pages=300] FOLDER…`, each a bare or other repository.
// Each is pushed to a new service, every link of its pages is followed up to the number of pages, and samples of what
// pages show are compared with what git says. Ends with 1 if a page is 5xx, a link is dead, a page is larger than 6 MiB
// or differs from git.
import { basename, dirname, resolve } from 'node:path'
import { load } from 'cheerio'
import { build } from '../scripts/build.mjs'
import { Bench, native } from './harness.mjs'
import { git } from './repository.mjs'

const MAX_BYTES = 6 * 1024 * 1024
/** A page that takes longer is a fault. */
const MAX_MS = 20_000
/** Samples of each kind and repository: 10 repositories give 500. */
const SAMPLES = 10
/** Commits on the first page of a history. */
const LISTED = 40

const folders = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const wantedPages = Number(/--pages=(\d+)/.exec(process.argv.join(' '))?.[1] ?? 300)
if (folders.length === 0) throw new Error('usage: node bench/crawl.mjs [--pages=300] FOLDER…')

/** The same numbers in each run. */
let state = 1
const below = (limit) => {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31
  return state % limit
}
const pick = (list) => list[below(list.length)]

const read = async (folder, ...args) => (await native(folder, args)).toString('utf8')
const linesOf = (text) => text.split('\n').filter((line) => line !== '')
const inUrl = (bytes) =>
  [...bytes]
    .map((byte) => (/[\w.~/-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`))
    .join('')

await build()
const bench = new Bench({ quick: true })
await bench.start()
const faults = []
let sampled = 0
/** Samples of which the page shows nothing to compare: binary, too large, cut. */
let skipped = 0

async function open(path) {
  const signal = AbortSignal.timeout(MAX_MS)
  const answer = await fetch(bench.url + path, { redirect: 'manual', headers: { accept: 'text/html' }, signal }).catch((error) => {
    throw new Error(`${path}: ${error.message}`)
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  return { status: answer.status, to: answer.headers.get('location'), type: answer.headers.get('content-type') ?? '', bytes }
}

/** Follows redirects within the service. */
async function shown(path) {
  let at = path
  for (let i = 0; i < 5; i++) {
    const answer = await open(at)
    if (answer.status < 300 || answer.status >= 400 || !answer.to) return { at, ...answer }
    const next = new URL(answer.to, bench.url)
    at = next.pathname + next.search
  }
  return { at, ...(await open(at)) }
}

/** Follows links below a project, as many of each kind as of any other. */
async function crawl(start) {
  const queues = new Map([['home', [start]]])
  const seen = new Set([start])
  let pages = 0
  let largest = 0
  while (pages < wantedPages && queues.size > 0) {
    for (const kind of [...queues.keys()]) {
      const queue = queues.get(kind)
      const [path] = queue.splice(below(queue.length), 1)
      if (queue.length === 0) queues.delete(kind)
      const { status, type, bytes, at } = await shown(path)
      pages++
      if (status >= 400 || at.startsWith('/users/sign_in')) faults.push(`${status} ${path}${at === path ? '' : ` (${at})`}`)
      if (!type.startsWith('text/html')) continue
      largest = Math.max(largest, bytes.length)
      if (bytes.length > MAX_BYTES) faults.push(`${bytes.length} bytes ${path}`)
      const $ = load(bytes.toString('utf8'))
      for (const element of $('a[href], img[src]').toArray()) {
        // what is in a text is the author's
        if ($(element).closest('.prose').length > 0) continue
        const [address] = ($(element).attr('href') ?? $(element).attr('src')).split('#')
        if ((!address.startsWith(`${start}/`) && address !== start) || seen.has(address)) continue
        seen.add(address)
        const next = /\/-\/(\w+)/.exec(address.slice(start.length))?.[1] ?? 'home'
        if (!queues.has(next)) queues.set(next, [])
        queues.get(next).push(address)
      }
    }
  }
  return { pages, largest, left: [...queues.values()].reduce((sum, queue) => sum + queue.length, 0) }
}

const differs = (what, path, ours, theirs) => {
  if (ours === null && theirs === null) skipped++
  else sampled++
  if (ours !== theirs)
    faults.push(`${what} differs ${path}\n  page ${JSON.stringify(ours).slice(0, 200)}\n  git  ${JSON.stringify(theirs).slice(0, 200)}`)
}

/** Files of a commit: mode, id and the bytes of the path. */
async function filesOf(folder, commit) {
  const fields = (await native(folder, ['ls-tree', '-r', '-z', commit])).toString('latin1').split('\0')
  return fields.flatMap((line) => {
    const [, mode, type, oid, path] = /^(\d+) (\w+) (\w+)\t([\s\S]+)$/.exec(line) ?? []
    return type === 'blob' && mode !== '120000' ? [{ oid, path: Buffer.from(path, 'latin1') }] : []
  })
}

/** What a page shows of a text: lines without their ends. */
const textLines = (content) => {
  const utf16 = content[0] === 0xff && content[1] === 0xfe ? 'utf-16le' : content[0] === 0xfe && content[1] === 0xff ? 'utf-16be' : null
  if (utf16 === null && content.subarray(0, 8_000).includes(0)) return null
  const lines = new TextDecoder(utf16 ?? 'utf-8', { ignoreBOM: utf16 === null })
    .decode(content)
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
  if (lines.at(-1) === '') lines.pop()
  return lines
}

async function compare(folder, start, head) {
  const commits = linesOf(await read(folder, 'rev-list', head))
  const at = (page, commit, path) => `${start}/-/${page}/${commit}/${inUrl(path)}`
  const cells = ($, selector) =>
    $(selector)
      .toArray()
      .map((cell) => $(cell).text())
  for (let i = 0; i < SAMPLES; i++) {
    const commit = pick(commits)
    const files = await filesOf(folder, commit)
    if (files.length === 0) continue
    const { oid, path } = pick(files)
    const content = await native(folder, ['cat-file', 'blob', oid])
    differs('raw', at('raw', commit, path), (await shown(at('raw', commit, path))).bytes.toString('latin1'), content.toString('latin1'))
    const page = await shown(`${at('blob', commit, path)}?viewer=simple`)
    const $ = load(page.bytes.toString('utf8'))
    const lines = textLines(content)
    // a file that is too large, binary or a picture says so
    const ours = $('.lines').length > 0 ? cells($, '.lines .code').join('\n') : null
    const isText = lines !== null && $('.lines').length > 0
    if (ours === null && lines !== null && lines.length > 0 && $('.note, .picture, img').length === 0)
      faults.push(`no text ${at('blob', commit, path)}`)
    differs('blob', at('blob', commit, path), isText ? ours : null, isText ? lines.join('\n') : null)
    await compareBlame(isText && lines.length < 5_000, { commit, path, $: null, url: at('blame', commit, path) })
    await compareLog({ commit, path, url: at('commits', commit, path) })
    await compareDiff(commit)
  }

  async function compareBlame(isShown, { commit, path, url }) {
    if (!isShown || path.some((byte) => byte > 127)) return differs('blame', url, null, null)
    const $ = load((await shown(url)).bytes.toString('utf8'))
    const ours = []
    for (const row of $('.blame tr').toArray()) {
      const by = $(row).find('td.by')
      const id = /\/commit\/(\w+)/.exec(by.find('a').not('.before').attr('href') ?? '')?.[1]
      for (let n = 0; id && n < Number(by.attr('rowspan') ?? 1); n++) ours.push(id)
    }
    const theirs = (await read(folder, 'blame', '--line-porcelain', commit, '--', path.toString()))
      .split('\n')
      .filter((line) => /^[0-9a-f]{40} \d+ \d+/.test(line))
    differs('blame', url, ours.join(' '), theirs.map((line) => line.slice(0, 40)).join(' '))
  }

  async function compareLog({ commit, path, url }) {
    if (path.some((byte) => byte > 127)) return differs('log', url, null, null)
    const $ = load((await shown(url)).bytes.toString('utf8'))
    const ours = $('.rows .actions code')
      .toArray()
      .map((cell) => /\/commit\/(\w+)/.exec($(cell).closest('a').attr('href'))?.[1])
    const theirs = linesOf(await read(folder, 'log', '--follow', '-M50%', '--format=%H', commit, '--', path.toString()))
    differs('log', url, ours.join(' '), theirs.slice(0, LISTED).join(' '))
  }

  async function compareDiff(commit) {
    const url = `${start}/-/commit/${commit}`
    const $ = load((await shown(url)).bytes.toString('utf8'))
    const parent = (await read(folder, 'rev-list', '--parents', '-1', commit)).trim().split(' ')[1]
    const stat = linesOf(await read(folder, 'diff-tree', '-r', '-M', '--root', '--numstat', ...(parent ? [parent] : []), commit)).filter(
      (line) => /^\d|^-/.test(line) && !/^[0-9a-f]{40}$/.test(line),
    )
    const sum = (column) => stat.reduce((all, line) => all + (Number(line.split('\t')[column]) || 0), 0)
    // a change that is too large is cut, and says so
    if ($('.flash.alert').length > 0 || $('.diff .note').length > 0) return differs('diff', url, null, null)
    differs('diff', url, `${$('.diff').length} +${$('tr.added').length} -${$('tr.removed').length}`, `${stat.length} +${sum(0)} -${sum(1)}`)
  }
}

const rows = []

async function readWhole(given) {
  const folder = resolve(given)
  const name = (basename(folder) === 'repo' ? basename(dirname(folder)) : basename(folder)).replace(/[^\w.-]/g, '-').replace(/\.git$/, '')
  const project = await bench.project(name, { visibility: 'public', lfs_enabled: false })
  const head = (await read(folder, 'symbolic-ref', 'HEAD')).trim().replace('refs/heads/', '')
  git(folder, ['push', '-q', bench.remote(project.path_with_namespace), `refs/heads/${head}:refs/heads/${head}`])
  for (const refs of ['heads', 'tags']) git(folder, ['push', '-q', bench.remote(project.path_with_namespace), `refs/${refs}/*:refs/${refs}/*`])
  const commits = Number(await read(folder, 'rev-list', '--count', head))
  const [before, start] = [faults.length, `/${project.path_with_namespace}`]
  const begun = performance.now()
  const { pages, largest, left } = await crawl(start)
  await compare(folder, start, head)
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0)
  rows.push(`| ${name} | ${commits} | ${pages} | ${left} | ${(largest / 1024).toFixed(0)} KiB | ${faults.length - before} | ${seconds} s |`)
  process.stdout.write(`${rows.at(-1)}\n`)
}

try {
  for (const folder of folders)
    await readWhole(folder).catch((error) => {
      faults.push(`${folder}: ${error.message.trim()}`)
    })
} finally {
  await bench.close()
}
process.stdout.write(
  `\n| repository | commits | pages read | links left | largest page | faults | time |\n|---|---|---|---|---|---|---|\n${rows.join('\n')}\n\n${sampled} samples compared with git, ${skipped} with nothing to compare, ${faults.length} faults\n`,
)
for (const fault of faults.slice(0, 100)) process.stdout.write(`${fault}\n`)
process.exit(faults.length > 0 ? 1 : 0)
