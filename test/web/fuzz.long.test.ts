// @module-tag long
import { load } from 'cheerio'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { forms, pages } from '../../src/web/index.js'
import type { Form } from '../../src/web/page.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
/** How long forms are sent; an hour of it is `ROOST_FUZZ_SECONDS=3600`. */
const SECONDS = Number(process.env['ROOST_FUZZ_SECONDS'] ?? 45)
const SEED = Number(process.env['ROOST_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Marks an element that a text has made. */
const MARK = 'data-hostile'
const HOSTILE = [
  `<b ${MARK}>x</b>`,
  `"><img ${MARK} src=x onerror=alert(1)>`,
  `'><svg ${MARK} onload=alert(1)>`,
  `</textarea></title></script><script ${MARK}>alert(1)</script>`,
  `[a](javascript:alert(1)) ![b](data:text/html,x) <a ${MARK} href=javascript:x>y</a>`,
  `\`\`\`<i ${MARK}>\n<i ${MARK}>\n\`\`\``,
  `| a | <u ${MARK}> |\n|---|---|\n| [x]: <s ${MARK}> | b |`,
  `#1 !1 @root ~"<b ${MARK}>" %"<b ${MARK}>" /close /title <b ${MARK}>`,
  `/title <b ${MARK}>\n/label ~"<b ${MARK}>"\n/due 99999-99-99`,
  '\0\u0001\u202e\ud800 \u{1f4a9}',
  '../../../etc/passwd',
  '%00%0d%0aSet-Cookie: a=b',
  '\r\nLocation: https://elsewhere.example/',
  '-1',
  '99999999999999999999',
  '1e309',
  '',
  ' ',
  'x'.repeat(300),
  `${'a'.repeat(5_000)}<b ${MARK}>`,
  '{"a":{"b":[]}}',
  "'; drop table users; --",
  '2026-02-30',
  'https://elsewhere.example/',
  '//elsewhere.example',
]
const PLAIN = ['1', '2', 'true', 'false', 'on', 'main', 'topic', 'a.txt', 'close', 'reopen', 'one', '2026-05-05', '#112233', 'opened', 'review']

/** Not sent, since nothing could be sent after them. */
const NOT_SENT: Record<string, string> = {
  'PUT /admin/maintenance': 'turns all other forms away',
  'PUT /admin/application_settings/:subject': 'turns sign-in and pages off; another test sends it',
  'POST /admin/request_limits': 'turns the senders away',
  'POST /users/sign_in': 'wrong passwords end in a throttle for this address',
  'POST /users/sign_in/second_factor': 'guesses',
  'POST /users/sign_in/passkey': 'guesses',
}
/** Forms of one's own account and of the administration: sent by people who are made anew when they cannot go on. */
const OF_ACCOUNTS = /^\/(admin|users|oauth|-\/profile)(?=\/|$)/
/** After these the sender is another one, or signed out. */
const ENDS_SESSION = /sign_out|password|two_factor|account|sessions|profile$|impersonate/
/** What may move, hide or remove a project or group: sent to spare ones. */
const RUINS = /^[PG]$|^[PG]\/(-\/)?(edit|transfer|archive|unarchive|leave|visibility|path|settings|fork$|restore)|(project|group)_members/
/** Forms after which spare things and people are made anew. */
const SPARED = 40

/** Small, seeded pseudo-random numbers (mulberry32). */
function randomOf(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
const random = randomOf(SEED)
const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T

let keeper: TestUser
let project: TestProject
let group: string
let browser: TestBrowser
/** Everything that forms may ruin. */
let spare: { project: TestProject; group: string; group_id: number; user: TestUser }
const throwaways = new Map<'admin' | 'user', TestBrowser>()

async function makeSpare() {
  const user = await aUser(t.ctx)
  const made = await aGroup(t.ctx, { creator: keeper, visibility: 'public' })
  const path = (await t.api('get', made.path, keeper).expect(200)).body.full_path
  spare = {
    user,
    group: path,
    group_id: made.id,
    project: await aProject(t.ctx, { creator: keeper, namespace_id: made.id, visibility: 'public', files: { 'a.txt': 'one\n' }, developer: user }),
  }
}

/** The browser of somebody whose account may be ruined. */
async function throwaway(kind: 'admin' | 'user'): Promise<TestBrowser> {
  const known = throwaways.get(kind)
  if (known) return known
  const made = new TestBrowser(t.url)
  await made.signIn(await (kind === 'admin' ? anAdmin : aUser)(t.ctx))
  throwaways.set(kind, made)
  return made
}

beforeAll(async () => {
  keeper = await aUser(t.ctx)
  const made = await aGroup(t.ctx, { creator: keeper, visibility: 'public' })
  group = (await t.api('get', made.path, keeper).expect(200)).body.full_path
  project = await aProject(t.ctx, { creator: keeper, namespace_id: made.id, visibility: 'public', files: { 'a.txt': 'one\ntwo\n' } })
  const say = (path: string, body: object) => t.api('post', `${project.path}${path}`, keeper).send(body).expect(201)
  const actions = [{ action: 'update', file_path: 'a.txt', content: 'one\nTWO\n' }]
  await say('/repository/commits', { branch: 'topic', start_branch: 'main', commit_message: 'Work', actions })
  await say('/labels', { name: 'one', color: '#112233', priority: 1 })
  await say('/milestones', { title: 'one' })
  for (const title of ['one', 'two']) await say('/issues', { title, description: '- [ ] task' })
  await say('/merge_requests', { title: 'one', source_branch: 'topic', target_branch: 'main', description: '- [ ] task' })
  await say('/snippets', { title: 'one', file_name: 'one.txt', content: 'one', visibility: 'public' })
  await say('/wikis', { title: 'one', content: 'one' })
  await t.ctx.jobs.drain()
  browser = new TestBrowser(t.url)
  await browser.signIn(keeper)
  await makeSpare()
})

function addressOf(at: string): string {
  const isSpared = RUINS.test(at) || at.startsWith('/admin')
  const known: Record<string, string> = {
    ':username': isSpared ? spare.user.username : keeper.username,
    ':user_id': String(spare.user.id),
    ':project_id': String(spare.project.id),
    ':group_id': String(spare.group_id),
    ':sha': 'main',
  }
  return at
    .replace(/^P(?=\/|$)/, `/${(isSpared ? spare.project : project).fullPath}`)
    .replace(/^G(?=\/|$)/, `/groups/${isSpared ? spare.group : group}`)
    .replace(/^U(?=\/|$)/, `/${keeper.username}`)
    .replace(/:[a-z_]+\([^)]*\)|:[a-z_]+/g, (name) => known[name] ?? String(1 + Math.floor(random() ** 2 * 6)))
    .replace('*', oneOf(['main/a.txt', 'one', 'topic']))
}

/** The fields of a form, those of records within it as `record[field]`. */
function fieldsOf(schema: z.ZodObject, within = ''): string[] {
  return Object.entries(schema.shape).flatMap(([name, inner]) => {
    const field = within === '' ? name : `${within}[${name}]`
    const bare = bareOf(inner as z.ZodType)
    return bare instanceof z.ZodObject && within.length < 60 ? fieldsOf(bare, field) : [field]
  })
}

function bareOf(schema: z.ZodType): z.ZodType {
  const { def } = schema as unknown as { def: { innerType?: z.ZodType; out?: z.ZodType; in?: z.ZodType } }
  const inner = def.innerType ?? (def.out instanceof z.ZodObject ? def.out : undefined)
  return inner ? bareOf(inner) : schema
}

async function heard(who: TestBrowser, path: string, body?: URLSearchParams) {
  const cookie = [...who.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  const answer = await fetch(t.url + path, { redirect: 'manual', headers: { accept: 'text/html', cookie }, ...(body && { method: 'POST', body }) })
  return { status: answer.status, html: await answer.text(), to: answer.headers.get('location'), headers: answer.headers }
}

/** What is wrong with an answer: markup of others, scripts, a fault of the service, or a way to another site. */
function faultsOf({ status, html, to, headers }: Awaited<ReturnType<typeof heard>>): string[] {
  const $ = load(html)
  const foreign = to !== null && new URL(to, t.url).origin !== new URL(t.url).origin
  const odd = $('*').filter((_, each) =>
    Object.entries('attribs' in each ? each.attribs : {}).some(([name, value]) => name.startsWith('on') || /^\s*javascript:/i.test(value)),
  )
  return [
    ...(status >= 500 ? [`status ${status}`] : []),
    ...($(`[${MARK}]`).length > 0 ? [`markup of others: ${$(`[${MARK}]`).first().parent().html()?.slice(0, 200)}`] : []),
    ...($('script:not([src])').length + odd.length > 0 ? ['a script'] : []),
    ...(foreign ? [`leads to ${to}`] : []),
    ...(headers.get('set-cookie')?.includes('a=b') ? ['a cookie of others'] : []),
  ]
}

const tokenOf = async (who: TestBrowser, path: string) => String((await who.open(path)).$('[name=authenticity_token]').first().val() ?? '')

/** Fills a form at random. */
function filled({ method, input }: Form, authenticity_token: string): URLSearchParams {
  const body = new URLSearchParams({ authenticity_token, _method: method })
  for (const field of fieldsOf(input))
    if (random() < 0.7) body.append(random() < 0.1 ? `${field}[]` : field, random() < 0.6 ? oneOf(HOSTILE) : oneOf(PLAIN))
  return body
}

const nameOf = ({ method, at }: Form) => `${method} ${at}`
const sent: Form[] = forms.filter((form) => NOT_SENT[nameOf(form)] === undefined)
const read = pages.filter(({ at }) => !/sign_out|oauth|confirmation|unlock/.test(at))
const readerOf = async (at: string) => (at.startsWith('/admin') ? throwaway('admin') : browser)

it(
  `hostile texts in all forms make no markup, no fault of the service, and are not lost (WB-6, WB-8; seed ${SEED})`,
  async () => {
    const names = forms.map(nameOf)
    expect(Object.keys(NOT_SENT).filter((each) => !names.includes(each))).toEqual([])
    const token = await tokenOf(browser, `/${project.fullPath}/-/issues/new`)
    const faults: string[] = []
    const answers = new Map<number, number>()
    let [count, kept] = [0, 0]
    const end = Date.now() + SECONDS * 1000
    for (let i = 0; Date.now() < end && faults.length < 20; i++) {
      const form = sent[i % sent.length] as Form
      const { at, method } = form
      const isOfAccount = OF_ACCOUNTS.test(at)
      const kind = at.startsWith('/admin') ? 'admin' : 'user'
      if (i % SPARED === 0) await makeSpare()
      const who = isOfAccount ? await throwaway(kind) : browser
      const body = filled(form, isOfAccount ? await tokenOf(who, '/-/profile/emails') : token)
      const answer = await heard(who, addressOf(at), body)
      count++
      answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1)
      if (isOfAccount && (answer.status === 401 || /sign_in|password\/new|two_factor/.test(answer.to ?? '') || ENDS_SESSION.test(at)))
        throwaways.delete(kind)
      const say = (what: string[]) => faults.push(...what.map((each) => `${method} ${at} ${body}: ${each}`))
      say(faultsOf(answer))
      if (answer.status === 422) {
        // what was typed into a field of several lines is in the form that is shown again
        const $ = load(answer.html)
        const typed = $('form textarea')
          .toArray()
          .map((each) => String($(each).val()))
        const [, text] = [...body].find(([name, value]) => $(`textarea[name="${name}"]`).length > 0 && value.trim().length > 3) ?? []
        if (text !== undefined && !text.includes('\0') && !/[\ud800-\udfff]/.test(text)) {
          kept++
          if (!typed.some((each) => each.replace(/\s+/g, ' ').includes(text.replace(/\s+/g, ' ').trim().slice(0, 40)))) say(['the text is lost'])
        }
      }
      // what it has made is looked at
      if (i % 3 === 0) {
        const shown = (read[(i / 3) % read.length] as { at: string }).at
        const seen = await heard(await readerOf(shown), addressOf(shown))
        if (shown.startsWith('/admin') && seen.status === 302) throwaways.delete('admin')
        say(faultsOf(seen).map((each) => `${shown} after it: ${each}`))
      }
    }
    await t.ctx.jobs.drain()
    for (const { at } of read) for (const what of faultsOf(await heard(await readerOf(at), addressOf(at)))) faults.push(`${at}: ${what}`)
    process.stdout.write(`${count} forms of ${sent.length} kinds sent, ${kept} texts shown again; answers ${JSON.stringify([...answers])}\n`)
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(Math.min(sent.length, SECONDS * 2))
  },
  (SECONDS + 120) * 1000,
)

it(
  `hostile settings of the service make no markup and no fault (WB-8; seed ${SEED})`,
  async () => {
    const form = forms.find((each) => nameOf(each) === 'PUT /admin/application_settings/:subject') ?? expect.fail('no settings')
    const index = await (await throwaway('admin')).open('/admin/application_settings')
    const subjects = [
      ...new Set(
        index
          .$('a[href*="/admin/application_settings/"]')
          .map((_, each) => index.$(each).attr('href'))
          .get(),
      ),
    ]
    expect(subjects.length).toBeGreaterThan(3)
    const faults: string[] = []
    let count = 0
    const end = Date.now() + Math.max(10, SECONDS / 20) * 1000
    for (let i = 0; Date.now() < end && faults.length < 20; i++) {
      const who = await throwaway('admin')
      const path = subjects[i % subjects.length] as string
      const page = await who.open(path)
      const body = filled(form, String(page.$('[name=authenticity_token]').first().val() ?? ''))
      // the settings turn the sender away sooner or later
      if (page.status >= 400 || page.at !== path) break
      count++
      for (const answer of [await heard(who, path, body), await heard(who, path), await heard(browser, '/'), await heard(browser, '/help')])
        faults.push(...faultsOf(answer).map((each) => `${path} ${body}: ${each}`))
    }
    process.stdout.write(`${count} times settings sent\n`)
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(subjects.length / 2)
  },
  (SECONDS + 120) * 1000,
)
