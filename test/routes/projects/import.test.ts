import { type ChildProcess, spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { afterAll, describe, expect, it } from 'vitest'
import { projectImports, projects } from '../../../src/db/schema/index.js'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { importJob } from '../../../src/services/projects/import.js'
import { testApp } from '../../support/app.js'
import { directoryOf, gitOut } from '../../support/clients/git-client.js'
import { aProject, aUser, setSettings, type TestUser, unique } from '../../support/factories.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' }, { upkeep: true })
const servers: Server[] = []
const children: ChildProcess[] = []
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  // git starts the daemon as a separate process
  for (const { pid } of children) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
})

const create = (caller: TestUser, import_url: string, more: object = {}) =>
  t.api('post', '/projects', caller).send({ name: `imported ${unique()}`, import_url, ...more })
const imported = async (caller: TestUser, import_url: string, more: object = {}) => {
  const { body } = await create(caller, import_url, more).expect(201)
  // the work may have begun, or be over, before the answer is made
  expect(['scheduled', 'started', 'finished', 'failed']).toContain(body.import_status)
  await t.ctx.jobs.drain()
  return (await t.api('get', `/projects/${body.id}`, caller).expect(200)).body
}
const importOf = async (id: number, caller: TestUser) => (await t.api('get', `/projects/${id}/import`, caller).expect(200)).body

/** A project to import from, over this very service. */
async function aSource(given: Parameters<typeof aProject>[1] = {}) {
  const source = await aProject(t.ctx, { visibility: 'public', default_branch: 'trunk', ...given })
  for (const [branch, more] of [
    ['trunk', {}],
    ['topic/one', { start_branch: 'trunk' }],
  ] as const) {
    const actions = [{ action: 'create', file_path: `${branch}.rb`, content: 'puts 1' }]
    await t
      .api('post', `${source.path}/repository/commits`, source.creator)
      .send({ branch, commit_message: 'x', actions, ...more })
      .expect(201)
  }
  await t.api('post', `${source.path}/repository/tags`, source.creator).send({ tag_name: 'v1', ref: 'trunk', message: 'one' }).expect(201)
  return { ...source, url: `${t.url}/${source.fullPath}.git` }
}

/** A server with given answers, which records its callers. */
async function aServer(answer: (url: string) => { status: number; headers?: Record<string, string> }) {
  const asked: { url: string; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? '', authorization: request.headers.authorization })
    const { status, headers } = answer(request.url ?? '')
    response.writeHead(status, headers).end()
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

describe('import_url (OT-10, OT-7)', () => {
  it('brings branches, tags and the default branch, in the background (OT-10)', async () => {
    const [source, user] = [await aSource(), await aUser(t.ctx)]
    const project = await imported(user, source.url)
    expect(project).toMatchObject({
      import_status: 'finished',
      import_error: null,
      empty_repo: false,
      default_branch: 'trunk',
      visibility: 'private',
    })
    const refs = (id: number) => gitOut(directoryOf(t, id), 'for-each-ref', '--format=%(refname) %(objectname)')
    expect(await refs(project.id)).toBe(await refs(source.id))
    expect(await gitOut(directoryOf(t, project.id), 'symbolic-ref', 'HEAD')).toBe('refs/heads/trunk')
    await gitOut(directoryOf(t, project.id), 'fsck', '--full', '--strict')
    // BR-17, PU-7: as after a first push
    expect((await t.api('get', `/projects/${project.id}/repository/branches/trunk`, user).expect(200)).body).toMatchObject({
      protected: true,
      default: true,
    })
    expect((await t.api('get', `/projects/${project.id}/languages`, user).expect(200)).body).toEqual({ Ruby: 100 })
    expect(await t.ctx.db.write.select().from(projectImports)).toEqual([])
    expect(await importOf(project.id, user)).toEqual({
      id: project.id,
      description: null,
      name: project.name,
      name_with_namespace: project.name_with_namespace,
      path: project.path,
      path_with_namespace: project.path_with_namespace,
      created_at: project.created_at,
      import_status: 'finished',
      import_error: null,
    })
  })

  it('the branch asked for becomes the default one; an empty source makes an empty project', async () => {
    const [source, user] = [await aSource(), await aUser(t.ctx)]
    expect(await imported(user, source.url, { default_branch: 'topic/one' })).toMatchObject({ default_branch: 'topic/one' })
    const empty = await aProject(t.ctx, { visibility: 'public' })
    expect(await imported(user, `${t.url}/${empty.fullPath}.git`)).toMatchObject({
      import_status: 'finished',
      empty_repo: true,
      default_branch: null,
    })
    await t.ctx.jobs.drain()
    expect((await importOf(source.id, source.creator)).import_status).toBe('none')
  })

  it('over the git protocol, from the address that was checked (OT-10)', async () => {
    const source = await aSource()
    const base = dirname(directoryOf(t, source.id))
    const port = await new Promise<number>((resolve) => {
      const probe = createSocketServer().listen(0, '127.0.0.1', () => {
        const { port: free } = probe.address() as AddressInfo
        probe.close(() => resolve(free))
      })
    })
    const daemon = spawn(
      'git',
      ['-c', 'safe.directory=*', 'daemon', '--reuseaddr', '--export-all', '--listen=127.0.0.1', `--port=${port}`, `--base-path=${base}`],
      {
        stdio: 'ignore',
        detached: true,
        env: { PATH: process.env['PATH'], GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' },
      },
    )
    children.push(daemon)
    const listens = () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
        socket.once('connect', () => socket.destroy())
      })
    while (!(await listens())) await sleep(20)
    const user = await aUser(t.ctx)
    expect(await imported(user, `git://localhost:${port}/${source.id}.git`)).toMatchObject({ import_status: 'finished', default_branch: 'trunk' })
  })

  it('git connects to the addresses that were checked, whatever the name means meanwhile (SEC-138)', async () => {
    const source = await aSource()
    const project = await aProject(t.ctx)
    const repository = t.ctx.git.open({ storage: 'default', id: project.id, kind: 'project' })
    const url = source.url.replace('127.0.0.1', 'no-such-name.test')
    const fetch = (addresses: string[]) => repository.fetch({ url, addresses }, new AbortController().signal)
    await expect(fetch(['127.0.0.2'])).rejects.toThrow()
    await fetch(['127.0.0.1'])
    expect((await repository.refs('refs/heads/')).map(({ name }) => name)).toEqual(['refs/heads/topic/one', 'refs/heads/trunk'])
    const user = await aUser(t.ctx)
    expect(await imported(user, source.url.replace('127.0.0.1', 'localhost'))).toMatchObject({ import_status: 'finished' })
  })

  it('with credentials, which are kept encrypted and forgotten at the end (SEC-139, SEC-21)', async () => {
    const source = await aSource({ visibility: 'private' })
    const user = await aUser(t.ctx)
    const url = source.url.replace('://', `://oauth2:${source.creator.token}@`)
    const { body } = await create(user, url).expect(201)
    expect(JSON.stringify(body)).not.toContain(source.creator.token)
    const rows = JSON.stringify(await t.ctx.db.write.select().from(projectImports))
    expect(rows).not.toContain(source.creator.token)
    await t.ctx.jobs.drain()
    expect(await importOf(body.id, user)).toMatchObject({ import_status: 'finished' })
    expect(await t.ctx.db.write.select().from(projectImports)).toEqual([])
    expect(t.logged.join('')).not.toContain(source.creator.token)
    expect(await gitOut(directoryOf(t, body.id), 'config', '--list')).not.toContain(source.creator.token)
  })

  it('what cannot be fetched ends as failed, with a reason for maintainers (OT-10)', async () => {
    const hidden = await aSource({ visibility: 'private' })
    const user = await aUser(t.ctx)
    const nothing = await aServer(() => ({ status: 404 }))
    const page = await aServer(() => ({ status: 200, headers: { 'content-type': 'text/html' } }))
    const liar = await aServer(() => ({ status: 200, headers: { 'content-type': 'application/x-git-upload-pack-advertisement' } }))
    const reasons: Record<string, string> = {
      [hidden.url]: 'The import URL asks for other credentials',
      [`${nothing.url}/a.git`]: 'The import URL is not the address of a Git repository',
      [`${page.url}/a.git`]: 'The import URL is not the address of a Git repository',
      [`${liar.url}/a.git`]: 'The repository could not be fetched',
      'http://127.0.0.1:1/a.git': 'The import URL cannot be reached',
    }
    for (const [url, reason] of Object.entries(reasons)) {
      const project = await imported(user, url)
      expect([url, project]).toMatchObject([url, { import_status: 'failed', import_error: reason, empty_repo: true }])
    }
    const failed = await imported(user, 'http://127.0.0.1:1/a.git')
    const guest = await aUser(t.ctx)
    await t.api('post', `/projects/${failed.id}/members`, user).send({ user_id: guest.id, access_level: 10 }).expect(201)
    expect(await importOf(failed.id, guest)).toMatchObject({ import_status: 'failed', import_error: null })
    expect(await importOf(failed.id, user)).toMatchObject({ import_error: 'The import URL cannot be reached' })
    await t.api('get', `/projects/${failed.id}/import`, await aUser(t.ctx)).expect(404, { message: '404 Project Not Found' })
    expect(await t.ctx.db.write.select().from(projectImports)).toEqual([])
  })

  it('redirects are followed three times, without the credentials of another place (SEC-138, SEC-139)', async () => {
    const [source, user] = [await aSource(), await aUser(t.ctx)]
    const REFS = '/info/refs?service=git-upload-pack'
    const last = await aServer(() => ({ status: 302, headers: { location: `${source.url}${REFS}` } }))
    const hops: Awaited<ReturnType<typeof aServer>> = await aServer((url) =>
      url.startsWith('/first')
        ? { status: 301, headers: { location: `/second.git${REFS}` } }
        : { status: 302, headers: { location: `${last.url}/third.git${REFS}` } },
    )
    const url = `${hops.url.replace('://', '://ada:secret@')}/first`
    expect(await imported(user, url)).toMatchObject({ import_status: 'finished' })
    const basic = `Basic ${Buffer.from('ada:secret').toString('base64')}`
    expect(hops.asked.map(({ authorization }) => authorization)).toEqual([basic, basic])
    expect(last.asked.map(({ authorization }) => authorization)).toEqual([undefined])
    const circle: Awaited<ReturnType<typeof aServer>> = await aServer(() => ({ status: 302, headers: { location: REFS } }))
    expect(await imported(user, `${circle.url}/a.git`)).toMatchObject({
      import_status: 'failed',
      import_error: 'The import URL is redirected too often',
    })
    expect(circle.asked).toHaveLength(4)
    const file = await aServer(() => ({ status: 302, headers: { location: 'file:///etc/info/refs' } }))
    expect(await imported(user, `${file.url}/a.git`)).toMatchObject({ import_status: 'failed', import_error: 'The import URL is not a valid URL' })
  })

  it('400 for invalid addresses, and where imports are disabled; creates nothing (OT-10, AS-43)', async () => {
    const [source, user] = [await aSource(), await aUser(t.ctx)]
    for (const url of [
      'ftp://example.org/a.git',
      'file:///etc',
      'ssh://git@example.org/a.git',
      'a/b',
      '',
      'http://x\ny/',
      `${source.url}/${'a'.repeat(3_000)}`,
    ]) {
      const { body } = await create(user, url).expect(400)
      expect(body).toEqual({ message: { import_url: [expect.any(String)] } })
    }
    await create(user, source.url, { initialize_with_readme: true }).expect(400, {
      message: { import_url: ["can't be given together with initialize_with_readme"] },
    })
    await setSettings(t.ctx, { import_sources: [] })
    try {
      await create(user, source.url).expect(400, { message: { import_url: ['is not allowed: imports by URL are switched off'] } })
    } finally {
      await setSettings(t.ctx, {})
    }
    expect((await t.api('get', '/projects?owned=true', user).expect(200)).body).toEqual([])
  })

  it('one that was killed is started again (SEC-158)', async () => {
    const [source, user] = [await aSource(), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: user })
    const url = t.ctx.encryption.seal(source.url, `import of project ${project.id}`)
    await t.ctx.db.write.update(projects).set({ import_status: 'started' }).where(eq(projects.id, project.id))
    // the second time it had come whole
    for (let i = 0; i < 2; i++) {
      await t.ctx.db.write.insert(projectImports).values({ project_id: project.id, url })
      await enqueue(t.ctx.db, importJob, { project: project.id })
      await t.ctx.jobs.drain()
      expect(await importOf(project.id, user)).toMatchObject({ import_status: 'finished' })
    }
    expect((await t.api('get', `/projects/${project.id}`, user).expect(200)).body).toMatchObject({ default_branch: 'trunk' })
  })

  it('a project that is deleted meanwhile takes its import along', async () => {
    const [source, user] = [await aSource(), await aUser(t.ctx)]
    const { body } = await create(user, source.url).expect(201)
    await t.api('delete', `/projects/${body.id}?permanently_remove=true`, user).expect(202)
    await t.ctx.jobs.drain()
    expect(await t.ctx.db.write.select().from(projectImports)).toEqual([])
  })
})

describe('import_url where local addresses are closed', () => {
  const closed = testApp()

  it.each([
    'http://127.0.0.1/a.git',
    'http://2130706433/a.git',
    'http://localhost/a.git',
    'git://0177.0.0.1/a.git',
    'https://[::1]/a.git',
    'http://169.254.169.254/a',
  ])('%s is refused (SEC-138)', async (import_url) => {
    const user = await aUser(closed.ctx)
    await closed
      .api('post', '/projects', user)
      .send({ name: 'x', import_url })
      .expect(400, { message: { import_url: ['is blocked: requests to the local network are not allowed'] } })
    expect((await closed.api('get', '/projects?owned=true', user).expect(200)).body).toEqual([])
  })

  it('one that was open when it was asked for is checked again before it is called (SEC-138)', async () => {
    const project = await aProject(closed.ctx)
    const url = closed.ctx.encryption.seal(`${closed.url}/a/b.git`, `import of project ${project.id}`)
    await closed.ctx.db.write.insert(projectImports).values({ project_id: project.id, url })
    await enqueue(closed.ctx.db, importJob, { project: project.id })
    await closed.ctx.jobs.drain()
    const { body } = await closed.api('get', `${project.path}/import`, project.creator).expect(200)
    expect(body).toMatchObject({
      import_status: 'failed',
      import_error: 'The import URL is blocked: requests to the local network are not allowed',
    })
  })
})
