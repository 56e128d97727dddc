import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterAll, expect, it } from 'vitest'
import { jobs } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject } from '../support/factories.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-storages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const t = testApp({ STORAGES: `default=${join(folder, 'first')},second=${join(folder, 'second')}` })
const EVIL = '<img src=x onerror=alert(1)>'

it('the page of a project moves it to another storage, and says how far the move is (WB-301)', async () => {
  const admin = await anAdmin(t.ctx)
  const project = await aProject(t.ctx, { creator: admin, visibility: 'public', files: { a: '1' } })
  const at = `/admin/projects/${project.id}`
  const browser = new TestBrowser(t.url)
  await browser.signIn(admin)
  expect((await browser.open(at)).text).toContain('Storagedefault')
  expect(browser.page?.$('.flash').length).toBe(0)
  expect((await browser.submit('Move', { repository_storage: 'none' })).$('#repository_storage_fault').text()).toContain(
    'is not included in the list',
  )
  await t.ctx.jobs.drain()
  await t.ctx.db.transaction(async (tx) => {
    // no job runs meanwhile
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('roost jobs', 0))`)
    const waiting = await browser.submit('Move', { repository_storage: 'second' })
    expect(waiting.text).toContain('The project is being moved to second.')
    expect(waiting.text).toContain('The move to second waits for its turn.')
    const change = (values: object) => t.ctx.db.write.update(jobs).set(values).where(eq(jobs.kind, 'move repository'))
    await change({ attempts: 1, worker: 'one', run_at: sql`now() + interval '1 minute'` })
    expect((await browser.open(at)).text).toContain('The repository is being copied to second.')
    await change({ worker: null, last_error: `disk full ${EVIL}` })
    const again = await browser.open(at)
    expect([again.text.includes(`waits to be tried again. disk full ${EVIL}`), again.$('main img').length]).toEqual([true, 0])
    await change({ failed_at: new Date() })
    expect((await browser.open(at)).text).toContain('The move to second has failed, after 1 attempt.')
    expect((await browser.open(String(browser.page?.$('.flash a').attr('href')))).text).toContain('disk full')
    await browser.submit('Try again')
  })
  await t.ctx.jobs.drain()
  await expect.poll(async () => (await browser.open(at)).text).toContain('Storagesecond')
  expect(browser.page?.$('.flash').length).toBe(0)
  expect((await browser.open('/admin/projects?sort=storage_size_desc')).text).toContain('in second')
  await t.api('get', `${project.path}/repository/files/a/raw?ref=main`, admin).expect(200, '1')
})
