import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { build } from '../../../scripts/build.mjs'
import { type Roost, startRoost } from '../../../testing/index.mjs'
import { apiOf, type TestApp } from '../app.js'
import { type Credentialed, unique } from '../factories.js'

interface StartedUser extends Credentialed {
  id: number
  username: string
}

/** A server started with `startRoost`, as users of `roost-server/test` do, and reset before each test of a file. */
export interface StartedRoost extends Pick<TestApp, 'url' | 'api'> {
  roost: Roost
  /** Creates a user with a token of scope `api`. */
  user(): Promise<StartedUser>
}

/** The environment of servers that tests start: a cache shared by all files of the run, and removed after it. */
export const startEnvironment = () => ({ XDG_CACHE_HOME: join(tmpdir(), 'roost-cache') })

export function startedRoost(): StartedRoost {
  const t = {} as StartedRoost
  beforeAll(async () => {
    await build()
    t.roost = await startRoost({ env: startEnvironment() })
    t.url = t.roost.url
  })
  beforeEach(() => t.roost.reset())
  afterAll(() => t.roost.stop())
  t.api = apiOf(t)
  t.user = async () => {
    const username = `user${unique()}`
    const about = { username, name: username, email: `${username}@example.com`, password: 'a long password', skip_confirmation: true }
    const { body: user } = await t.api('post', '/users', t.roost).send(about).expect(201)
    const { body } = await t
      .api('post', `/users/${user.id}/impersonation_tokens`, t.roost)
      .send({ name: 'test', scopes: ['api'] })
      .expect(201)
    return { id: user.id, username, token: body.token }
  }
  return t
}
