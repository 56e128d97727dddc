// @module-tag long
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../../src/app.js'
import { createContext } from '../../src/cli/create-context.js'
import { readConfig } from '../../src/config.js'
import type { Context } from '../../src/context.js'
import { type Database, openDatabase } from '../../src/db/client.js'
import { projects } from '../../src/db/schema/index.js'
import { loadOrCreateHostKeys } from '../../src/lib/crypto/host-keys.js'
import {
  type Backup,
  backUp,
  backupFaults,
  checkKey,
  checkSpace,
  checkStorages,
  openBackup,
  restoreFiles,
  restoreRows,
  restoreSecretKey,
} from '../../src/services/operations/backup.js'
import { faults } from '../../src/services/operations/doctor/index.js'
import { recover } from '../../src/services/operations/recovery.js'
import { restoreProject } from '../../src/services/projects/deletion.js'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, gitClient, gitRun } from '../support/clients/git-client.js'
import { anObject, basic, lfsClient } from '../support/clients/lfs-client.js'
import { aCommit, anAdmin, aProject, type TestProject, type TestUser, unique } from '../support/factories.js'
import { createTestDatabase } from '../support/template-database.js'

const t = testApp()
const client = gitClient(t)
const lfs = lfsClient(t)
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

/** Restores into an installation with nothing in it. */
async function restore(ctx: Context, url: string, backup: Backup) {
  await restoreRows(backup, url)
  await restoreFiles(ctx, backup)
}

async function restored(from: string, name: string) {
  const backup = await openBackup(from)
  await mkdir(folder(name), { recursive: true })
  await restoreSecretKey(backup, folder(name))
  const place = await anEmptyOne(name)
  await restore(place.ctx, place.url, backup)
  return place
}

const faultsOf = async (root: string) => {
  const all: string[] = []
  for await (const line of backupFaults(root)) all.push(line)
  return all
}
const dropRow = async (path: string) => writeFile(path, (await readFile(path, 'utf8')).replace(/[^\n]*\n$/, ''))
const edited = async (path: string) => writeFile(path, (await readFile(path, 'utf8')).replace('"gone": []', '"gone": [1]'))

const faultsIn = async (ctx: Context) => {
  const all: string[] = []
  for await (const { kind, of, text } of faults(ctx)) all.push(`${kind}: ${of}: ${text}`)
  return all
}

describe('a backup (SEC-163)', () => {
  it('restores everything: rows, refs, objects, wikis, uploads, and encrypted values', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    const send = (path: string, body: object) => t.api('post', `${project.path}${path}`, admin).send(body).expect(201)
    await send('/wikis', { title: 'home', content: 'of the wiki' })
    await send('/variables', { key: 'KEY', value: 'a sealed value' })
    await send('/repository/tags', { tag_name: 'v1', ref: 'main' })
    const issue = (await send('/issues', { title: 'an issue' })).body
    const { body: upload } = await t.api('post', `${project.path}/uploads`, admin).attach('file', Buffer.from('uploaded'), 'x.txt').expect(201)
    const large = anObject('kept by Git LFS')
    await lfs.upload(project.fullPath, admin, large)
    await t.ctx.jobs.drain()
    // as git holds a pack with while it takes a push in
    await mkdir(join(directoryOf(t, project.id), 'objects/pack'), { recursive: true })
    await writeFile(join(directoryOf(t, project.id), 'objects/pack/pack-1.keep'), '')
    const hostKeys = await loadOrCreateHostKeys(join(t.dataDir, 'ssh'))
    await backUp(t.ctx, t.databaseUrl, folder('first'))
    await rm(join(directoryOf(t, project.id), 'objects/pack/pack-1.keep'))
    const copied = await readdir(join(folder('first'), 'repositories'), { recursive: true })
    expect(copied.filter((path) => path.includes('/objects/')).length).toBeGreaterThan(0)
    expect(copied.filter((path) => path.endsWith('.keep'))).toEqual([])
    const { ctx, db } = await restored(folder('first'), 'first-back')
    expect(await faultsIn(ctx)).toEqual([])
    // clients know the service by them (GS-6)
    expect(await loadOrCreateHostKeys(join(ctx.config.dataDir, 'ssh'))).toEqual(hostKeys)
    const app = await buildApp(ctx)
    const get = async (url: string) => {
      const answer = await app.inject({ method: 'GET', url, headers: { 'private-token': admin.token, ...basic(admin.token) } })
      expect([url, answer.statusCode]).toEqual([url, 200])
      return answer.body
    }
    expect(await get(`/api/v4${project.path}/repository/files/a.txt/raw?ref=v1`)).toBe('one')
    expect(await get(`/api/v4${project.path}/wikis/home`)).toContain('of the wiki')
    expect(await get(`/api/v4${project.path}/variables/KEY`)).toContain('a sealed value')
    expect(await get(`/${project.fullPath}${upload.url}`)).toBe('uploaded')
    expect(await get(`/${project.fullPath}.git/info/lfs/objects/${large.oid}`)).toBe('kept by Git LFS')
    // numbers go on where they were
    const next = await app.inject({
      method: 'POST',
      url: `/api/v4${project.path}/issues`,
      headers: { 'private-token': admin.token },
      payload: { title: 'the next' },
    })
    expect([next.json().iid, next.json().id > issue.id]).toEqual([issue.iid + 1, true])
    // but for the one that only databases of tests have
    const triggers = sql`select tgrelid::regclass::text as "table", tgname as name, tgenabled as on from pg_trigger where not tgisinternal and tgname <> 'upkeep' order by 1, 2`
    const { rows: kept } = await db.write.execute(triggers)
    expect(kept).toEqual((await t.ctx.db.write.execute(triggers)).rows)
    expect(kept).not.toEqual([])
    const references = sql`select count(*)::int as n from pg_constraint where contype = 'f' and convalidated`
    expect((await db.write.execute(references)).rows).toEqual((await t.ctx.db.write.execute(references)).rows)
    await app.close()
  })

  it('made while people write is of one moment: every commit of a row is there, and nothing later', async () => {
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
    expect(await faultsIn(ctx)).toEqual([])
    // rows and refs agree about pushes: none is ahead of the other
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

  it('is refused before anything is written when one file of it is missing, damaged or added', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    const repository = `repositories/default/${project.id}.git`
    const { body: upload } = await t.api('post', `${project.path}/uploads`, admin).attach('file', Buffer.from('uploaded'), 'y.txt').expect(201)
    await t.ctx.jobs.drain()
    await gitRun(directoryOf(t, project.id), 'repack', '-adq')
    await backUp(t.ctx, t.databaseUrl, folder('whole'))
    expect(await faultsOf(folder('whole'))).toEqual([])
    const files = await readdir(folder('whole'), { recursive: true })
    const one = (end: RegExp) => files.find((path) => end.test(path)) as string
    const pack = one(new RegExp(`^${repository}/objects/pack/.*\\.pack$`))
    const uploaded = one(new RegExp(`^uploads/.*${upload.url.split('/').at(-2)}`))
    const flipped = async (path: string) => {
      const bytes = await readFile(path)
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1
      await writeFile(path, bytes)
    }
    const cases: [string, (root: string) => Promise<unknown>, string[] | RegExp][] = [
      [
        'rows that are gone',
        (root) => truncate(join(root, 'database/protected_branches.copy')),
        /^damaged: database\/protected_branches\.copy: it has 0 bytes instead of \d+$/,
      ],
      ['a row less', (root) => dropRow(join(root, 'database/users.copy')), /^damaged: database\/users\.copy: it has \d+ bytes instead of \d+$/],
      [
        'one bit of a pack',
        (root) => flipped(join(root, pack)),
        new RegExp(`^damaged: ${pack}: its SHA-256 is [0-9a-f]{64} instead of [0-9a-f]{64}$`),
      ],
      ['no pack', (root) => rm(join(root, pack)), [`missing: ${pack}`]],
      ['no refs', (root) => rm(join(root, repository, 'packed-refs')), [`missing: ${repository}/packed-refs`]],
      ['an upload that is gone', (root) => rm(join(root, uploaded), { recursive: true }), new RegExp(`^missing: ${uploaded}`)],
      ['no key', (root) => rm(join(root, 'secret.key')), ['missing: secret.key']],
      [
        'a file more',
        (root) => writeFile(join(root, repository, 'objects/pack/pack-2.keep'), ''),
        [`not part of the backup: ${repository}/objects/pack/pack-2.keep`],
      ],
      ['another manifest', (root) => edited(join(root, 'backup.json')), ['damaged: backup.json: its SHA-256 is not the one in backup.sha256']],
      ['no manifest', (root) => rm(join(root, 'backup.json')), ['missing: backup.json']],
      ['another list', (root) => truncate(join(root, 'parts.jsonl')), ['damaged: parts.jsonl: its SHA-256 is not the one in backup.sha256']],
      ['no digest', (root) => rm(join(root, 'backup.sha256')), ['missing: backup.sha256']],
    ]
    const { ctx, url, db } = await anEmptyOne('untouched')
    for (const [name, damage, expected] of cases) {
      const root = folder(`damaged-${name}`)
      await cp(folder('whole'), root, { recursive: true })
      await damage(root)
      const found = await faultsOf(root)
      if (Array.isArray(expected)) expect([name, found]).toEqual([name, expected])
      else expect([name, found]).toEqual([name, [expect.stringMatching(expected)]])
      await expect(openBackup(root)).rejects.toThrow(`${root} is damaged, nothing is restored:\n  ${found[0]}`)
    }
    await writeFile(join(folder('damaged-no digest'), 'backup.json'), JSON.stringify({ format: 1 }))
    await expect(openBackup(folder('damaged-no digest'))).rejects.toThrow('was made by an older version of Roost')
    // and the whole one still goes in
    await rm(join(ctx.config.dataDir, 'secret.key'))
    await restoreSecretKey(await openBackup(folder('whole')), ctx.config.dataDir)
    const keyed = { ...ctx, encryption: t.ctx.encryption }
    await restore(keyed, url, await openBackup(folder('whole')))
    const counted = sql`select count(*)::int as n from protected_branches`
    expect((await db.write.execute(counted)).rows).toEqual((await t.ctx.db.write.execute(counted)).rows)
    expect(await faultsIn(keyed)).toEqual([])
  })

  it('made while pushes are on their way restores without a fault: what had moved is finished, what had not is dropped', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    await t.ctx.jobs.drain()
    const key = { storage: 'default', id: project.id, kind: 'project' as const }
    const [main] = await t.ctx.git.open(key).refs('refs/heads/')
    const oid = main?.oid as string
    const none = '0'.repeat(40)
    await gitRun(directoryOf(t, project.id), 'update-ref', 'refs/heads/moved', oid)
    const intent = (ref: string) => sql`insert into ref_intents (project_id, actor_id, origin, updates, created_at)
      values (${project.id}, ${admin.id}, 'git', ${JSON.stringify([{ ref, old: none, new: oid }])}::jsonb, now() - interval '2 minutes')`
    await t.ctx.db.write.execute(intent('refs/heads/moved'))
    await t.ctx.db.write.execute(intent('refs/heads/unmoved'))
    await backUp(t.ctx, t.databaseUrl, folder('flight'))
    await t.ctx.db.write.execute(sql`delete from ref_intents`)
    const backup = await openBackup(folder('flight'))
    const place = await anEmptyOne('flight-back')
    // beside an external database, too, which another service might have been at work on
    const ctx = { ...place.ctx, encryption: t.ctx.encryption, config: { ...place.ctx.config, databaseUrl: place.url } }
    await restore(ctx, place.url, backup)
    expect(await faultsIn(ctx)).toEqual([])
    const left = sql`select (select count(*)::int from ref_intents) as intents, (select array_agg(push->>'ref') from events where project_id = ${project.id} and push->>'ref' like '%moved') as refs`
    expect((await place.db.write.execute(left)).rows).toEqual([{ intents: 0, refs: ['moved'] }])
  })

  it('records what was deleted while it was made', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    await t.ctx.jobs.drain()
    const snapshotRefs = t.ctx.git.snapshotRefs
    // the moment after the refs were read
    const git = {
      ...t.ctx.git,
      async snapshotRefs(key: Parameters<typeof snapshotRefs>[0]) {
        const refs = await snapshotRefs(key)
        if (key.id === project.id && key.kind === 'project') await rm(directoryOf(t, project.id), { recursive: true })
        return refs
      },
    }
    expect((await backUp({ ...t.ctx, git }, t.databaseUrl, folder('deleting'))).gone).toEqual([project.id])
    const { ctx } = await restored(folder('deleting'), 'deleting-back')
    expect(await faultsIn(ctx)).toEqual([])
    await t.api('delete', `${project.path}?permanently_remove=true`, admin).expect(202)
    await t.ctx.jobs.drain()
  })

  it('holds what waits for its removal, which then waits for as long as it had to (PR-31)', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
    await t.api('delete', project.path, admin).expect(202)
    const dueIn = async (db: typeof t.ctx.db) => {
      const [row] = await db.write.select({ due: projects.deletion_due_at }).from(projects).where(eq(projects.id, project.id))
      return row?.due?.getTime() as number
    }
    const due = await dueIn(t.ctx.db)
    await backUp(t.ctx, t.databaseUrl, folder('waiting'))
    const { at } = await openBackup(folder('waiting'))
    const { ctx } = await restored(folder('waiting'), 'waiting-back')
    const postponed = (await dueIn(ctx.db)) - due
    expect(postponed).toBeGreaterThan(0)
    expect(postponed).toBeLessThanOrEqual(Date.now() - Date.parse(at))
    expect(await faultsIn(ctx)).toEqual([])
    await restoreProject(ctx, null, project.id)
    await t.api('delete', `${project.path}?permanently_remove=true`, admin).expect(202)
    await t.ctx.jobs.drain()
  })

  it('refuses before it begins what a file system has no space for (SEC-236)', async () => {
    const whole = await openBackup(folder('first'))
    const config = (dataDir: string, more = {}) => readConfig({ DATA_DIR: dataDir, PORT: '0', ...more })
    const here = config(join(folder('none'), 'data'))
    await checkSpace(whole, here)

    const refusal = new RegExp(`^\\S+ has \\d+ MiB left and the backup needs ${2 ** 40} MiB, nothing is restored$`)
    for (const path of ['repositories/default', 'uploads/one', 'lfs/ab', 'database/projects'])
      await expect(checkSpace({ ...whole, sizes: new Map([[path, 2 ** 60]]) }, here)).rejects.toThrow(refusal)
    await checkSpace(
      { ...whole, sizes: new Map([['database/projects', 2 ** 60]]) },
      config(folder('none'), { DATABASE_URL: 'postgresql://elsewhere/roost' }),
    )
    expect(existsSync(folder('none'))).toBe(false)
  })

  it('overwrites nothing', async () => {
    const whole = await openBackup(folder('first'))
    await expect(backUp(t.ctx, t.databaseUrl, whole.root)).rejects.toThrow('is there already')
    const { ctx, url } = await anEmptyOne('full')
    await writeFile(join(ctx.config.storages['default'] as string, 'something'), '')
    await expect(checkStorages(whole, ctx.config)).rejects.toThrow('is not empty')
    await rm(join(ctx.config.storages['default'] as string, 'something'))
    await checkStorages(whole, ctx.config)
    await expect(restoreRows(whole, t.databaseUrl)).rejects.toThrow('the database is not empty')
    await expect(restoreSecretKey(whole, folder('full'))).rejects.toThrow("differs from the backup's key")
    await expect(openBackup(folder('nowhere'))).rejects.toThrow('is not a complete backup')
    const madeAt = (schema: number) => ({ ...whole, database: { ...whole.database, schema } })
    await expect(restoreRows(madeAt(1), url)).rejects.toThrow('the database is not empty: its schema is newer')
    await expect(restoreRows(madeAt(Date.UTC(2200)), url)).rejects.toThrow('was made by a newer version of Roost')
    await expect(checkKey({ ...whole, secret: 'environment' }, (await anEmptyOne('keyless')).ctx.config)).rejects.toThrow(
      'set ROOST_SECRET_KEY to it',
    )
    expect(existsSync(join(ctx.config.storages['default'] as string, '01'))).toBe(false)
  })
})
