import { sql } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { projectFetches } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { gitClient, gitOut } from '../../support/clients/git-client.js'
import { aCommit, aProject, aUser } from '../../support/factories.js'

const t = testApp()
const client = gitClient(t)

it('counts what clients fetch by day, and not what they list, for developers (RX-10)', async () => {
  const [developer, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { developer, reporter })
  await aCommit(t.ctx, project, { a: 'x' })
  const shown = async () => {
    await t.ctx.jobs.drain()
    return (await t.api('get', `${project.path}/statistics`, developer).expect(200)).body
  }
  expect(await shown()).toEqual({ fetches: { total: 0, days: [] } })
  const url = client.url(project.fullPath, developer)
  const folder = client.folder()
  await gitOut(folder, 'clone', '-q', url, 'one')
  await gitOut(folder, 'ls-remote', url)
  // version 0 of the protocol
  await gitOut(folder, '-c', 'protocol.version=0', 'clone', '-q', url, 'two')
  const [date] = new Date().toISOString().split('T')
  expect(await shown()).toEqual({ fetches: { total: 2, days: [{ count: 2, date }] } })
  // an older day is shown for a month, and goes when a new one begins
  await t.ctx.db.write.execute(sql`update ${projectFetches} set day = day - 20`)
  await t.ctx.db.write.insert(projectFetches).values({ project_id: project.id, day: '2020-01-01', fetches: 7 })
  await gitOut(folder, 'clone', '-q', url, 'three')
  expect((await shown()).fetches).toMatchObject({ total: 3, days: [{ count: 1, date }, { count: 2 }] })
  expect(await t.ctx.db.write.$count(projectFetches)).toBe(2)
  await t.api('get', `${project.path}/statistics`, reporter).expect(403)
})
