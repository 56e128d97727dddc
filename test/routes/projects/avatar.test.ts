import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, aUser } from '../../support/factories.js'

const t = testApp()
const png = (width = 1) => {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
  bytes.writeUInt32BE(width, 16)
  return bytes
}
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')

const get = (url: string, token?: string) => {
  const call = supertest(t.url).get(new URL(url).pathname)
  return token ? call.set('PRIVATE-TOKEN', token) : call
}
const folder = (id: number) => join(t.dataDir, 'uploads/project', String(id))

describe('avatars of projects (UP-3, UP-4, SEC-78)', () => {
  it('one on creation, another on update, none after an empty text (UP-4)', async () => {
    const user = await aUser(t.ctx)
    const made = await t.api('post', '/projects', user).field('name', 'pictured').attach('avatar', png(), 'x.svg').expect(201)
    const { id, avatar_url } = made.body as { id: number; avatar_url: string }
    expect(avatar_url).toMatch(new RegExp(`^http://roost.test/uploads/-/system/project/avatar/${id}/[0-9a-f]{16}\\.png$`))
    expect((await get(avatar_url, user.token).expect(200)).body).toEqual(png())
    // UP-3: who does not see the project sees no image
    await get(avatar_url).expect(404)

    const second = (await t.api('put', `/projects/${id}`, user).attach('avatar', png(2), 'y.png').expect(200)).body.avatar_url
    expect(second).not.toBe(avatar_url)
    await get(avatar_url, user.token).expect(404)
    expect(readdirSync(folder(id))).toHaveLength(1)
    await t.api('put', `/projects/${id}`, user).send({ description: 'other' }).expect(200)
    await get(second, user.token).expect(200)

    expect((await t.api('put', `/projects/${id}`, user).field('avatar', '').expect(200)).body.avatar_url).toBeNull()
    await get(second, user.token).expect(404)
    expect((await t.api('put', `/projects/${id}`, user).send({ avatar: null }).expect(200)).body.avatar_url).toBeNull()
  })

  it('400 for anything but a small image, and nothing changes (UP-4, SEC-78)', async () => {
    const project = await aProject(t.ctx)
    const put = (data: Buffer) => t.api('put', project.path, project.creator).field('description', 'new').attach('avatar', data, 'a.png')
    await put(svg).expect(400, { message: { avatar: ['only images allowed'] } })
    await put(Buffer.concat([png(), Buffer.alloc(200 * 1024)])).expect(400, { message: { avatar: ['is too big (should be at most 200 KB)'] } })
    await put(png(4_097)).expect(400)
    await t.api('put', project.path, project.creator).send({ avatar: 'text' }).expect(400, { error: 'avatar is invalid' })
    expect((await t.api('get', project.path, project.creator).expect(200)).body).toMatchObject({ description: null, avatar_url: null })
    await t.api('post', '/projects', project.creator).field('name', 'unpictured').attach('avatar', svg, 'a.png').expect(400)
    expect((await t.api('get', '/projects?search=unpictured', project.creator).expect(200)).body).toEqual([])
  })

  it('is deleted with the project (SEC-134)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const { avatar_url } = (await t.api('put', project.path, project.creator).attach('avatar', png(), 'a.png').expect(200)).body
    await get(avatar_url).expect(200)
    await t.api('delete', `${project.path}?permanently_remove=true`, project.creator).expect(202)
    await get(avatar_url).expect(404)
    await t.ctx.jobs.drain()
    expect(existsSync(folder(project.id))).toBe(false)
  })
})
