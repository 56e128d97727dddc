import { beforeAll, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/http/endpoint.js'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()

const endpoints = families.flat()
const about = (kind: 'projects' | 'groups') => endpoints.filter(({ path }) => path.startsWith(`/${kind}/:id`))

/** The endpoints that owners may call while it waits: those that need no more than to see it, to delete or restore it. */
const isKept = ({ access: { rule } }: Endpoint) => /(project|group): (read|remove)_(project|group)$|^administrator/.test(rule)

/** Calls an endpoint without a body; every access rule but those of administrators comes before what else is missing. */
async function statusOf({ method, path }: Endpoint, id: number, { token }: TestUser): Promise<number> {
  const url = `/api/v4${path
    .replace(/\([^)]*\)/g, '')
    .replace(':id', String(id))
    .replace(/:[a-z_]+/g, '1')}`
  const { statusCode } = await t.app.inject({ method: method as 'GET', url, headers: { 'private-token': token } })
  return statusCode
}

describe.each(['projects', 'groups'] as const)('every endpoint about one of the %s', (kind) => {
  let owner: TestUser
  let maintainer: TestUser
  let admin: TestUser
  let id: number
  beforeAll(async () => {
    ;[owner, maintainer, admin] = [await aUser(t.ctx), await aUser(t.ctx), await anAdmin(t.ctx)]
    const given = { creator: owner, maintainer, visibility: 'public' } as const
    id = (kind === 'projects' ? await aProject(t.ctx, given) : await aGroup(t.ctx, given)).id
    await t.api('delete', `/${kind}/${id}`, owner).expect(kind === 'projects' ? 202 : 204)
  })

  it('finds nothing for callers who cannot restore it (SEC-245)', async () => {
    const answers = await Promise.all(
      about(kind).map(async (endpoint) => [`${endpoint.method} ${endpoint.path}`, await statusOf(endpoint, id, maintainer)]),
    )
    expect(answers.length).toBeGreaterThan(40)
    // administrators' calls, and those whose parameters are read first
    expect(answers.filter(([, status]) => status !== 404 && status !== 403 && status !== 400)).toEqual([])
    expect(answers.filter(([, status]) => status === 404).length).toBeGreaterThan(answers.length / 2)
  })

  it.each(['owner', 'admin'] as const)('does no more for the %s than to show, delete and restore it (SEC-245)', async (who) => {
    const caller = who === 'owner' ? owner : admin
    const faults: unknown[] = []
    for (const endpoint of about(kind).filter((one) => !isKept(one))) {
      const status = await statusOf(endpoint, id, caller)
      if (status !== 403 && status !== 404 && status !== 400) faults.push([`${endpoint.method} ${endpoint.path}`, status])
    }
    expect(faults).toEqual([])
  })
})
