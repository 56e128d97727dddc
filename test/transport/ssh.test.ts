import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { sshKeys, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { commitIn, gitOut } from '../support/clients/git-client.js'
import { anObject, lfsClient } from '../support/clients/lfs-client.js'
import { aGroup, aProject, aUser, setSettings, type TestProject, type TestUser, unique } from '../support/factories.js'
import { oneIn } from '../support/rounds.js'
import { type KeyPair, sshClient } from '../support/ssh/ssh.js'

const t = testApp({ SSH_PORT: '0' })
const client = sshClient(t)
type Key = KeyPair & { id: number }

let owner: TestUser
let key: Key
let project: TestProject
beforeAll(async () => {
  owner = await aUser(t.ctx)
  key = await client.stored(owner, client.newKey())
  project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'one', 'd/b.txt': 'two' } })
})

let count = 0
const work = () => {
  const path = join(client.folder, `w${++count}`)
  mkdirSync(path)
  return path
}
const cloned = async (pair: KeyPair, at: TestProject, ...options: string[]) => {
  const path = join(work(), 'c')
  const ended = await client.git(
    client.folder,
    pair,
    ...options.filter((o) => o.startsWith('-c=')).flatMap((o) => ['-c', o.slice(3)]),
    'clone',
    '-q',
    ...options.filter((o) => !o.startsWith('-c=')),
    client.url(at.fullPath),
    path,
  )
  expect([ended.code, ended.err]).toEqual([0, ''])
  return path
}
const NOT_FOUND = 'The project you were looking for could not be found.\n'

describe('logging in (GS-1, GS-2)', () => {
  it('greets the owner of a stored key, and ends (GS-4)', async () => {
    expect(await client.ssh(key)).toEqual({ ready: true, code: 0, out: `Welcome to Roost, @${owner.username}!\n`, err: '' })
    expect(await client.ssh(key, 'ls -l')).toEqual({
      ready: true,
      code: 1,
      out: `Welcome to Roost, @${owner.username}!\n`,
      err: 'Disallowed command\n',
    })
  })

  it.each(['ed25519', 'ecdsa', 'rsa'] as const)('takes %s keys', async (type) => {
    const user = await aUser(t.ctx)
    const pair = await client.stored(user, client.newKey(type))
    expect(await client.ssh(pair)).toMatchObject({ ready: true, code: 0 })
  })

  const refused = { ready: false, err: 'All configured authentication methods failed' }
  it('refuses an unknown key, an expired one and that of a blocked user in the same way (GS-5)', async () => {
    const user = await aUser(t.ctx)
    const expired = await client.stored(user, client.newKey())
    await t.ctx.db.write
      .update(sshKeys)
      .set({ expires_at: new Date(Date.now() - 1_000) })
      .where(eq(sshKeys.id, expired.id))
    const blocked = await aUser(t.ctx)
    const theirs = await client.stored(blocked, client.newKey())
    expect(await client.ssh(theirs)).toMatchObject({ ready: true })
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, blocked.id))
    for (const pair of [client.newKey(), expired, theirs]) expect(await client.ssh(pair)).toMatchObject(refused)
  })

  it('refuses other names than git, passwords, and a key that is not the one stored', async () => {
    expect(await client.ssh(key, '', { username: 'root' })).toMatchObject(refused)
    expect(await client.ssh({ private: '' }, '', { privateKey: undefined as never, password: owner.token })).toMatchObject({ ready: false })
    expect(await client.ssh(client.newKey())).toMatchObject(refused)
  })

  it('offers what OpenSSH 9 offers, and nothing older', async () => {
    const only = (algorithms: object) => client.ssh(key, '', { algorithms: algorithms as never })
    expect(await only({ kex: ['diffie-hellman-group14-sha1'] })).toMatchObject({ ready: false })
    expect(await only({ cipher: ['aes128-cbc'] })).toMatchObject({ ready: false })
    expect(await only({ hmac: ['hmac-sha1'], cipher: ['aes128-ctr'] })).toMatchObject({ ready: false })
    expect(await only({ serverHostKey: ['ssh-rsa'] })).toMatchObject({ ready: false })
    for (const good of [
      { serverHostKey: ['rsa-sha2-512'], kex: ['ecdh-sha2-nistp256'] },
      { serverHostKey: ['ssh-ed25519'], cipher: ['aes256-gcm@openssh.com'] },
      { cipher: ['aes128-ctr'], hmac: ['hmac-sha2-256'] },
    ])
      expect(await only(good)).toMatchObject({ ready: true, code: 0 })
  })

  it('keeps when a key was used, once a minute', async () => {
    const user = await aUser(t.ctx)
    const pair = await client.stored(user, client.newKey())
    const used = async () => {
      await t.ctx.jobs.drain()
      const [row] = await t.ctx.db.write.select().from(sshKeys).where(eq(sshKeys.id, pair.id))
      return row?.last_used_at
    }
    expect(await used()).toBeNull()
    await client.ssh(pair)
    const first = await used()
    expect(first).toBeInstanceOf(Date)
    await client.ssh(pair)
    expect(await used()).toEqual(first)
    await t.ctx.db.write
      .update(sshKeys)
      .set({ last_used_at: new Date(Date.now() - 61_000) })
      .where(eq(sshKeys.id, pair.id))
    await client.ssh(pair)
    expect((await used())?.getTime()).toBeGreaterThanOrEqual((first as Date).getTime())
  })

  it('a key that was deleted and a user who was blocked end a session at its next command', async () => {
    const user = await aUser(t.ctx)
    const pair = await client.stored(user, client.newKey())
    const session = await client.connected(pair)
    expect(await client.exec(session)).toMatchObject({ code: 0 })
    await t.api('delete', `/user/keys/${pair.id}`, user).expect(204)
    const gone = { code: 1, out: '', err: 'Your key or your account can no longer be used.\n' }
    expect(await client.exec(session, `git-upload-pack '${project.fullPath}.git'`)).toEqual(gone)
    session.end()
    const again = await client.stored(user, client.newKey())
    const other = await client.connected(again)
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, user.id))
    expect(await client.exec(other)).toEqual(gone)
    other.end()
  })

  it('asks for one row, however many keys there are', async () => {
    const queries = await t.queriesOf(() => client.ssh(key))
    expect(queries.filter((text) => /from "ssh_keys"/.test(text)).length).toBe(2) // the login, and the command
  })

  it('a key type that the settings forbid logs in and gets the reason', async () => {
    await setSettings(t.ctx, { ed25519_key_restriction: -1 })
    try {
      expect(await client.ssh(key)).toMatchObject({ ready: true, code: 1, err: 'Your SSH key type is forbidden. Must be RSA, DSA, or ECDSA.\n' })
    } finally {
      await setSettings(t.ctx, { ed25519_key_restriction: 0 })
    }
  })

  it('refuses everything where only HTTP is allowed (GS-5)', async () => {
    await setSettings(t.ctx, { enabled_git_access_protocol: 'http' })
    try {
      expect(await client.ssh(key, `git-upload-pack '${project.fullPath}.git'`)).toMatchObject({
        code: 1,
        err: 'Git access over SSH is not allowed\n',
      })
    } finally {
      await setSettings(t.ctx, { enabled_git_access_protocol: null })
    }
  })
})

describe('git over SSH (GS-3, GS-5)', () => {
  it.each(oneIn(3, ['2', '1', '0']))('protocol %s: clone, fetch, shallow, partial', { tags: ['long'] }, async (version) => {
    const protocol = `-c=protocol.version=${version}`
    const path = await cloned(key, project, protocol)
    expect(readFileSync(join(path, 'd/b.txt'), 'utf8')).toBe('two')
    const { body } = await t
      .api('post', `${project.path}/repository/files/${`f${version}`}`, owner)
      .send({ branch: 'main', content: 'x', commit_message: 'more' })
      .expect(201)
    expect(body.branch).toBe('main')
    expect((await client.git(path, key, '-c', `protocol.version=${version}`, 'pull', '-q')).code).toBe(0)
    expect(existsSync(join(path, `f${version}`))).toBe(true)
    const shallow = await cloned(key, project, protocol, '--depth=1')
    expect(await gitOut(shallow, 'rev-list', '--count', 'HEAD')).toBe('1')
    expect((await client.git(shallow, key, '-c', `protocol.version=${version}`, 'fetch', '-q', '--unshallow')).code).toBe(0)
    expect(Number(await gitOut(shallow, 'rev-list', '--count', 'HEAD'))).toBeGreaterThan(1)
    const partial = await cloned(key, project, protocol, '--filter=blob:none', '--no-checkout')
    expect(await gitOut(partial, 'rev-list', '--objects', '--all', '--missing=print')).toMatch(/^\?/m)
    // older protocols fetch what a ref names, and no single blob
    if (version !== '2') return
    expect((await client.git(partial, key, 'checkout', '-q', 'main')).code).toBe(0)
    expect(existsSync(join(partial, 'a.txt'))).toBe(true)
  })

  it('speaks protocol 2 when the client asks for it', async () => {
    const session = await client.connected(key)
    const said = await new Promise<string>((resolve, reject) =>
      session.exec(`git-upload-pack '/${project.fullPath}.git'`, { env: { GIT_PROTOCOL: 'version=2', LD_PRELOAD: 'x' } }, (error, channel) => {
        if (error) return reject(error)
        channel.once('data', (data: Buffer) => resolve(data.toString('latin1')))
      }),
    )
    expect(said).toMatch(/^000eversion 2\n/)
    session.end()
  })

  it('push: new, update, delete, forced; protected branches as over HTTP', async () => {
    const path = await cloned(key, project)
    await commitIn(path, 'c.txt')
    const pushed = await client.git(path, key, 'push', 'origin', 'HEAD:refs/heads/topic')
    expect(pushed.code).toBe(0)
    expect((await t.api('get', `${project.path}/repository/branches/topic`, owner)).body.commit.id).toBe(await gitOut(path, 'rev-parse', 'HEAD'))
    await gitOut(path, 'commit', '-q', '--amend', '-m', 'other')
    expect((await client.git(path, key, 'push', '-q', 'origin', 'HEAD:refs/heads/topic')).code).toBe(1)
    await t.api('post', `${project.path}/merge_requests`, owner).send({ source_branch: 'topic', target_branch: 'main', title: 'a' }).expect(201)
    const again = await client.git(path, key, 'push', '-f', 'origin', 'HEAD:refs/heads/topic')
    expect(again.code).toBe(0)
    expect(again.err).toMatch(/^remote: View merge request for topic:\s+remote: {3}http:\/\/roost\.test\//m)
    const forced = await client.git(path, key, 'push', '-f', 'origin', 'HEAD~1:refs/heads/main', 'HEAD:refs/heads/other')
    await gitOut(path, 'reset', '-q', '--hard', 'HEAD~1')
    await gitOut(path, 'commit', '-q', '--amend', '-m', 'rewritten')
    const protectedPush = await client.git(path, key, 'push', '-f', 'origin', 'HEAD:refs/heads/main')
    expect(protectedPush.code).toBe(1)
    expect(protectedPush.err).toContain('remote: You are not allowed to force push code to a protected branch on this project.')
    expect(protectedPush.err).toContain('pre-receive hook declined')
    expect(forced.code).toBe(0)
    expect((await client.git(path, key, 'push', '-q', 'origin', ':refs/heads/topic')).code).toBe(0)
    await t.api('get', `${project.path}/repository/branches/topic`, owner).expect(404)
    await t.ctx.jobs.drain()
    const { body: events } = await t.api('get', `${project.path}/events?action=pushed`, owner)
    expect(events[0]).toMatchObject({ author_username: owner.username, push_data: { ref: 'topic', action: 'removed' } })
  })

  it('a push of nothing changes nothing', async () => {
    const path = await cloned(key, project)
    const { code, err } = await client.git(path, key, 'push', 'origin', 'HEAD:refs/heads/main')
    expect([code, err]).toEqual([0, 'Everything up-to-date\n'])
  })

  it('archive --remote gives the files that a ref names', async () => {
    const { code, out } = await client.git(client.folder, key, 'archive', `--remote=${client.url(project.fullPath)}`, '--format=tar', 'main', 'd')
    expect(code).toBe(0)
    expect(out).toContain('d/b.txt')
    expect((await client.git(client.folder, key, 'archive', `--remote=${client.url(project.fullPath)}`, '--format=tgz', 'main')).code).toBe(0)
    const none = await client.git(client.folder, key, 'archive', `--remote=${client.url(project.fullPath)}`, 'nothing')
    expect(none.code).not.toBe(0)
  })

  it('what a caller does not see is not found, in the words of HTTP', async () => {
    const stranger = await aUser(t.ctx)
    const theirs = await client.stored(stranger, client.newKey())
    for (const path of [project.fullPath, 'no/such/project', `${owner.username}/nothing`])
      for (const service of ['git-upload-pack', 'git-receive-pack', 'git-upload-archive'])
        expect(await client.ssh(theirs, `${service} '${path}.git'`)).toEqual({ ready: true, code: 1, out: '', err: NOT_FOUND })
  })

  it('refuses callers who may not write before they send anything', async () => {
    const reporter = await aUser(t.ctx)
    const readable = await aProject(t.ctx, { creator: owner, reporter: [reporter], files: { a: 'a' } })
    const theirs = await client.stored(reporter, client.newKey())
    expect(await client.ssh(theirs, `git-receive-pack '${readable.fullPath}.git'`)).toMatchObject({
      code: 1,
      err: 'You are not allowed to push code to this project.\n',
    })
    await cloned(theirs, readable)
  })

  it('creates the private project that is pushed to (GH-26), and nothing where nothing is pushed', async () => {
    const path = await cloned(key, project)
    const address = client.url(`${owner.username}/by-push`)
    expect(await client.ssh(key, `git-receive-pack '${owner.username}/by-push.git'`)).toMatchObject({ code: 0 })
    await t.api('get', `/projects/${encodeURIComponent(`${owner.username}/by-push`)}`, owner).expect(404)
    const { code, err } = await client.git(path, key, 'push', address, 'HEAD:refs/heads/main')
    expect(code).toBe(0)
    expect(err).toContain(`remote: The private project ${owner.username}/by-push was created.`)
    expect(err).toContain(`git remote add origin ssh://git@roost.test:${client.port()}/${owner.username}/by-push.git`)
    const { body } = await t.api('get', `/projects/${encodeURIComponent(`${owner.username}/by-push`)}`, owner).expect(200)
    expect(body).toMatchObject({ visibility: 'private', ssh_url_to_repo: `ssh://git@roost.test:${client.port()}/${owner.username}/by-push.git` })
  })

  it('serves wikis and former paths', async () => {
    const group = await aGroup(t.ctx, { owner })
    const moved = await aProject(t.ctx, { creator: owner, namespace: group, files: { a: 'a' } } as never)
    await t.api('post', `${moved.path}/wikis`, owner).send({ title: 'home', content: 'text' }).expect(201)
    expect((await client.git(work(), key, 'clone', '-q', client.url(`${moved.fullPath}.wiki`), 'w')).code).toBe(0)
    await t
      .api('put', moved.path, owner)
      .send({ path: `renamed-${moved.id}` })
      .expect(200)
    expect((await client.git(work(), key, 'clone', '-q', client.url(moved.fullPath), 'w')).code).toBe(0)
  })
})

describe('commands', () => {
  it('takes one argument, quoted or not, with or without slashes and .git (GS-3)', async () => {
    const path = project.fullPath
    const session = await client.connected(key)
    const first = async (command: string) => (await client.exec(session, command, '0000')).out.slice(4, 44)
    const head = await first(`git-upload-pack '${path}'`)
    expect(head).toMatch(/^[0-9a-f]{40}$/)
    const words = [path, `/${path}.git`, `  '//${path}.git/'  `, `'${path.slice(0, 3)}''${path.slice(3)}'`, `'${path}'  `]
    for (const word of words) expect(await first(`git upload-pack ${word}`)).toBe(head)
    for (const word of ['', `'${path}`, `${path} x`, `'${path}'x`, `"${path}"`, `\t${path}`, `''`, `${path}\\`])
      expect(await client.exec(session, `git-upload-pack ${word}`)).toMatchObject({ code: 1, err: 'Disallowed command\n' })
    const lfs = async (words: string) => (await client.exec(session, `git-lfs-authenticate ${words}`)).code
    expect([await lfs(`${path} download`), await lfs(`  '/${path}.git'   upload  ${'a'.repeat(64)} `)]).toEqual([0, 0])
    for (const words of [path, `${path} other`, `${path} download a b`, 'download']) expect(await lfs(words)).toBe(1)
    session.end()
  })

  it('refuses a command above 4,096 bytes, and serves the next one (GS-10)', async () => {
    const session = await client.connected(key)
    const long = await Promise.all(
      ['git-lfs-authenticate a', 'git-upload-pack a'].map((start) => client.exec(session, `${start}${' '.repeat(4_096 - start.length)}b`)),
    )
    for (const ended of long) expect(ended).toEqual({ code: 1, out: '', err: 'A command has at most 4096 bytes.\n' })
    const longest = `git-upload-pack '${project.fullPath}'`
    expect(await client.exec(session, longest + ' '.repeat(4_096 - longest.length), '0000')).toMatchObject({ code: 0 })
    session.end()
  })
})

describe('git-lfs-authenticate (GS-9)', () => {
  const ask = (pair: KeyPair, operation: string, path = `/${project.fullPath}.git`) => client.ssh(pair, `git-lfs-authenticate '${path}' ${operation}`)

  it('gives a token that opens LFS of this project over HTTP', async () => {
    const { code, out } = await ask(key, 'upload')
    expect(code).toBe(0)
    const { href, header, expires_in } = JSON.parse(out) as { href: string; header: Record<string, string>; expires_in: number }
    expect([new URL(href).pathname, expires_in]).toEqual([`/${project.fullPath}.git/info/lfs`, 1_800])
    const batch = (path: string) =>
      fetch(`${t.url}/${path}.git/info/lfs/objects/batch`, {
        method: 'POST',
        headers: { ...header, 'content-type': 'application/vnd.git-lfs+json' },
        body: JSON.stringify({ operation: 'upload', objects: [{ oid: 'a'.repeat(64), size: 3 }] }),
      })
    const answer = await batch(project.fullPath)
    expect([answer.status, await answer.json()]).toMatchObject([200, { objects: [{ actions: { upload: {} } }] }])
    const other = await aProject(t.ctx, { creator: owner })
    expect((await batch(other.fullPath)).status).toBe(401)
  })

  it('gives a token that ends with the key (LF-15)', async () => {
    const lfs = lfsClient(t)
    const pair = await client.stored(owner, client.newKey())
    const { header } = JSON.parse((await ask(pair, 'upload')).out) as { header: { Authorization: string } }
    const token = { token: Buffer.from(header.Authorization.slice(6), 'base64').toString().split(':')[1] as string }
    const status = async () => (await lfs.post(project.fullPath, 'locks', token, { path: `f${unique()}` })).status
    expect(await status()).toBe(201)
    await t.api('delete', `/user/keys/${pair.id}`, owner).expect(204)
    expect(await status()).toBe(401)
  })

  it('refuses callers who may not read the code or push it', async () => {
    const reporter = await aUser(t.ctx)
    const open = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    const pair = await client.stored(reporter, client.newKey())
    expect(await ask(pair, 'download')).toMatchObject({ code: 1, out: '', err: NOT_FOUND })
    expect((await ask(pair, 'download', open.fullPath)).code).toBe(0)
    expect(await ask(pair, 'upload', open.fullPath)).toMatchObject({ code: 1, out: '', err: 'You are not allowed to push code to this project.\n' })
    expect(await ask(pair, 'delete', open.fullPath)).toMatchObject({ code: 1, err: 'Disallowed command\n' })
  })

  it('gives deploy keys their own token: a read-only key downloads, one that may push uploads and locks (DK-7)', async () => {
    const lfs = lfsClient(t)
    const creator = await aUser(t.ctx)
    const [place, public_] = [
      await aProject(t.ctx, { creator: owner, maintainer: creator }),
      await aProject(t.ctx, { creator: owner, visibility: 'public' }),
    ]
    const [reads, writes] = [client.newKey(), client.newKey()]
    const attach = async (pair: KeyPair, can_push: boolean) => {
      const { body } = await t
        .api('post', `/projects/${place.id}/deploy_keys`, creator)
        .send({ title: 'robot', key: pair.line, can_push })
        .expect(201)
      return body.id as number
    }
    const ids = [await attach(reads, false), await attach(writes, true)]
    const path = `/${place.fullPath}.git`
    const tokenOf = async (pair: KeyPair, operation: string) => {
      const { code, out } = await ask(pair, operation, path)
      expect(code).toBe(0)
      const { header } = JSON.parse(out) as { header: { Authorization: string } }
      return { token: Buffer.from(header.Authorization.slice(6), 'base64').toString().split(':')[1] as string }
    }
    expect(await ask(reads, 'upload', path)).toMatchObject({ code: 1, out: '', err: 'You are not allowed to push code to this project.\n' })
    expect(await ask(writes, 'download', `/${public_.fullPath}.git`)).toMatchObject({ code: 1, out: '', err: NOT_FOUND })
    const [down, up] = [await tokenOf(reads, 'download'), await tokenOf(writes, 'upload')]
    const object = anObject(`an object of a deploy key ${unique()}`)
    expect((await lfs.batch(place.fullPath, down, 'upload', [object])).status).toBe(403)
    expect(await lfs.upload(place.fullPath, up, object)).toEqual([200, 200])
    expect((await lfs.download(place.fullPath, down, object)).bytes.equals(object.bytes)).toBe(true)
    const lock = async (token: { token: string }) => (await lfs.post(place.fullPath, 'locks', token, { path: `f${unique()}` })).status
    expect([await lock(down), await lock(up)]).toEqual([403, 201])
    // neither another project, nor Git, nor the API
    expect((await lfs.batch(public_.fullPath, up, 'download', [object])).status).toBe(404)
    await t.api('get', place.path, up).expect(401)
    // as it is at every use: the key may push no more, its creator is blocked, it is gone
    await t.api('put', `/projects/${place.id}/deploy_keys/${ids[1]}`, creator).send({ can_push: false }).expect(200)
    expect([(await lfs.batch(place.fullPath, up, 'upload', [object])).status, await lock(up)]).toEqual([403, 403])
    await t.api('put', `/projects/${place.id}/deploy_keys/${ids[1]}`, creator).send({ can_push: true }).expect(200)
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, creator.id))
    expect([
      (await lfs.batch(place.fullPath, up, 'upload', [object])).status >= 401,
      (await lfs.download(place.fullPath, down, object)).status,
    ]).toEqual([true, 200])
    await t.api('delete', `/projects/${place.id}/deploy_keys/${ids[0]}`, owner).expect(204)
    expect((await lfs.batch(place.fullPath, down, 'download', [object])).status).toBe(401)
  })

  it('a deploy key gets no object of another project of the fork network, whatever its creator may read', async () => {
    const lfs = lfsClient(t)
    const source = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    const { body: fork } = await t
      .api('post', `${source.path}/fork`, owner)
      .send({ path: `fork${unique()}`, name: 'fork' })
      .expect(201)
    const object = anObject(`only in the source ${unique()}`)
    await lfs.upload(source.fullPath, owner, object)
    const pair = client.newKey()
    await t.api('post', `/projects/${fork.id}/deploy_keys`, owner).send({ title: 'robot', key: pair.line, can_push: true }).expect(201)
    const { out } = await ask(pair, 'upload', `/${fork.path_with_namespace}.git`)
    const token = Buffer.from(JSON.parse(out).header.Authorization.slice(6), 'base64').toString().split(':')[1] as string
    const { body } = await lfs.batch(fork.path_with_namespace, { token }, 'upload', [object])
    expect(body.objects[0].actions.upload).toBeDefined()
  })
})
