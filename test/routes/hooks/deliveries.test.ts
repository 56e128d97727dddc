import { type SQL, sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCommit, aProject, aUser } from '../../support/factories.js'
import { aMergeRequest, showRequest, soon } from '../../support/merge-requests.js'
import { receiver } from '../../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver()
let counter = 0

async function hooked(url?: string) {
  const creator = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator, files: { 'readme.md': 'one\n' } })
  const path = `/hook${++counter}`
  const hooks = `${project.path}/hooks`
  const { body } = await t
    .api('post', hooks, creator)
    .send({ url: url ?? r.url + path, push_events: false, issues_events: true })
    .expect(201)
  return {
    ...{ creator, project, path, id: body.id as number },
    issue: (title: string) => t.api('post', `${project.path}/issues`, creator).send({ title }).expect(201),
    hook: async () => (await t.api('get', `${hooks}/${body.id}`, creator).expect(200)).body,
    events: async (query = '') => (await t.api('get', `${hooks}/${body.id}/events${query}`, creator).expect(200)).body,
    resend: (event: number) => t.api('post', `${hooks}/${body.id}/events/${event}/resend`, creator),
  }
}

/** The minutes until each delivery of a hook that was put off is tried again. */
async function waits(hook: number): Promise<number[]> {
  const { rows } = await t.ctx.db.write.execute<{ wait: number }>(sql`select round(extract(epoch from j.run_at - now()) / 60)::int as wait
    from jobs j join hook_deliveries d on d.id = (j.payload->>'delivery')::bigint
    where j.kind = 'hooks: deliver' and j.worker is null and j.run_at > now() and d.hook_id = ${hook} order by j.id`)
  return rows.map(({ wait }) => wait)
}

/** The time of what waits has come. */
async function later(hook: number) {
  await t.ctx.db.write.execute(
    sql`update web_hooks set disabled_until = now() - interval '1 second' where id = ${hook} and disabled_until is not null`,
  )
  await t.ctx.db.write.execute(sql`update jobs j set run_at = now() from hook_deliveries d
    where j.kind = 'hooks: deliver' and j.worker is null and d.id = (j.payload->>'delivery')::bigint and d.hook_id = ${hook}`)
}

describe('a delivery without an answer', () => {
  it('is tried again after 1, 2, 4 … minutes with the same key, until it is taken (HK-12)', async () => {
    const hook = await hooked()
    r.reply(hook.path, { hangUp: true })
    await hook.issue('Unheard')
    for (const [at, wait] of [1, 2, 4].entries()) {
      await soon(async () => r.at(hook.path).length === at + 1 && (await waits(hook.id)).length === 1)
      expect(await waits(hook.id)).toEqual([wait])
      if (at === 2) r.reply(hook.path, {})
      await later(hook.id)
    }
    await soon(async () => (await hook.events()).length === 4)
    const events = await hook.events()
    expect(events.map((event: { response_status: string }) => event.response_status)).toEqual([
      '200',
      'internal error',
      'internal error',
      'internal error',
    ])
    expect(events[1].response_body).toBe('The connection was closed without an answer')
    expect(new Set(r.at(hook.path).map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(await hook.events('?status=server_failure')).toHaveLength(3)
    expect(await hook.events('?status=successful')).toHaveLength(1)
    expect(await waits(hook.id)).toEqual([])
  })

  it('is given up a day after the change, and can be sent again by hand (HK-7, HK-12)', async () => {
    const hook = await hooked()
    r.reply(hook.path, { hangUp: true })
    await hook.issue('Unheard')
    await soon(async () => (await waits(hook.id)).length === 1)
    await t.ctx.db.write.execute(sql`update hook_deliveries set created_at = now() - interval '1 day' where hook_id = ${hook.id}`)
    await later(hook.id)
    await soon(async () => (await hook.events()).length === 2)
    const [event] = await hook.events()
    expect((await hook.resend(event.id).expect(422)).body).toEqual({ message: 'The connection was closed without an answer' })
    r.reply(hook.path, { status: 201 })
    expect((await hook.resend(event.id).expect(201)).body).toEqual({ response_status: 201 })
    const [again] = await hook.events()
    expect(again).toMatchObject({ response_status: '201', request_data: event.request_data })
    await hook.resend(0).expect(404)
    const other = await hooked()
    await other.resend(event.id).expect(404)
    expect(await waits(hook.id)).toEqual([])
  })

  it('is over with any HTTP answer (HK-12)', async () => {
    const hook = await hooked()
    r.reply(hook.path, { status: 500, body: 'broken' })
    await hook.issue('Refused')
    await soon(async () => (await hook.events()).length === 1)
    expect((await hook.events())[0]).toMatchObject({ response_status: '500', response_body: 'broken' })
    expect(await waits(hook.id)).toEqual([])
  })
})

describe('a hook that keeps failing (HK-26)', () => {
  it('is disabled for a growing time, keeps its deliveries, and is enabled again', async () => {
    const hook = await hooked()
    r.reply(hook.path, { status: 503 })
    for (const at of [1, 2, 3, 4]) {
      await hook.issue(`Failure ${at}`)
      await soon(async () => (await hook.events()).length === at)
    }
    const aside = await hook.hook()
    expect(aside.alert_status).toBe('temporarily_disabled')
    expect(Date.parse(aside.disabled_until)).toBeGreaterThan(Date.now())
    await hook.issue('Kept')
    await soon(async () => (await waits(hook.id)).length === 1)
    await t.ctx.jobs.drain()
    expect(r.at(hook.path)).toHaveLength(4)
    await later(hook.id)
    await soon(async () => r.at(hook.path).length === 5)
    await soon(async () => (await hook.hook()).alert_status === 'temporarily_disabled')
    expect(Date.parse((await hook.hook()).disabled_until) - Date.parse(aside.disabled_until)).toBeGreaterThan(30_000)
    await hook.issue('Kept again')
    await soon(async () => (await waits(hook.id)).length === 1)
    r.reply(hook.path, {})
    await later(hook.id)
    await soon(async () => r.at(hook.path).length === 6)
    await soon(async () => (await hook.hook()).alert_status === 'executable')
    expect(await hook.hook()).toMatchObject({ disabled_until: null })
  })

  it('is tried again at once when it is changed', async () => {
    const hook = await hooked()
    r.reply(hook.path, { status: 503 })
    for (const at of [1, 2, 3, 4]) {
      await hook.issue(`Failure ${at}`)
      await soon(async () => (await hook.events()).length === at)
    }
    await t.api('put', `${hook.project.path}/hooks/${hook.id}`, hook.creator).send({ enable_ssl_verification: true }).expect(200)
    expect(await hook.hook()).toMatchObject({ alert_status: 'executable', disabled_until: null })
  })
})

describe('recorded deliveries (HK-6)', () => {
  it('is the newest hundred deliveries', async () => {
    const hook = await hooked()
    await t.ctx.db.write.execute(sql`insert into hook_deliveries (hook_id, uuid, key, trigger, event, body, state)
      select ${hook.id}, 'u', 'k', 'issue_hooks', 'Issue Hook', '{}', 'delivered' from generate_series(1, 150)`)
    await hook.issue('One more')
    await soon(async () => r.at(hook.path).length === 1)
    const { rows } = await t.ctx.db.write.execute<{ count: string }>(sql`select count(*) from hook_deliveries where hook_id = ${hook.id}`)
    expect(Number(rows[0]?.count)).toBe(100)
  })
})

describe('a slow receiver', () => {
  it('delays no other (HK-29)', async () => {
    const slow = await hooked(`${r.url.replace('127.0.0.1', 'localhost')}/slow`)
    const quick = await hooked()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    r.reply('/slow', () => held.then(() => ({})))
    for (let n = 0; n < 12; n++) await slow.issue(`Slow ${n}`)
    await soon(async () => r.at('/slow').length === 4)
    await quick.issue('Quick')
    await soon(async () => r.at(quick.path).length === 1)
    // no more at a time than one receiver gets
    expect(r.at('/slow')).toHaveLength(4)
    release()
    await soon(async () => r.at('/slow').length === 12)
  })
})

const has = async (query: SQL) => (await t.ctx.db.write.execute(query)).rows.length > 0
const WAITS = sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`

describe('a hook that is deleted while its deliveries are made', () => {
  it('holds up no other one (HK-12)', async () => {
    const hook = await hooked()
    const { body: doomed } = await t
      .api('post', `${hook.project.path}/hooks`, hook.creator)
      .send({ url: `${r.url}/doomed`, issues_events: true })
      .expect(201)
    await t.ctx.db.transaction(async (tx) => {
      await tx.execute(sql`delete from web_hooks where id = ${doomed.id}`)
      await hook.issue('Sent')
      await soon(() => has(WAITS))
    })
    const failed = () => has(sql`select from jobs where kind = 'hooks: dispatch' and last_error is not null`)
    await soon(async () => r.at(hook.path).length === 1 || (await failed()))
    expect(await failed()).toBe(false)
    expect([r.at(hook.path).length, r.at('/doomed').length]).toEqual([1, 0])
  })
})

describe('a hook that is deleted while its receiver works', () => {
  it('is 404 for callers who ask for a test or a resend of a missing one (HK-5, HK-7)', async () => {
    const hook = await hooked()
    await hook.issue('Sent')
    await soon(async () => (await hook.events()).length === 1)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    r.reply(hook.path, () => held.then(() => ({})))
    const [{ id }] = await hook.events()
    const at = `${hook.project.path}/hooks/${hook.id}`
    const asked = [hook.resend(id), t.api('post', `${at}/test/issues_events`, hook.creator)].map((call) => call.then((answer) => answer))
    await soon(async () => r.at(hook.path).length === 3)
    await t.api('delete', at, hook.creator).expect(204)
    release()
    for (const { status, body } of await Promise.all(asked)) expect([status, body]).toEqual([404, { message: '404 Not found' }])
  })

  it('is missing before it is asked, too (HK-5)', async () => {
    const hook = await hooked()
    const asked = await t.ctx.db.transaction(async (tx) => {
      await tx.execute(sql`delete from web_hooks where id = ${hook.id}`)
      const pending = t.api('post', `${hook.project.path}/hooks/${hook.id}/test/push_events`, hook.creator).then((answer) => answer)
      await soon(() => has(WAITS))
      return { pending }
    })
    const { status, body } = await asked.pending
    expect([status, body]).toEqual([404, { message: '404 Not found' }])
  })
})

describe('a CI server', () => {
  it('that gets a push posts a status, which completes a deferred merge (HK-15, MR-66)', async () => {
    const creator = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator, files: { 'readme.md': 'one\n' } })
    const request = await aMergeRequest(t, { project })
    const { body: variable } = await t.api('put', project.path, creator).send({ only_allow_merge_if_pipeline_succeeds: true }).expect(200)
    expect(variable.only_allow_merge_if_pipeline_succeeds).toBe(true)
    const answers: string[] = []
    const post = async (sha: string, state: string) => {
      const { status, text } = await t.api('post', `${project.path}/statuses/${sha}`, creator).send({ state, name: 'ci', ref: request.source })
      answers.push(status === 201 ? 'created' : `${status} ${text}`)
    }
    r.reply('/ci', async ({ body, headers }) => {
      if (headers['x-gitlab-token'] !== 'shared') return { status: 403 }
      await post(body.checkout_sha, 'running')
      return {}
    })
    await t
      .api('post', `${project.path}/hooks`, creator)
      .send({ url: `${r.url}/ci`, token: 'shared' })
      .expect(201)
    const head = await aCommit(t.ctx, project, { 'work.txt': 'work\n' }, { branch: request.source })
    await soon(async () => answers.length > 0)
    expect(answers).toEqual(['created'])
    expect((await showRequest(t, request)).pipeline.status).toBe('running')
    expect((await t.api('put', `${request.path}/merge`, creator).send({ merge_when_pipeline_succeeds: true }).expect(200)).body.state).toBe('opened')
    await post(head, 'success')
    expect(answers).toEqual(['created', 'created'])
    await soon(async () => (await showRequest(t, request)).state === 'merged')
    // the merge is a push, too: its status is posted while the service still runs
    await soon(async () => answers.length === 3)
  })
})
