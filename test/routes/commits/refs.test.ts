import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, statuses } from '../../support/cast.js'
import { aProject } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
let ids: string[]
const NO_COMMIT = { message: '404 Commit Not Found' }
const WRONG = ['none', 'f'.repeat(40), 'HEAD~1', '--contains', '-x', 'main..main']

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public' })
  const bare = bareOf(t, cast.project)
  ids = bare.commits({ files: { a: '0' } }, { files: { a: '1' } }, { branch: 'topic/x', parents: [0], files: { b: '2' } })
  bare.git('tag', 'v1', ids[0] as string)
  bare.git('tag', '-a', '-m', 'x', 'v2', ids[1] as string)
  bare.git('update-ref', 'refs/merge-requests/1/head', ids[0] as string)
  bare.git('update-ref', 'refs/heads/v1', ids[0] as string)
})

const at = (sha: string, rest = 'refs') => `${cast.project.path}/repository/commits/${encodeURIComponent(sha)}/${rest}`

describe('GET /projects/:id/repository/commits/:sha/refs', () => {
  it('branches and tags that contain the commit, and no other refs (RE-8, SEC-86)', async () => {
    const [branch, tag] = [(name: string) => ({ type: 'branch', name }), (name: string) => ({ type: 'tag', name })]
    const { body, headers } = await t.api('get', at(ids[0] as string), null).expect(200)
    expect(body).toEqual([branch('main'), branch('topic/x'), branch('v1'), tag('v1'), tag('v2')])
    expect(headers['x-total']).toBe('5')
    expect((await t.api('get', at(ids[1] as string), null).expect(200)).body).toEqual([branch('main'), tag('v2')])
    expect((await t.api('get', at('topic/x'), null).expect(200)).body).toEqual([branch('topic/x')])
    expect((await t.api('get', `${at('v2')}?type=tag`, null).expect(200)).body).toEqual([tag('v2')])
    expect((await t.api('get', `${at('v2')}?type=branch`, null).expect(200)).body).toEqual([branch('main')])
    expect((await t.api('get', `${at('main')}?type=all`, null).expect(200)).body).toEqual([branch('main'), tag('v2')])
    expect((await t.api('get', `${at(ids[0] as string)}?per_page=2&page=2`, null).expect(200)).body).toEqual([branch('v1'), tag('v1')])
  })

  it('404 for an unknown commit, 400 for another type (RE-8, SEC-55, SEC-79)', async () => {
    for (const sha of WRONG) await t.api('get', at(sha), null).expect(404, NO_COMMIT)
    await t.api('get', `${at('main')}?type=note`, null).expect(400, { error: 'type does not have a valid value' })
    const project = await aProject(t.ctx)
    await t.api('get', `${project.path}/repository/commits/main/refs`, project.creator).expect(404, NO_COMMIT)
  })

  it.each(statuses(200, { anonymous: 404, stranger: 404, guest: 403 }))('%s before a private project: %i (RE-8, G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    await t.api('get', `${project.path}/repository/commits/main/refs`, as[role]).expect(status)
  })
})

describe('GET /projects/:id/repository/commits/:sha/merge_requests', () => {
  it('a list for every commit there is, 404 for others (RE-9)', async () => {
    const { body, headers } = await t.api('get', at('main', 'merge_requests'), cast.as.stranger).expect(200)
    expect([body, headers['x-total']]).toEqual([[], '0'])
    for (const sha of WRONG) await t.api('get', at(sha, 'merge_requests'), cast.as.stranger).expect(404, NO_COMMIT)
  })

  it.each(statuses(200, { anonymous: 401 }))('needs sign-in: %s gets %i (RE-9)', async (role, status) => {
    await t.api('get', at('main', 'merge_requests'), cast.as[role]).expect(status)
  })
})
