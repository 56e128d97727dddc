import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditEvents, jobs, mirrors } from '../../../src/db/schema/index.js'
import { sealedValues } from '../../../src/services/operations/sealed-values.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { directoryOf, gitOut } from '../../support/clients/git-client.js'
import { anAdmin, aProject, aUser, setSettings, type TestProject, type TestUser, unique } from '../../support/factories.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

/** Projects that are mirrored, by their default branch of protected name `main`, and to which. */
async function aPair() {
  const [from, to] = [await aProject(t.ctx), await aProject(t.ctx)]
  await commit(from, 'main', {})
  await commit(from, 'topic', { start_branch: 'main' })
  await t.api('post', `${from.path}/repository/tags`, from.creator).send({ tag_name: 'v1', ref: 'main', message: 'one' }).expect(201)
  return { from, to, url: `${t.url}/${to.fullPath}.git`.replace('://', `://mirror:${to.creator.token}@`) }
}

const commit = (project: TestProject, branch: string, more: object) =>
  t
    .api('post', `${project.path}/repository/commits`, project.creator)
    .send({ branch, commit_message: 'x', actions: [{ action: 'create', file_path: `f${unique()}`, content: 'x' }], ...more })
    .expect(201)

const refsOf = (project: TestProject) =>
  gitOut(directoryOf(t, project.id), 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags')
const namesOf = async (project: TestProject) => (await refsOf(project)).split('\n').map((line) => line.split(' ')[0])

const add = async (project: TestProject, given: object) =>
  (await t.api('post', `${project.path}/remote_mirrors`, project.creator).send(given).expect(201)).body
const shown = async (project: TestProject, id: number, caller: TestUser = project.creator) =>
  (await t.api('get', `${project.path}/remote_mirrors/${id}`, caller).expect(200)).body

/** Lets what waits for its time run now, to the end. */
async function settle() {
  await t.ctx.db.write.update(jobs).set({ run_at: sql`now()` }).where(eq(jobs.kind, 'push to a mirror'))
  await t.ctx.jobs.drain()
}
async function sync(project: TestProject, id: number) {
  await t.api('post', `${project.path}/remote_mirrors/${id}/sync`, project.creator).expect(204)
  await settle()
  return shown(project, id)
}

describe('push mirrors', () => {
  let pair: Awaited<ReturnType<typeof aPair>>
  let id: number
  beforeAll(async () => {
    pair = await aPair()
    id = (await add(pair.from, { url: pair.url, enabled: true })).id
  })

  it('are made and shown without user and password, which are encrypted (PM-1, PM-2, SEC-139)', async () => {
    const { from, to } = pair
    const mirror = await shown(from, id)
    expect(mirror).toEqual({
      id,
      url: `${t.url}/${to.fullPath}.git`.replace('://', '://*****:*****@'),
      enabled: true,
      only_protected_branches: false,
      keep_divergent_refs: false,
      auth_method: 'password',
      update_status: 'none',
      last_error: null,
      last_update_at: null,
      last_update_started_at: null,
      last_successful_update_at: null,
    })
    expect((await t.api('get', `${from.path}/remote_mirrors`, from.creator).expect(200)).body).toEqual([mirror])
    const [rows, audited] = [await t.ctx.db.write.select().from(mirrors), await t.ctx.db.write.select().from(auditEvents)]
    expect(audited.filter(({ action }) => action === 'mirror_added')).toHaveLength(1)
    expect(JSON.stringify([rows, audited])).not.toContain(to.creator.token)
    const sealed = []
    for await (const { of } of sealedValues(t.ctx.db.write)) sealed.push(of)
    expect(sealed).toContain(`address of mirror ${id} of project ${from.id}`)
  })

  it('get all branches and tags when that is asked for, and with each push (PM-4, PM-6)', async () => {
    const { from, to } = pair
    expect(await sync(from, id)).toMatchObject({
      update_status: 'finished',
      last_error: null,
      last_update_at: expect.any(String),
      last_successful_update_at: expect.any(String),
    })
    expect(await refsOf(to)).toBe(await refsOf(from))
    await commit(from, 'main', {})
    const [waiting] = await t.ctx.db.write.select().from(jobs).where(eq(jobs.kind, 'push to a mirror'))
    const [row] = await t.ctx.db.write.select().from(mirrors).where(eq(mirrors.id, id))
    expect(Number(waiting?.run_at) - Number(row?.last_update_started_at)).toBe(300_000)
    await settle()
    expect(await refsOf(to)).toBe(await refsOf(from))
    expect(t.logged.join('')).not.toContain(to.creator.token)
  })

  it('lose what is deleted here if the default branch has it, and keep what only they have (PM-9)', async () => {
    const { from, to } = pair
    await t.api('post', `${from.path}/repository/branches`, from.creator).send({ branch: 'merged', ref: 'main' }).expect(201)
    await sync(from, id)
    await t.api('delete', `${from.path}/repository/branches/merged`, from.creator).expect(204)
    await t.api('delete', `${from.path}/repository/branches/topic`, from.creator).expect(204)
    await t.api('delete', `${from.path}/repository/tags/v1`, from.creator).expect(204)
    await commit(to, 'theirs', { start_branch: 'main' })
    await sync(from, id)
    expect(await namesOf(to)).toEqual(['refs/heads/main', 'refs/heads/theirs', 'refs/heads/topic'])
  })

  it('keep branches that have diverged where that is wanted, and say which (PM-9)', async () => {
    const { from, to } = pair
    await t.api('put', `${from.path}/remote_mirrors/${id}`, from.creator).send({ keep_divergent_refs: true }).expect(200)
    await commit(from, 'both', { start_branch: 'main' })
    await commit(to, 'both', { start_branch: 'main' })
    const before = (await refsOf(to)).split('\n').find((line) => line.includes('both'))
    expect(await sync(from, id)).toMatchObject({
      update_status: 'failed',
      last_error: 'Some refs have diverged and have not been updated on the remote:\n\nrefs/heads/both',
    })
    expect(await refsOf(to)).toContain(before)
    await t.api('put', `${from.path}/remote_mirrors/${id}`, from.creator).send({ keep_divergent_refs: false }).expect(200)
    expect(await sync(from, id)).toMatchObject({ update_status: 'finished', last_error: null })
    expect(await refsOf(to)).not.toContain(before)
  })

  it('get protected branches alone where that is wanted, and are off when they are switched off (PM-3, PM-4, PM-9)', async () => {
    const { from, to, url } = await aPair()
    const mirror = await add(from, { url, enabled: true, only_protected_branches: true })
    await sync(from, mirror.id)
    expect(await namesOf(to)).toEqual(['refs/heads/main', 'refs/tags/v1'])
    // what is not sent stays, and so does the address that is shown
    const off = await t.api('put', `${from.path}/remote_mirrors/${mirror.id}`, from.creator).send({ enabled: false, url: mirror.url }).expect(200)
    expect(off.body).toMatchObject({ enabled: false, only_protected_branches: true, update_status: 'finished' })
    await t.api('post', `${from.path}/remote_mirrors/${mirror.id}/sync`, from.creator).expect(400)
    await commit(from, 'main', {})
    expect(await t.ctx.db.write.select().from(jobs).where(eq(jobs.kind, 'push to a mirror'))).toEqual([])
    const moved = await t
      .api('put', `${from.path}/remote_mirrors/${mirror.id}`, from.creator)
      .send({ url: `${t.url}/nothing/here.git`, enabled: true })
      .expect(200)
    expect(moved.body).toMatchObject({ url: `${t.url}/nothing/here.git`, update_status: 'none', last_update_at: null })
    await t.api('delete', `${from.path}/remote_mirrors/${mirror.id}`, from.creator).expect(204)
    await t.api('get', `${from.path}/remote_mirrors/${mirror.id}`, from.creator).expect(404)
  })

  it('that fail say why, without secrets, and are tried again three times (PM-7, PM-9)', async () => {
    const { from, url } = await aPair()
    const mirror = await add(from, { url: url.replace(/:glpat[^@]*@|:[^:@]*@/, ':wr0ng-secret@'), enabled: true })
    await t.api('post', `${from.path}/remote_mirrors/${mirror.id}/sync`, from.creator).expect(204)
    await t.ctx.jobs.drain()
    expect(await shown(from, mirror.id)).toMatchObject({ update_status: 'to_retry', last_error: expect.stringContaining('asks for another user') })
    await settle()
    await settle()
    expect(await shown(from, mirror.id)).toMatchObject({ update_status: 'failed', last_successful_update_at: null })
    expect(await t.ctx.db.write.select().from(jobs).where(eq(jobs.kind, 'push to a mirror'))).toEqual([])

    const asked: string[] = []
    const server = createServer(({ url: at = '', headers }, response) => {
      asked.push(at)
      const away = at.startsWith('/away')
      const [, secret] = Buffer.from((headers.authorization ?? '').slice('Basic '.length), 'base64')
        .toString()
        .split(':')
      response.writeHead(away ? 302 : 403, { 'content-type': 'text/plain', ...(away && { location: '/followed/info/refs?service=git-upload-pack' }) })
      response.end(`no entry with ${secret}`)
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const at = `http://me:s3cret-word@127.0.0.1:${(server.address() as AddressInfo).port}`
    const away = await add(from, { url: `${at}/away.git`, enabled: true })
    expect((await sync(from, away.id)).last_error).toMatch(/^The address cannot be accessed: /)
    const echo = await add(from, { url: `${at}/echo.git`, enabled: true })
    const { last_error } = await sync(from, echo.id)
    expect(last_error).toContain('no entry with *****')
    expect(asked.filter((path) => path.startsWith('/followed'))).toEqual([])
    expect(t.logged.join('')).not.toMatch(/s3cret-word|wr0ng-secret/)
  })

  it('of an address that cannot be one are refused, and so are callers who are no maintainers (PM-2, PM-8)', async () => {
    const { from, to } = pair
    for (const url of [
      '',
      'ssh://git@host.test/a.git',
      'git://host.test/a.git',
      'file:///etc',
      'http://host.test/a.git?x=1',
      `http://h.test/${'a'.repeat(2_048)}`,
    ])
      await t.api('post', `${from.path}/remote_mirrors`, from.creator).send({ url }).expect(400)
    await t
      .api('post', `${from.path}/remote_mirrors`, from.creator)
      .send({ url: 'https://host.test/a.git', auth_method: 'ssh_public_key' })
      .expect(400, { error: 'auth_method does not have a valid value' })
    const developer = await aUser(t.ctx)
    await t.api('post', `${from.path}/members`, from.creator).send({ user_id: developer.id, access_level: 30 }).expect(201)
    await t.api('get', `${from.path}/remote_mirrors`, developer).expect(403)
    await t.api('get', `${from.path}/remote_mirrors`, to.creator).expect(404)
    const others = await aPair()
    const [first] = [await add(others.from, { url: 'https://host.test/a.git' })]
    expect(first).toMatchObject({ enabled: false })
    await t.api('get', `${from.path}/remote_mirrors/${first.id}`, from.creator).expect(404)
    for (let n = 1; n < 10; n++) await add(others.from, { url: 'https://host.test/a.git' })
    await t.api('post', `${others.from.path}/remote_mirrors`, others.from.creator).send({ url: 'https://host.test/a.git' }).expect(400)
  })
})

describe('mirrors', () => {
  it('are set up by administrators alone while mirror_available is off, and go on (RX-37)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const admin = await anAdmin(t.ctx)
    const url = 'https://host.test/a.git'
    const at = `${project.path}/remote_mirrors`
    const { body: mirror } = await t.api('post', at, creator).send({ url, enabled: true }).expect(201)
    await t.api('put', project.path, creator).send({ mirror: true, import_url: url }).expect(200)
    const browser = new TestBrowser(t.url)
    await browser.signIn(creator)
    const page = `/${project.fullPath}/-/settings/mirrors`
    expect((await browser.open(page)).text).toContain('Add mirror')
    await setSettings(t.ctx, { mirror_available: false })
    try {
      const message = '403 Forbidden - Only administrators set up mirrors'
      await t.api('post', at, creator).send({ url }).expect(403, { message })
      await t.api('put', `${at}/${mirror.id}`, creator).send({ only_protected_branches: true }).expect(403, { message })
      await t.api('put', project.path, creator).send({ mirror: true, mirror_trigger_builds: true }).expect(403, { message })
      await t.api('put', `${at}/${mirror.id}`, admin).send({ only_protected_branches: true }).expect(200)
      await t.api('post', `${at}/${mirror.id}/sync`, creator).expect(204)
      const shown = await browser.open(page)
      expect([shown.text.includes('Only administrators set up mirrors'), shown.text.includes('Add mirror')]).toEqual([true, false])
      expect((await browser.submit('Stop following')).text).toContain('The project follows no other repository.')
      expect((await t.api('get', project.path, creator).expect(200)).body.mirror).toBe(false)
      await t.api('delete', `${at}/${mirror.id}`, creator).expect(204)
    } finally {
      await setSettings(t.ctx, { mirror_available: true })
    }
  })
})

describe('push mirrors where local addresses are closed', () => {
  const closed = testApp()

  it('are not in the local network, also when the name means one later (PM-5, SEC-138)', async () => {
    const project = await aProject(closed.ctx)
    const create = (url: string) => closed.api('post', `${project.path}/remote_mirrors`, project.creator).send({ url, enabled: true })
    const blocked = 'is blocked: requests to the local network are not allowed'
    for (const url of ['http://127.0.0.1/a.git', 'http://u:p@localhost/a.git', 'https://[::1]/a.git'])
      await create(url).expect(400, { message: { url: [blocked] } })
    const { body } = await create('http://unknown.test/a.git').expect(201)
    await closed.ctx.db.write.update(mirrors).set({ url: 'http://localhost/a.git' })
    await closed.api('post', `${project.path}/remote_mirrors/${body.id}/sync`, project.creator).expect(204)
    await closed.ctx.jobs.drain()
    expect((await closed.api('get', `${project.path}/remote_mirrors/${body.id}`, project.creator).expect(200)).body).toMatchObject({
      update_status: 'to_retry',
      last_error: `The address ${blocked}`,
    })
  })
})
