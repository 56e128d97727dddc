import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { directoryOf, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { basic } from '../support/clients/lfs-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'
import { oneIn } from '../support/rounds.js'
import { type KeyPair, sshClient } from '../support/ssh/ssh.js'

const t = testApp({ SSH_PORT: '0' })
const http = gitClient(t)
const ssh = sshClient(t)

const REF = 'refs/merge-requests/1/head'
let owner: TestUser
let project: TestProject
let secret: string
let strangerKey: KeyPair
let ownerKey: KeyPair

/** A public project with merge requests for members only, one of them from a private fork. */
beforeAll(async () => {
  owner = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a', 'merge-requests/a': 'a folder of this name' } })
  const { body } = await t.api('post', `${project.path}/fork`, owner).send({ path: 'private-fork', name: 'private-fork' }).expect(201)
  await t.ctx.jobs.drain()
  const fork: TestProject = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: owner }
  await t.api('put', fork.path, owner).send({ visibility: 'private' }).expect(200)
  await aMergeRequest(t, { project, from: fork, files: { 'secret.txt': 'secret' } })
  await t.ctx.jobs.drain()
  secret = await gitOut(directoryOf(t, project.id), 'rev-parse', REF)
  await gitOut(directoryOf(t, project.id), 'update-ref', `refs/keep-around/${secret}`, secret)
  await t.api('put', project.path, owner).send({ merge_requests_access_level: 'private' }).expect(200)
  ownerKey = await ssh.stored(owner, ssh.newKey())
  strangerKey = await ssh.stored(await aUser(t.ctx), ssh.newKey())
})

const VERSIONS = ['0', '1', '2']

describe('code of merge requests that the caller may not read (GH-28)', () => {
  const clientsOf: [string, (...args: string[]) => Promise<{ code: number | null; out: string; err: string }>][] = [
    ['without credentials', (...args) => gitRun(http.folder(), ...args.map((arg) => arg.replace('URL', http.url(project.fullPath))))],
    ['over SSH', (...args) => ssh.git(http.folder(), strangerKey, ...args.map((arg) => arg.replace('URL', ssh.url(project.fullPath))))],
  ]

  describe.each(clientsOf)('%s', (_, run) => {
    it.each(oneIn(3, VERSIONS, 2))('is neither advertised nor fetched by name or hash, with protocol %s', { tags: ['long'] }, async (version) => {
      const config = ['-c', `protocol.version=${version}`]
      const listed = await run(...config, 'ls-remote', 'URL')
      expect(listed.out).toContain('refs/heads/main')
      expect(listed.out).not.toMatch(/merge-requests|keep-around/)
      expect((await run(...config, 'ls-remote', 'URL', REF)).out).toBe('')
      for (const what of [REF, secret]) {
        const folder = http.folder()
        await gitOut(folder, 'init', '-q')
        const fetched = await run('-C', folder, ...config, 'fetch', 'URL', what)
        expect(fetched.code, what).not.toBe(0)
        expect((await gitRun(folder, 'cat-file', '-e', secret)).code).not.toBe(0)
      }
      const cloned = await run(...config, 'clone', '-q', '--filter=blob:none', 'URL', 'c')
      expect(cloned.code).toBe(0)
    })
  })

  it('is not sent to a client that speaks protocol 2 unasked', async () => {
    const packet = (line: string) => (line.length + 4).toString(16).padStart(4, '0') + line
    const body = `${packet('command=fetch')}0001${packet(`want ${secret}\n`)}${packet('done\n')}0000`
    const answer = await fetch(`${t.url}/${project.fullPath}.git/git-upload-pack`, { method: 'POST', headers: { 'git-protocol': 'version=2' }, body })
    expect([answer.status, (await answer.text()).includes('PACK')]).toEqual([400, false])
  })

  it.each(VERSIONS)('is served to members, with protocol %s', async (version) => {
    const folder = http.folder()
    await gitOut(folder, 'init', '-q')
    // git sends credentials only when it is asked for them, or so
    const header = `http.extraHeader=Authorization: ${basic(owner.token).authorization}`
    await gitOut(folder, '-c', `protocol.version=${version}`, '-c', header, 'fetch', '-q', http.url(project.fullPath), REF)
    expect(await gitOut(folder, 'rev-parse', 'FETCH_HEAD')).toBe(secret)
    expect(await ssh.git(folder, ownerKey, '-c', `protocol.version=${version}`, 'ls-remote', ssh.url(project.fullPath), REF)).toMatchObject({
      out: `${secret}\t${REF}\n`,
    })
  })

  describe('archive --remote', () => {
    const archive = (pair: KeyPair, ...args: string[]) =>
      ssh.git(http.folder(), pair, 'archive', `--remote=${ssh.url(project.fullPath)}`, '--format=tar', ...args)

    it('gives none of it, nor what the service keeps', { tags: ['long'] }, async () => {
      const names = [REF, 'merge-requests/1/head', `${REF}:secret.txt`, `refs/keep-around/${secret}`, `keep-around/${secret}`]
      for (const [turn, name] of names.entries()) {
        for (const args of oneIn(4, [[name], ['-v', name], ['--prefix', 'p/', name], ['--prefix', 'main', name]], turn % 4)) {
          const { code, out, err } = await archive(strangerKey, ...args)
          expect([code === 0, out], args.join(' ')).toEqual([false, ''])
          expect(err).toContain('NACK no such ref')
        }
      }
      expect((await archive(strangerKey, secret)).code).not.toBe(0)
      expect((await archive(strangerKey, 'main', 'merge-requests/a')).out).toContain('a folder of this name')
      expect((await archive(ownerKey, REF)).out).toContain('secret.txt')
      expect((await archive(ownerKey, `keep-around/${secret}`)).code).not.toBe(0)
    })

    it('says nothing that git wrote about the server, and what a client got wrong is no error (GS-12)', async () => {
      const faults = t.logged.filter((line) => /"level":(50|60)/.test(line)).length
      for (const args of [['main', '../x'], ['main', '/etc/passwd'], ['nothing'], ['main', 'nothing'], ['--unknown', 'main'], ['main:nothing']]) {
        const { code, err } = await archive(ownerKey, ...args)
        expect(code, args.join(' ')).not.toBe(0)
        expect(err).not.toMatch(/outside repository|fatal: (?!sent|the remote|git archive)|Internal error/)
        expect(err).not.toContain(t.dataDir)
      }
      expect(t.logged.filter((line) => /"level":(50|60)/.test(line)).length).toBe(faults)
    })
  })
})

describe('commits of merge requests that the caller may not read, over the API and pages (GH-28)', () => {
  let stranger: TestUser
  let developer: TestUser
  beforeAll(async () => {
    stranger = await aUser(t.ctx)
    developer = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, owner).send({ user_id: developer.id, access_level: 30 }).expect(201)
  })

  const reads = (revision: string): string[] => {
    const code = `${project.path}/repository`
    return [
      ...['', '/diff', '/refs', '/comments', '/statuses', '/signature', '/merge_requests', '/discussions'].map(
        (part) => `${code}/commits/${revision}${part}`,
      ),
      `${code}/commits?ref_name=${revision}`,
      `${code}/tree?ref=${revision}`,
      `${code}/files/secret.txt?ref=${revision}`,
      `${code}/files/secret.txt/raw?ref=${revision}`,
      `${code}/files/secret.txt/blame?ref=${revision}`,
      `${code}/archive.tar.gz?sha=${revision}`,
      `${code}/compare?from=main&to=${revision}`,
      `${code}/merge_base?refs[]=main&refs[]=${revision}`,
      `${project.path}/search?scope=commits&search=${revision}`,
      `${project.path}/search?scope=blobs&search=secret&ref=${revision}`,
    ].map((path) => `/api/v4${path}`)
  }
  const pages = (revision: string): string[] =>
    [
      `commit/${revision}`,
      `commit/${revision}.patch`,
      `commits/${revision}`,
      `tree/${revision}`,
      `blob/${revision}/secret.txt`,
      `raw/${revision}/secret.txt`,
      `blame/${revision}/secret.txt`,
      `compare/main...${revision}`,
      `archive/${revision}/x.tar.gz`,
    ].map((path) => `/${project.fullPath}/-/${path}`)
  const get = (path: string, user: TestUser | null) =>
    fetch(t.url + path, { redirect: 'manual', headers: { accept: '*/*', ...(user && { 'private-token': user.token }) } })

  it.each(['the whole id', 'its first digits'])('are not found by %s', async (name) => {
    const revision = name === 'the whole id' ? secret : secret.slice(0, 10)
    for (const [who, caller] of [
      ['stranger', stranger],
      ['visitor', null],
    ] as const) {
      for (const path of [...reads(revision), ...pages(revision)]) {
        const answer = await get(path, caller)
        const text = await answer.text()
        const empty = ['[]', ''].includes(text.trim())
        // a visitor is asked to sign in wherever nothing is shown
        const asked = answer.status === 302 && (answer.headers.get('location') ?? '').includes('/users/sign_in')
        const refused = asked || answer.status === 404 || answer.status === 401 || (path.includes('merge_base') && answer.status === 400)
        expect(refused || (answer.status === 200 && empty), `${who} ${path} ${answer.status} ${text.slice(0, 200)}`).toBe(true)
      }
    }
    for (const path of reads(revision).slice(0, 2)) expect((await get(path, owner)).status, path).toBe(200)
    expect(await (await get(`/api/v4${project.path}/repository/files/secret.txt/raw?ref=${revision}`, owner)).text()).toBe('secret')
  })

  it('become no link in a text', async () => {
    const rendered = async (user: TestUser) =>
      (
        await t
          .api('post', '/markdown', user)
          .send({ text: `see ${secret}`, gfm: true, project: project.fullPath })
          .expect(201)
      ).body.html
    expect(await rendered(owner)).toContain(`/commit/${secret}`)
    expect(await rendered(stranger)).not.toContain('/commit/')
  })

  it('start no branch, tag or commit where merge requests are off, and are found again once a branch has them', async () => {
    await t.api('put', project.path, owner).send({ merge_requests_access_level: 'disabled' }).expect(200)
    const code = `${project.path}/repository`
    for (const revision of [secret, secret.slice(0, 8)]) {
      await t.api('post', `${code}/branches`, developer).send({ branch: 'taken', ref: revision }).expect(400)
      await t.api('post', `${code}/tags`, developer).send({ tag_name: 'taken', ref: revision }).expect(400)
    }
    const actions = [{ action: 'create', file_path: 'b.txt', content: 'b' }]
    const commit = { branch: 'taken', start_sha: secret, commit_message: 'b', actions }
    await t.api('post', `${code}/commits`, developer).send(commit).expect(400)
    await t.api('post', `${code}/commits/${secret}/cherry_pick`, developer).send({ branch: 'main' }).expect(404)
    await gitOut(directoryOf(t, project.id), 'update-ref', 'refs/tags/shown', secret)
    await t.api('get', `${code}/commits/${secret.slice(0, 8)}`, stranger).expect(200)
    await gitOut(directoryOf(t, project.id), 'update-ref', '-d', 'refs/tags/shown')
    await t.api('get', `${code}/commits/${secret.slice(0, 8)}`, stranger).expect(404)
  })
})
