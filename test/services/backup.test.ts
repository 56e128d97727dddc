import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../../src/app.js'
import { readConfig } from '../../src/config.js'
import { type Context, createContext } from '../../src/context.js'
import { type Database, openDatabase } from '../../src/db/client.js'
import { backUp, bringBack, bringBackSecret } from '../../src/services/backup.js'
import { faults } from '../../src/services/doctor/index.js'
import { recover } from '../../src/services/recovery.js'
import { testApp } from '../support/app.js'
import { aCommit, anAdmin, aProject, type TestProject, type TestUser, unique } from '../support/factories.js'
import { commitIn, directoryOf, gitClient, gitRun } from '../support/git-client.js'
import { createTestDatabase } from '../support/template-database.js'

const t = testApp()
const client = gitClient(t)
let admin: TestUser
const ends: (() => Promise<unknown>)[] = []
const folder = (name: string) => join(t.dataDir, name)

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

/** An installation with nothing in it. */
async function anEmptyOne(name: string): Promise<{ ctx: Context; url: string; db: Database }> {
  const database = await createTestDatabase()
  const dataDir = folder(name)
  const config = readConfig({ DATA_DIR: dataDir, PORT: '0', BASE_URL: 'http://roost.test' })
  for (const path of Object.values(config.storages)) await mkdir(path, { recursive: true })
  const log = pino({ level: 'silent' })
  const db = await openDatabase(database.url, { log, poolSize: 2 })
  const ctx = await createContext({ ...config, baseUrl: 'http://roost.test' }, db, log)
  ends.push(
    database.drop,
    () => db.close(),
    () => ctx.close(),
  )
  return { ctx, url: database.url, db }
}

async function restored(from: string, name: string) {
  await mkdir(folder(name), { recursive: true })
  await bringBackSecret(from, folder(name))
  const place = await anEmptyOne(name)
  await bringBack(place.ctx, place.url, from)
  return place
}

const told = async (ctx: Context) => {
  const all: string[] = []
  for await (const { kind, of, text } of faults(ctx)) all.push(`${kind}: ${of}: ${text}`)
  return all
}

describe('a backup (SEC-163)', () => {
  it('brings everything back: rows, refs, objects, wikis, uploads, and what is encrypted', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    const send = (path: string, body: object) => t.api('post', `${project.path}${path}`, admin).send(body).expect(201)
    await send('/wikis', { title: 'home', content: 'of the wiki' })
    await send('/variables', { key: 'KEY', value: 'a sealed value' })
    await send('/repository/tags', { tag_name: 'v1', ref: 'main' })
    const issue = (await send('/issues', { title: 'an issue' })).body
    const { body: upload } = await t.api('post', `${project.path}/uploads`, admin).attach('file', Buffer.from('uploaded'), 'x.txt').expect(201)
    await t.ctx.jobs.drain()
    // as git holds a pack with while it takes a push in
    await mkdir(join(directoryOf(t, project.id), 'objects/pack'), { recursive: true })
    await writeFile(join(directoryOf(t, project.id), 'objects/pack/pack-1.keep'), '')
    await backUp(t.ctx, t.databaseUrl, folder('first'))
    await rm(join(directoryOf(t, project.id), 'objects/pack/pack-1.keep'))
    const copied = await readdir(join(folder('first'), 'repositories'), { recursive: true })
    expect(copied.filter((path) => path.includes('/objects/')).length).toBeGreaterThan(0)
    expect(copied.filter((path) => path.endsWith('.keep'))).toEqual([])
    const { ctx, db } = await restored(folder('first'), 'first-back')
    expect(await told(ctx)).toEqual([])
    const app = await buildApp(ctx)
    const get = async (url: string) => {
      const answer = await app.inject({ method: 'GET', url, headers: { 'private-token': admin.token } })
      expect([url, answer.statusCode]).toEqual([url, 200])
      return answer.body
    }
    expect(await get(`/api/v4${project.path}/repository/files/a.txt/raw?ref=v1`)).toBe('one')
    expect(await get(`/api/v4${project.path}/wikis/home`)).toContain('of the wiki')
    expect(await get(`/api/v4${project.path}/variables/KEY`)).toContain('a sealed value')
    expect(await get(`/${project.fullPath}${upload.url}`)).toBe('uploaded')
    // numbers go on where they were
    const next = await app.inject({
      method: 'POST',
      url: `/api/v4${project.path}/issues`,
      headers: { 'private-token': admin.token },
      payload: { title: 'the next' },
    })
    expect([next.json().iid, next.json().id > issue.id]).toEqual([issue.iid + 1, true])
    const references = sql`select count(*)::int as n from pg_constraint where contype = 'f' and convalidated`
    expect((await db.write.execute(references)).rows).toEqual((await t.ctx.db.write.execute(references)).rows)
    await app.close()
  })

  it('made while people write is of one moment: every commit of a row is there, and nothing later', { timeout: 60_000 }, async () => {
    const projects: TestProject[] = []
    for (let i = 0; i < 3; i++) projects.push(await aProject(t.ctx, { creator: admin, files: { [`f${i}`]: 'x' } }))
    let busy = true
    let written = 0
    const commits = projects.map(async (project) => {
      while (busy) {
        const oid = await aCommit(t.ctx, project, { [`f${unique()}`]: 'x' })
        await t.api('post', `${project.path}/statuses/${oid}`, admin).send({ state: 'success' }).expect(201)
        written++
      }
    })
    const [pushed] = projects as [TestProject]
    const work = await client.cloned(client.url(pushed.fullPath, admin))
    const pushes = (async () => {
      for (let i = 0; busy; i++) {
        await commitIn(work, `p${i}`)
        await gitRun(work, 'push', '-q', 'origin', `HEAD:refs/heads/b${i}`)
      }
    })()
    const enough = async () => {
      while (written < 6) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    try {
      await Promise.race([Promise.all([...commits, pushes]), enough()])
      await backUp(t.ctx, t.databaseUrl, folder('busy'))
    } finally {
      busy = false
    }
    await Promise.all([...commits, pushes])
    const later = await aCommit(t.ctx, pushed, { later: 'x' }, { branch: 'later', start_branch: 'main' })
    const { ctx } = await restored(folder('busy'), 'busy-back')
    await recover(ctx)
    await ctx.jobs.drain()
    expect(await told(ctx)).toEqual([])
    // what rows tell of pushes is what the refs are: none is ahead of the other
    for (const project of projects) {
      const { rows } = await ctx.db.write.execute<{ ref: string; oid: string }>(
        sql`select distinct on (push->>'ref') push->>'ref' as ref, push->>'commit_to' as oid from events where project_id = ${project.id} and push is not null order by push->>'ref', id desc`,
      )
      const git = ctx.git.open({ storage: 'default', id: project.id, kind: 'project' })
      const refs = (await git.refs('refs/heads/')).map(({ name, oid }) => ({ ref: name.slice('refs/heads/'.length), oid }))
      const byRef = (a: { ref: string }, b: { ref: string }) => a.ref.localeCompare(b.ref)
      expect(rows.sort(byRef)).toEqual(refs.sort(byRef))
    }
    const restoredPushed = ctx.git.open({ storage: 'default', id: pushed.id, kind: 'project' })
    expect([await restoredPushed.commit(later), await restoredPushed.ref('refs/heads/later')]).toEqual([null, null])
  })

  it('says what is missing when it is put back', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    await t.ctx.jobs.drain()
    await backUp(t.ctx, t.databaseUrl, folder('torn'))
    await rm(join(folder('torn'), 'repositories/default', `${project.id}.git/objects`), { recursive: true })
    await mkdir(join(folder('torn'), 'repositories/default', `${project.id}.git/objects`))
    const { ctx } = await restored(folder('torn'), 'torn-back')
    const [fault, ...others] = await told(ctx)
    expect([fault?.includes(`project ${project.id}: refs/heads/main is at`), others]).toEqual([true, []])
  })

  it('knows what was deleted while it was made', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    await t.ctx.jobs.drain()
    const refsNow = t.ctx.git.refsNow
    // the moment after the refs were read
    const git = {
      ...t.ctx.git,
      async refsNow(key: Parameters<typeof refsNow>[0]) {
        const refs = await refsNow(key)
        if (key.id === project.id && key.kind === 'project') await rm(directoryOf(t, project.id), { recursive: true })
        return refs
      },
    }
    expect((await backUp({ ...t.ctx, git }, t.databaseUrl, folder('deleting'))).gone).toEqual([project.id])
    const { ctx } = await restored(folder('deleting'), 'deleting-back')
    expect(await told(ctx)).toEqual([])
    await t.api('delete', project.path, admin).expect(202)
    await t.ctx.jobs.drain()
  })

  it('overwrites nothing', async () => {
    const whole = folder('first')
    await expect(backUp(t.ctx, t.databaseUrl, whole)).rejects.toThrow('is there already')
    const { ctx, url } = await anEmptyOne('full')
    await writeFile(join(ctx.config.storages['default'] as string, 'something'), '')
    await expect(bringBack(ctx, url, whole)).rejects.toThrow('is not empty')
    await rm(join(ctx.config.storages['default'] as string, 'something'))
    await expect(bringBack({ ...ctx, git: t.ctx.git }, t.databaseUrl, whole)).rejects.toThrow('the database is not empty')
    await expect(bringBackSecret(whole, folder('full'))).rejects.toThrow('another key')
    await expect(bringBack(ctx, url, folder('nowhere'))).rejects.toThrow('is no whole backup')
    const manifest = JSON.parse(await readFile(join(whole, 'backup.json'), 'utf8'))
    await mkdir(folder('other'))
    await writeFile(join(folder('other'), 'backup.json'), JSON.stringify({ ...manifest, database: { ...manifest.database, schema: 1 } }))
    await expect(bringBack(ctx, url, folder('other'))).rejects.toThrow('another version')
    expect(existsSync(join(ctx.config.storages['default'] as string, '01'))).toBe(false)
  })
})
