import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { events, refIntents } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { rounds } from '../support/rounds.js'

const t = testApp()
const client = gitClient(t)

let owner: TestUser
beforeAll(async () => {
  owner = await aUser(t.ctx)
})

/** An empty project, and a mirror clone as other services leave it: with refs of pull requests, remotes and notes. */
async function aMirror() {
  const project = await aProject(t.ctx, { creator: owner })
  const work = client.folder()
  await gitOut(work, 'init', '-q', '-b', 'main')
  await commitIn(work, 'one')
  await gitOut(work, 'tag', 'v1')
  await gitOut(work, 'checkout', '-qb', 'topic')
  await commitIn(work, 'two')
  const hidden = await gitOut(work, 'commit-tree', '-m', 'proposed', 'HEAD^{tree}')
  await gitOut(work, 'notes', 'add', '-m', 'reviewed', 'main')
  for (const ref of ['refs/pull/1/head', 'refs/pull/2/head', 'refs/remotes/origin/main']) await gitOut(work, 'update-ref', ref, hidden)
  await gitOut(work, 'remote', 'add', 'origin', client.url(project.fullPath, owner))
  return { project, work, hidden }
}

const refsIn = async (project: TestProject) =>
  (await gitOut(directoryOf(t, project.id), 'for-each-ref', '--format=%(refname)')).split('\n').filter(Boolean)
const STORED = ['refs/heads/main', 'refs/heads/topic', 'refs/notes/commits', 'refs/tags/v1']

describe('names that are not stored are refused one by one (GH-18, GH-19)', () => {
  it('git push --mirror of a mirror clone brings branches, tags and notes in, and says why the rest stays out', async () => {
    const { project, work } = await aMirror()
    const pushed = await gitRun(work, 'push', '--porcelain', '--mirror', 'origin')
    expect(pushed.code).toBe(1)
    expect(await refsIn(project)).toEqual(STORED)
    const status = (ref: string) => pushed.out.split('\n').find((line) => line.includes(`:${ref}\t`))
    for (const ref of STORED) expect(status(ref)).toMatch(/^\*/)
    for (const ref of ['refs/pull/1/head', 'refs/pull/2/head', 'refs/remotes/origin/main']) {
      expect(status(ref)).toMatch(/^!.*\[remote rejected\] \(deny updating a hidden ref\)/)
      expect(pushed.err).toContain(`remote: ${ref}: only branches, tags and notes can be pushed.`)
    }
    // what went in counts as any push does
    const { body } = await t.api('get', project.path, owner).expect(200)
    expect(body).toMatchObject({ default_branch: 'main', empty_repo: false })
    const recorded = await t.ctx.db.write.select({ push: events.push }).from(events).where(eq(events.project_id, project.id))
    expect(recorded.flatMap(({ push }) => (push ? [`${push.ref_type} ${push.ref}`] : [])).sort()).toEqual(['branch main', 'branch topic', 'tag v1'])
    expect(await t.ctx.db.write.select().from(refIntents).where(eq(refIntents.project_id, project.id))).toEqual([])
    // a second time there is nothing to do but to refuse, and the notes are served like the rest
    const again = await gitRun(work, 'push', '--porcelain', '--mirror', 'origin')
    expect(again.out).toMatch(/=\trefs\/notes\/commits/)
    const mirror = client.folder()
    await gitOut(mirror, 'clone', '-q', '--mirror', client.url(project.fullPath, owner), 'm.git')
    expect((await gitOut(`${mirror}/m.git`, 'for-each-ref', '--format=%(refname)')).split('\n')).toEqual(STORED)
    expect(await gitOut(`${mirror}/m.git`, 'notes', 'show', 'main')).toBe('reviewed')
  })

  it('internal refs are refused by name, cannot be deleted, and are advertised only where they are served', async () => {
    const { project, work } = await aMirror()
    await gitOut(work, 'push', '-q', 'origin', 'main')
    const bare = directoryOf(t, project.id)
    const main = await gitOut(bare, 'rev-parse', 'main')
    const own = [`refs/keep-around/${main}`, 'refs/roost/x', 'refs/merge-requests/1/head']
    for (const ref of own) await gitOut(bare, 'update-ref', ref, main)
    const pushed = await gitRun(
      work,
      'push',
      'origin',
      'topic',
      ...own.map((ref) => `+topic:${ref}`),
      ':refs/merge-requests/1/head'.replace('1', '2'),
    )
    expect(pushed.code).toBe(1)
    for (const ref of own) {
      expect(pushed.err).toContain(`remote: ${ref}: such refs are kept by the service itself.`)
      expect(await gitOut(bare, 'rev-parse', ref)).toBe(main)
    }
    expect(await refsIn(project)).toContain('refs/heads/topic')
    await gitRun(work, 'push', 'origin', ...own.map((ref) => `:${ref}`))
    expect(await refsIn(project)).toEqual(expect.arrayContaining(own))
  })

  it('with --atomic one such name refuses all, and nothing of the push is kept', async () => {
    const { project, work } = await aMirror()
    const lost = await gitOut(work, 'commit-tree', '-m', 'lost', 'HEAD^{tree}')
    const pushed = await gitRun(work, 'push', '--atomic', '--porcelain', 'origin', `${lost}:refs/heads/new`, 'topic:refs/pull/1/head')
    expect(pushed.code).toBe(1)
    expect(pushed.err).toContain('refs/pull/1/head: only branches, tags and notes can be pushed.')
    expect(await refsIn(project)).toEqual([])
    expect((await gitRun(directoryOf(t, project.id), 'cat-file', '-e', lost)).code).not.toBe(0)
    expect(await gitRun(work, 'push', '--atomic', 'origin', 'main', 'topic', 'v1', 'refs/notes/commits')).toMatchObject({ code: 0 })
    expect(await refsIn(project)).toEqual(STORED)
  })

  it('notes need the right to push, move as they like, and are held when the repository is collected', async () => {
    const { project, work } = await aMirror()
    await gitOut(work, 'push', '-q', 'origin', 'main', 'refs/notes/commits')
    const stranger = await aUser(t.ctx)
    await t.api('put', project.path, owner).send({ visibility: 'public' }).expect(200)
    expect((await gitRun(work, 'push', client.url(project.fullPath, stranger), '+main:refs/notes/commits')).code).not.toBe(0)
    await gitOut(work, 'update-ref', '-d', 'refs/notes/commits')
    await gitOut(work, 'notes', 'add', '-m', 'anew', 'main')
    expect((await gitRun(work, 'push', 'origin', 'refs/notes/commits')).code).toBe(1)
    expect(await gitRun(work, 'push', '-q', 'origin', '+refs/notes/commits')).toMatchObject({ code: 0 })
    const note = await gitOut(work, 'rev-parse', 'refs/notes/commits')
    await t.ctx.jobs.drain()
    await t.ctx.git.open({ storage: 'default', id: project.id, kind: 'project' }).maintain({ depth: 'gc' })
    const bare = directoryOf(t, project.id)
    await gitOut(bare, 'prune', '--expire=now')
    expect(await gitOut(bare, 'rev-parse', 'refs/notes/commits^{commit}')).toBe(note)
    expect(await gitOut(bare, 'notes', 'show', 'main')).toBe('anew')
    expect(await gitRun(work, 'push', '-q', 'origin', ':refs/notes/commits')).toMatchObject({ code: 0 })
    expect(await refsIn(project)).toEqual(['refs/heads/main'])
  })
})

describe('receive-pack as plain git has it', () => {
  it('a forced push says so for its ref alone, and ends with 0', async () => {
    const { project, work } = await aMirror()
    await gitOut(work, 'push', '-q', 'origin', 'main', 'topic')
    await gitOut(work, 'checkout', '-q', 'topic')
    await gitOut(work, 'commit', '-q', '--amend', '-m', 'another')
    const plain = await gitRun(work, 'push', '--porcelain', 'origin', 'topic', 'main')
    expect(plain.code).toBe(1)
    expect(plain.out).toMatch(/^!\trefs\/heads\/topic:refs\/heads\/topic\t\[rejected\] \(non-fast-forward\)/m)
    const forced = await gitRun(work, 'push', '--porcelain', '--force', 'origin', 'topic', 'main')
    expect(forced.code).toBe(0)
    expect(forced.out).toMatch(/^\+\trefs\/heads\/topic:refs\/heads\/topic\t\w+\.\.\.\w+ \(forced update\)/m)
    expect(forced.out).toMatch(/^=\trefs\/heads\/main/m)
    expect(await gitOut(directoryOf(t, project.id), 'rev-parse', 'topic')).toBe(await gitOut(work, 'rev-parse', 'topic'))
  })

  it('a mirror push takes away what the mirror has not', async () => {
    const { project, work } = await aMirror()
    await gitOut(work, 'push', '-q', 'origin', 'main', 'topic', 'main:gone', 'v1', 'v1:refs/tags/gone')
    for (const ref of ['refs/pull/1/head', 'refs/pull/2/head', 'refs/remotes/origin/main']) await gitOut(work, 'update-ref', '-d', ref)
    const pushed = await gitRun(work, 'push', '--porcelain', '--mirror', 'origin')
    // what this clone remembers of the project is refused
    expect(pushed.err).toContain('refs/remotes/origin/gone: only branches, tags and notes can be pushed.')
    expect(pushed.code).toBe(1)
    expect(pushed.out).toMatch(/^-\t:refs\/heads\/gone\t\[deleted\]/m)
    expect(await refsIn(project)).toEqual(STORED)
  })

  const many = rounds(300, 1_200)
  it(`${many} tags go in at once, in a few processes`, { tags: ['long'] }, async () => {
    const { project, work } = await aMirror()
    await gitOut(work, 'push', '-q', 'origin', 'main')
    const main = await gitOut(work, 'rev-parse', 'main')
    const tags = Array.from({ length: many }, (_, i) => `create refs/tags/t${i} ${main}\n`).join('')
    writeFileSync(`${work}/tags`, tags)
    await gitOut(work, '-c', 'core.packedRefsTimeout=1', '-c', 'alias.tagall=!git update-ref --stdin < tags', 'tagall')
    const pushed = await gitRun(work, 'push', '--porcelain', '--tags', 'origin')
    expect(pushed.code).toBe(0)
    expect(pushed.out.match(/\[new tag\]/g)).toHaveLength(many + 1)
    expect(await refsIn(project)).toHaveLength(many + 2)
    const tagged = await t.ctx.db.write.select({ id: events.id }).from(events).where(eq(events.project_id, project.id))
    expect(tagged.length).toBeGreaterThanOrEqual(many + 1)
  })
})

describe('refuses invalid pushes with the reason, and keeps nothing (SEC-88)', () => {
  it('a commit with 1,001 parents, one of more than 10 MiB, a path of more than 4,096 bytes', async () => {
    const { project, work } = await aMirror()
    await gitOut(work, 'push', '-q', 'origin', 'main')
    const main = await gitOut(work, 'rev-parse', 'main')
    const raw = async (parents: number, message: string) => {
      const tree = await gitOut(work, 'rev-parse', 'main^{tree}')
      const head = `tree ${tree}\n${`parent ${main}\n`.repeat(parents)}`
      writeFileSync(
        `${work}/raw`,
        `${head}author Ada <ada@example.com> 1600000000 +0000\ncommitter Ada <ada@example.com> 1600000000 +0000\n\n${message}\n`,
      )
      return gitOut(work, 'hash-object', '-t', 'commit', '-w', '--literally', 'raw')
    }
    let tree = await gitOut(work, 'rev-parse', 'main^{tree}')
    for (let i = 0; i < 18; i++) {
      writeFileSync(`${work}/tree`, Buffer.concat([Buffer.from(`40000 ${'d'.repeat(240)}\0`), Buffer.from(tree, 'hex')]))
      tree = await gitOut(work, 'hash-object', '-t', 'tree', '-w', 'tree')
    }
    const refused = [
      [await raw(1_001, 'many'), 'A commit has more than 1000 parents.'],
      [await raw(1, 'x'.repeat(10 * 2 ** 20)), 'A commit is larger than 10485760 bytes.'],
      [await gitOut(work, 'commit-tree', '-m', 'deep', tree), 'A path is longer than 4096 bytes.'],
    ] as const
    for (const [oid, reason] of refused) {
      const pushed = await gitRun(work, 'push', 'origin', `${oid}:refs/heads/absurd`, 'topic')
      expect(pushed.code).toBe(1)
      expect(pushed.err).toContain(`remote: ${reason}`)
      expect((await gitRun(directoryOf(t, project.id), 'cat-file', '-e', oid)).code).not.toBe(0)
    }
    expect(await refsIn(project)).toEqual(['refs/heads/main'])
    expect(await gitRun(work, 'push', '-q', 'origin', `${await raw(1_000, 'many')}:refs/heads/many`)).toMatchObject({ code: 0 })
  })
})

describe('locks that killed processes left (SEC-159)', () => {
  it('are removed before the refs move, so that the push succeeds', async () => {
    const project = await aProject(t.ctx, { creator: owner })
    const work = client.folder()
    await gitOut(work, 'init', '-q', '-b', 'main')
    await commitIn(work, 'one')
    const url = client.url(project.fullPath, owner)
    await gitOut(work, 'push', '-q', url, 'main')
    for (const lock of ['refs/heads/main.lock', 'packed-refs.lock']) {
      const path = join(directoryOf(t, project.id), lock)
      writeFileSync(path, '')
      utimesSync(path, Date.now() / 1000 - 10, Date.now() / 1000 - 10)
    }
    const next = await commitIn(work, 'two')
    expect(await gitRun(work, 'push', '-q', url, 'main')).toMatchObject({ code: 0 })
    expect(await gitRun(work, 'push', '-q', url, 'main:other')).toMatchObject({ code: 0 })
    expect(await gitRun(work, 'push', '-q', url, ':other')).toMatchObject({ code: 0 })
    expect(await gitOut(directoryOf(t, project.id), 'rev-parse', 'main')).toBe(next)
  })

  it('are removed at once, also beside a process that is older and holds none', async () => {
    const project = await aProject(t.ctx, { creator: owner })
    const work = client.folder()
    await gitOut(work, 'init', '-q', '-b', 'main')
    await commitIn(work, 'one')
    const url = client.url(project.fullPath, owner)
    await gitOut(work, 'push', '-q', url, 'main')
    // the process that moves refs for the API stays
    await t.api('post', `${project.path}/repository/branches?branch=other&ref=main`, owner).expect(201)
    writeFileSync(join(directoryOf(t, project.id), 'refs/heads/main.lock'), '')
    const next = await commitIn(work, 'two')
    expect(await gitRun(work, 'push', '-q', url, 'main')).toMatchObject({ code: 0 })
    expect(await gitOut(directoryOf(t, project.id), 'rev-parse', 'main')).toBe(next)
  })
})
