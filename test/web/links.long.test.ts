// @module-tag long
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aUser, setSettings, type TestUser, unique } from '../support/factories.js'
import { receiver } from '../support/servers/receiver.js'
import { richServer } from '../support/servers/rich-server.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org', ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const hooks = receiver()

const BASE = 'http://roost.test'
/** Things of one list that are asked for one by one. */
const OF_LIST = 4

const people: Record<string, TestUser | null> = { visitor: null }
/** Every address that was given, without the fragment, and where it stood. */
const given = new Map<string, string>()
let open: string

/** The places on these pages that addresses lead to. */
const places = new Map<string, Set<string>>()

const note = (address: string, source: string) => {
  const [path = '', place] = address.split('#', 2)
  if (!given.has(path)) given.set(path, source)
  if (place) places.set(path, (places.get(path) ?? new Set()).add(place))
}

/** Takes the addresses of the service in a text. */
function addressesIn(text: string, source: string): void {
  for (const [address] of text.matchAll(/http:\/\/roost\.test[^\s"'<>\\`]*/g)) {
    // a sentence or a Markdown link ends after it
    const whole = address.replace(/[.,:;]+$/, '')
    note(whole.includes('(') ? whole : whole.replace(/\)+$/, ''), source)
  }
}

/** Those in all strings of an answer, also as paths. */
function collect(value: unknown, source: string, key = ''): void {
  if (typeof value === 'string') {
    addressesIn(value.replaceAll('&amp;', '&'), source)
    if (value.startsWith('/') && (key.endsWith('_path') || key === 'full_path')) note(BASE + value, source)
  } else if (value && typeof value === 'object') for (const [name, each] of Object.entries(value)) collect(each, source, name)
}

type Answer = { status: number; body: unknown }
const answers = new Map<string, Promise<Answer>>()

/** What the API answers a caller. */
function ask(path: string, who: TestUser | null): Promise<Answer> {
  const key = `${who?.id} ${path}`
  const asked = async () => {
    const {
      statusCode: status,
      body,
      headers,
    } = await t.app.inject({
      method: 'GET',
      url: `/api/v4${path}`,
      headers: who ? { 'private-token': who.token } : {},
    })
    return { status, body: String(headers['content-type']).startsWith('application/json') ? JSON.parse(body) : body }
  }
  if (!answers.has(key)) answers.set(key, asked())
  return answers.get(key) as Promise<Answer>
}

const FIXED: Record<string, string[]> = {
  file_path: ['README.md', 'a.txt'],
  format: ['zip'],
  merge_request_iid: [],
}

/** The values of a parameter: from the list that stands before it in the path. */
async function valuesOf(prefix: string, name: string, who: TestUser): Promise<string[]> {
  const fixed = FIXED[name]
  if (fixed && fixed.length > 0) return fixed
  if (name === 'sha' && prefix.endsWith('/blobs')) return []
  const { status, body } = await ask(`${prefix}?per_page=100&state=all&scope=all`, who)
  const list = status === 200 ? body : (await ask(`${prefix}?per_page=100`, who)).body
  if (!Array.isArray(list)) return []
  const numberOf = (each: Record<string, unknown>) =>
    name.endsWith('iid') ? each['iid'] : /^(branch|tag_name|name|key|slug)$/.test(name) ? (each[name] ?? each['name'] ?? each['slug']) : each['id']
  const all = list.map(numberOf).filter((value) => value !== undefined && value !== null)
  return all.slice(0, prefix === '/projects' || prefix === '/groups' ? 10 : OF_LIST).map((value) => encodeURIComponent(String(value)))
}

/** All paths of an endpoint whose things there are. */
async function pathsOf(path: string, who: TestUser): Promise<string[]> {
  let found = ['']
  for (const part of path
    .replace(/\([^)]*\)/g, '')
    .split('/')
    .slice(1)) {
    const name = /^:([a-z_]+)/.exec(part)?.[1]
    const next: string[] = []
    for (const prefix of found)
      if (name === undefined) next.push(`${prefix}/${part}`)
      else for (const value of await valuesOf(prefix, name, who)) next.push(`${prefix}/${part.replace(`:${name}`, value)}`)
    found = next
  }
  return found
}

const QUERY: Record<string, string> = { compare: '?from=main&to=topic', search: '?scope=issues&search=a', merge_base: '?refs[]=main&refs[]=topic' }

beforeAll(async () => {
  await setSettings(t.ctx, { admin_notification_email: 'chief@example.com' })
  const { admin, ada, grace } = await richServer(t)
  Object.assign(people, { owner: ada, member: grace, stranger: await aUser(t.ctx), administrator: admin })
  const say = async (path: string, body: object, who: TestUser = ada) => {
    const answer = await t.api('post', path, who).send(body)
    if (answer.status !== 201) expect.fail(`${path} answers ${answer.status}: ${answer.text}`)
    return answer.body
  }
  const group = await say('/groups', { name: 'Out', path: `out${unique()}`, visibility: 'public' })
  const project = await say('/projects', { name: 'Open', path: 'open', namespace_id: group.id, visibility: 'public' })
  open = project.path_with_namespace
  const at = `/projects/${project.id}`
  const kinds = 'push issues confidential_issues merge_requests tag_push note confidential_note job pipeline wiki_page releases'.split(' ')
  await say(`${at}/hooks`, { url: `${hooks.url}/hook`, ...Object.fromEntries(kinds.map((kind) => [`${kind}_events`, true])) })
  await say(`${at}/members`, { user_id: grace.id, access_level: 30 })
  for (const who of [ada, grace]) await t.api('put', `/projects/${project.id}/notification_settings?level=watch`, who).expect(200)
  const milestone = await say(`${at}/milestones`, { title: 'a milestone' })
  const groupMilestone = await say(`/groups/${group.id}/milestones`, { title: 'of the group' })
  await say(`${at}/labels`, { name: 'a label <b>', color: '#112233' })
  // what git prints
  const folder = mkdtempSync(join(tmpdir(), 'roost-links-'))
  const git = (...args: string[]) =>
    promisify(execFile)('git', ['-C', folder, '-c', 'user.name=Grace', '-c', 'user.email=grace@example.com', ...args])
  const url = new URL(`${t.url}/${open}.git`)
  const push = async (who: TestUser, ...args: string[]) => {
    ;[url.username, url.password] = [who.username, who.token]
    addressesIn((await git('push', url.href, ...args)).stderr, `push ${args.join(' ')}`)
  }
  await git('init', '-q', '-b', 'main')
  const put = async (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    await git('add', '-A')
    await git('commit', '-qm', `Write ${name}`)
  }
  await put('README.md', '# Open\n')
  await put('a.txt', 'one\ntwo\nthree\n')
  await push(ada, 'main')
  await git('switch', '-q', '-c', 'topic')
  await put('a.txt', 'one\nTWO\nthree\n')
  await push(grace, 'topic')
  const issue = await say(`${at}/issues`, { title: 'Seen', labels: 'a label <b>', milestone_id: milestone.id, assignee_ids: [grace.id] })
  const secret = await say(`${at}/issues`, { title: 'Hidden', confidential: true, milestone_id: groupMilestone.id, description: '@grace look' })
  const request = await say(
    `${at}/merge_requests`,
    { title: 'Topic', source_branch: 'topic', target_branch: 'main', description: 'Closes #1', reviewer_ids: [ada.id], milestone_id: milestone.id },
    grace,
  )
  await put('b.txt', 'more\n')
  await push(grace, 'topic')
  await git('switch', '-q', '-c', 'feature/(new)', 'main')
  await put('c.txt', 'c\n')
  await push(grace, '-o', 'merge_request.create', 'feature/(new)')
  await git('tag', '-m', 'One', 'v1/x')
  await push(ada, 'v1/x')
  const diff = (await t.api('get', `${at}/merge_requests/${request.iid}`, ada).expect(200)).body.diff_refs
  const position = { ...diff, position_type: 'text', old_path: 'a.txt', new_path: 'a.txt', new_line: 2 }
  await say(`${at}/merge_requests/${request.iid}/discussions`, { body: 'this line, @grace', position })
  await say(`${at}/merge_requests/${request.iid}/draft_notes`, { note: 'not yet' })
  await say(`${at}/issues/${issue.iid}/notes`, { body: `See #${secret.iid}, !${request.iid}, @grace` })
  await say(`${at}/issues/${secret.iid}/notes`, { body: 'quiet, @grace' })
  const sha = diff.head_sha
  await say(`${at}/repository/commits/${sha}/comments`, { note: 'about this', path: 'a.txt', line: 2, line_type: 'new' })
  await say(`${at}/statuses/${sha}`, { state: 'failed', name: 'build', ref: 'topic', target_url: 'https://ci.example.org/1' })
  const snippet = await say(`${at}/snippets`, { title: 'a snippet', file_name: 'a.sh', content: 'echo', visibility: 'public' })
  await say(`${at}/snippets/${snippet.id}/notes`, { body: 'about it, @grace' })
  await say('/snippets', { title: 'private', file_name: 'a.sh', content: 'echo', visibility: 'private' })
  for (const title of ['home', 'a page (x)/below']) await say(`${at}/wikis`, { title, content: 'text' })
  await say(`${at}/releases`, {
    tag_name: 'v1/x',
    name: 'One',
    description: 'new',
    assets: { links: [{ name: 'a', url: 'https://example.org/a', filepath: '/bin/a' }] },
  })
  const upload = await t.api('post', `${at}/uploads`, ada).attach('file', Buffer.from('text'), 'a (b).txt').expect(201)
  collect(upload.body, 'upload')
  await say(`${at}/fork`, { path: 'own-copy' }, grace)
  await t.api('put', `${at}/issues/${issue.iid}`, ada).send({ state_event: 'close' }).expect(200)
  const text = `#${issue.iid} !${request.iid} ~"a label <b>" %"a milestone" %"of the group" @grace @${group.full_path} ${sha} $${snippet.id} ${sha.slice(0, 12)}`
  collect((await say('/markdown', { text, gfm: true, project: open })).html, 'markdown')
  const reporter = new TestBrowser(t.url)
  await reporter.signIn(grace)
  await reporter.open(`/abuse_reports/new?user_id=${ada.id}`)
  await reporter.submit('/abuse_reports', { message: 'not nice' })
  await t.ctx.jobs.drain()
  rmSync(folder, { recursive: true })
  for (const { body } of hooks.got) collect(body, `hook ${body.object_kind}`)
  for (const mail of box.got) addressesIn(`${mail.text} ${mail.html?.replaceAll('&amp;', '&') ?? ''}`, `mail ${mail.subject}`)
  for (const who of [admin, ada, grace])
    for (const { method, path } of families.flat()) {
      if (method !== 'GET' || path.startsWith('/uploads')) continue
      for (const one of await pathsOf(path, who)) {
        const { status, body } = await ask(one + (QUERY[one.split('/').at(-1) ?? ''] ?? ''), who)
        if (status >= 500) expect.fail(`${one}: ${status}`)
        if (status === 200) collect(body, one)
      }
    }
}, 300_000)

/** The path of the API that answers those who see a page, or who else sees it; undefined for an address of no known kind. */
function thingOf(path: string): string | undefined {
  const part = encodeURIComponent
  const of = (full: string, rest = '') => `/projects/${part(decodeURI(full))}${rest}`
  const once = (text: string) => part(decodeURIComponent(text))
  const table: [RegExp, (...parts: string[]) => string][] = [
    [/^\/?(users\/sign_in)?$/, () => 'anyone'],
    [/^\/(assets|help)\b/, () => 'anyone'],
    [/^\/sent_notifications\//, () => 'secret'],
    [/^\/(-\/profile|dashboard)\b/, () => 'signed in'],
    [/^\/admin\b/, () => 'admin'],
    [/^\/uploads\/-\/system\//, () => 'anyone'],
    [/^\/api\/v4(\/.*)$/, (rest) => rest],
    [/^\/groups\/(.+?)\/(?:-\/)?milestones\/(\d+)$/, (group, iid) => `/groups/${part(group as string)}/milestones?iids[]=${iid}`],
    [/^\/groups\/([^?]+)$/, (group) => `/groups/${part(group as string)}`],
    [/^\/-?\/?snippets\/(\d+)(?:\/raw.*)?$/, (id) => `/snippets/${id}`],
    [/^\/(.+?)\/uploads\/[0-9a-f]{32}\//, () => 'secret'],
    [/^\/(.+?)\/(?:-\/)?exports\/archive/, (p) => of(p as string, '/export/download')],
    [/^\/(.+?)\/(?:-\/)?merge_requests\/new\?/, (p) => `may write ${decodeURI(p as string)}`],
    [/^\/(.+?)\/(?:-\/)?releases\/[^?]+\/edit$/, (p) => `may write ${decodeURI(p as string)}`],
    [/^\/(.+?)\/(?:-\/)?(issues|merge_requests)\/(\d+)(?:[/.?].*)?$/, (p, kind, iid) => of(p as string, `/${kind}/${iid}`)],
    [/^\/(.+?)\/(?:-\/)?(issues|merge_requests)\?/, (p, kind) => of(p as string, `/${kind}`)],
    [/^\/(.+?)\/(?:-\/)?milestones\/(\d+)$/, (p, iid) => of(p as string, `/milestones?iids[]=${iid}`)],
    [/^\/(.+?)\/(?:-\/)?snippets\/(\d+)(?:\/raw.*)?$/, (p, id) => of(p as string, `/snippets/${id}`)],
    [/^\/(.+?)\/(?:-\/)?(pipelines|jobs)\/(\d+)$/, (p, kind, id) => of(p as string, `/${kind}/${id}`)],
    [/^\/(.+?)\/(?:-\/)?wikis$/, (p) => of(p as string, '/wikis')],
    [/^\/(.+?)\/(?:-\/)?wikis\/([^?]+)/, (p, slug) => of(p as string, `/wikis/${once(slug as string)}`)],
    [/^\/(.+?)\/(?:-\/)?tags\/([^?]+)$/, (p, tag) => of(p as string, `/repository/tags/${once(tag as string)}`)],
    [/^\/(.+?)\/(?:-\/)?releases\/([^?]+?)\/downloads\//, (p, tag) => of(p as string, `/releases/${once(tag as string)}`)],
    [/^\/(.+?)\/(?:-\/)?releases\/([^?]+?)$/, (p, tag) => of(p as string, `/releases/${once(tag as string)}`)],
    [/^\/(.+?)\/-\/archive\//, (p) => of(p as string, '/repository/tree')],
    [/^\/(.+?)\/(?:-\/)?commit\/([0-9a-f]+)/, (p, sha) => of(p as string, `/repository/commits/${sha}`)],
    [/^\/(.+?)\/(?:-\/)?compare\/(.+)$/, (p) => of(p as string, '/repository/tree')],
    [/^\/(.+?)\/(?:-\/)?(?:tree|blob|raw|blame|commits)\//, (p) => of(p as string, '/repository/tree')],
    [/^\/(.+?)\.wiki\.git$/, (p) => of(p as string, '/wikis')],
    [/^\/(.+?)(?:\.git)?$/, (p) => ((p as string).includes('/') ? of(p as string) : `/users?username=${p}`)],
  ]
  for (const [pattern, thing] of table) {
    const match = pattern.exec(path)
    if (match) return thing(...match.slice(1).map((each) => each ?? ''))
  }
  return undefined
}

/** Whether somebody is at least a developer of a project, as the API says. */
async function mayWrite(fullPath: string, who: TestUser | null): Promise<boolean> {
  const { status, body } = await ask(`/projects/${encodeURIComponent(fullPath)}`, who)
  const { permissions } = body as { permissions?: Record<string, { access_level: number } | null> }
  return status === 200 && (who?.admin === true || Object.values(permissions ?? {}).some((each) => each !== null && each.access_level >= 30))
}

describe('every address that the service gives', () => {
  it('leads those who may see the thing to its page, and no others (WB-330)', async () => {
    const faults: string[] = []
    const shown: Record<string, number> = {}
    let placed = 0
    expect(given.size).toBeGreaterThan(150)
    for (const [name, who] of Object.entries(people)) {
      const browser = new TestBrowser(t.url)
      if (who) await browser.signIn(who)
      shown[name] = 0
      for (const [address, source] of given) {
        const path = address.slice(BASE.length)
        const thing = thingOf(path)
        if (thing === undefined) {
          faults.push(`no kind: ${address} (${source})`)
          continue
        }
        const may = async () => {
          if (thing === 'anyone' || thing === 'secret') return true
          if (thing === 'signed in') return who !== null
          if (thing === 'admin') return who?.admin === true
          if (thing.startsWith('may write ')) return mayWrite(thing.slice('may write '.length), who)
          let answer = await ask(thing, who)
          // a group has the address of a user
          if (thing.startsWith('/users?username=') && (answer.body as unknown[])?.length === 0) answer = await ask(`/groups/${path.slice(1)}`, who)
          return answer.status < 300 && !(Array.isArray(answer.body) && thing.includes('iids') && answer.body.length === 0)
        }
        if (path.startsWith('/api/')) {
          if (name === 'administrator' && !(await may())) faults.push(`${name}: ${thing} of ${source}`)
          continue
        }
        const { status, at, $ } = await browser.open(path || '/')
        const isShown = status < 400 && !at.startsWith('/users/sign_in')
        if (isShown) shown[name] = (shown[name] ?? 0) + 1
        // only who is signed in reads discussions
        for (const place of who && isShown ? (places.get(address) ?? []) : []) {
          placed++
          if ($(`[id="${place}"]`).length !== 1) faults.push(`${name}: nothing is at #${place} of ${address} (${source})`)
        }
        if (status >= 500 || (isShown !== (await may()) && path !== ''))
          faults.push(`${name}: ${status} ${address} at ${at}, the API of ${thing} ${isShown ? 'does not show' : 'shows'} it (${source})`)
      }
    }
    expect(faults).toEqual([])
    expect(placed).toBeGreaterThan(15)
    for (const count of Object.values(shown)) expect(count).toBeGreaterThan(30)
  }, 300_000)
})
