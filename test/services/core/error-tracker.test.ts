import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { defineJob } from '../../../src/jobs/kinds.js'
import { withoutSecrets } from '../../../src/services/core/error-tracker.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { anAdmin, aProject, type TestUser } from '../../support/factories.js'
import { textReceiver } from '../../support/servers/text-receiver.js'

// the test changes the schema, so it has its own service
const t = testApp({ ROOST_VERSION: '13.12.7' })
const tracker = textReceiver()
const SECRETS = ['glpat-0123456789abcdefghij', 'correct-horse', 'hunter22', 'pa55word']
let admin: TestUser
const put = (settings: object) => t.api('put', '/application/settings', admin).send(settings).expect(200)
const dsn = (key: string) => `${tracker.url.replace('://', `://${key}@`)}/7`
const eventIn = (text: string) => JSON.parse(text.split('\n')[2] ?? '')
const PATH = /^\/api\/7\/envelope\/\?sentry_version=7&sentry_key=/

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

describe('errors of the service', () => {
  it('are sent to errtracker_dsn without secrets, and disturb nothing (SEC-275)', async () => {
    const project = await aProject(t.ctx, { creator: admin })
    await t.ctx.db.write.execute(
      sql.raw(`create function fail() returns trigger language plpgsql as $$ begin
        raise exception 'label % for token=${SECRETS[0]}, password: ${SECRETS[2]} at http://user:${SECRETS[3]}@host', new.title; end $$;
        create trigger fail before insert on labels for each row execute function fail()`),
    )
    const fail = () =>
      t.api('post', `/projects/${project.id}/labels?private=${SECRETS[2]}`, admin).send({ name: 'name', color: '#ffffff', description: SECRETS[1] })
    await fail().expect(500)
    expect(tracker.got).toEqual([])
    await put({ errtracker_enabled: true, errtracker_dsn: dsn('abc') })
    await fail().set('x-request-id', 'request-1').expect(500)
    const sent = await tracker.next(({ path }) => path.startsWith('/api/7/envelope/'))
    expect(sent.path).toMatch(PATH)
    expect(sent.headers['content-type']).toBe('application/x-sentry-envelope')
    const event = eventIn(sent.text)
    expect(event).toMatchObject({
      level: 'error',
      platform: 'node',
      tags: { method: 'POST', route: '/api/v4/projects/:id/labels', request: 'request-1' },
    })
    const last = event.exception.values.at(-1)
    expect(event.exception.values[0]).toMatchObject({
      type: 'error',
      value: expect.stringContaining('label name for token=[masked]'),
    })
    expect(last.stacktrace.frames.length).toBeGreaterThan(2)
    for (const secret of [...SECRETS, admin.token]) expect(sent.text).not.toContain(secret)
    // what is refused is no error
    await t.api('get', '/projects/none%2Fnothing', admin).expect(404)
    await t.api('post', `/projects/${project.id}/labels`, admin).send({}).expect(400)
    expect(tracker.got.length).toBe(1)
  })

  it('are failed jobs, too (SEC-275)', async () => {
    tracker.got.length = 0
    const job = defineJob({ kind: 'import', input: z.object({}), run: async () => undefined })
    await enqueue(t.ctx.db, job, {})
    await t.ctx.jobs.drain()
    const sent = await tracker.next(() => true)
    expect(eventIn(sent.text)).toMatchObject({
      tags: { job: 'import' },
      exception: { values: [{ value: expect.stringContaining('input cannot be read') }] },
    })
  })

  it('are dropped while the tracker is away or refuses them, and when it is off (SEC-275)', async () => {
    const project = await aProject(t.ctx, { creator: admin })
    const fail = () => t.api('post', `/projects/${project.id}/labels`, admin).send({ name: 'a', color: '#ffffff' }).expect(500)
    tracker.got.length = 0
    tracker.answer = () => ({ status: 429, headers: { 'retry-after': '100' } })
    await fail()
    await tracker.next(() => true)
    // its refusal has been read when a further error is not sent
    for (let n = 0; n < 5; n++) await fail()
    tracker.got.length = 0
    await fail()
    expect(tracker.got.length).toBe(0)
    await put({ errtracker_enabled: false })
  })
})

describe('errors of the page script', () => {
  const ERROR = {
    message: `Uncaught TypeError: x is not a function, token=${SECRETS[0]}`,
    source: `http://roost.test/assets/script.js?key=${SECRETS[1]}`,
    line: '12',
    column: '5',
    stack: `TypeError: x\n at http://user:${SECRETS[3]}@roost.test/a.js?password=${SECRETS[2]}:1:2`,
    page: `/group/project?private_token=${SECRETS[0]}`,
  }
  const send = (browser: TestBrowser, headers: Record<string, string> = {}) =>
    browser.request('/-/page_errors', { method: 'POST', body: new URLSearchParams(ERROR), headers })

  it('are taken from anybody and sent on to clientside_errtracker_dsn, 20 a minute (WB-201)', async () => {
    tracker.got.length = 0
    tracker.answer = () => ({})
    const visitor = new TestBrowser(t.url)
    expect((await send(visitor)).status).toBe(404)
    expect((await visitor.open('/explore')).$('script').attr('data-errors')).toBeUndefined()
    await put({ clientside_errtracker_enabled: true, clientside_errtracker_dsn: dsn('page') })
    expect((await visitor.open('/explore')).$('script').attr('data-errors')).toBe('/-/page_errors')
    expect((await send(visitor)).status).toBe(200)
    const sent = await tracker.next(() => true)
    expect(sent.path).toContain('sentry_key=page')
    const event = eventIn(sent.text)
    expect(event).toMatchObject({ platform: 'javascript', request: { url: '/group/project' }, exception: { values: [{ type: 'TypeError' }] } })
    expect(event.exception.values[0].stacktrace.frames).toEqual([{ filename: 'http://roost.test/assets/script.js', lineno: 12, colno: 5 }])
    for (const secret of SECRETS) expect(sent.text).not.toContain(secret)
    expect((await send(visitor, { 'sec-fetch-site': 'cross-site' })).status).toBe(422)
    const statuses = []
    for (let n = 0; n < 21; n++) statuses.push((await send(visitor)).status)
    expect(statuses.slice(0, 18).every((status) => status === 200)).toBe(true)
    expect(statuses.at(-1)).toBe(429)
    await put({ clientside_errtracker_enabled: false })
  })
})

describe('a text for a tracker', () => {
  it.each([
    ['the password is wrong', 'the password is wrong'],
    ['password=abc def', 'password=[masked] def'],
    ['{"private_token":"abc","a":1}', '{"private_token":"[masked]","a":1}'],
    ['Authorization: Bearer abcdef', 'Authorization: [masked]'],
    ['https://me:pw@host/path?a=b#c d', 'https://[masked]@host/path?[masked] d'],
    ['no row 1234 in a_long_name_without_digits', 'no row 1234 in a_long_name_without_digits'],
    ['glpat-0123456789abcdefghij', '[masked]'],
  ])('%j becomes %j (SEC-275)', (text, expected) => expect(withoutSecrets(text)).toBe(expected))
})
