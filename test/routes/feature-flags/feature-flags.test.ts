import { beforeAll, describe, expect, it } from 'vitest'
import { LEVELS } from '../../../src/access/can.js'
import { getProjectFor } from '../../../src/access/rules.js'
import { sealedValues } from '../../../src/services/operations/sealed-values.js'
import { clientToken, resetClientToken } from '../../../src/services/projects/feature-flags/clients.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { anAdmin, aProject, aUser, type Credentialed, type TestProject } from '../../support/factories.js'

const t = testApp({ ROOST_FAILED_CREDENTIALS: '2' })
const { addMember } = ciOf(t)

const call = (project: TestProject, method: 'get' | 'post' | 'put' | 'delete', path: string, who: Credentialed = project.creator) =>
  t.api(method, project.path + path, who)
const aFlag = async (project: TestProject, given: object) =>
  (
    await call(project, 'post', '/feature_flags')
      .send({ version: 'new_version_flag', ...given })
      .expect(201)
  ).body
const aList = async (project: TestProject, name: string, user_xids: string) =>
  (await call(project, 'post', '/feature_flags_user_lists').send({ name, user_xids }).expect(201)).body
const everywhere = [{ environment_scope: '*' }]

let project: TestProject
beforeAll(async () => {
  project = await aProject(t.ctx)
})

describe('feature flags', () => {
  it('are made, listed, changed and deleted by developers (FF-1, FF-3)', async () => {
    const developer = await aUser(t.ctx)
    const reporter = await aUser(t.ctx)
    await addMember(project, developer, LEVELS.developer)
    await addMember(project, reporter, LEVELS.reporter)
    const made = await aFlag(project, { name: 'zebra', description: 'Stripes' })
    expect(made).toEqual({
      name: 'zebra',
      description: 'Stripes',
      active: true,
      version: 'new_version_flag',
      created_at: expect.any(String),
      updated_at: expect.any(String),
      scopes: [],
      strategies: [],
    })
    const other = await aFlag(project, { name: 'apple', active: false, strategies: [{ name: 'default', parameters: '{}', scopes: everywhere }] })
    expect(other.strategies).toEqual([
      { id: expect.any(Number), name: 'default', parameters: {}, scopes: [{ id: expect.any(Number), environment_scope: '*' }], user_list: null },
    ])
    const at = '/feature_flags'
    await call(project, 'get', at, reporter).expect(403)
    expect((await call(project, 'get', at, developer).expect(200)).body).toEqual([other, made])
    expect((await call(project, 'get', `${at}?scope=enabled`).expect(200)).body).toEqual([made])
    expect((await call(project, 'get', `${at}?scope=disabled`).expect(200)).body).toEqual([other])
    await call(project, 'get', `${at}?scope=all`).expect(400, { error: 'scope does not have a valid value' })
    const { body } = await call(project, 'put', `${at}/zebra`, developer).send({ active: false, name: 'horse' }).expect(200)
    expect(body).toEqual({ ...made, name: 'horse', active: false, updated_at: expect.any(String) })
    await call(project, 'get', `${at}/zebra`).expect(404, { message: '404 Not found' })
    await call(project, 'delete', `${at}/horse`, reporter).expect(403)
    expect((await call(project, 'delete', `${at}/horse`, developer).expect(200)).body).toEqual(body)
    await call(project, 'delete', `${at}/horse`, developer).expect(404)
    const { body: log } = await t.api('get', `/audit_events?entity_type=Project&entity_id=${project.id}`, await anAdmin(t.ctx)).expect(200)
    const actions = log.map(({ details }: { details: { action: string } }) => details.action)
    expect(actions).toEqual(expect.arrayContaining(['feature_flag_created', 'feature_flag_updated', 'feature_flag_deleted']))
  })

  it('are refused with sentences, and then nothing has changed (FF-2, FF-4)', async () => {
    await aFlag(project, { name: 'taken' })
    const before = (await call(project, 'get', '/feature_flags')).body
    for (const [given, sentence] of [
      [{ name: 'taken' }, 'Name has already been taken'],
      [{ name: 'x' }, 'Name is too short (minimum is 2 characters)'],
      [{ name: 'Upper' }, /^Name can contain only lowercase letters/],
      [{ name: 'ends-' }, /^Name can contain only/],
      [{ description: 'x'.repeat(256) }, 'Description is too long (maximum is 255 characters)'],
      [{ strategies: [{ name: 'default', parameters: { x: 'y' } }] }, 'Strategies parameters parameters are invalid'],
      [
        { strategies: [{ name: 'gradualRolloutUserId', parameters: { groupId: 'default', percentage: '101' } }] },
        'Strategies parameters percentage must be a string between 0 and 100 inclusive',
      ],
      [
        { strategies: [{ name: 'flexibleRollout', parameters: { groupId: 'default', rollout: '5', stickiness: 'luck' } }] },
        'Strategies parameters stickiness parameter must be default, userId, sessionId, or random',
      ],
      [{ strategies: [{ name: 'userWithId', parameters: { userIds: 'a,a' } }] }, /^Strategies parameters userIds must be a string of unique/],
      [{ strategies: [{ name: 'gitlabUserList', parameters: {} }] }, "Strategies user list can't be blank"],
      [
        { strategies: [{ name: 'default', parameters: {}, scopes: [...everywhere, ...everywhere] }] },
        'Strategies scopes environment scope has already been taken',
      ],
      [{ strategies: Array(21).fill({ name: 'default', parameters: {} }) }, 'Strategies are too many (maximum is 20)'],
    ] as const) {
      const { body } = await call(project, 'post', '/feature_flags')
        .send({ name: 'fresh', ...given })
        .expect(400)
      expect(body.message).toEqual([typeof sentence === 'string' ? sentence : expect.stringMatching(sentence)])
    }
    const refusals = [
      [{}, 'name is missing'],
      [{ name: 'fresh', version: 'legacy_flag' }, 'version does not have a valid value'],
      [{ name: 'fresh', scopes: [{ environment_scope: '*' }] }, 'scopes is not supported'],
    ] as const
    for (const [given, error] of refusals) await call(project, 'post', '/feature_flags').send(given).expect(400, { error })
    const stranger = await aList(await aProject(t.ctx), 'theirs', 'a')
    for (const user_list_id of [stranger.id, 999_999])
      await call(project, 'post', '/feature_flags')
        .send({ name: 'fresh', strategies: [{ name: 'gitlabUserList', parameters: {}, user_list_id }] })
        .expect(404)
    expect((await call(project, 'get', '/feature_flags')).body).toEqual(before)
  })

  it('change those of their strategies and scopes that are named, and keep the others (FF-5)', async () => {
    const list = await aList(project, 'testers', 'ann,bob')
    const strategies = [
      { name: 'gitlabUserList', parameters: {}, user_list_id: list.id, scopes: [{ environment_scope: 'staging' }, { environment_scope: 'qa' }] },
      { name: 'default', parameters: {}, scopes: everywhere },
    ]
    const flag = await aFlag(project, { name: 'steps', strategies })
    const [first, second] = flag.strategies
    expect(first.user_list).toEqual({ id: list.id, iid: list.iid, name: 'testers', user_xids: 'ann,bob' })
    const put = async (given: object[]) =>
      (await call(project, 'put', '/feature_flags/steps').send({ strategies: given }).expect(200)).body.strategies
    // what the answer has is sent back, as clients do
    const removed = { ...first.scopes[1], _destroy: true }
    const added = { name: 'userWithId', parameters: { userIds: 'eve' } }
    const changed = await put([{ ...first, scopes: [first.scopes[0], removed, { environment_scope: 'dev' }] }, added])
    expect(changed).toEqual([
      { ...first, scopes: [first.scopes[0], { id: expect.any(Number), environment_scope: 'dev' }] },
      second,
      { id: expect.any(Number), ...added, scopes: [], user_list: null },
    ])
    // another kind of strategy has no list
    const rollout = { name: 'gradualRolloutUserId', parameters: { groupId: 'a', percentage: '0' } }
    expect(
      await put([
        { id: first.id, ...rollout },
        { id: second.id, _destroy: true },
      ]),
    ).toEqual([{ ...changed[0], ...rollout, user_list: null }, changed[2]])
    await call(project, 'put', '/feature_flags/steps')
      .send({ strategies: [{ id: second.id, name: 'default' }] })
      .expect(404, { message: '404 Strategy Not Found' })
  })
})

describe('user lists', () => {
  it('are made, found, changed, and deleted unless a strategy names them (FF-8)', async () => {
    const list = await aList(project, 'Night shift', 'one,two')
    expect(list).toEqual({
      id: expect.any(Number),
      iid: expect.any(Number),
      name: 'Night shift',
      user_xids: 'one,two',
      project_id: project.id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      path: expect.stringMatching(/^\/.+\/-\/feature_flags_user_lists\/\d+$/),
      edit_path: `${list.path}/edit`,
    })
    const at = `/feature_flags_user_lists/${list.iid}`
    expect((await call(project, 'get', '/feature_flags_user_lists?search=night').expect(200)).body).toEqual([list])
    await call(project, 'get', at).expect(200, list)
    for (const user_xids of ['a,,b', 'a,a', ' a', 'x'.repeat(257), 'a\nb']) {
      const { body } = await call(project, 'put', at).send({ user_xids }).expect(400)
      expect(body.message).toEqual([expect.stringMatching(/^User xids user_xids must be a string of unique comma separated values/)])
    }
    await call(project, 'post', '/feature_flags_user_lists')
      .send({ name: 'Night shift', user_xids: '' })
      .expect(400, { message: ['Name has already been taken'] })
    expect((await call(project, 'put', at).send({ user_xids: '' }).expect(200)).body.user_xids).toBe('')
    const flag = await aFlag(project, { name: 'night', strategies: [{ name: 'gitlabUserList', parameters: {}, user_list_id: list.id }] })
    await call(project, 'delete', at).expect(409, { message: ['User list is associated with a strategy'] })
    await call(project, 'delete', `/feature_flags/${flag.name}`).expect(200)
    await call(project, 'delete', at).expect(204)
    await call(project, 'get', at).expect(404)
  })

  it('and what strategies name are together no longer than a client can take (FF-9)', async () => {
    const crowded = await aProject(t.ctx)
    const user_xids = Array.from({ length: 5_000 }, (_, n) => `${n}`.padEnd(200, 'x')).join()
    const list = await aList(crowded, 'crowd', user_xids)
    const { body } = await call(crowded, 'post', '/feature_flags')
      .send({ name: 'crowd', strategies: Array(2).fill({ name: 'gitlabUserList', parameters: {}, user_list_id: list.id }) })
      .expect(400)
    expect(body.message).toEqual([expect.stringMatching(/too long/)])
    await call(crowded, 'get', '/feature_flags').expect(200, [])
  })
})

describe('a client of Unleash', () => {
  const ask = (at: string, headers: Record<string, string> = {}) => {
    const request = t.api('get', `/feature_flags/unleash/${at}`)
    for (const [name, value] of Object.entries(headers)) request.set(name, value)
    return request
  }

  it('gets the strategies of its environment with the token of the project (FF-10, FF-11, FF-12)', async () => {
    const served = await aProject(t.ctx)
    const subject = await getProjectFor(t.ctx, { user: { ...served.creator, admin: false, external: false } } as never, String(served.id))
    await resetClientToken(t.ctx, subject)
    const token = (await clientToken(t.ctx, subject)) as string
    const list = await aList(served, 'testers', 'ann,bob')
    await aFlag(served, {
      name: 'first',
      strategies: [
        { name: 'default', parameters: {}, scopes: [{ environment_scope: 'review/*' }] },
        { name: 'gitlabUserList', parameters: {}, user_list_id: list.id, scopes: [{ environment_scope: 'production' }] },
      ],
    })
    await aFlag(served, { name: 'off', description: 'no', active: false, strategies: [{ name: 'default', parameters: {}, scopes: everywhere }] })
    await aFlag(served, { name: 'nowhere' })
    const headers = { 'UNLEASH-INSTANCEID': token, 'UNLEASH-APPNAME': 'production' }
    const off = { name: 'off', description: 'no', enabled: false, strategies: [{ name: 'default', parameters: {} }] }
    const inProduction = { name: 'first', enabled: true, strategies: [{ name: 'userWithId', parameters: { userIds: 'ann,bob' } }] }
    for (const path of ['features', 'client/features'])
      await ask(`${served.id}/${path}`, headers).expect(200, { version: 1, features: [inProduction, off] })
    const inReview = { name: 'first', enabled: true, strategies: [{ name: 'default', parameters: {} }] }
    await ask(`${served.id}/client/features?instance_id=${token}&app_name=review/one`).expect(200, { version: 1, features: [inReview, off] })
    await ask(`${served.id}/client/features?instance_id=${token}`).expect(200, { version: 1, features: [] })
    for (const path of ['register', 'metrics'])
      await t
        .api('post', `/feature_flags/unleash/${served.id}/client/${path}`)
        .set('UNLEASH-INSTANCEID', token)
        .send({ appName: 'production', bucket: { toggles: {} } })
        .expect(200)

    await ask(`${served.id}/client/features`).expect(401)
    await ask(`${project.id}/client/features`, headers).expect(401)
    const found = new Map<string, string>()
    for await (const { of, sealed, purpose } of sealedValues(t.ctx.db.write)) found.set(of, t.ctx.encryption.open(sealed, purpose))
    expect(found.get(`feature flag token of project ${served.id}`)).toBe(token)
    await resetClientToken(t.ctx, subject)
    await ask(`${served.id}/client/features`, headers).expect(401)
    for (let tries = 0; tries < 6; tries++) await ask(`${served.id}/client/features`, { 'UNLEASH-INSTANCEID': 'guess' })
    await ask(`${served.id}/client/features`, { 'UNLEASH-INSTANCEID': 'guess' }).expect(429)
  })
})
