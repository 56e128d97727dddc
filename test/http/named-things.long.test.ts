// @module-tag long
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { basic } from '../routes/packages/packages.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, type TestProject, type TestUser } from '../support/factories.js'
import { npmDocument } from '../support/furnished.js'

const t = testApp()
let owner: TestUser
let browser: TestBrowser
let place: TestProject
let group: { id: number }

beforeAll(async () => {
  owner = await anAdmin(t.ctx)
  browser = new TestBrowser(t.url)
  await browser.signIn(owner)
}, 120_000)

beforeEach(async () => {
  place = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'README.md': 'x' } })
  group = await aGroup(t.ctx, { creator: owner })
})

const ACTIONS = 'new edit raw history diff - tree blob update preview home _sidebar attachments promote latest activity'.split(' ')
const DOTS = ['.', '..', '...', '.a', 'a.', '.git', 'a.git', 'a.atom', 'a.json', 'a.keys', 'a.tar.gz']
const SLASHES = ['/', '//', '/a', 'a/', 'a/edit', 'a/history', 'a/diff', 'a/raw', 'c/./d', 'c/../d', '-/tree/x', 'x/-/y', 'a\\b']
const BLANKS = ['', ' ', ' lead', 'trail ', 'in side', 'line\nbreak', '\u00a0nbsp', 'zero\u200bwidth']
const MARKS = ['a%2Fb', '%', '%25', 'a?b', 'a#b', 'a&b=c', "it's", '<i>x</i>', 'a:b', '@x', '~x', '*', '[x]']
const LETTERS = [
  'caf\u00e9',
  'cafe\u0301',
  'Case',
  'case',
  '\u{1f600}',
  '\u202eabc',
  '\u{10ffff}',
  'null',
  '__proto__',
  '0',
  '1',
  '007',
  'HEAD',
  'main',
  'refs/heads/main',
  'a'.repeat(40),
  'x'.repeat(255),
  '\u00e9'.repeat(255),
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
  const isJson = sent !== undefined && !(sent instanceof FormData)
  const answer = await fetch(`${t.url}/api/v4${path}`, {
    method,
    headers: { 'private-token': owner.token, ...(isJson && { 'content-type': 'application/json' }) },
    ...(sent && { body: isJson ? JSON.stringify(sent) : (sent as FormData) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text }
}

/** What was saved: where it is read, and what is in each of the answers. */
interface Saved {
  /** Its address in the API, and what a read there has. */
  at?: string
  shows?: object
  /** What a change sends, and what a read has then; nothing if it has no change. */
  change?: { sent: object; shows: object; by?: string }
  /** Pages, with a text that only this one has. */
  pages: [path: string, text: string][]
  /** The address of its removal, by default its own; null: there is none. */
  removed?: string | null
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
const pathOf = (url: string) => url.slice(url.indexOf('/', 'http://'.length))

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
  files: {
    make: (file_path) =>
      api('POST', `${place.path}/repository/commits`, {
        branch: 'main',
        commit_message: 'add',
        actions: [{ action: 'create', file_path, content: newMark() }],
      }),
    saved(_, name) {
      // as the list names it
      const path = name.replace(/^\/+/, '').replace('c/./d', 'c/d').replace('c/../d', 'd')
      const at = `${place.path}/repository/files/${encodeURIComponent(path)}`
      return {
        at: `${at}?ref=main`,
        shows: { file_path: path, content: Buffer.from(mark).toString('base64') },
        change: {
          by: at,
          sent: { branch: 'main', commit_message: 'c', content: `${mark} changed` },
          shows: { file_path: path, content: Buffer.from(`${mark} changed`).toString('base64') },
        },
        pages: [
          [`/${place.fullPath}/-/blob/main/${inUrl(path)}`, `${mark} changed`],
          [`/${place.fullPath}/-/raw/main/${inUrl(path)}`, `${mark} changed`],
          [`/${place.fullPath}/-/edit/main/${inUrl(path)}`, `${mark} changed`],
        ],
        removed: `${at}?branch=main&commit_message=gone`,
      }
    },
  },
  branches: {
    make: (branch) => api('POST', `${place.path}/repository/branches`, { branch, ref: 'main' }),
    saved: ({ name, web_url }) => ({
      at: `${place.path}/repository/branches/${encodeURIComponent(name)}`,
      shows: { name },
      pages: [
        [pathOf(web_url), name],
        [`/${place.fullPath}/-/tree/${inUrl(name)}`, name],
        [`/${place.fullPath}/-/commits/${inUrl(name)}`, name],
        [`/${place.fullPath}/-/blob/${inUrl(name)}/README.md`, 'README.md'],
      ],
    }),
  },
  tags: {
    make: (tag_name) => api('POST', `${place.path}/repository/tags`, { tag_name, ref: 'main', message: newMark() }),
    saved: ({ name }) => ({
      at: `${place.path}/repository/tags/${encodeURIComponent(name)}`,
      shows: { name, message: mark },
      // the form for a new tag has the address of one with this name
      pages: [[`/${place.fullPath}/-/tags/${inUrl(name === 'new' ? 'refs/tags/new' : name)}`, mark]],
    }),
  },
  releases: {
    make: (tag_name) => api('POST', `${place.path}/releases`, { tag_name, ref: 'main', description: newMark() }),
    saved: ({ tag_name, _links }) => ({
      at: `${place.path}/releases/${encodeURIComponent(tag_name)}`,
      shows: { tag_name, description: mark },
      change: { sent: { description: `${mark} changed` }, shows: { description: `${mark} changed` } },
      pages: [
        [pathOf(_links.self), `${mark} changed`],
        [pathOf(_links.edit_url), `${mark} changed`],
      ],
    }),
  },
  labels: {
    make: (name) => api('POST', `${place.path}/labels`, { name, color: '#123456', description: newMark() }),
    saved: ({ id, name }) => ({
      at: `${place.path}/labels/${encodeURIComponent(name)}`,
      shows: { id, name },
      change: { sent: { description: `${mark} changed` }, shows: { id, description: `${mark} changed` } },
      pages: [[`/${place.fullPath}/-/issues?label_name[]=${encodeURIComponent(name)}`, 'Issues']],
    }),
  },
  milestones: {
    make: (title) => api('POST', `${place.path}/milestones`, { title, description: newMark() }),
    saved: ({ id, title, web_url }) => ({
      at: `${place.path}/milestones/${id}`,
      shows: { title },
      change: { sent: { description: `${mark} changed` }, shows: { title, description: `${mark} changed` } },
      pages: [[pathOf(web_url), `${mark} changed`]],
    }),
  },
  'files of snippets': {
    make: (file_name) => api('POST', `${place.path}/snippets`, { title: 't', file_name, content: newMark(), visibility: 'public' }),
    saved: ({ id, file_name, web_url, raw_url }) => ({
      at: `${place.path}/snippets/${id}`,
      shows: { file_name },
      change: { sent: { title: mark }, shows: { title: mark, file_name } },
      pages: [
        [pathOf(web_url), mark],
        [pathOf(raw_url), mark],
      ],
    }),
  },
  variables: {
    make: (key) => api('POST', `${place.path}/variables`, { key, value: 'value1' }),
    saved: ({ key }) => ({
      at: `${place.path}/variables/${encodeURIComponent(key)}`,
      shows: { key, value: 'value1' },
      change: { sent: { value: 'value2' }, shows: { key, value: 'value2' } },
      pages: [],
    }),
  },
  'protected branches': {
    make: (name) => api('POST', `${place.path}/protected_branches`, { name }),
    saved: ({ name }) => ({ at: `${place.path}/protected_branches/${encodeURIComponent(name)}`, shows: { name }, pages: [] }),
  },
  'protected tags': {
    make: (name) => api('POST', `${place.path}/protected_tags`, { name }),
    saved: ({ name }) => ({ at: `${place.path}/protected_tags/${encodeURIComponent(name)}`, shows: { name }, pages: [] }),
  },
  'custom attributes': {
    // they are set at their address, which a client that normalises addresses cannot do for all names
    make: (key) => api('PUT', `${place.path}/custom_attributes/${encodeURIComponent(key)}`, { value: 'value1' }),
    saved: ({ key }) => ({
      at: `${place.path}/custom_attributes/${encodeURIComponent(key)}`,
      shows: { key, value: 'value1' },
      change: { sent: { value: 'value2' }, shows: { key, value: 'value2' } },
      pages: [],
    }),
  },
  'deploy keys and tokens': {
    make: (name) => api('POST', `${place.path}/deploy_tokens`, { name, scopes: ['read_repository'] }),
    saved: ({ id, name }) => ({ at: `${place.path}/deploy_tokens/${id}`, shows: { name }, pages: [] }),
  },
  uploads: {
    make(filename) {
      const body = new FormData()
      body.append('file', new Blob([newMark()]), filename)
      return api('POST', `${place.path}/uploads`, body)
    },
    saved: ({ url }) => ({ pages: [[`/${place.fullPath}${url}`, mark]] }),
  },
  topics: {
    make: (topic) => api('PUT', place.path, { tag_list: [topic], description: newMark() }),
    saved: ({ tag_list }) => ({
      at: place.path,
      shows: { tag_list },
      pages: tag_list.map((topic: string) => [`/explore?topic=${encodeURIComponent(topic)}`, mark]),
      removed: null,
    }),
  },
  'topics of the service': {
    make: (name) => api('POST', '/topics', { name, title: newMark(), description: mark }),
    saved: ({ id, name }) => ({
      at: `/topics/${id}`,
      shows: { name, description: mark },
      change: { sent: { description: `${mark} changed` }, shows: { name, description: `${mark} changed` } },
      pages: [[`/explore?topic=${encodeURIComponent(name)}`, 'Explore']],
    }),
  },
  'feature flags': {
    make: (name) => api('POST', `${place.path}/feature_flags`, { name, description: newMark(), version: 'new_version_flag' }),
    saved: ({ name }) => ({
      at: `${place.path}/feature_flags/${encodeURIComponent(name)}`,
      shows: { name, description: mark },
      change: { sent: { description: `${mark} changed` }, shows: { name, description: `${mark} changed` } },
      pages: [[`/${place.fullPath}/-/feature_flags`, name]],
    }),
  },
  'lists of users': {
    make: (name) => api('POST', `${place.path}/feature_flags_user_lists`, { name, user_xids: newMark() }),
    saved: ({ iid, name }) => ({
      at: `${place.path}/feature_flags_user_lists/${iid}`,
      shows: { name, user_xids: mark },
      change: { sent: { user_xids: `${mark}c` }, shows: { name, user_xids: `${mark}c` } },
      pages: [],
    }),
  },
  environments: {
    make: (name) => api('POST', `${place.path}/environments`, { name, external_url: `https://${newMark()}.example` }),
    saved: ({ id, name }) => ({
      at: `${place.path}/environments/${id}`,
      shows: { name, external_url: `https://${mark}.example` },
      change: { sent: { external_url: `https://${mark}c.example` }, shows: { name, external_url: `https://${mark}c.example` } },
      pages: [[`/${place.fullPath}/-/environments`, 'Environments']],
      // one that is running is not removed
      removed: null,
    }),
  },
  badges: {
    make: (name) => api('POST', `${place.path}/badges`, { name, link_url: `https://${newMark()}.example`, image_url: 'https://example.org/i' }),
    saved: ({ id, name }) => ({
      at: `${place.path}/badges/${id}`,
      shows: { name, link_url: `https://${mark}.example` },
      change: { sent: { link_url: `https://${mark}c.example` }, shows: { name, link_url: `https://${mark}c.example` } },
      pages: [],
    }),
  },
  'tokens of projects': {
    make: (name) =>
      api('POST', `${place.path}/access_tokens`, {
        ...{ name, scopes: ['read_api'] },
        expires_at: new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10),
      }),
    saved: ({ id, name }) => ({
      at: `${place.path}/access_tokens/${id}`,
      shows: { id, name },
      pages: [[`/${place.fullPath}/-/settings/access_tokens`, 'Access tokens']],
      // it stays, and is revoked
      removed: null,
    }),
  },
  'schedules of pipelines': {
    make: (description) => api('POST', `${place.path}/pipeline_schedules`, { description, ref: 'main', cron: '0 1 * * *' }),
    saved: ({ id, description }) => ({
      at: `${place.path}/pipeline_schedules/${id}`,
      shows: { description },
      change: { sent: { cron: '0 2 * * *' }, shows: { description, cron: '0 2 * * *' } },
      pages: [],
    }),
  },
  boards: {
    make: (name) => api('POST', `${place.path}/boards`, { name }),
    saved: ({ id, name }) => ({
      at: `${place.path}/boards/${id}`,
      shows: { name },
      pages: [[`/${place.fullPath}/-/boards/${id}`, 'Closed']],
    }),
  },
  'generic packages': {
    async make(name) {
      const file = encodeURIComponent(name)
      const answer = await fetch(`${t.url}/api/v4${place.path}/packages/generic/${file}/${file}/${file}?select=package_file`, {
        ...{ method: 'PUT', headers: { 'private-token': owner.token, 'content-type': 'application/octet-stream' }, body: newMark() },
      })
      const text = await answer.text()
      return { status: answer.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text }
    },
    saved: ({ package_id, file }) => ({
      at: `${place.path}/packages/${package_id}`,
      pages: [
        [`/${place.fullPath}/-/packages/${package_id}`, 'SHA'],
        [pathOf(file.url), mark],
      ],
    }),
  },
  'npm packages': {
    make: (name) =>
      // that is the address of a file
      name.includes('/-/')
        ? Promise.resolve({ status: 400, body: { error: 'name is invalid' } })
        : api('PUT', `${place.path}/packages/npm/${encodeURIComponent(name)}`, npmDocument(name, '1.0.0', { description: newMark() })),
    saved: () => ({ pages: [[`/${place.fullPath}/-/packages`, '1.0.0']] }),
  },
  'tags of images': {
    async make(tag) {
      const mediaType = 'application/vnd.oci.image.index.v1+json'
      const answer = await fetch(`${t.url}/v2/${place.fullPath.toLowerCase()}/app/manifests/${encodeURIComponent(tag)}`, {
        ...{ method: 'PUT', headers: { ...basic('x', owner.token), 'content-type': mediaType } },
        body: JSON.stringify({ schemaVersion: 2, mediaType, manifests: [] }),
      })
      const { errors } = JSON.parse((await answer.text()) || '{}')
      if (errors) return { status: answer.status, body: { error: errors[0].code } }
      const [repository] = (await api('GET', `${place.path}/registry/repositories`)).body
      return { status: 201, body: { at: `${place.path}/registry/repositories/${repository.id}/tags/${encodeURIComponent(tag)}`, tag } }
    },
    saved: ({ at, tag }) => ({ at, shows: { name: tag }, pages: [[`/${place.fullPath}/-/container_registry`, 'app']] }),
  },
  projects: {
    make: (path) => api('POST', '/projects', { name: `n${newMark()}`, path, namespace_id: group.id, visibility: 'public' }),
    saved: ({ path_with_namespace, path, web_url }) => ({
      at: `/projects/${encodeURIComponent(path_with_namespace)}`,
      shows: { path },
      change: { sent: { description: `${mark} changed` }, shows: { path, description: `${mark} changed` } },
      pages: [[pathOf(web_url), `${mark} changed`]],
    }),
  },
  'names of projects': {
    make: (name) => api('POST', '/projects', { name, namespace_id: group.id, visibility: 'public', description: newMark() }),
    saved: ({ path_with_namespace, name, web_url }) => ({
      at: `/projects/${encodeURIComponent(path_with_namespace)}`,
      shows: { name },
      pages: [[pathOf(web_url), mark]],
    }),
  },
  subgroups: {
    make: (path) => api('POST', '/groups', { name: `n${newMark()}`, path, parent_id: group.id, visibility: 'public' }),
    saved: ({ full_path, path, web_url }) => ({
      at: `/groups/${encodeURIComponent(full_path)}`,
      shows: { path },
      change: { sent: { description: `${mark} changed` }, shows: { path, description: `${mark} changed` } },
      pages: [
        [pathOf(web_url), `${mark} changed`],
        [`/${full_path}`, `${mark} changed`],
      ],
    }),
  },
  groups: {
    make: (path) => api('POST', '/groups', { name: `n${newMark()}`, path, visibility: 'public' }),
    saved: ({ id, full_path, path, web_url }) => ({
      // a number alone is an id
      at: `/groups/${/^-?\d+$/.test(full_path) ? id : full_path}`,
      shows: { path },
      change: { sent: { description: `${mark} changed` }, shows: { path, description: `${mark} changed` } },
      pages: [
        [pathOf(web_url), `${mark} changed`],
        [`/${full_path}`, `${mark} changed`],
      ],
    }),
  },
  users: {
    make: (username) => {
      newMark()
      return api('POST', '/users', { username, name: mark, email: `${mark}@example.com`, password: `pw${mark}LongEnough9`, skip_confirmation: true })
    },
    saved: ({ id, username, web_url }) => ({
      at: `/users/${id}`,
      shows: { username },
      change: { sent: { bio: `${mark} changed` }, shows: { username, bio: `${mark} changed` } },
      pages: [[pathOf(web_url), mark]],
      removed: `/users/${id}?hard_delete=true`,
    }),
  },
}

/** What is wrong with a name; empty if it can be reached, or was refused with a reason. */
async function faultsOf(kind: Kind, name: string): Promise<string[]> {
  const made = await kind.make(name)
  if (made.status === 404 && JSON.stringify(name).length > 2_000) return []
  if (made.status >= 400) {
    const reason = made.body?.message ?? made.body?.error
    return made.status < 500 && reason && !/^404|^401/.test(String(reason)) ? [] : [`refused with ${made.status} ${JSON.stringify(made.body)}`]
  }
  const { at, shows = {}, change, pages, removed = at } = kind.saved(made.body, name)
  const faults: string[] = []
  const read = async (expected: object, what: string) => {
    const { status, body } = await api('GET', at as string)
    if (status !== 200) faults.push(`${what}: GET ${at} is ${status}`)
    else
      for (const [key, value] of Object.entries(expected))
        if (JSON.stringify(body[key]) !== JSON.stringify(value)) faults.push(`${what}: ${key} is ${JSON.stringify(body[key])}`)
  }
  if (at !== undefined) await read(shows, 'read')
  if (change) {
    const { status, body } = await api('PUT', change.by ?? (at as string), change.sent)
    if (status !== 200) faults.push(`PUT ${change.by ?? at} is ${status} ${JSON.stringify(body)}`)
    else await read(change.shows, 'changed')
  }
  for (const [path, text] of pages) {
    const page = await browser.open(path)
    const has = page.html.includes(text) || page.text.includes(text) || page.$('textarea').text().includes(text)
    if (page.status !== 200 || !has) faults.push(`page ${path} is ${page.status}${page.status === 200 ? ', another' : ''}, at ${page.at}`)
  }
  if (removed) {
    const { status, body } = await api('DELETE', removed)
    if (status >= 300) faults.push(`DELETE ${removed} is ${status} ${JSON.stringify(body)}`)
    const after = await api('GET', at as string)
    if (after.status !== 404) faults.push(`still ${after.status} after its removal`)
  }
  return faults
}

describe('what is saved is read, changed and removed at the address that the answer gives, else it is refused (WB-450)', () => {
  // one half of the names for every second kind, the other half for the rest
  it.each(Object.entries(KINDS).map(([of, kind], turn) => ({ of, kind, turn })))('$of', { timeout: 900_000 }, async ({ kind, turn }) => {
    const found: Record<string, string[]> = {}
    for (const name of NAMES.filter((_, i) => i % 2 === turn % 2)) {
      const faults = await faultsOf(kind, name)
      if (faults.length > 0) found[name.length > 60 ? `${name.slice(0, 20)}… (${name.length})` : name] = faults.map((fault) => fault.slice(0, 300))
    }
    expect(found).toEqual({})
  })
})
