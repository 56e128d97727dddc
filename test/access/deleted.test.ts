import { beforeAll, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/http/endpoint.js'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
const MISSING = 987_654_321

describe.each(['projects', 'groups'] as const)('every endpoint about one of the %s that waits for its removal', (kind) => {
  const about = families.flat().filter(({ method, path }) => path.startsWith(`/${kind}/:id`) && `${method} ${path}` !== `POST /${kind}/:id/restore`)
  let callers: Record<string, TestUser>
  let deleted: number
  beforeAll(async () => {
    const [owner, maintainer, admin] = [await aUser(t.ctx), await aUser(t.ctx), await anAdmin(t.ctx)]
    const given = { creator: owner, maintainer, visibility: 'public' } as const
    deleted = (kind === 'projects' ? await aProject(t.ctx, given) : await aGroup(t.ctx, given)).id
    await t.api('delete', `/${kind}/${deleted}`, owner).expect(kind === 'projects' ? 202 : 204)
    callers = { owner, maintainer, admin }
  })

  /** Calls an endpoint without a body. */
  async function answerOf({ method, path }: Endpoint, id: number, token: string | undefined): Promise<[number, string]> {
    const url = `/api/v4${path
      .replace(/\([^)]*\)/g, '')
      .replace(':id', String(id))
      .replace(/:[a-z_]+/g, '1')}`
    const { statusCode, body } = await t.app.inject({ method: method as 'GET', url, headers: token === undefined ? {} : { 'private-token': token } })
    return [statusCode, body]
  }

  it.each(['owner', 'maintainer', 'admin', 'visitor'])('answers the %s as if it were not there (SEC-245)', async (who) => {
    const token = callers[who]?.token
    expect(about.length).toBeGreaterThan(40)
    for (const endpoint of about) {
      const line = `${endpoint.method} ${endpoint.path}`
      expect([line, ...(await answerOf(endpoint, deleted, token))]).toEqual([line, ...(await answerOf(endpoint, MISSING, token))])
    }
  })
})
