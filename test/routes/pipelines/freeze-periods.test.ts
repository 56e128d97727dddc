import { expect, it } from 'vitest'
import { LEVELS } from '../../../src/access/can.js'
import { isBetween } from '../../../src/rules/ci/cron.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { ciOf } from '../../support/ci.js'
import { aUser } from '../../support/factories.js'

const t = testApp()
const { withCi, addMember, get } = ciOf(t)

it('a moment is within a period from its start to its end, in its time zone (FZ-1)', () => {
  const at = (moment: string, zone = 'UTC') => isBetween('0 23 * * 5', '0 7 * * 1', zone, new Date(moment))
  // Friday, Saturday, Monday
  expect(
    ['2026-11-27T22:59:00Z', '2026-11-27T23:01:00Z', '2026-11-28T12:00:00Z', '2026-11-30T06:59:00Z', '2026-11-30T07:01:00Z'].map((x) => at(x)),
  ).toEqual([false, true, true, true, false])
  expect([at('2026-11-28T04:30:00Z', 'America/New_York'), at('2026-11-28T03:30:00Z', 'America/New_York')]).toEqual([true, false])
})

it('maintainers make, change and delete them, and jobs know whether one goes on (FZ-1, FZ-2, FZ-3)', async () => {
  const yaml = `
deploy: { script: x, rules: [{ if: $CI_DEPLOY_FREEZE, when: never }, { when: always }] }
test: { script: x }`
  const { project, runner } = await withCi(yaml)
  const at = `${project.path}/freeze_periods`
  const [developer, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
  await addMember(project, developer, LEVELS.developer)
  const always = { freeze_start: '0 0 1 1 *', freeze_end: ' 59 23  31 12 * ' }
  await t.api('post', at, developer).send(always).expect(403)
  await t.api('get', at, stranger).expect(404)
  const refused = await t.api('post', at, project.creator).send({ freeze_start: 'x', freeze_end: '0 0 31 2 *', cron_timezone: 'Moon' }).expect(400)
  expect(Object.keys(refused.body.message)).toEqual(['freeze_start', 'freeze_end', 'cron_timezone'])
  await t.api('post', at, project.creator).send({ freeze_start: '* * * * *' }).expect(400, { error: 'freeze_end is missing' })
  const jobs = async () => {
    const { body } = await t.api('post', `${project.path}/pipeline`, project.creator).send({ ref: 'main' }).expect(201)
    return (await get(project, `/pipelines/${body.id}/jobs`)).map(({ name }: { name: string }) => name).sort()
  }
  expect(await jobs()).toEqual(['deploy', 'test'])
  const { body: made } = await t.api('post', at, project.creator).send(always).expect(201)
  expect(made).toEqual({
    id: expect.any(Number),
    freeze_start: '0 0 1 1 *',
    freeze_end: '59 23 31 12 *',
    cron_timezone: 'UTC',
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect((await t.api('get', at, developer).expect(200)).body).toEqual([made])
  expect(await jobs()).toEqual(['test'])
  const taken = await runner.take()
  expect(taken?.variables).toContainEqual(expect.objectContaining({ key: 'CI_DEPLOY_FREEZE', value: 'true' }))

  const browser = new TestBrowser(t.url)
  await browser.signIn(project.creator)
  const { $ } = await browser.open(`/${project.fullPath}/-/freeze_periods`)
  expect($('main').text()).toContain('One goes on now.')
  const wrong = await browser.submit('Add deploy freeze', { 'period[freeze_start]': 'x', 'period[freeze_end]': '0 7 * * 1' })
  expect([wrong.status, wrong.$('.fault').text()]).toEqual([422, 'Begins is invalid syntax.'])
  await browser.submit('Add deploy freeze', { 'period[freeze_start]': '0 23 * * 5', 'period[freeze_end]': '0 7 * * 1' })
  expect((await t.api('get', at, developer).expect(200)).body).toHaveLength(2)
  await browser.submit('Delete', {})
  const [other] = (await t.api('get', at, developer).expect(200)).body
  const { body } = await t.api('put', `${at}/${other.id}`, project.creator).send({ cron_timezone: 'Europe/Paris' }).expect(200)
  expect(body).toEqual({ ...other, cron_timezone: 'Europe/Paris', updated_at: expect.any(String) })
  await t.api('get', `${at}/${other.id}`, developer).expect(200, body)
  await t.api('delete', `${at}/${other.id}`, project.creator).expect(204)
  await t.api('get', `${at}/${other.id}`, project.creator).expect(404, { message: '404 Not found' })
  expect(await jobs()).toEqual(['deploy', 'test'])
})
