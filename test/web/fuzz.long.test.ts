// @module-tag long
import { type CheerioAPI, load } from 'cheerio'
import { sql } from 'drizzle-orm'
import { beforeAll, expect, it } from 'vitest'
import { forms, pages } from '../../src/web/index.js'
import type { Form } from '../../src/web/page.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aFullProject } from '../support/full-project.js'
import { fieldsOf } from '../support/input-fields.js'

const t = testApp()
/** How long forms are sent; an hour of it is `ROOST_FUZZ_SECONDS=3600`. */
const SECONDS = Number(process.env['ROOST_FUZZ_SECONDS'] ?? 20)
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
/** Forms after which spare things and people are made anew, and after which everything is. */
const SPARED = 40
const WORLD_OF = 300
const MOST_FAULTS = Number(process.env['ROOST_FUZZ_FAULTS'] ?? 20)

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
/** Those whose pages are read and whose forms are sent: the owner, a developer, and one who is no member. */
let browser: TestBrowser
let others: TestBrowser[]
/** Everything that forms may ruin. */
let spare: { project: TestProject; group: string; group_id: number; user: TestUser }
const throwaways = new Map<'admin' | 'user', TestBrowser>()
/** Addresses of pages whose forms are sent. */
let known: string[] = []

/** People and a project with something on every page. */
async function makeWorld() {
  keeper = await aUser(t.ctx)
  const [mate, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
  const made = await aFullProject(t, keeper, mate)
  project = made.project
  group = made.group.fullPath
  browser = new TestBrowser(t.url)
  await browser.signIn(keeper)
  others = [new TestBrowser(t.url), new TestBrowser(t.url)]
  await others[0]?.signIn(mate)
  await others[1]?.signIn(stranger)
  await makeSpare()
  known = pages.filter(({ at }) => !/sign_out|oauth|confirmation|unlock|^\/users/.test(at)).map(({ at }) => addressOf(at))
}

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

beforeAll(makeWorld)

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

async function heard(who: TestBrowser, path: string, body?: URLSearchParams) {
  const cookie = [...who.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  const answer = await fetch(t.url + path, { redirect: 'manual', headers: { accept: 'text/html', cookie }, ...(body && { method: 'POST', body }) })
  return { status: answer.status, html: await answer.text(), to: answer.headers.get('location'), headers: answer.headers }
}

/** What is wrong with an answer: markup of others, scripts, a fault of the service, or a way to another site. */
function faultsOf({ status, html, to, headers }: Awaited<ReturnType<typeof heard>>): string[] {
  // a browser reads no elements in a diff
  const $ = load(headers.get('content-type')?.startsWith('text/plain') ? '' : html)
  const foreign = to !== null && new URL(to, t.url).origin !== new URL(t.url).origin
  const odd = $('*').filter((_, each) =>
    Object.entries('attribs' in each ? each.attribs : {}).some(([name, value]) => name.startsWith('on') || /^\s*javascript:/i.test(value)),
  )
  return [
    ...(status >= 500 ? [`status ${status}: ${t.logged.findLast((line) => line.includes('"err"'))?.slice(0, 2_000)}`] : []),
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

/** A form as a page has it, with its hidden fields and what the sender makes of the others. */
function filledOnPage($: CheerioAPI, element: ReturnType<CheerioAPI>[number]): { action: string; body: URLSearchParams } {
  const body = new URLSearchParams()
  const id = $(element).attr('id')
  const within = $(element).find('input, select, textarea, button')
  for (const field of [...within.toArray(), ...(id ? $(`[form="${id}"]`).toArray() : [])]) {
    const [name, type] = [$(field).attr('name'), $(field).attr('type')]
    if (name === undefined || type === 'file' || $(field).is('button')) continue
    const own = [$(field).val() ?? ''].flat().map(String)
    const isChecked = $(field).is('[checked]') || random() < 0.3
    const chance = random()
    if (type === 'hidden') for (const value of own) body.append(name, chance < 0.95 || name === 'authenticity_token' ? value : oneOf(HOSTILE))
    else if (/checkbox|radio/.test(type ?? '')) for (const value of isChecked ? own : []) body.append(name, chance < 0.95 ? value : oneOf(HOSTILE))
    else if ($(field).is('select')) {
      const options = $(field).find('option').toArray()
      const option = options.length > 0 ? oneOf(options) : undefined
      body.append(name, chance < 0.9 && option ? String($(option).attr('value') ?? $(option).text()) : oneOf(HOSTILE))
    } else body.append(name, chance < 0.55 ? oneOf(HOSTILE) : chance < 0.75 ? oneOf(PLAIN) : (own[0] ?? ''))
  }
  const buttons = $(element).find('button[name]').toArray()
  const button = buttons.length > 0 && random() < 0.6 ? oneOf(buttons) : undefined
  if (button) body.append(String($(button).attr('name')), String($(button).attr('value') ?? ''))
  const action = String($(element).attr('action') ?? '')
  // sometimes it is about another record, or about none
  return { action: random() < 0.06 ? action.replace(/\d+(?!.*\d)/, String(Math.floor(random() * 9))) : action, body }
}

const COUNTED = ['users', 'namespaces', 'projects', 'members', 'issues', 'merge_requests', 'notes', 'draft_notes', 'labels', 'milestones', 'snippets']
COUNTED.push('releases', 'award_emoji', 'protected_branches')

/** The number of rows of each kind, after what was begun has ended. */
async function counted(): Promise<Record<string, number>> {
  await t.ctx.jobs.drain()
  const counts = COUNTED.map((table) => sql`(select count(*)::int from ${sql.identifier(table)}) as ${sql.identifier(table)}`)
  const { rows } = await t.ctx.db.write.execute(sql`select ${sql.join(counts, sql`, `)}`)
  return rows[0] as Record<string, number>
}

/** Forms after which there may be less of something. */
const REMOVES =
  /destroy|delete|remov|leave|toggle_award|publish|reject|discard|draft|bulk|transfer|merge$|import|group_members|project_members|users\/|suggestions/
/** What is changed by those who are refused: a wrong answer is counted, or a note is taken of it. */
function lossesOf(before: Record<string, number>, after: Record<string, number>, { status, name }: { status: number; name: string }): string[] {
  const changed = COUNTED.filter((table) => before[table] !== after[table])
  const wrong =
    status >= 400 ? changed : /^DELETE/.test(name) || REMOVES.test(name) ? [] : changed.filter((table) => (after[table] ?? 0) < (before[table] ?? 0))
  return wrong.map((table) => `${table}: ${before[table]} before, ${after[table]} after`)
}

/** A text that was typed into a field of several lines, and is not in the form that is shown again. */
function isLost({ html }: { html: string }, body: URLSearchParams): boolean | null {
  const $ = load(html)
  const typed = $('form textarea')
    .toArray()
    .map((each) => String($(each).val()))
  const [, text] = [...body].find(([name, value]) => $(`textarea[name="${name}"]`).length > 0 && value.trim().length > 3) ?? []
  if (text === undefined || text.includes('\0') || /[\ud800-\udfff]/.test(text)) return null
  return !typed.some((each) => each.replace(/\s+/g, ' ').includes(text.replace(/\s+/g, ' ').trim().slice(0, 40)))
}

interface Sent {
  who: TestBrowser
  path: string
  name: string
  body: URLSearchParams
}

/** A form as it is declared, with any fields; half of them meet records that are not there. */
async function aDeclared(i: number): Promise<Sent> {
  const form = sent[i % sent.length] as Form
  const isOfAccount = OF_ACCOUNTS.test(form.at)
  const who = isOfAccount ? await throwaway(form.at.startsWith('/admin') ? 'admin' : 'user') : browser
  const token = await tokenOf(who, isOfAccount ? '/-/profile/emails' : `/${project.fullPath}/-/issues/new`)
  return { who, path: addressOf(form.at), name: nameOf(form), body: filled(form, token) }
}

/** A form that stands on a page, as it stands there; null for a page without any. */
async function onAPage(say: (what: string[]) => void): Promise<Sent | null> {
  const path = oneOf(known)
  const isSpared = path.includes(spare.project.fullPath) || path.includes(`/groups/${spare.group}`)
  const chance = random()
  const who = path.startsWith('/admin')
    ? await throwaway('admin')
    : path.startsWith('/-/profile')
      ? await throwaway('user')
      : chance < 0.7 || isSpared
        ? browser
        : oneOf(others)
  const answer = await heard(who, path)
  say(faultsOf(answer).map((each) => `${path}: ${each}`))
  const $ = load(answer.html)
  for (const link of $('a[href]').toArray()) {
    const [to = ''] = String($(link).attr('href')).split('#')
    const isOurs = to.startsWith(`/${project.fullPath}/`) || to.startsWith(`/groups/${group}/`)
    if (isOurs && known.length < 2_000 && !known.includes(to) && !/\/(raw|archive|uploads)\//.test(to)) known.push(to)
  }
  const candidates = $('form[method="post"]')
    .toArray()
    .filter((each) => !NOT_TAKEN.test(String($(each).attr('action'))) && (isSpared || !DANGEROUS.test(String($(each).attr('action')))))
  if (candidates.length === 0) return null
  const { action, body } = filledOnPage($, oneOf(candidates))
  return { who, path: action, name: `${body.get('_method') ?? 'POST'} ${action}`, body }
}

/** Forms that end sessions, and settings that turn the senders away. */
const NOT_TAKEN = /sign_out|\/admin\/(maintenance|application_settings|request_limits)|\/users\/sign_in|broadcast/
/** Sent only to spare projects and groups. */
const DANGEROUS =
  /\/(edit|transfer|archive|unarchive|leave|visibility|path|settings|restore|project_members|group_members)\b|^\/(groups\/)?[^/]+(\/[^/]+)?$/

it(
  `hostile texts in all forms make no markup, no fault of the service, and are not lost (WB-6, WB-8, WB-380; seed ${SEED})`,
  async () => {
    const names = forms.map(nameOf)
    expect(Object.keys(NOT_SENT).filter((each) => !names.includes(each))).toEqual([])
    const faults: string[] = []
    const answers: Record<string, Record<number, number>> = { 'of pages': {}, declared: {} }
    let [count, kept, twice] = [0, 0, 0]
    const kinds = new Set<string>()
    const end = Date.now() + SECONDS * 1000
    let [made, i] = [0, 0]
    while (Date.now() < end && faults.length < MOST_FAULTS) {
      i++
      if (made + WORLD_OF < i || (i % SPARED === 0 && (await heard(browser, '/dashboard')).status !== 200)) {
        throwaways.clear()
        await makeWorld()
        made = i
      }
      if (i % SPARED === 0) {
        await makeSpare()
        known.push(...pages.filter(({ at }) => RUINS.test(at)).map(({ at }) => addressOf(at)))
      }
      const say = (what: string[]) => faults.push(...what)
      const kind = random() < 0.85 ? 'of pages' : 'declared'
      const given = kind === 'of pages' ? await onAPage(say) : await aDeclared(i)
      if (!given) continue
      const { who, path, name, body } = given
      const about = (what: string[]) => say(what.map((each) => `${name} ${path} ${body}: ${each}`))
      const before = await counted()
      const answer = await heard(who, path, body)
      count++
      kinds.add(name.replace(/\d+/g, '1'))
      const own = answers[kind] as Record<number, number>
      own[answer.status] = (own[answer.status] ?? 0) + 1
      about(faultsOf(answer))
      if (answer.status === 422) {
        const lost = isLost(answer, body)
        if (lost !== null) kept++
        if (lost) about(['the text is lost'])
      }
      const after = await counted()
      about(lossesOf(before, after, { status: answer.status, name }))
      // another text than the key makes it a form that may be sent often
      if (/^[\w-]{16,64}$/.test(body.get('form_key') ?? '') && answer.status === 303) {
        twice++
        await heard(who, path, body)
        const again = await counted()
        const more = COUNTED.filter((table) => (again[table] ?? 0) > (after[table] ?? 0))
        about(more.map((table) => `sent twice, it has made two of ${table}`))
      }
      const isThrown = [...throwaways].find(([, each]) => each === who)?.[0]
      if (isThrown && (answer.status === 401 || /sign_in|password\/new|two_factor/.test(answer.to ?? '') || ENDS_SESSION.test(path)))
        throwaways.delete(isThrown)
      // what it has made is looked at
      if (answer.status === 303 && answer.to) about(faultsOf(await heard(who, new URL(answer.to, t.url).pathname)).map((each) => `after it: ${each}`))
      if (i % 3 === 0) {
        const shown = (read[(i / 3) % read.length] as { at: string }).at
        const seen = await heard(await readerOf(shown), addressOf(shown))
        if (shown.startsWith('/admin') && seen.status === 302) throwaways.delete('admin')
        about(faultsOf(seen).map((each) => `${shown} after it: ${each}`))
      }
      if (i % 500 === 0) process.stdout.write(`${count} sent, ${JSON.stringify(answers)}, ${faults.length} faults\n${faults.slice(-3).join('\n')}\n`)
    }
    for (const { at } of read) for (const what of faultsOf(await heard(await readerOf(at), addressOf(at)))) faults.push(`${at}: ${what}`)
    process.stdout.write(
      `${count} forms sent, ${kinds.size} of them different, ${twice} twice, ${kept} texts shown again; answers ${JSON.stringify(answers)}\n`,
    )
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(SECONDS / 2)
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
