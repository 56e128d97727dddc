import { chmod, readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { checkRepositories } from '../../../src/services/operations/repository-checks.js'
import { testApp } from '../../support/app.js'
import { directoryOf, gitOut } from '../../support/clients/git-client.js'
import { aProject, setSettings } from '../../support/factories.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })

it('damage that a check finds newly is mailed to admin_notification_email, all in one mail (ML-22)', async () => {
  const broken = [await aProject(t.ctx, { files: { a: 'a\n' } }), await aProject(t.ctx, { files: { a: 'b\n' } })]
  await aProject(t.ctx, { files: { a: 'a\n' } })
  await t.ctx.jobs.drain()
  for (const project of broken) {
    await gitOut(directoryOf(t, project.id), 'repack', '-adq')
    const packs = join(directoryOf(t, project.id), 'objects/pack')
    const pack = join(packs, (await readdir(packs)).find((name) => name.endsWith('.pack')) as string)
    await chmod(pack, 0o600)
    await truncate(pack, (await stat(pack)).size - 30)
  }
  const check = async (days: number) => {
    await checkRepositories({ ...t.ctx, now: () => new Date(Date.now() + days * 86_400_000) })
    return box.to('admin@example.com')
  }
  expect(await check(8)).toEqual([])
  await t.ctx.db.write.execute('delete from repository_checks')
  await setSettings(t.ctx, { admin_notification_email: 'admin@example.com' })
  const [mail, ...more] = await check(8)
  expect([mail?.subject, more]).toEqual(['Repositories are damaged', []])
  for (const { fullPath } of broken) expect(mail?.text).toContain(`${fullPath}: `)
  // what is known is no news
  expect(await check(16)).toEqual([])
})
