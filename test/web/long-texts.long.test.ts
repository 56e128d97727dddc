// @module-tag long
import { type CheerioAPI, load } from 'cheerio'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { forms, pages } from '../../src/web/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aUser } from '../support/factories.js'
import { aFullProject, type FullProject } from '../support/full-project.js'
import { fieldsOf } from '../support/input-fields.js'
import { longText, Turns } from '../support/turns.js'

const t = testApp()
const turns = new Turns()
afterAll(() => turns.stop())

/** A turn of the event loop may take 50 ms (SEC-145); one that is quadratic takes most of a second for this text. */
const LIMIT_MS = 250
const TEXT = longText(25_000)

/** Forms that end the session or turn the sender away, which other tests send. */
const NOT_SENT = /sign_out|\/admin\/(maintenance|application_settings|request_limits)|password|two_factor|impersonat|\/oauth\/|active_sessions|block$/
const NOT_READ = /sign_out|oauth|confirmation|unlock|password|^\/users/

let full: FullProject
let browser: TestBrowser
let username: string

beforeAll(async () => {
  const keeper = await anAdmin(t.ctx)
  full = await aFullProject(t, keeper, await aUser(t.ctx))
  username = keeper.username
  browser = new TestBrowser(t.url)
  await browser.signIn(keeper)
})

const addressOf = (at: string): string =>
  at
    .replace(/^P(?=\/|$)/, `/${full.project.fullPath}`)
    .replace(/^G(?=\/|$)/, `/groups/${full.group.fullPath}`)
    .replace(/^U(?=\/|$)/, `/${username}`)
    .replace(/:[a-z_]+\([^)]*\)|:[a-z_]+/g, (name) => ({ ':username': username, ':sha': full.sha, ':tag_name': 'v1' })[name] ?? '1')
    .replace('*', at.includes('wikis') ? 'one' : 'main/a.txt')

/** A body with few escapes: of them, a form takes a megabyte. */
const encoded = (text: string) =>
  encodeURIComponent(text)
    .replace(/%(?:2F|5B|5D|40|3A|2C|22|3C|3E|60|5C)/g, decodeURIComponent)
    .replaceAll('%20', '+')
/** Encoded once: it is sent some hundred times. */
const ENCODED_TEXT = encoded(TEXT)
const bodyOf = (fields: [string, string][]) =>
  fields.map(([name, value]) => `${encoded(name)}=${value === TEXT ? ENCODED_TEXT : encoded(value)}`).join('&')
const TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

async function heard(path: string, body?: string) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  const headers = { accept: 'text/html', cookie, ...(body && TYPE) }
  const answer = await fetch(t.url + path, { redirect: 'manual', headers, ...(body && { method: 'POST', body }) })
  return { status: answer.status, html: await answer.text(), to: answer.headers.get('location') }
}

/** A form as a page has it: where it leads, its fields as they are, and those that a text is typed into. */
interface Found {
  name: string
  action: string
  fields: [name: string, value: string][]
  texts: string[]
}

function formsOn($: CheerioAPI): Found[] {
  return $('form[method="post"]')
    .toArray()
    .map((element) => {
      const [action, id] = [String($(element).attr('action')), $(element).attr('id')]
      const within = [...$(element).find('input, select, textarea').toArray(), ...(id ? $(`[form="${id}"]`).toArray() : [])]
      const fields: Found['fields'] = []
      const texts: string[] = []
      for (const each of within) {
        const [field, type] = [$(each).attr('name'), $(each).attr('type') ?? '']
        if (field === undefined || type === 'file' || /form_key|^button$/.test(field)) continue
        if (/checkbox|radio/.test(type) && !$(each).is('[checked]')) continue
        fields.push([field, String([$(each).val() ?? ''].flat()[0] ?? '')])
        if (!/checkbox|radio/.test(type) && !/^(authenticity_token|_method)$/.test(field)) texts.push(field)
      }
      const button = $(element).find('button[name]').first()
      if (button.length > 0) fields.push([String(button.attr('name')), String(button.attr('value') ?? '')])
      const method = fields.find(([field]) => field === '_method')?.[1] ?? 'post'
      return { name: `${method} ${action.replace(/\?.*|\b[0-9a-f]{40}\b|\d+/g, 'N')}`, action, fields, texts: [...new Set(texts)] }
    })
}

it('long texts in all fields of all forms, and the pages that then show them, never hold the event loop (SEC-67, SEC-145)', async () => {
  const read = pages.filter(({ at }) => !NOT_READ.test(at)).map(({ at }) => addressOf(at))
  const found = new Map<string, Found>()
  const faults: string[] = []
  let token = ''
  for (const path of read) {
    const { html } = await heard(path)
    const $ = load(html)
    token ||= String($('[name=authenticity_token]').first().val() ?? '')
    for (const each of formsOn($)) if ((found.get(each.name)?.texts.length ?? -1) < each.texts.length) found.set(each.name, each)
  }
  // those that stand on no page here meet what they can
  for (const { method, at, input } of forms) {
    const action = addressOf(at)
    const name = `${method.toLowerCase()} ${action.replace(/\b[0-9a-f]{40}\b|\d+/g, 'N')}`
    const own = found.get(name) ?? { name, action, fields: [['_method', method]], texts: [] }
    const ofPath = new Set([...at.matchAll(/:([a-z_]+)/g)].map(([, key]) => key))
    found.set(name, { ...own, texts: [...new Set([...own.texts, ...fieldsOf(input)])].filter((field) => !ofPath.has(field)) })
  }
  const isLast = ({ name }: Found) => /^delete|transfer|archive|leave|members|path$/.test(name)
  const sent = [...found.values()].filter(({ name }) => !NOT_SENT.test(name))
  let count = 0
  for (const { name, action, fields, texts } of [...sent.filter((each) => !isLast(each)), ...sent.filter(isLast)]) {
    for (const field of texts) {
      const others = fields.filter(([key]) => key !== field && key !== 'authenticity_token')
      const body = bodyOf([...others, ['authenticity_token', token], [field, TEXT]])
      let status = 0
      const held = await turns.longestOf(async () => {
        const answer = await heard(action, body)
        status = answer.status
        if (answer.to) await heard(new URL(answer.to, t.url).pathname)
      }, LIMIT_MS)
      count++
      if (held > LIMIT_MS) faults.push(`${name} ${field}: ${Math.round(held)} ms, answered ${status}`)
      if (status >= 500) faults.push(`${name} ${field}: ${status}`)
    }
  }
  for (const path of read) {
    let status = 0
    const held = await turns.longestOf(async () => ({ status } = await heard(path)), LIMIT_MS)
    if (held > LIMIT_MS) faults.push(`${path}: ${Math.round(held)} ms`)
    if (status >= 500) faults.push(`${path}: ${status}`)
  }
  process.stdout.write(`${sent.length} forms, ${count} fields, ${read.length} pages\n`)
  expect(faults).toEqual([])
  expect(count).toBeGreaterThan(500)
})
