import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { and, eq } from 'drizzle-orm'
import { afterAll, describe, expect, it } from 'vitest'
import { auditEvents } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
const folder = mkdtempSync(join(tmpdir(), 'roost-snapshot-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const at = (id: number, query = '') => `${t.url}/api/v4/projects/${id}/snapshot${query}`
const get = (id: number, who: TestUser, query = '') => fetch(at(id, query), { headers: { 'private-token': who.token } })

/** Unpacks an archive; runs git in it. */
async function unpacked(answer: Response, name: string): Promise<(...args: string[]) => string> {
  const target = mkdtempSync(join(folder, name))
  execFileSync('tar', ['x', '-C', target], { input: Buffer.from(await answer.arrayBuffer()) })
  return (...args) => execFileSync('git', ['--git-dir', target, ...args], { encoding: 'utf8' }).trim()
}

describe('a snapshot (RX-36)', () => {
  it('is the bare repository with its refs, for administrators, and leaves nothing behind', async () => {
    const [admin, project] = [await anAdmin(t.ctx), await aProject(t.ctx, { files: { a: 'one' } })]
    await t.api('post', `${project.path}/repository/tags`, project.creator).send({ tag_name: 'v1', ref: 'main' }).expect(201)
    const answer = await get(project.id, admin)
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('content-disposition')]).toEqual([
      200,
      'application/x-tar',
      expect.stringContaining('snapshot.tar'),
    ])
    const etag = String(answer.headers.get('etag'))
    const git = await unpacked(answer, 'one-')
    expect(git('for-each-ref', '--format=%(refname)').split('\n')).toEqual(expect.arrayContaining(['refs/heads/main', 'refs/tags/v1']))
    expect([git('show', 'HEAD:a'), git('fsck', '--strict')]).toEqual(['one', ''])
    const again = await fetch(at(project.id), { headers: { 'private-token': admin.token, 'if-none-match': etag } })
    expect(again.status).toBe(304)
    await expect.poll(() => readdirSync(join(t.ctx.config.dataDir, 'exports')).filter((name) => name.includes('snapshot'))).toEqual([])
    const audited = await t.ctx.db.write
      .select()
      .from(auditEvents)
      .where(and(eq(auditEvents.action, 'project_exported'), eq(auditEvents.target_id, project.id)))
    expect(audited).toMatchObject([{ target: project.fullPath, changes: { snapshot: 'project' } }])
  })

  it('has what a fork borrows, and the wiki on request', async () => {
    const [admin, project] = [await anAdmin(t.ctx), await aProject(t.ctx, { visibility: 'public', files: { a: 'one' } })]
    const { body: fork } = await t.api('post', `${project.path}/fork`, await aUser(t.ctx)).expect(201)
    await t.ctx.jobs.drain()
    const git = await unpacked(await get(fork.id, admin), 'fork-')
    expect([git('show', 'HEAD:a'), git('fsck')]).toEqual(['one', ''])
    expect((await get(project.id, admin, '?wiki=true')).status).toBe(404)
    await t.api('post', `${project.path}/wikis`, project.creator).send({ title: 'home', content: 'text' }).expect(201)
    const wiki = await unpacked(await get(project.id, admin, '?wiki=true'), 'wiki-')
    expect(wiki('show', 'HEAD:home.md')).toBe('text')
  })

  it('is for no others, and one at a time', async () => {
    const [admin, project] = [await anAdmin(t.ctx), await aProject(t.ctx, { files: { a: 'one' } })]
    expect((await get(project.id, project.creator)).status).toBe(403)
    expect((await fetch(at(project.id))).status).toBe(401)
    expect((await get(999_999, admin)).status).toBe(404)
    const answers = await Promise.all(Array.from({ length: 4 }, () => get(project.id, admin)))
    for (const { status } of answers) expect([200, 409]).toContain(status)
    expect(answers.map(({ status }) => status)).toContain(200)
    await Promise.all(answers.map((answer) => answer.arrayBuffer()))
    await expect.poll(async () => (await get(project.id, admin)).status).toBe(200)
  })
})
