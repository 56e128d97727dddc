import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aCommit, aGroup, anAdmin, aProject, aUser } from '../support/factories.js'

const t = testApp()

describe('elements of a list that were rendered before', () => {
  const shown = async (path: string, id: number, caller: { token: string } | null) => {
    const { body } = await t.api('get', `/projects?search=${path}`, caller).expect(200)
    return (body as { id: number }[]).find((project) => project.id === id)
  }

  /** A project by itself, without what lists never have (CI-332). */
  const single = async (path: string, caller: { token: string } | null) => {
    const { runners_token: _, ...body } = (await t.api('get', path, caller).expect(200)).body
    return body
  }

  it('are never sent where the single view says something else (SEC-47)', async () => {
    const owner = await aUser(t.ctx)
    const guest = await aUser(t.ctx)
    const stranger = await aUser(t.ctx)
    const admin = await anAdmin(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, guest, visibility: 'public', name: 'fragment' })
    const callers = [owner, guest, stranger, admin, null]
    const same = async () => {
      for (const caller of callers) {
        const body = await single(project.path, caller)
        for (let again = 0; again < 2; again++) expect(await shown('fragment', project.id, caller)).toEqual(body)
      }
    }
    await same()
    await t.api('put', project.path, owner).send({ description: 'other', issues_access_level: 'private' }).expect(200)
    await same()
    await t.api('put', `${project.path}/members/${guest.id}`, owner).send({ access_level: 40 }).expect(200)
    await same()
    await t.api('delete', `${project.path}/members/${guest.id}`, owner).expect(204)
    await same()
    await t.api('post', `${project.path}/star`, stranger).expect(201)
    await same()
    await aCommit(t.ctx, project, { f: 'x' })
    await t.ctx.jobs.drain()
    await same()
    await t.api('put', project.path, owner).send({ visibility: 'private' }).expect(200)
    expect(await shown('fragment', project.id, stranger)).toBeUndefined()
    expect(await shown('fragment', project.id, null)).toBeUndefined()
    expect(await shown('fragment', project.id, owner)).toMatchObject({ visibility: 'private' })
  })

  it('a fork follows its source, and who sees it (SEC-47, SEC-39)', async () => {
    const owner = await aUser(t.ctx)
    const member = await aUser(t.ctx)
    const stranger = await aUser(t.ctx)
    const source = await aProject(t.ctx, { creator: owner, visibility: 'public', name: 'spring' })
    const { body: fork } = await t.api('post', `${source.path}/fork`, stranger).send({ path: 'offshoot', name: 'offshoot' }).expect(201)
    await t.ctx.jobs.drain()
    // who still see the fork when it is hidden with its source
    for (const { id } of [owner, member])
      await t.api('post', `/projects/${fork.id}/members`, stranger).send({ user_id: id, access_level: 10 }).expect(201)
    const callers = [owner, member, stranger, await anAdmin(t.ctx)]
    const sources = async () => {
      const seen: unknown[] = []
      for (const caller of callers) {
        const body = await single(`/projects/${fork.id}`, caller)
        for (let again = 0; again < 2; again++) expect(await shown('offshoot', fork.id, caller)).toEqual(body)
        seen.push(body.forked_from_project?.name ?? null)
      }
      return seen
    }
    expect(await sources()).toEqual(Array(4).fill('spring'))
    await t.api('put', source.path, owner).send({ name: 'well' }).expect(200)
    await t.api('post', `${source.path}/star`, member).expect(201)
    expect(await sources()).toEqual(Array(4).fill('well'))
    await t.api('put', source.path, owner).send({ visibility: 'private' }).expect(200)
    await t.api('post', `${source.path}/members`, owner).send({ user_id: member.id, access_level: 10 }).expect(201)
    expect(await sources()).toEqual(['well', 'well', null, 'well'])
    await t.api('delete', `${source.path}/members/${member.id}`, owner).expect(204)
    expect(await sources()).toEqual(['well', null, null, 'well'])
    await t.api('delete', `/projects/${fork.id}/fork`, stranger).expect(204)
    expect(await sources()).toEqual(Array(4).fill(null))
  })
})
