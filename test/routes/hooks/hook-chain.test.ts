import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { type Received, receiver } from '../../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver()
let counter = 0

const HEADER = 'x-gitlab-webhook-chain'
const chainOf = ({ headers }: Received) => String(headers[HEADER])
const settled = () => t.ctx.jobs.drain()

async function hooked(count: number) {
  const creator = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator, files: { 'readme.md': 'one\n' } })
  const paths = Array.from({ length: count }, () => `/chain${++counter}`)
  const ids: number[] = []
  for (const path of paths) {
    const { body } = await t
      .api('post', `${project.path}/hooks`, creator)
      .send({ url: r.url + path, push_events: true, issues_events: true, merge_requests_events: true, note_events: true })
      .expect(201)
    ids.push(body.id)
  }
  const call = (method: 'get' | 'post' | 'put', path: string, chain?: string) => {
    const request = t.api(method, project.path + path, creator)
    return chain === undefined ? request : request.set(HEADER, chain)
  }
  return { creator, project, paths, ids, call, got: () => paths.map((path) => r.at(path).length) }
}

describe('a chain of webhooks', () => {
  it('ends where hooks call the API again (HK-30)', async () => {
    const hooks = await hooked(3)
    for (const path of hooks.paths)
      r.reply(path, async (received) => {
        await hooks.call('post', '/issues', chainOf(received)).send({ title: 'Again' }).expect(201)
        return {}
      })
    await hooks.call('post', '/issues').send({ title: 'First' }).expect(201)
    await settled()
    // each order of three hooks: 3 of one, 3 × 2 of two, 3 × 2 × 1 of three
    expect(hooks.got()).toEqual([5, 5, 5])
    const { body } = await hooks.call('get', '/issues?per_page=100').expect(200)
    expect(body).toHaveLength(16)
  })

  it('holds for every kind of write, and for what jobs do after it (HK-30)', async () => {
    const hooks = await hooked(2)
    const [first, second] = hooks.paths as [string, string]
    const request = await aMergeRequest(t, { project: hooks.project })
    await hooks.call('post', '/issues').send({ title: 'First' }).expect(201)
    await settled()
    const chain = chainOf(r.at(first)[0] as Received)
    const before = hooks.got()
    const iid = request.path.split('/').at(-1)
    await hooks.call('post', '/issues/1/notes', chain).send({ body: 'A note' }).expect(201)
    await hooks.call('put', '/issues/1', chain).send({ title: 'Renamed' }).expect(200)
    await hooks.call('post', '/repository/branches', chain).send({ branch: 'new', ref: request.source }).expect(201)
    await hooks.call('post', '/repository/files/b.txt', chain).send({ branch: request.source, content: 'b', commit_message: 'b' }).expect(201)
    await settled()
    await hooks.call('put', `/merge_requests/${iid}/merge`, chain).expect(200)
    await settled()
    expect(r.at(first)).toHaveLength(before[0] as number)
    const events = r
      .at(second)
      .slice(before[1])
      .map(({ headers }) => headers['x-gitlab-event'])
    expect(new Set(events)).toEqual(new Set(['Note Hook', 'Issue Hook', 'Push Hook', 'Merge Request Hook']))
    for (const received of r.at(second).slice(before[1])) expect(chainOf(received)).toMatch(new RegExp(`^${hooks.ids.join('-')}\\.`))
  })

  it('of five refuses a further write, and lets reads through (HK-31)', async () => {
    const hooks = await hooked(5)
    let chain: string | undefined
    for (const path of hooks.paths) {
      const at = r.at(path).length
      await hooks.call('post', '/issues', chain).send({ title: 'Next' }).expect(201)
      await settled()
      chain = chainOf(r.at(path)[at] as Received)
    }
    const { body } = await hooks.call('post', '/issues', chain).send({ title: 'One more' }).expect(403)
    expect(body).toEqual({ message: '403 Forbidden - too many webhooks have led to this request: 5 are allowed' })
    await hooks.call('get', '/issues', chain).expect(200)
  })

  it('covers tests and resends of a hook (HK-30)', async () => {
    const hooks = await hooked(2)
    await hooks.call('post', '/issues').send({ title: 'First' }).expect(201)
    await settled()
    const [path, other] = hooks.paths as [string, string]
    const [id, second] = hooks.ids as [number, number]
    const chain = chainOf(r.at(path)[0] as Received)
    const refusal = { message: 'A delivery of this webhook led to this request' }
    expect((await hooks.call('post', `/hooks/${id}/test/issues_events`, chain).expect(422)).body).toEqual(refusal)
    const [event] = (await hooks.call('get', `/hooks/${id}/events`).expect(200)).body
    expect((await hooks.call('post', `/hooks/${id}/events/${event.id}/resend`, chain).expect(422)).body).toEqual(refusal)
    const [elsewhere] = (await hooks.call('get', `/hooks/${second}/events`).expect(200)).body
    await hooks.call('post', `/hooks/${second}/events/${elsewhere.id}/resend`, chain).expect(201)
    expect(chainOf(r.at(other).at(-1) as Received)).toMatch(new RegExp(`^${id}-${second}\\.`))
  })

  it('that was not signed here, or is an hour old, silences no hook (SEC-272)', async () => {
    const hooks = await hooked(1)
    const [path] = hooks.paths as [string]
    await hooks.call('post', '/issues').send({ title: 'First' }).expect(201)
    await settled()
    const chain = chainOf(r.at(path)[0] as Received)
    const [ids, until, signature] = chain.split('.') as [string, string, string]
    const forged = [
      `${ids}.${until}.${'A'.repeat(43)}`,
      `${ids}.${Number(until) + 1}.${signature}`,
      `1-${ids}.${until}.${signature}`,
      ids,
      '',
      '\u00ff',
    ]
    for (const value of forged) await hooks.call('post', '/issues', value).send({ title: 'Forged' }).expect(201)
    await settled()
    expect(r.at(path)).toHaveLength(1 + forged.length)
  })
})

describe('deliveries that wait', () => {
  it('are at most 1,000 for a hook; a further one is listed as failed and can be resent (HK-32)', async () => {
    const hooks = await hooked(1)
    const [id] = hooks.ids as [number]
    const [path] = hooks.paths as [string]
    await t.ctx.db.write.execute(sql`insert into hook_deliveries (hook_id, uuid, key, trigger, event, body)
      select ${id}, 'u', 'k', 'issue_hooks', 'Issue Hook', '{}' from generate_series(1, 1000)`)
    await hooks.call('post', '/issues').send({ title: 'One more' }).expect(201)
    await settled()
    expect(r.at(path)).toHaveLength(0)
    const [event] = (await hooks.call('get', `/hooks/${id}/events`).expect(200)).body
    expect(event).toMatchObject({ trigger: 'issue_hooks', response_body: 'Not sent: 1000 deliveries to this webhook were waiting' })
    await hooks.call('post', `/hooks/${id}/events/${event.id}/resend`).expect(201)
    expect(r.at(path)).toHaveLength(1)
    await t.ctx.db.write.execute(sql`delete from hook_deliveries where id = (select min(id) from hook_deliveries where hook_id = ${id})`)
    await hooks.call('post', '/issues').send({ title: 'Room again' }).expect(201)
    await settled()
    expect(r.at(path)).toHaveLength(2)
  })
})

describe('the service itself', () => {
  const own = testApp({ BASE_URL: 'http://203.0.114.1:8443' })

  it('is reached by hooks of the system only (SEC-273)', async () => {
    const creator = await aUser(own.ctx)
    const project = await aProject(own.ctx, { creator })
    const add = (url: string) => own.api('post', `${project.path}/hooks`, creator).send({ url })
    for (const url of ['http://203.0.114.1:8443/api/v4/projects', 'https://203.0.114.1/', 'http://3405804033:8443/'])
      expect((await add(url).expect(422)).body, url).toEqual({ error: 'Invalid url given' })
    await add('http://203.0.114.1:9000/').expect(201)
    await add('http://203.0.114.2:8443/').expect(201)
    await own
      .api('post', '/hooks', await anAdmin(own.ctx))
      .send({ url: 'http://203.0.114.1:8443/' })
      .expect(201)
  })
})
