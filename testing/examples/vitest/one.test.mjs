import { expect, test } from 'vitest'
import { call } from './roost.mjs'

// both files create the same project, each in the world of its worker
for (const round of [1, 2, 3])
  test(`a project is made for the first time (${round})`, async () => {
    expect((await call('GET', '/projects')).body).toEqual([])
    const { status, body } = await call('POST', '/projects', { name: 'hello', initialize_with_readme: true })
    expect([status, body.id, body.path_with_namespace]).toEqual([201, 1, 'root/hello'])
  })
