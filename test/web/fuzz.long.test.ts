// @module-tag long
import { load } from 'cheerio'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { forms, pages } from '../../src/web/index.js'
import type { Form } from '../../src/web/page.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

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

/** What would end the accounts and places that the others are sent to, or sends requests elsewhere. */
const NOT_SENT =
  /^\/admin|sign_out|sign_in|password|two_factor|account|sessions|profile$|archive|transfer|deletion|advanced|leave|visibility|remove|group_members|project_members|^[PG]$|^[PG]\/edit|import|hooks|user_settings|oauth|confirmation|unlock|sign_up|webauthn|passkey|applications|snooze/

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
})

const addressOf = (at: string) =>
  at
    .replace(/^P(?=\/|$)/, `/${project.fullPath}`)
    .replace(/^G(?=\/|$)/, `/${group}`)
    .replace(/^U(?=\/|$)/, `/${keeper.username}`)
    .replace(/:[a-z_]+\([^)]*\)|:[a-z_]+/g, (name) => (name === ':username' ? keeper.username : name === ':sha' ? 'main' : oneOf(['1', '1', '2'])))
    .replace('*', oneOf(['main/a.txt', 'one', 'topic']))

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

async function heard(path: string, body?: URLSearchParams) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
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

const sent: Form[] = forms.filter(({ at }) => !NOT_SENT.test(at))
const read = pages.filter(({ at }) => !/^\/admin|sign_out|oauth|confirmation|unlock/.test(at))

it(
  `hostile texts in all forms make no markup, no fault of the service, and are not lost (WB-6, WB-8; seed ${SEED})`,
  async () => {
    const token = String((await browser.open(`/${project.fullPath}/-/issues/new`)).$('[name=authenticity_token]').first().val())
    const faults: string[] = []
    let [count, kept] = [0, 0]
    const end = Date.now() + SECONDS * 1000
    for (let i = 0; Date.now() < end && faults.length < 20; i++) {
      const { at, method, input } = sent[i % sent.length] as Form
      const body = new URLSearchParams({ authenticity_token: token, _method: method })
      for (const field of fieldsOf(input))
        if (random() < 0.7) body.append(random() < 0.1 ? `${field}[]` : field, random() < 0.6 ? oneOf(HOSTILE) : oneOf(PLAIN))
      const answer = await heard(addressOf(at), body)
      count++
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
      if (i % 3 === 0) say(faultsOf(await heard(addressOf((read[(i / 3) % read.length] as { at: string }).at))))
    }
    await t.ctx.jobs.drain()
    for (const { at } of read) for (const what of faultsOf(await heard(addressOf(at)))) faults.push(`${at}: ${what}`)
    process.stdout.write(`${count} forms of ${sent.length} kinds sent, ${kept} texts shown again\n`)
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(Math.min(sent.length, SECONDS * 2))
  },
  (SECONDS + 120) * 1000,
)
