import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { anObject, basic, lfsClient } from '../support/clients/lfs-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { rounds, seeds } from '../support/rounds.js'

// git-lfs follows the links of the service, so that its base URL must be its address
const t = testApp({ BASE_URL: '' })
const client = gitClient(t)
const lfs = lfsClient(t)
let owner: TestUser

beforeAll(async () => {
  owner = await aUser(t.ctx)
})

const fileOf = (oid: string) => join(t.dataDir, 'lfs', oid.slice(0, 2), oid.slice(2, 4), oid.slice(4))

it('of an upload that is cut anywhere nothing is served and nothing is left (LF-7)', { tags: ['long'] }, async () => {
  const place = await aProject(t.ctx, { creator: owner })
  for (let round = 0; round < rounds(5, 50); round++) {
    const object = anObject(randomBytes(2 + ((round * 37_633) % 400_000)))
    const sent = 1 + Math.floor(Math.random() * (object.size - 1))
    await new Promise<void>((resolve) => {
      const asked = request(`${t.url}/${place.fullPath}.git/info/lfs/objects/${object.oid}`, {
        method: 'PUT',
        headers: { ...basic(owner.token), 'content-length': object.size },
      })
      asked.on('error', () => resolve())
      asked.write(object.bytes.subarray(0, sent), () => asked.destroy(new Error('cut')))
    })
    expect(existsSync(fileOf(object.oid))).toBe(false)
  }
  await expect.poll(() => readdir(join(t.dataDir, 'lfs', 'incoming')).catch(() => [])).toEqual([])
})

/** A clone in which git-lfs is at work, with its files. */
async function lfsClone(fullPath: string, caller: TestUser): Promise<string> {
  const work = await client.cloned(client.url(fullPath, caller))
  await gitOut(work, 'lfs', 'install', '--local')
  await gitOut(work, 'config', 'lfs.locksverify', 'true')
  await gitOut(work, 'lfs', 'pull')
  return work
}

const sha = (content: Buffer) => createHash('sha256').update(content).digest('hex')

// needs git-lfs, which .ci/run installs: in npm run test:long alone
for (const _ of seeds(0, 1))
  describe('git-lfs itself', { tags: ['long'] }, () => {
    const large = randomBytes(3_000_000)
    let project: TestProject
    let work: string

    beforeAll(async () => {
      project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'README.md': 'a' } })
      work = await lfsClone(project.fullPath, owner)
      await gitOut(work, 'lfs', 'track', '*.bin')
      writeFileSync(join(work, 'large.bin'), large)
      await gitOut(work, 'add', '.')
      await gitOut(work, 'commit', '-qm', 'a large file')
      await gitOut(work, 'push', 'origin', 'HEAD')
    })

    it('pushes, clones, pulls and checks', async () => {
      expect(readFileSync(fileOf(sha(large))).equals(large)).toBe(true)
      const other = await lfsClone(project.fullPath, owner)
      expect(readFileSync(join(other, 'large.bin')).equals(large)).toBe(true)
      expect(await gitOut(other, 'lfs', 'fsck')).toContain('OK')
      const { body } = await t.api('get', `${project.path}?statistics=true`, owner).expect(200)
      expect(body.statistics.lfs_objects_size).toBe(large.length)
    })

    it('clones a public project without credentials', async () => {
      const other = await client.cloned(client.url(project.fullPath))
      await gitOut(other, 'lfs', 'install', '--local')
      await gitOut(other, 'lfs', 'pull')
      expect(readFileSync(join(other, 'large.bin')).equals(large)).toBe(true)
    })

    it('locks and unlocks, and another user can neither push over a lock nor end it', async () => {
      const other = await aUser(t.ctx)
      await t.api('post', `${project.path}/members`, owner).send({ user_id: other.id, access_level: 30 }).expect(201)
      await gitOut(work, 'lfs', 'lock', 'large.bin')
      expect(await gitOut(work, 'lfs', 'locks')).toContain('large.bin')
      const theirs = await lfsClone(project.fullPath, other)
      expect((await gitRun(theirs, 'lfs', 'lock', 'large.bin')).code).not.toBe(0)
      await gitOut(theirs, 'checkout', '-qb', 'topic')
      rmSync(join(theirs, 'large.bin'))
      writeFileSync(join(theirs, 'large.bin'), 'changed')
      await gitOut(theirs, 'commit', '-qam', 'changed')
      const refused = await gitRun(theirs, 'push', 'origin', 'topic')
      expect([refused.code === 0, refused.err]).toEqual([false, expect.stringContaining('Cannot update locked files')])
      expect((await gitRun(theirs, 'lfs', 'unlock', '--force', 'large.bin')).code).not.toBe(0)
      await gitOut(work, 'lfs', 'unlock', 'large.bin')
      expect(await gitOut(work, 'lfs', 'locks')).toBe('')
      await gitOut(theirs, 'push', 'origin', 'topic')
      expect(existsSync(fileOf(sha(Buffer.from('changed'))))).toBe(true)
    })

    it('migrates a history and pushes it', async () => {
      const place = await aProject(t.ctx, { creator: owner, files: { 'README.md': 'a' } })
      const own = await lfsClone(place.fullPath, owner)
      const content = randomBytes(50_000)
      writeFileSync(join(own, 'old.dat'), content)
      await gitOut(own, 'add', '.')
      await gitOut(own, 'commit', '-qm', 'old')
      await gitOut(own, 'lfs', 'migrate', 'import', '--yes', '--include=*.dat', '--everything')
      await gitOut(own, 'push', 'origin', 'HEAD:refs/heads/migrated')
      expect(existsSync(fileOf(sha(content)))).toBe(true)
    })

    it('a fork keeps the objects when its source is deleted, and they are deleted with the last project', async () => {
      const forker = await aUser(t.ctx)
      const { body: fork } = await t.api('post', `${project.path}/fork`, forker).expect(201)
      await t.api('delete', `${project.path}?permanently_remove=true`, owner).expect(202)
      await t.ctx.jobs.drain()
      const theirs = await lfsClone(fork.path_with_namespace, forker)
      expect(readFileSync(join(theirs, 'large.bin')).equals(large)).toBe(true)
      expect(
        (await lfs.batch(fork.path_with_namespace, forker, 'upload', [{ oid: sha(large), size: large.length }])).body.objects[0].actions,
      ).toBeUndefined()
      await t.api('delete', `/projects/${fork.id}?permanently_remove=true`, forker).expect(202)
      await expect.poll(() => existsSync(fileOf(sha(large)))).toBe(false)
    })
  })
