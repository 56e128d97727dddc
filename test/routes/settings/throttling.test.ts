import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, type TestProject, type TestUser } from '../../support/factories.js'
import { receiver } from '../../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const there = receiver()
const HOOKS = 6
let admin: TestUser
let project: TestProject

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: admin })
  for (let n = 0; n < HOOKS; n++)
    await t
      .api('post', `/projects/${project.id}/hooks`, admin)
      .send({ url: `${there.url}/hook${n}`, issues_events: true, push_events: false })
      .expect(201)
})

/** How many deliveries ran at the same time at most. */
async function atOnce(): Promise<number> {
  let [running, most, done] = [0, 0, 0]
  for (let n = 0; n < HOOKS; n++)
    there.reply(`/hook${n}`, async () => {
      most = Math.max(most, ++running)
      await sleep(100)
      running--
      done++
      return {}
    })
  await t.api('post', `/projects/${project.id}/issues`, admin).send({ title: 'An issue' }).expect(201)
  await t.ctx.jobs.drain()
  await expect.poll(() => done, { timeout: 15_000 }).toBe(HOOKS)
  return most
}

describe('jobqueue_throttling_enabled', () => {
  it('gives the kinds of jobqueue_throttling_queues their share of the places (AS-62)', async () => {
    const put = (settings: object) => t.api('put', '/application/settings', admin).send(settings).expect(200)
    expect(await atOnce()).toBeGreaterThan(2)
    await put({ jobqueue_throttling_enabled: true, jobqueue_throttling_factor: 0.03, jobqueue_throttling_queues: ['hooks: deliver'] })
    expect(await atOnce()).toBe(1)
    await put({ jobqueue_throttling_enabled: true, jobqueue_throttling_factor: 0.06, jobqueue_throttling_queues: ['hooks: deliver'] })
    expect(await atOnce()).toBe(2)
    await put({ jobqueue_throttling_enabled: false })
    expect(await atOnce()).toBeGreaterThan(2)
  })
})
