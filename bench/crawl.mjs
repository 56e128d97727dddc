// Reads real repositories as a visitor: `node bench/crawl.mjs [--pages=300] FOLDER…`, each a bare or other repository.
// Each is pushed to a new service, every link of its pages is followed up to the number of pages, and samples of what
// pages show are compared with what git says. Ends with 1 if a page is 5xx, a link is dead, a page is larger than 6 MiB
// or differs from git.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { load } from 'cheerio'
import { build } from '../scripts/build.mjs'
import { Bench, call, native } from './harness.mjs'

const MAX_BYTES = 6 * 1024 * 1024
/** A page that takes longer is a fault. */
const MAX_MS = 20_000
/** Samples of each kind and repository: raw, blob, blame, log, diff; 10 repositories give 500. */
const SAMPLES = 12
/** Refs of one push; the service takes up to 10,000. */
const AT_ONCE = 5_000
/** What pages of files show. */
const [MAX_SHOWN, MAX_LINES] = [1024 * 1024, 20_000]
const IMAGE = /\.(?:png|jpe?g|gif|webp|bmp|ico|avif)$/i
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
const key = join(bench.scratch, 'key')
execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
await call(`${bench.api}/user/keys`, { method: 'POST', body: { title: 'crawl', key: readFileSync(`${key}.pub`, 'utf8') } })
/** Over HTTP, a client looks through all its branches for each that it pushes: hours for 100,000. */
const overSsh = [
  '-c',
  `core.sshCommand=ssh -F /dev/null -i ${key} -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`,
]
const faults = []
/** Samples of each kind. */
const sampled = {}

async function open(path) {
  const signal = AbortSignal.timeout(MAX_MS)
  const failed = (error) => {
    throw new Error(`${path}: ${error.message}`)
  }
  const answer = await fetch(bench.url + path, { redirect: 'manual', headers: { accept: 'text/html' }, signal }).catch(failed)
  const bytes = Buffer.from(await answer.arrayBuffer().catch(failed))
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
  sampled[what] = (sampled[what] ?? 0) + 1
  if (ours === theirs) return
  const at = [...ours].findIndex((letter, i) => letter !== theirs[i])
  const from = Math.max(0, at - 20)
  const around = (text) => `${text.length} ${JSON.stringify(text.slice(from, from + 200))}`
  faults.push(`${what} differs ${path} at ${at}\n  page ${around(ours)}\n  git  ${around(theirs)}`)
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

/** What the page says in place of the lines of a file; '' where it shows them. */
const insteadOfLines = (content, lines, path) => {
  if (IMAGE.test(path)) return 'picture'
  if (content.length > MAX_SHOWN) return 'too large'
  if (content.length < 1_024 && content.toString('latin1').startsWith('version https://git-lfs.github.com/spec/v1\n')) return 'Git LFS'
  if (lines === null) return 'binary'
  if (lines.length > MAX_LINES) return 'too many lines'
  return lines.length === 0 ? 'empty' : ''
}

const saysInstead = ($) => {
  if ($('.box.file .picture img').length > 0) return 'picture'
  return /too large|Git LFS|binary|too many lines|empty/.exec($('.box.file .note, .box.file .empty').text())?.[0] ?? 'no lines'
}

/** The files of a change as git shows them: the name, the counts, and the lines with their signs. */
async function changesByGit(folder, commit) {
  const parent = (await read(folder, 'rev-list', '--parents', '-1', commit)).trim().split(' ')[1]
  const diff = (...args) => native(folder, ['diff-tree', '-r', '-M', '--no-commit-id', '--root', ...args, ...(parent ? [parent] : []), commit])
  const fields = (await diff('-z', '--numstat')).toString('utf8').split('\0')
  const files = []
  for (let at = 0; at < fields.length - 1; at++) {
    const [added, removed, path] = fields[at].split('\t')
    files.push({ path: path === '' ? fields[at + 2] : path, added, removed, lines: [] })
    if (path === '') at += 2
  }
  let [n, isBody] = [-1, false]
  for (const line of (await diff('-p')).toString('utf8').split('\n')) {
    if (line.startsWith('diff --git ')) [n, isBody] = [n + 1, false]
    else if (line.startsWith('@@ ')) isBody = true
    else if (isBody && /^[-+ ]/.test(line)) files[n].lines.push(line)
  }
  return files
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
    await compareDiff(commit)
    const files = await filesOf(folder, commit)
    if (files.length === 0) continue
    const { oid, path } = pick(files)
    const content = await native(folder, ['cat-file', 'blob', oid])
    differs('raw', at('raw', commit, path), (await shown(at('raw', commit, path))).bytes.toString('latin1'), content.toString('latin1'))
    const page = await shown(`${at('blob', commit, path)}?viewer=simple`)
    const $ = load(page.bytes.toString('utf8'))
    const lines = textLines(content)
    const instead = insteadOfLines(content, lines, path.toString('latin1'))
    const hasLines = instead === ''
    const ours = $('.lines').length > 0 ? cells($, '.lines .code').join('\n') : saysInstead($)
    differs('blob', at('blob', commit, path), ours, hasLines ? lines.join('\n') : instead)
    // git's arguments are text
    if (!Buffer.from(path.toString()).equals(path)) continue
    await compareBlame(hasLines, { commit, path: path.toString(), url: at('blame', commit, path) })
    await compareLog({ commit, path: path.toString(), url: at('commits', commit, path) })
  }

  async function compareBlame(hasLines, { commit, path, url }) {
    const $ = load((await shown(url)).bytes.toString('utf8'))
    if (!hasLines) return differs('blame', url, `${$('.blame tr').length} lines`, '0 lines')
    const ours = []
    for (const row of $('.blame tr').toArray()) {
      const by = $(row).find('td.by')
      const id = /\/commit\/(\w+)/.exec(by.find('a').not('.before').attr('href') ?? '')?.[1]
      for (let n = 0; id && n < Number(by.attr('rowspan') ?? 1); n++) ours.push(id)
    }
    const theirs = (await read(folder, 'blame', '--line-porcelain', commit, '--', path))
      .split('\n')
      .filter((line) => /^[0-9a-f]{40} \d+ \d+/.test(line))
    differs('blame', url, ours.join(' '), theirs.map((line) => line.slice(0, 40)).join(' '))
  }

  async function compareLog({ commit, path, url }) {
    const $ = load((await shown(url)).bytes.toString('utf8'))
    const ours = $('.rows .actions code')
      .toArray()
      .map((cell) => /\/commit\/(\w+)/.exec($(cell).closest('a').attr('href'))?.[1])
    const theirs = linesOf(await read(folder, 'log', '--follow', '-M50%', '--format=%H', commit, '--', path))
    differs('log', url, ours.join(' '), theirs.slice(0, LISTED).join(' '))
  }

  /** The names and counts of all files that the page lists, and each line of those that it shows. */
  async function compareDiff(commit) {
    const url = `${start}/-/commit/${commit}`
    const $ = load((await shown(url)).bytes.toString('utf8'))
    const theirs = await changesByGit(folder, commit)
    const boxes = $('.box.diff').toArray()
    const names = cells($, 'details.summary li a')
    const counts = cells($, 'details.summary li .counts')
    const isCut = $('.flash.alert').length > 0
    const [ours, wanted] = [[], []]
    for (const [i, { path, added, removed, lines }] of theirs.slice(0, isCut ? boxes.length : undefined).entries()) {
      const rows = $(boxes[i])
        .find('tr')
        .toArray()
        .filter((row) => $(row).is('.added, .removed, .context'))
      const texts = rows.map((row) => `${$(row).is('.added') ? '+' : $(row).is('.removed') ? '-' : ' '}${$(row).find('.code').text()}`)
      // what is too large has no lines, and says so
      const note = $(boxes[i]).find('.note').text()
      const isLeft = /not shown here|too large/.test(note)
      const isUncounted = /too large/.test(note) && lines.length > 0
      ours.push([names[i], isUncounted ? 'large' : counts[i], ...(isLeft ? [] : texts)].join('\n'))
      wanted.push([path, isUncounted ? 'large' : `+${Number(added) || 0} −${Number(removed) || 0}`, ...(isLeft ? [] : lines)].join('\n'))
    }
    const last = isCut ? '' : boxes.length
    differs('diff', url, [...ours, last].join('\n'), [...wanted, isCut ? '' : theirs.length].join('\n'))
  }
}

const samplesText = () =>
  `${Object.values(sampled).reduce((sum, n) => sum + n, 0)} samples (${Object.entries(sampled)
    .map(([what, n]) => `${n} ${what}`)
    .join(', ')})`

const rows = []

const push = (folder, { ssh_url_to_repo: url }, refs) => native(folder, [...overSsh, 'push', '-q', url, `${refs}:${refs}`])

/** Pushes all branches or tags, from repositories that have as many of them as a push may update. */
async function pushMany(folder, project, refs) {
  const all = linesOf(await read(folder, 'for-each-ref', '--format=create %(refname) %(objectname)', refs))
  for (let i = 0; i < all.length; i += AT_ONCE) {
    const part = mkdtempSync(join(bench.scratch, 'part-'))
    await native(part, ['init', '-q', '--bare'])
    writeFileSync(join(part, 'objects/info/alternates'), `${resolve(folder, await read(folder, 'rev-parse', '--git-path', 'objects'))}`)
    await native(part, ['-c', 'core.fsync=none', 'update-ref', '--stdin'], { input: `${all.slice(i, i + AT_ONCE).join('\n')}\n` })
    await push(part, project, `${refs}/*`)
  }
}

async function readWhole(given) {
  const folder = resolve(given)
  const name = (basename(folder) === 'repo' ? basename(dirname(folder)) : basename(folder)).replace(/[^\w.-]/g, '-').replace(/\.git$/, '')
  const project = await bench.project(name, { visibility: 'public', lfs_enabled: false })
  const head = (await read(folder, 'symbolic-ref', 'HEAD')).trim().replace('refs/heads/', '')
  await push(folder, project, `refs/heads/${head}`)
  // a snapshot may lack objects of other branches
  for (const refs of ['refs/heads', 'refs/tags']) await pushMany(folder, project, refs).catch(() => undefined)
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
  `\n| repository | commits | pages read | links left | largest page | faults | time |\n|---|---|---|---|---|---|---|\n${rows.join('\n')}\n\n${samplesText()} compared with git, ${faults.length} faults\n`,
)
for (const fault of faults.slice(0, 100)) process.stdout.write(`${fault}\n`)
process.exit(faults.length > 0 ? 1 : 0)
