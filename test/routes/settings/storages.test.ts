import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { repositoryDirectory } from '../../../src/git/storage/create.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, type TestProject } from '../../support/factories.js'

const root = mkdtempSync(join(tmpdir(), 'roost-storages-'))
const STORAGES = ['default', 'second'].map((name) => ({ name, path: join(root, name) }))
for (const { path } of STORAGES) mkdirSync(path)
const t = testApp({ STORAGES: STORAGES.map(({ name, path }) => `${name}=${path}`).join(',') })
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** The storages that hold a repository of the project. */
const placesOf = ({ id }: TestProject) =>
  STORAGES.filter(({ name, path }) => existsSync(repositoryDirectory(path, { storage: name, id, kind: 'project' }))).map(({ name }) => name)

describe('repository_storages', () => {
  it('names where new projects go, each to one of them; those that are there stay (AS-55)', async () => {
    const admin = await anAdmin(t.ctx)
    const put = (repository_storages: string[]) => t.api('put', '/application/settings', admin).send({ repository_storages }).expect(200)
    const first = await aProject(t.ctx, { files: { a: 'first' } })
    expect(placesOf(first)).toEqual(['default'])

    await put(['second'])
    const later = await aProject(t.ctx, { files: { a: 'later' } })
    expect(placesOf(later)).toEqual(['second'])
    await t.api('post', `${first.path}/repository/branches`, first.creator).send({ branch: 'b', ref: 'main' }).expect(201)
    expect(placesOf(first)).toEqual(['default'])
    for (const [project, content] of [
      [first, 'first'],
      [later, 'later'],
    ] as const)
      expect((await t.api('get', `${project.path}/repository/files/a/raw?ref=main`, project.creator).expect(200)).text).toBe(content)

    await put(['default', 'second'])
    const many = await Promise.all(Array.from({ length: 20 }, () => aProject(t.ctx)))
    expect(new Set(many.flatMap(placesOf))).toEqual(new Set(['default', 'second']))
    expect(many.every((project) => placesOf(project).length === 1)).toBe(true)

    await put(['default'])
    expect(placesOf(await aProject(t.ctx))).toEqual(['default'])
  })

  it('a fork of a project elsewhere reads and keeps what it needs (AS-55)', async () => {
    const admin = await anAdmin(t.ctx)
    const put = (repository_storages: string[]) => t.api('put', '/application/settings', admin).send({ repository_storages }).expect(200)
    const source = await aProject(t.ctx, { visibility: 'public', files: { a: 'of the source' } })
    await put(['second'])
    const { body: fork } = await t.api('post', `${source.path}/fork`, admin).expect(201)
    await t.ctx.jobs.drain()
    await t.api('delete', `${source.path}?permanently_remove=true`, source.creator).expect(202)
    await t.ctx.jobs.drain()
    expect((await t.api('get', `/projects/${fork.id}/repository/files/a/raw?ref=main`, admin).expect(200)).text).toBe('of the source')
    await put(['default'])
  })
})
