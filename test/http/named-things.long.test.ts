// @module-tag long
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let owner: TestUser
let browser: TestBrowser
let place: TestProject

beforeAll(async () => {
  owner = await anAdmin(t.ctx)
  place = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'README.md': 'x' } })
  browser = new TestBrowser(t.url)
  await browser.signIn(owner)
}, 120_000)

const ACTIONS =
  'new edit raw history diff - tree blob blame create update preview delete home _sidebar git_access attachments promote latest activity issues merge_requests members followers commits releases tags branches wikis snippets uploads projects groups users settings search explore dashboard api'.split(
    ' ',
  )
const DOTS = ['.', '..', '...', '.a', 'a.', '.git', '.GIT', 'a.git', 'a.atom', 'a.json', 'a.md', 'a.html', 'a.keys', 'a.tar.gz', 'index.html']
const SLASHES = [
  '/',
  '//',
  '/a',
  'a/',
  'b//c',
  'a/edit',
  'a/history',
  'a/diff',
  'a/new',
  'a/raw',
  'c/./d',
  'c/../d',
  '-/tree/x',
  'x/-/y',
  'a\\b',
  '..\\c',
]
const BLANKS = ['', ' ', ' lead', 'trail ', 'in side', 'tab\there', 'line\nbreak', '\u00a0nbsp', 'zero\u200bwidth']
const MARKS = [
  'a%2Fb',
  '%',
  '%25',
  '%zz',
  'a?b',
  'a#b',
  'a+b',
  'a&b=c',
  'a;b',
  "it's",
  'say "x"',
  '<i>x</i>',
  'a:b',
  '@x',
  '~x',
  '^x',
  '*',
  '[x]',
  '$(x)',
  '{x}',
  '|x',
  'a,b',
  '!x',
  '`x`',
]
const LETTERS = [
  'caf\u00e9',
  'cafe\u0301',
  'Case',
  'case',
  'CASE',
  '\u5c71',
  '\u{1f600}',
  '\u202eabc',
  '\u{10ffff}',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  '0',
  '1',
  '-1',
  '007',
  'HEAD',
  'main',
  'refs/heads/main',
  'a'.repeat(40),
  'x'.repeat(200),
  'x'.repeat(255),
  'x'.repeat(256),
  '\u00e9'.repeat(255),
  '\u{1f600}'.repeat(255),
  `${'d/'.repeat(100)}x`,
  'y'.repeat(5_000),
]
const NAMES = [...new Set([...ACTIONS, ...DOTS, ...SLASHES, ...BLANKS, ...MARKS, ...LETTERS])]

const inUrl = (path: string) => path.split('/').map(encodeURIComponent).join('/')

interface Answered {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many kinds
  body: any
}

/** Calls as a client does that normalises addresses: `..` in a path does not reach the service. */
async function api(method: string, path: string, sent?: object): Promise<Answered> {
  const answer = await fetch(`${t.url}/api/v4${path}`, {
    method,
    headers: { 'private-token': owner.token, ...(sent && { 'content-type': 'application/json' }) },
    ...(sent && { body: JSON.stringify(sent) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text }
}

/** What was saved: where it is read, and what is in each of the answers. */
interface Saved {
  /** Its address in the API. */
  at: string
  /** What a read has. */
  shows: object
  /** What a change sends, and what a read has then; nothing if it has no change. */
  change?: { sent: object; shows: object; at?: string; by?: string }
  /** Pages, with a text that only this one has. */
  pages: [path: string, text: string][]
  /** The removal, by default DELETE of its address. */
  removed?: string
}

interface Kind {
  make(name: string): Promise<Answered>
  saved(body: Answered['body'], name: string): Saved
}

let serial = 0
/** A text that only the thing has that is made now. */
let mark = ''
function newMark(): string {
  mark = `marker${++serial}x`
  return mark
}

const KINDS: Record<string, Kind> = {
  'wiki pages': {
    make: (title) => api('POST', `${place.path}/wikis`, { title, content: newMark() }),
    saved: ({ slug }) => ({
      at: `${place.path}/wikis/${encodeURIComponent(slug)}`,
      shows: { slug, content: mark },
      change: { sent: { content: `${mark} changed` }, shows: { slug, content: `${mark} changed` } },
      pages: [
        [`/${place.fullPath}/-/wikis/${inUrl(slug)}`, `${mark} changed`],
        [`/${place.fullPath}/-/wikis/${inUrl(slug)}/edit`, `${mark} changed`],
        [`/${place.fullPath}/-/wikis/${inUrl(slug)}/history`, 'History of'],
      ],
    }),
  },
}

/** What is wrong with a name; empty if it can be reached, or was refused with a reason. */
async function faultsOf(kind: Kind, name: string): Promise<string[]> {
  const made = await kind.make(name)
  if (made.status >= 400) {
    const reason = made.body?.message ?? made.body?.error
    return made.status < 500 && reason && !/^404|^401/.test(String(reason)) ? [] : [`refused with ${made.status} ${JSON.stringify(made.body)}`]
  }
  const { at, shows, change, pages, removed = at } = kind.saved(made.body, name)
  const faults: string[] = []
  const read = async (expected: object, what: string) => {
    const { status, body } = await api('GET', at)
    if (status !== 200) faults.push(`${what}: GET ${at} is ${status}`)
    else
      for (const [key, value] of Object.entries(expected))
        if (JSON.stringify(body[key]) !== JSON.stringify(value)) faults.push(`${what}: ${key} is ${JSON.stringify(body[key])}`)
  }
  await read(shows, 'read')
  if (change) {
    const { status, body } = await api('PUT', change.by ?? at, change.sent)
    if (status !== 200) faults.push(`PUT ${change.by ?? at} is ${status} ${JSON.stringify(body)}`)
    else await read(change.shows, 'changed')
  }
  for (const [path, text] of pages) {
    const page = await browser.open(path)
    const has = page.html.includes(text) || page.text.includes(text) || page.$('textarea').text().includes(text)
    if (page.status !== 200 || !has) faults.push(`page ${path} is ${page.status}${page.status === 200 ? ', another' : ''}, at ${page.at}`)
  }
  const { status, body } = await api('DELETE', removed)
  if (status >= 300) faults.push(`DELETE ${removed} is ${status} ${JSON.stringify(body)}`)
  const after = await api('GET', at)
  if (after.status !== 404) faults.push(`still ${after.status} after its removal`)
  return faults
}

describe('what is saved is read, changed and removed at the address that the answer gives, else it is refused (WK-108)', () => {
  it.each(Object.entries(KINDS))('%s', { timeout: 900_000 }, async (_, kind) => {
    const found: Record<string, string[]> = {}
    for (const name of NAMES) {
      const faults = await faultsOf(kind, name)
      if (faults.length > 0) found[name.length > 60 ? `${name.slice(0, 20)}… (${name.length})` : name] = faults.map((fault) => fault.slice(0, 300))
    }
    expect(found).toEqual({})
  })
})
