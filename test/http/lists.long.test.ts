// @module-tag long
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aProject, type TestProject } from '../support/factories.js'

const t = testApp()

/** What Node warns of, such as too many listeners of a response. */
const warnings: string[] = []
const keepWarning = ({ message }: Error) => void warnings.push(message)
beforeAll(() => void process.on('warning', keepWarning))
afterAll(() => {
  process.off('warning', keepWarning)
  expect(warnings).toEqual([])
})

const MIB = 1024 * 1024
/** As JSON 1.8 MB: five are more than a list answers. */
const CONTROLS = '\u0001'.repeat(300_000)
/** Ten are more than the database sends for one page. */
const LETTERS = `é${'x'.repeat(999_990)}!`

interface List {
  path(project: TestProject): string
  /** The text of an element. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies as they come
  textOf(element: any): string
  /** The path of the single view of one, if it is not the one that `make` returns. */
  single?(project: TestProject, i: number): string
}

interface Kind {
  /** Makes one with the text, and returns the path of its single view where it has one. */
  make(project: TestProject, text: string, i: number): Promise<string | null>
  /** The lists that show it. */
  lists: Record<string, List>
}

const descriptionOf = ({ description }: { description: string }) => description

const post = async (project: TestProject, path: string, body: object) => (await t.api('post', path, project.creator).send(body).expect(201)).body

const KINDS: Record<string, Kind> = {
  issues: {
    make: async (p, description) => `${p.path}/issues/${(await post(p, `${p.path}/issues`, { title: 'long', description })).iid}`,
    lists: {
      issues: { path: (p) => `${p.path}/issues`, textOf: descriptionOf },
      'issues of a search': { path: (p) => `${p.path}/search?scope=issues&search=long`, textOf: descriptionOf },
    },
  },
  'merge requests': {
    async make(p, description, i) {
      const branch = { branch: `b${i}`, start_branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path: `b${i}`, content: 'x' }] }
      await post(p, `${p.path}/repository/commits`, branch)
      const sent = { title: 'long', description, source_branch: `b${i}`, target_branch: 'main' }
      return `${p.path}/merge_requests/${(await post(p, `${p.path}/merge_requests`, sent)).iid}`
    },
    lists: { 'merge requests': { path: (p) => `${p.path}/merge_requests`, textOf: descriptionOf } },
  },
  notes: {
    async make(p, text, i) {
      if (i === 0) await post(p, `${p.path}/issues`, { title: 'long' })
      return `${p.path}/issues/1/notes/${(await post(p, `${p.path}/issues/1/notes`, { body: text })).id}`
    },
    lists: {
      notes: { path: (p) => `${p.path}/issues/1/notes`, textOf: ({ body }) => body },
      events: { path: (p) => `${p.path}/events?action=commented`, textOf: ({ note, body }) => note?.body ?? body },
    },
  },
  'notes that a search finds': {
    make: (p, text, i) => KINDS['notes']?.make(p, `long ${text}`, i) as Promise<string>,
    lists: {
      'notes of a search': { path: (p) => `${p.path}/search?scope=notes&search=long`, textOf: ({ body }) => body.slice('long '.length) },
    },
  },
  discussions: {
    async make(p, body, i) {
      if (i === 0) await post(p, `${p.path}/issues`, { title: 'long' })
      return `${p.path}/issues/1/notes/${(await post(p, `${p.path}/issues/1/discussions`, { body })).notes[0].id}`
    },
    lists: {
      discussions: { path: (p) => `${p.path}/issues/1/discussions`, textOf: (element) => (element.notes ? element.notes[0].body : element.body) },
    },
  },
  snippets: {
    async make(p, description) {
      const sent = { title: 'long', file_name: 'a', content: 'x', visibility: 'private', description }
      return `${p.path}/snippets/${(await post(p, `${p.path}/snippets`, sent)).id}`
    },
    lists: {
      snippets: { path: (p) => `${p.path}/snippets`, textOf: descriptionOf },
      'snippets of a search': { path: () => '/search?scope=snippet_titles&search=long&per_page=100', textOf: descriptionOf },
    },
  },
  milestones: {
    make: async (p, description, i) => `${p.path}/milestones/${(await post(p, `${p.path}/milestones`, { title: `long ${i}`, description })).id}`,
    lists: {
      milestones: { path: (p) => `${p.path}/milestones`, textOf: descriptionOf },
      'milestones of a search': { path: (p) => `${p.path}/search?scope=milestones&search=long`, textOf: descriptionOf },
    },
  },
  labels: {
    make: async (p, description, i) => `${p.path}/labels/${(await post(p, `${p.path}/labels`, { name: `l${i}`, color: '#fff', description })).id}`,
    lists: { labels: { path: (p) => `${p.path}/labels`, textOf: descriptionOf } },
  },
  releases: {
    async make(p, description, i) {
      await post(p, `${p.path}/releases`, { tag_name: `v${i}`, ref: 'main', description })
      return `${p.path}/releases/v${i}`
    },
    lists: {
      releases: { path: (p) => `${p.path}/releases`, textOf: descriptionOf },
      tags: {
        path: (p) => `${p.path}/repository/tags`,
        textOf: ({ release }) => release.description,
        single: (p, i) => `${p.path}/repository/tags/v${i}`,
      },
    },
  },
  'wiki pages': {
    make: async (p, content, i) => `${p.path}/wikis/${(await post(p, `${p.path}/wikis`, { title: `p${i}`, content })).slug}`,
    lists: { 'wiki pages': { path: (p) => `${p.path}/wikis?with_content=true`, textOf: ({ content }) => content } },
  },
  commits: {
    async make(p, commit_message, i) {
      const actions = [{ action: 'create', file_path: `c${i}`, content: 'x' }]
      const { id } = await post(p, `${p.path}/repository/commits`, { branch: 'main', commit_message, actions })
      return `${p.path}/repository/commits/${id}`
    },
    lists: { commits: { path: (p) => `${p.path}/repository/commits?ref_name=main`, textOf: ({ message }) => message } },
  },
  'comments on a commit': {
    async make(p, note) {
      await post(p, `${p.path}/repository/commits/main/comments`, { note })
      return null
    },
    lists: { 'comments on a commit': { path: (p) => `${p.path}/repository/commits/main/comments`, textOf: ({ note }) => note } },
  },
}

/** A commit that every project begins with is in some lists, too. */
const longOnes = (list: List, body: unknown[]) => body.filter((element) => (list.textOf(element) ?? '').length > 1_000)

describe('lists of long texts', () => {
  for (const { make, lists } of Object.values(KINDS)) {
    it(`${Object.keys(lists).join(', ')}: the list is bounded, the single view whole (SEC-178)`, async () => {
      const project = await aProject(t.ctx, { files: { 'readme.md': 'x' } })
      const single: [string | null, string][] = []
      for (let i = 0; i < 6; i++) single.push([await make(project, CONTROLS, i), CONTROLS])
      for (const [name, list] of Object.entries(lists)) {
        const escaped = await t.api('get', list.path(project), project.creator).expect(200)
        expect(Buffer.byteLength(escaped.text), name).toBeLessThanOrEqual(8 * MIB)
        expect(Number(escaped.headers['content-length']), name).toBe(Buffer.byteLength(escaped.text))
        for (const element of longOnes(list, escaped.body)) {
          const shown = list.textOf(element)
          expect(shown.length, name).toBeGreaterThan(100_000)
          expect(shown === `${CONTROLS.slice(0, shown.length - 3)}...`, `${name}: cut`).toBe(true)
        }
      }
      for (let i = 6; i < 10; i++) single.push([await make(project, LETTERS, i), LETTERS])
      for (const [name, list] of Object.entries(lists)) {
        const long = await t.api('get', list.path(project), project.creator).expect(200)
        expect(Buffer.byteLength(long.text), name).toBeLessThanOrEqual(8 * MIB)
        expect(longOnes(list, long.body), name).toHaveLength(10)
      }
      for (const i of [0, 9]) {
        const [made, text] = single[i] as [string | null, string]
        for (const [n, list] of Object.values(lists).entries()) {
          const path = list.single?.(project, i) ?? (n === 0 ? made : null)
          if (path === null) continue
          const { body } = await t.api('get', path, project.creator).expect(200)
          expect(list.textOf(body) === text, `${path} is whole`).toBe(true)
        }
      }
    })
  }

  it('a list of texts that fit is whole (SEC-178)', async () => {
    const project = await aProject(t.ctx)
    const description = 'é'.repeat(100_000)
    for (let i = 0; i < 5; i++) await KINDS['issues']?.make(project, description, i)
    const { body } = await t.api('get', `${project.path}/issues`, project.creator).expect(200)
    for (const issue of body) expect(issue.description === description).toBe(true)
  })

  it('a response that its client does not read delays only that client, and not for ever (SEC-180)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    for (let i = 0; i < 5; i++) await KINDS['issues']?.make(project, CONTROLS, i)
    const path = `${project.path}/issues`
    const idle = connect(Number(new URL(t.url).port), new URL(t.url).hostname)
    const begun = once(idle, 'readable')
    idle.write(`GET /api/v4${path} HTTP/1.1\r\nHost: x\r\nPRIVATE-TOKEN: ${project.creator.token}\r\n\r\n`)
    await begun
    const same = t.api('get', path, project.creator).expect(200)
    let done = false
    const waited = same.then(() => {
      done = true
    })
    await t.api('get', path).expect(200)
    await t.api('get', project.path, project.creator).expect(200)
    expect(done).toBe(false)
    idle.destroy()
    await waited
  })

  it('long texts do not come by the pipeline of short reads (SEC-179)', async () => {
    const project = await aProject(t.ctx)
    const path = (await KINDS['issues']?.make(project, LETTERS, 0)) as string
    const texts = await t.queriesOf(() => t.api('get', path, project.creator).expect(200))
    expect(texts.filter((text) => /select (?!.*left\().*"issues"\."description"/.test(text)).every((text) => text.includes('any('))).toBe(true)
  })
})
