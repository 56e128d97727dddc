import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { startRoost } from 'roost-server/test'

let roost
before(async () => {
  roost = await startRoost()
  const project = await call('POST', '/projects', { name: 'hello', initialize_with_readme: true })
  await call('POST', `/projects/${project.id}/issues`, { title: 'the first' })
  await roost.snapshot('one issue')
})
beforeEach(() => roost.restore('one issue'))
after(() => roost.stop())

const call = async (method, path, body) => {
  const answer = await fetch(`${roost.url}/api/v4${path}`, {
    method,
    headers: { 'private-token': roost.token, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`)
  return answer.status === 204 ? undefined : answer.json()
}

test('an issue is closed', async () => {
  await call('PUT', '/projects/1/issues/1', { state_event: 'close' })
  assert.equal((await call('GET', '/projects/1/issues?state=opened')).length, 0)
})

test('and is open again for the next test, whose project may go', async () => {
  assert.equal((await call('GET', '/projects/1/issues?state=opened')).length, 1)
  await call('DELETE', '/projects/1')
})

test('a project that was deleted is back with its branches', async () => {
  assert.deepEqual(
    (await call('GET', '/projects/1/repository/branches')).map(({ name }) => name),
    ['main'],
  )
})
