import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { median, root, timed } from '../harness.mjs'
import { aReader } from '../reader.mjs'
import { git } from '../repository.mjs'

/** Lines of a file, and how many of them a change has on each side, in runs of ten. */
const [LINES, CHANGED, RUN] = [2_000, 250, 10]
/** Changes and texts that are opened once each; starts of the service; pauses in which its threads end. */
const [COLD, STARTS, PAUSES] = [20, 3, 3]
/** Longer than a thread stays without work. */
const PAUSE = 11_000

/** Changes in colour against the same without, and a README with HTML and pictures against the same without. */
export async function rendering(bench) {
  const { changes, texts } = await seeded(bench)
  const reader = await aReader(bench, changes.project)
  const others = [`/${changes.project.path_with_namespace}`, '/dashboard', `/${changes.project.path_with_namespace}/-/commits/main`]
  const elsewhere = async () => {
    for (let i = 0; i < 10; i++) for (const path of others) await reader.page(path)
  }
  for (const { what, ways, bars } of [changes, texts]) {
    const used = ways.map(() => 0)
    const next = (way) => ways[way][used[way]++]
    const open = (path) => timed(() => reader.page(path))
    const rows = { 'the first of the process': [[], []], 'after a pause': [[], []], 'never shown before': [[], []], again: [[], []] }
    const take = async (row) => {
      for (const way of [1, 0]) rows[row][way].push(await open(next(way)))
    }
    for (let i = 0; i < STARTS; i++) {
      await bench.stop()
      await bench.start()
      await bench.quiet()
      await elsewhere()
      // the plain one is not the first of its kind
      await open(next(1))
      await take('the first of the process')
    }
    for (let i = 0; i < 5; i++) for (const way of [0, 1]) await open(next(way))
    for (let i = 0; i < COLD; i++) await take('never shown before')
    for (let i = 0; i < PAUSES; i++) {
      await setTimeout(PAUSE)
      await elsewhere()
      await take('after a pause')
    }
    const paths = ways.map((way, i) => way[used[i] - 1])
    for (let i = 0; i < bench.rounds; i++) for (const way of [1, 0]) rows.again[way].push(await open(paths[way]))
    for (const [row, [ours, theirs]] of Object.entries(rows)) bench.row(`${what}, ${row}`, median(ours), median(theirs), bars[row])
  }
}

/** A repository whose commits each change one file of a language, or the same file without one, and its texts. */
async function seeded(bench) {
  const project = await bench.project('rendered', { visibility: 'public' })
  const folder = join(bench.scratch, 'rendered')
  git(bench.scratch, ['init', '-q', '--bare', folder])
  const count = 2 * STARTS + COLD + PAUSES + 6
  const sources = sourcesOf(count)
  const files = (change) =>
    sources.flatMap((lines, i) => ['ts', 'unknown'].map((ending) => [`src/file${i}.${ending}`, change === i ? changed(lines) : lines]))
  let mark = 0
  const commit = (entries) =>
    `commit refs/heads/main\nmark :${++mark}\ncommitter Ada <ada@example.com> ${1_700_000_000 + mark} +0000\ndata 6\nChange\n${mark > 1 ? `from :${mark - 1}\n` : ''}${entries
      .map(([path, text]) => `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`)
      .join('')}`
  const text = (lines) => `${lines.join('\n')}\n`
  const readmes = Array.from({ length: count }, (_, i) => [
    [`texts/html${i}.md`, readme(i, true)],
    [`texts/plain${i}.md`, readme(i, false)],
  ])
  const first = commit([['README.md', '# Rendered\n'], ...files(-1).map(([path, lines]) => [path, text(lines)]), ...readmes.flat()])
  const commits = sources.flatMap((lines, i) => ['ts', 'unknown'].map((ending) => commit([[`src/file${i}.${ending}`, text(changed(lines))]])))
  git(folder, ['fast-import', '--quiet'], [first, ...commits].join(''))
  git(folder, ['push', '-q', bench.remote(project.path_with_namespace), 'refs/heads/main'])
  const heads = git(folder, ['rev-list', '--reverse', 'main']).toString().trim().split('\n').slice(1)
  const at = `/${project.path_with_namespace}/-`
  return {
    changes: {
      project,
      what: `a change of ${2 * CHANGED} lines in colour, against the same without`,
      ways: [0, 1].map((way) => heads.filter((_, i) => i % 2 === way).map((sha) => `${at}/commit/${sha}`)),
      bars: { 'the first of the process': 4, 'after a pause': 4, 'never shown before': 4, again: 1.5 },
    },
    texts: {
      what: 'a README of 30 KB with HTML and 40 pictures, against the same text',
      ways: [0, 1].map((way) => readmes.map((each) => `${at}/blob/main/${each[way][0]}`)),
      bars: { 'the first of the process': 2, 'after a pause': 2, 'never shown before': 2, again: 2 },
    },
  }
}

/** Files of programs as they are written: lines of this one, each beginning elsewhere. */
function sourcesOf(count) {
  const folder = join(root, 'src/services')
  const lines = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
  const step = Math.floor((lines.length - LINES) / count)
  return Array.from({ length: count }, (_, i) => lines.slice(i * step, i * step + LINES))
}

function changed(lines) {
  const every = (LINES * RUN) / CHANGED
  return lines.map((line, n) => (n % every < RUN ? `${line.replace(/[a-z]\w+/, '$&Other')} // ${n}` : line))
}

const SENTENCE = 'It reads `settings` and [writes](docs/one.md) what **has changed** since the last time. '
const CODE = '```js\nconst value = work(1, "two") // three\nexport default value\n```\n'

/** About 30 KB; with HTML the pictures, a table and folded parts are tags. */
function readme(i, hasHtml) {
  const picture = (n) => `pictures/${i}-${n}.png`
  const part = (n) =>
    [
      `## Part ${n} of ${i}`,
      hasHtml
        ? `<p align="center"><a href="docs/${n}.md"><img src="${picture(n)}" width="400" height="200" alt="Picture ${n}"></a><br><sub>Picture ${n}</sub></p>`
        : `[Picture ${n}](docs/${n}.md)`,
      SENTENCE.repeat(4 + (n % 4)),
      n % 8 === 0 ? CODE : `- one ${n}\n- two\n- [ ] three`,
      hasHtml && n % 5 === 0
        ? `<details><summary>More of ${n}</summary>\n\n${SENTENCE}\n\n</details>\n\n<table><tr><th>Key</th><td><kbd>Ctrl</kbd></td></tr></table>`
        : SENTENCE,
    ].join('\n\n')
  return `# Text ${i}\n\n${Array.from({ length: 40 }, (_, n) => part(n)).join('\n\n')}\n`
}
