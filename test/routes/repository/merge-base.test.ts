import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, statuses } from '../../support/cast.js'
import { aProject } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
let ids: string[]

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public' })
  ids = bareOf(t, cast.project).commits(
    { files: { a: '0' } },
    { files: { a: '1' } },
    { branch: 'left', parents: [1], files: { b: '2' } },
    { branch: 'right', parents: [1], files: { c: '3' } },
    { branch: 'early', parents: [0], files: { d: '4' } },
    { branch: 'island', parents: [], files: { e: '5' } },
  )
})

const at = (...refs: string[]) => `${cast.project.path}/repository/merge_base?${refs.map((ref) => `refs[]=${encodeURIComponent(ref)}`).join('&')}`

describe('GET /projects/:id/repository/merge_base', () => {
  it('the best commit that both have, by branch, tag and hash (RE-5)', async () => {
    bareOf(t, cast.project).git('tag', 'mark', ids[3] as string)
    for (const refs of [
      ['left', 'right'],
      ['right', 'left'],
      ['left', 'mark'],
      [ids[2] as string, (ids[3] as string).slice(0, 9)],
    ]) {
      const { body } = await t.api('get', at(...refs), null).expect(200)
      expect([body.id, body.parent_ids]).toEqual([ids[1], [ids[0]]])
    }
    expect((await t.api('get', at('left', 'main'), null).expect(200)).body.id).toBe(ids[1])
    expect((await t.api('get', at('main', 'main'), null).expect(200)).body.id).toBe(ids[1])
  })

  it('of more than two, what all of them have (RE-5)', async () => {
    expect((await t.api('get', at('left', 'right', 'early'), null).expect(200)).body.id).toBe(ids[0])
    expect((await t.api('get', at('left', 'right', 'main'), null).expect(200)).body.id).toBe(ids[1])
  })

  it('404 where they have none (RE-5)', async () => {
    await t.api('get', at('left', 'island'), null).expect(404, { message: '404 Merge Base Not Found' })
    await t.api('get', at('left', 'right', 'island'), null).expect(404, { message: '404 Merge Base Not Found' })
  })

  it('400 for fewer than two refs, and for unknown ones, which are named (RE-5)', async () => {
    await t.api('get', `${cast.project.path}/repository/merge_base`, null).expect(400, { error: 'refs is missing' })
    await t.api('get', at('left'), null).expect(400, { message: 'Provide at least 2 refs' })
    await t.api('get', `${cast.project.path}/repository/merge_base?refs=left`, null).expect(400, { message: 'Provide at least 2 refs' })
    for (const wrong of ['none', '', '--all', '--octopus', 'left..right', 'HEAD~1', '^left', 'f'.repeat(40)])
      await t.api('get', at('left', wrong), null).expect(400, { message: `Could not find ref: ${wrong}` })
    await t.api('get', at('x', 'left', 'y'), null).expect(400, { message: 'Could not find ref: x, y' })
    const many = Array.from({ length: 101 }, () => 'left')
    await t.api('get', at(...many), null).expect(400, { error: 'refs is invalid' })
    const project = await aProject(t.ctx)
    const path = `${project.path}/repository/merge_base?refs[]=main&refs[]=HEAD`
    await t.api('get', path, project.creator).expect(400, { message: 'Could not find ref: main, HEAD' })
  })

  it.each(statuses(200, { anonymous: 404, stranger: 404, guest: 403 }))('%s before a private project: %i (RE-5, G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    await t.api('get', `${project.path}/repository/merge_base?refs[]=main&refs[]=HEAD`, as[role]).expect(status)
  })
})
