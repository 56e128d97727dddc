import { startRoost } from 'roost-server/test'
import { beforeEach } from 'vitest'

/** The world of this worker, reset before each test. */
export const roost = await startRoost({ world: `worker-${process.env.VITEST_POOL_ID}` })

beforeEach(() => roost.reset())

export const call = async (method, path, body) => {
  const answer = await fetch(`${roost.url}/api/v4${path}`, {
    method,
    headers: { 'private-token': roost.token, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  return { status: answer.status, body: await answer.json() }
}
