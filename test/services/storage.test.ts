import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { gitClient, gitOut } from '../support/clients/git-client.js'
import { aGroup, anAdmin, aProject, aUser } from '../support/factories.js'

const t = testApp()
const git = gitClient(t)

/** All folders of repositories, as they lie on the disk. */
const places = (root: string): string[] =>
  readdirSync(root)
    .filter((name) => /^[0-9a-f]{2}$/.test(name))
    .flatMap((shard) => readdirSync(join(root, shard)).map((name) => `${shard}/${name}`))
    .sort()

describe('where repositories lie', () => {
  it('new names of projects, groups and people move nothing, and names that point elsewhere are refused (SEC-66)', async () => {
    const owner = await aUser(t.ctx)
    const admin = await anAdmin(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const one = await aProject(t.ctx, { creator: owner, namespace_id: group.id, files: { 'a.txt': 'a' } })
    const two = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    await t.api('post', `${one.path}/wikis`, owner).send({ title: 'Home', content: 'x' }).expect(201)
    const root = t.ctx.config.storages['default'] as string
    const before = places(root)
    expect(before).toHaveLength(3)
    for (const place of before) expect(place).toMatch(/^[0-9a-f]{2}\/\d+(\.wiki)?\.git$/)

    await t.api('put', one.path, owner).send({ path: 'renamed', name: 'Renamed' }).expect(200)
    await t.api('put', group.path, owner).send({ path: 'moved-group' }).expect(200)
    await t.api('put', `/users/${owner.id}`, admin).send({ username: 'moved-user' }).expect(200)
    for (const path of ['../../x', '..', '.', '%2e%2e', '%2e%2e%2fx', 'a/../../b', '..\\x', 'a\\b', '/etc', 'a\0b', 'x.git']) {
      for (const [at, name] of [
        [one.path, 'path'],
        [group.path, 'path'],
      ] as const)
        expect((await t.api('put', at, owner).send({ [name]: path })).status).toBe(400)
      expect((await t.api('post', '/projects', owner).send({ name: 'x', path })).status).toBe(400)
      expect([400, 404]).toContain((await t.api('put', `/users/${owner.id}`, admin).send({ username: path })).status)
    }
    expect(places(root)).toEqual(before)
    for (const fullPath of ['moved-group/renamed', `moved-user/${two.fullPath.split('/')[1]}`]) {
      const work = await git.cloned(git.url(fullPath, owner))
      expect(await gitOut(work, 'ls-files')).toBe('a.txt')
    }
  })
})
