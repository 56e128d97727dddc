const { startRoost } = require('roost-server/test')

let roost
beforeAll(async () => {
  roost = await startRoost({ world: `worker-${process.env.JEST_WORKER_ID}` })
})
beforeEach(() => roost.reset())

const call = async (method, path, body) => {
  const answer = await fetch(`${roost.url}/api/v4${path}`, {
    method,
    headers: { 'private-token': roost.token, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  return answer.json()
}

const change = {
  branch: 'topic',
  start_branch: 'main',
  commit_message: 'a change',
  actions: [{ action: 'create', file_path: 'a.txt', content: 'a' }],
}

test('a merge request is made', async () => {
  const { id } = await call('POST', '/projects', { name: 'hello', initialize_with_readme: true })
  await call('POST', `/projects/${id}/repository/commits`, change)
  const made = await call('POST', `/projects/${id}/merge_requests`, { title: 'A change', source_branch: 'topic', target_branch: 'main' })
  expect(made.iid).toBe(1)
  expect(made.state).toBe('opened')
})

test('and is gone in the next test', async () => {
  expect(await call('GET', '/merge_requests?scope=all')).toEqual([])
})
